#!/bin/sh
# imap-tools 1.16.0 (PyPI) with Python 3.11, Dovecot 2.3.19.1 (Debian bookworm,
# 1:2.3.19.1+dfsg1-2.1+deb12u7).
#
# Guess: `idle.wait(timeout)` returns at once where a mail came since the last `fetch`: the server
# says so when IDLE begins. A loop of `wait` and `fetch` misses nothing.
# Seen: it waits until the time is over and returns nothing. Dovecot sends `EXISTS` together with
# the line that begins IDLE; reading that line takes both from the socket, and the wait then looks
# at the socket, not at what was read. A mail that comes between a fetch and the next wait is found
# by a later one, or after the time-out, so fetch then, too. A mail within the wait is reported.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
apt-get -o APT::Sandbox::User=root download dovecot-core=1:2.3.19.1+dfsg1-2.1+deb12u7 \
  dovecot-imapd=1:2.3.19.1+dfsg1-2.1+deb12u7 libunwind8 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
python3 -m venv venv
venv/bin/pip -q install imap-tools==1.16.0 2>pip.log
user=$(id -un)
[ "$user" != root ] || user=mail # Dovecot refuses root a mailbox.
mkdir -p state run mail/cur mail/new mail/tmp
cat >dovecot.conf <<CONF
mail_location = maildir:$folder/mail
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
[ "$(id -u)" != 0 ] || chown -R "$user" mail state run
cat >try.py <<'PY'
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading

import imap_tools

LIBRARIES, OWNER, HERE = sys.argv[1], sys.argv[2], pathlib.Path.cwd()


def deliver(name):
    made = HERE / "mail/tmp" / name
    made.write_text(f"From: eva@example.org\nSubject: {name}\n\nhello\n")
    if os.getuid() == 0:
        shutil.chown(made, OWNER)
    made.rename(HERE / "mail/new" / f"{name}.here")


def serve(listener):
    """Hands one connection on to Dovecot's program `imap`, which refuses a socket."""
    link = listener.accept()[0]
    process = subprocess.Popen(
        ["root/usr/bin/doveconf", "-c", "dovecot.conf", "-m", "imap",
         "-e", "root/usr/lib/dovecot/imap"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, "LD_LIBRARY_PATH": LIBRARIES, "USER": OWNER, "HOME": str(HERE)})

    def answers():
        while data := os.read(process.stdout.fileno(), 65536):
            link.sendall(data)

    threading.Thread(target=answers, daemon=True).start()
    while data := link.recv(65536):
        os.write(process.stdin.fileno(), data)
    process.stdin.close()
    process.wait()


listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=serve, args=(listener,), daemon=True).start()
box = imap_tools.MailBoxUnencrypted("127.0.0.1", listener.getsockname()[1], timeout=20)
box.folder.set("INBOX")


def look(when):
    said = [line.decode() for line in box.idle.wait(timeout=4) if line.endswith(b"EXISTS")]
    print(f"{when}: wait gives {said}, then there are",
          *[mail.subject for mail in box.fetch(mark_seen=False)])


deliver("one")
look("before the wait")
deliver("two")
look("before the next")
threading.Timer(1, deliver, ("three",)).start()
look("within the wait")
box.logout()
PY
libraries=$(find "$folder/root" -type d \( -path '*/lib/*-linux-gnu' -o -path '*/lib/dovecot' \) |
  tr '\n' ':')
timeout 60 venv/bin/python try.py "$libraries" "$user" 2>try.log | tee seen
grep -qx 'before the wait: wait gives \[\], then there are one' seen
grep -qx 'before the next: wait gives \[\], then there are one two' seen
grep -qx "within the wait: wait gives \['\* 3 EXISTS'\], then there are one two three" seen
