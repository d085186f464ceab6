#!/bin/sh
# biboumi 9.0 (Debian bookworm, 9.0-5+b1), a gateway of XMPP to IRC, with ngIRCd 26.1 (Debian
# bookworm, 26.1-1+deb12u1). The script stands in for the XMPP server.
#
# Guess: each message that the gateway sends to its user has a `stanza-id` (XEP-0359) of its own,
# and a text that is too long for a line of IRC comes back whole, or as messages with ids of their
# own.
# Guess: the archive of the room (XEP-0313) gives a message with its `id` and `origin-id`.
# Seen: a text of 900 bytes comes back as three messages, each with a part of the text, all with one
# `id`, one `origin-id` and one `stanza-id`: who takes an id for a repetition shows the first part.
# The archive has the whole text under that id. Of two lines the second has other ids but the same
# `origin-id`, so it looks like the echo of the same send.
# Seen: the archive gives neither `id` nor `origin-id`. A send whose echo was lost with the
# connection cannot be told from another one with the same text.
set -eu
folder=$(mktemp -d)
server='' gateway=''
end() {
  for each in $gateway $server; do
    kill "$each" 2>/dev/null || true
    wait "$each" 2>/dev/null || true
  done
  rm -rf "$folder"
}
trap end EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download biboumi=9.0-5+b1 ngircd=26.1-1+deb12u1 libbotan-2-19 \
  libidn12 libident libldap-2.5-0 libpq5 libsasl2-2 libtspi1 libudns0 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
LD_LIBRARY_PATH=$(find "$folder/root" -type d -path '*/lib/*-linux-gnu' | tr '\n' ':')
export LD_LIBRARY_PATH
python3 -c 'import socket
free = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*[each.getsockname()[1] for each in free])' >ports
read -r irc xmpp <ports
cat >ngircd.conf <<CONF
[Global]
Name = irc.example.org
Info = irc
Listen = 127.0.0.1
Ports = $irc
MotdPhrase = hello
[Limits]
MaxPenaltyTime = 0
[Options]
DNS = no
Ident = no
PAM = no
CONF
cat >biboumi.cfg <<CONF
hostname=irc.localhost
password=secret
xmpp_server_ip=127.0.0.1
port=$xmpp
db_name=$folder/biboumi.sqlite
log_file=$folder/biboumi.log
identd_port=0
CONF
cat >try.py <<'PY'
import queue
import socket
import sys
import threading
from xml.etree import ElementTree as ET

IRC, XMPP = int(sys.argv[1]), int(sys.argv[2])
EVA, ROOM, HOST = "eva@localhost/a", "#harbour%127.0.0.1@irc.localhost", "127.0.0.1@irc.localhost"
seen = queue.Queue()


def read(link):
    parser, depth = ET.XMLPullParser(["start", "end"]), 0
    while data := link.recv(65536):
        parser.feed(data)
        for event, element in parser.read_events():
            depth += 1 if event == "start" else -1
            if depth == 1:
                seen.put(element)


def send(text):
    link.sendall(text.encode())


def until(test):
    """What came until an element passes, and that one last."""
    found = [seen.get(timeout=20)]
    while not test(found[-1]):
        found.append(seen.get(timeout=20))
    return found


def ask(key, to, body):
    send(f'<iq type="set" id="{key}" from="{EVA}" to="{to}">{body}</iq>')
    return until(lambda each: each.get("id") == key)


def say(key, text):
    send(f'<message from="{EVA}" to="{ROOM}" type="groupchat" id="{key}"><body>{text}</body>'
         f'<origin-id xmlns="urn:xmpp:sid:0" id="{key}"/></message>')


listener = socket.create_server(("127.0.0.1", XMPP))
listener.settimeout(30)
link = listener.accept()[0]
threading.Thread(target=read, args=(link,), daemon=True).start()
seen.get(timeout=20)
send('<stream:stream xmlns="jabber:component:accept" id="1" from="irc.localhost" '
     'xmlns:stream="http://etherx.jabber.org/streams">')
until(lambda each: each.tag.endswith("handshake"))
send("<handshake/>")
command = 'xmlns="http://jabber.org/protocol/commands" node="configure"'
form = ask("c1", HOST, f'<command {command} action="execute"/>')[-1][0]
ask("c2", HOST, f'<command {command} sessionid="{form.get("sessionid")}" action="next">'
    '<x xmlns="jabber:x:data" type="submit">' + "".join(
        f'<field var="{name}"><value>{value}</value></field>'
        for name, value in (("ports", IRC), ("tls_ports", ""), ("throttle_limit", -1))) +
    '</x></command>')
send(f'<presence from="{EVA}" to="{ROOM}/eva">'
     '<x xmlns="http://jabber.org/protocol/muc"/></presence>')
until(lambda each: each.find("{*}subject") is not None)

names = {}
for key, text in ("long", "x" * 900), ("lines", "one\ntwo"), ("end", "end"):
    say(key, text)
for each in until(lambda each: each.findtext("{*}body") == "end"):
    text, ids = each.findtext("{*}body"), [
        each.get("id"), each.find("{*}origin-id").get("id"), each.find("{*}stanza-id").get("id")]
    own, origin, stanza = (names.setdefault(name, chr(ord("A") + len(names))) for name in ids)
    print(f"echo of {len(text)} letters: id {own}, origin-id {origin}, stanza-id {stanza}")
for each in ask("m1", ROOM, '<query xmlns="urn:xmpp:mam:2"/>')[:-1]:
    entry = each.find(".//{*}forwarded/{*}message")
    print(f"archive, {len(entry.findtext('{*}body'))} letters:",
          f"{names.get(each.find('{*}result').get('id'))}, own id {entry.get('id')},",
          "origin-id", entry.find("{*}origin-id"))
PY
root/usr/sbin/ngircd -n -f ngircd.conf >ngircd.log 2>&1 &
server=$!
root/usr/bin/biboumi biboumi.cfg >gateway.log 2>&1 &
gateway=$!
timeout 60 python3 try.py "$irc" "$xmpp" 2>try.log | tee seen
cat >expected <<'EOF'
echo of 412 letters: id A, origin-id A, stanza-id B
echo of 412 letters: id A, origin-id A, stanza-id B
echo of 76 letters: id A, origin-id A, stanza-id B
echo of 3 letters: id C, origin-id C, stanza-id D
echo of 3 letters: id E, origin-id C, stanza-id F
echo of 3 letters: id G, origin-id G, stanza-id H
archive, 900 letters: B, own id None, origin-id None
archive, 3 letters: D, own id None, origin-id None
archive, 3 letters: F, own id None, origin-id None
archive, 3 letters: H, own id None, origin-id None
EOF
cmp seen expected
