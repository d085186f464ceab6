#!/bin/sh
# Dovecot 2.3.19.1 (Debian bookworm, 1:2.3.19.1+dfsg1-2.1+deb12u7), Maildir.
#
# Guess: where a mailbox keeps its UIDVALIDITY, its modification sequences only grow (RFC 7162), so
# `SELECT ... (QRESYNC (validity modseq uids))` lists all flags and deletions since `modseq`.
# Seen: with the mails, and without the index files, which Dovecot makes anew, UIDs and UIDVALIDITY
# are the old ones, and HIGHESTMODSEQ starts low again: a restored backup of a Maildir, or a move of
# it, is such a case. A client that asks from its old, higher number is answered that nothing
# changed, until the new numbers have passed it; changes made in between it never gets. Compare the
# server's HIGHESTMODSEQ with the stored one: a lower one calls for all flags. dbox gets a new
# UIDVALIDITY.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
apt-get -o APT::Sandbox::User=root download dovecot-core=1:2.3.19.1+dfsg1-2.1+deb12u7 \
  dovecot-imapd=1:2.3.19.1+dfsg1-2.1+deb12u7 libunwind8 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
user=$(id -un)
[ "$user" != root ] || user=mail # Dovecot refuses root a mailbox.
mkdir mail state run
[ "$(id -u)" != 0 ] || chown -R "$user" mail state run
cat >server.conf <<CONF
mail_location = maildir:$folder/mail/room:INDEX=$folder/mail/index
base_dir = $folder/run
state_dir = $folder/state
mail_plugin_dir = $folder/root/usr/lib/dovecot/modules
log_path = /dev/stderr
ssl = no
mail_uid = $user
mail_gid = $(id -gn "$user")
first_valid_uid = 1
first_valid_gid = 1
namespace inbox {
  inbox = yes
}
CONF
cat >try.py <<'PY'
import os
import re
import shutil
import subprocess


class Session:
    """A session of the user eva with the program `imap`, by pipes."""

    def __init__(self):
        self.process = subprocess.Popen(
            ["root/usr/bin/doveconf", "-c", "server.conf", "-m", "imap", "-e",
             "root/usr/lib/dovecot/imap"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env={**os.environ, "USER": "eva", "HOME": f"{os.getcwd()}/mail"})
        assert b"PREAUTH" in self.process.stdout.readline()
        self.ask("ENABLE QRESYNC")

    def ask(self, text):
        self.process.stdin.write(f"a {text}\r\n".encode())
        self.process.stdin.flush()
        lines = []
        while not lines or not lines[-1].startswith("a "):
            lines.append(self.process.stdout.readline().decode())
            assert lines[-1]
        return "".join(lines)

    def end(self):
        self.ask("LOGOUT")
        self.process.wait()


def number(name, text):
    return int(re.search(rf"{name} (\d+)", text)[1])


def since(validity, modseq):
    """What a client that knows the UIDs 1 to 4 is answered."""
    session = Session()
    text = session.ask(f"SELECT INBOX (QRESYNC ({validity} {modseq} 1:4))")
    session.end()
    gone = re.findall(r"VANISHED \(EARLIER\) (\S+)", text)
    return (f"validity {'the same' if number('UIDVALIDITY', text) == validity else 'another'}, deleted "
            f"{gone}, changed {re.findall(r'FETCH .UID (.)', text)}"), number("HIGHESTMODSEQ", text)


session = Session()
session.ask("SELECT INBOX")
for text in "one", "two", "three", "four":
    mail = f"From: eva@example.org\r\nSubject: {text}\r\n\r\nhello\r\n"
    session.ask(f"APPEND INBOX {{{len(mail)}+}}\r\n{mail}")
for turn in range(10):
    session.ask(f"STORE 1 {'-+'[turn % 2 == 0]}FLAGS (\\Flagged)")
known = session.ask("STATUS INBOX (UIDVALIDITY HIGHESTMODSEQ)")
validity, modseq = number("UIDVALIDITY", known), number("HIGHESTMODSEQ", known)
session.end()
print("before:", since(validity, modseq)[0])
for case in "with its index", "without":
    if case == "without":
        shutil.rmtree("mail/index")
    session = Session()
    session.ask("SELECT INBOX")
    session.ask("STORE 2 +FLAGS (\\Seen)" if case == "without" else "STORE 1 +FLAGS (\\Seen)")
    session.ask("UID STORE 3:4 +FLAGS (\\Deleted)" if case == "without" else "NOOP")
    session.ask("EXPUNGE")
    session.end()
    seen, highest = since(validity, modseq)
    print(f"{case}: {seen}, modseq went {'back' if highest < modseq else 'on'}")
PY
LD_LIBRARY_PATH=$(find "$folder/root" -type d \( -path '*/lib/*-linux-gnu' -o -path '*/lib/dovecot' \) |
  tr '\n' ':') python3 -B try.py | tee seen
grep -qx 'before: validity the same, deleted \[\], changed \[\]' seen
grep -qx "with its index: validity the same, deleted \[\], changed \['1'\], modseq went on" seen
grep -qx 'without: validity the same, deleted \[\], changed \[\], modseq went back' seen
