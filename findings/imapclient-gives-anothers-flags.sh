#!/bin/sh
# IMAPClient 4.1.0 (PyPI), Dovecot 2.3.19.1 (Debian bookworm, 1:2.3.19.1+dfsg1-2.1+deb12u7).
#
# Guess: `fetch(uids, ...)` gives what was asked of those UIDs. What the server says unasked in the
# same answer, as flags that another session changed, is left out, or is under its own UID.
# Seen: where mails were deleted before, a mail is given the flags of another. Dovecot sends flags
# that it was not asked for with the sequence number and without a UID, and IMAPClient takes the
# number for a UID. If that UID was asked for, its flags and its `SEQ` are overwritten. With QRESYNC
# enabled the server adds the UID, and all are right.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
apt-get -o APT::Sandbox::User=root download dovecot-core=1:2.3.19.1+dfsg1-2.1+deb12u7 \
  dovecot-imapd=1:2.3.19.1+dfsg1-2.1+deb12u7 libunwind8 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
python3 -m venv venv
venv/bin/pip -q install imapclient==4.1.0 2>pip.log
user=$(id -un)
[ "$user" != root ] || user=mail # Dovecot refuses root a mailbox.
mkdir state run
for who in plain qresync; do
  mkdir -p $who/cur $who/new $who/tmp
  cat >$who.conf <<CONF
mail_location = maildir:$folder/$who
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
done
[ "$(id -u)" != 0 ] || chown -R "$user" plain qresync state run
cat >try.py <<'PY'
import os
import socket
import subprocess
import sys
import threading

from imapclient import IMAPClient

LIBRARIES, HERE = sys.argv[1], os.getcwd()


def session(link):
    """Takes the login, and hands the rest to the program `imap` of Dovecot."""
    lines, who = link.makefile("rb"), None
    link.sendall(b"* OK ready\r\n")
    while not who:
        tag, verb, *rest = lines.readline().split()
        if verb.upper() == b"LOGIN":
            who = rest[0].strip(b'"').decode()
        elif verb.upper() == b"CAPABILITY":
            link.sendall(b"* CAPABILITY IMAP4rev1\r\n")
        link.sendall(tag + b" OK done\r\n") if not who else None
    process = subprocess.Popen(
        ["root/usr/bin/doveconf", "-c", f"{who}.conf", "-m", "imap",
         "-e", "root/usr/lib/dovecot/imap"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, "LD_LIBRARY_PATH": LIBRARIES, "USER": who, "HOME": HERE})
    process.stdout.readline()
    link.sendall(tag + b" OK done\r\n")

    def answers():
        try:
            while data := os.read(process.stdout.fileno(), 65536):
                link.sendall(data)
            link.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    threading.Thread(target=answers, daemon=True).start()
    try:
        while data := lines.read1(65536):
            process.stdin.write(data)
            process.stdin.flush()
    except OSError:
        pass
    process.terminate()
    process.wait()


def listen():
    server = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            threading.Thread(target=session, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return server.getsockname()[1]


def connect(who):
    made = IMAPClient("127.0.0.1", port=imap, ssl=False, timeout=20)
    made.login(who, "of this machine alone")
    if who == "qresync":
        made.enable("QRESYNC")
    made.select_folder("INBOX")
    return made


def show(name, found):
    for uid, each in sorted(found.items()):
        subject = each[b"BODY[HEADER.FIELDS (SUBJECT)]"].split()[1].decode()
        flags = [flag.decode() for flag in each[b"FLAGS"] if flag != b"\\Recent"]
        print(f"{name}, UID {uid}: {subject}, number {each[b'SEQ']}, flags", *flags or ["none"])


imap = listen()
for who in "plain", "qresync":
    reader, other = connect(who), connect(who)
    for number in range(1, 7):
        mail = f"From: eva@example.org\r\nSubject: m{number}\r\n\r\nhello\r\n"
        reader.append("INBOX", mail.encode())
    reader.noop()
    reader.delete_messages([1, 2])
    reader.expunge()
    other.noop()
    other.add_flags([5], [b"\\Flagged"])
    show(who, reader.fetch([3, 4, 5], ["FLAGS", "BODY.PEEK[HEADER.FIELDS (SUBJECT)]"]))
    for each in reader, other:
        each.logout()
PY
libraries=$(find "$folder/root" -type d \( -path '*/lib/*-linux-gnu' -o -path '*/lib/dovecot' \) |
  tr '\n' ':')
timeout 60 venv/bin/python try.py "$libraries" 2>try.log | tee seen
grep -qx 'plain, UID 3: m3, number 3, flags .Flagged' seen
grep -qx 'plain, UID 5: m5, number 3, flags .Flagged' seen
grep -qx 'qresync, UID 3: m3, number 1, flags none' seen
grep -qx 'qresync, UID 5: m5, number 3, flags .Flagged' seen
