#!/bin/sh
# Delta Chat core 2.65.0 (PyPI, deltachat-rpc-server), aiosmtpd 1.4.6, Dovecot 2.3.19.1 (Debian
# bookworm, 1:2.3.19.1+dfsg1-2.1+deb12u7). Two accounts on this machine; the mails to one of them
# are held back, and put into its mailbox in another order, as two relays may do.
#
# Guess: an edit that comes before its message is kept, and applied when the message comes, as a
# reaction and a deletion are.
# Seen: the reaction is shown and the deletion holds, whichever comes first. An edit before its
# message is passed over: the first text is shown, for good, beside a sender who sees the second,
# and nothing marks it. An edit after its message is shown.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
apt-get -o APT::Sandbox::User=root download dovecot-core=1:2.3.19.1+dfsg1-2.1+deb12u7 \
  dovecot-imapd=1:2.3.19.1+dfsg1-2.1+deb12u7 libunwind8 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
python3 -m venv venv
venv/bin/pip -q install deltachat-rpc-server==2.65.0 deltachat-rpc-client==2.65.0 \
  aiosmtpd==1.4.6 2>pip.log
user=$(id -un)
[ "$user" != root ] || user=mail # Dovecot refuses root a mailbox.
mkdir state run
for who in eva jan; do
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
[ "$(id -u)" != 0 ] || chown -R "$user" eva jan state run
cat >try.py <<'PY'
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from deltachat_rpc_client import DeltaChat, Rpc

LIBRARIES, USER, HERE = sys.argv[1], sys.argv[2], os.getcwd()
held, held_back, put = [], False, 0


def deliver(who, mail):
    global put
    put += 1
    path = f"{who}/tmp/{put:06}.mail.here"
    with open(path, "wb") as file:
        file.write(mail)
    if os.getuid() == 0:
        shutil.chown(path, USER)
    os.rename(path, path.replace("/tmp/", "/new/"))


class Mails:
    async def handle_DATA(self, server, session, envelope):
        for address in envelope.rcpt_tos:
            if held_back and address.startswith("jan@"):
                held.append(envelope.content)
            else:
                deliver(address.split("@")[0], envelope.content)
        return "250 taken"


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


with socket.create_server(("127.0.0.1", 0)) as free:
    smtp = free.getsockname()[1]
imap = listen()
Controller(Mails(), hostname="127.0.0.1", port=smtp, auth_require_tls=False,
           authenticator=lambda *what: AuthResult(success=True)).start()


def account(who):
    made = chat.add_account()
    made.add_or_update_transport({
        "addr": f"{who}@example.org", "password": "of this machine alone", "imapUser": who,
        "imapServer": "127.0.0.1", "imapPort": imap, "imapSecurity": "plain", "smtpUser": who,
        "smtpServer": "127.0.0.1", "smtpPort": smtp, "smtpSecurity": "plain"})
    made.bring_online()
    return made


def told(text):
    """Waits until jan has this message, and gives the conversation."""
    room.send_text(text).wait_until_delivered()
    while True:
        found = jan.wait_for_incoming_msg().get_snapshot()
        if found.text == text:
            return found.chat


def case(name, *order):
    """An edited, a reacted to and a deleted message, with their six mails in this order."""
    global held_back
    held.clear()
    held_back = True

    def step(act):
        before = len(held)
        result = act()
        while len(held) == before:
            time.sleep(0.05)
        return result

    first = step(lambda: room.send_text(f"{name}: first"))
    step(lambda: rpc.send_edit_request(eva.id, first.id, f"{name}: first, edited"))
    second = step(lambda: room.send_text(f"{name}: second"))
    step(lambda: second.send_reaction("+"))
    third = step(lambda: room.send_text(f"{name}: third"))
    step(lambda: rpc.delete_messages_for_all(eva.id, [third.id]))
    held_back = False
    for number in order:
        deliver("jan", held[number])
    texts = []
    for each in told(f"{name}: end").get_messages():
        shown = each.get_snapshot()
        if shown.text.startswith(name):
            marks = [mark["emoji"] for mark in (shown.reactions or {}).get("reactions", [])]
            texts.append(shown.text.removeprefix(name + ": ") + "".join(marks))
    print(f"{name}:", "; ".join(sorted(texts)), flush=True)


with Rpc(accounts_dir="accounts", rpc_server_path="venv/bin/deltachat-rpc-server") as rpc:
    chat = DeltaChat(rpc)
    eva, jan = account("eva"), account("jan")
    eva.secure_join(jan.get_qr_code())
    eva.wait_for_securejoin_joiner_success()
    room = eva.create_chat(jan)
    told("hello")
    case("in order", 0, 1, 2, 3, 4, 5)
    case("marks first", 1, 3, 5, 0, 2, 4)
PY
libraries=$(find "$folder/root" -type d \( -path '*/lib/*-linux-gnu' -o -path '*/lib/dovecot' \) |
  tr '\n' ':')
timeout 120 venv/bin/python try.py "$libraries" "$user" 2>try.log | tee seen
grep -qx 'in order: end; first, edited; second+' seen
grep -qx 'marks first: end; first; second+' seen
