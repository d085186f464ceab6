#!/bin/sh
# ejabberd 23.01 (Debian bookworm, 23.01-1), archive in SQLite, slixmpp 1.17.0.
#
# Guess: a page of an archive (XEP-0313, XEP-0059) before or after an id that is not there is refused
# with item-not-found, as Prosody does.
# Seen: an id that is a number is taken for a time in microseconds, so the page stands near it; one
# that is none is passed over, so `before` gives the newest page and `after` the first. A client that
# keeps an id over a restore of the server goes on from another place, and is not told.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download ejabberd=23.01-1 erlang-asn1 erlang-base \
  erlang-base64url erlang-crypto erlang-eunit erlang-goldrush erlang-idna erlang-inets erlang-jiffy \
  erlang-jose erlang-lager erlang-mnesia erlang-odbc erlang-os-mon erlang-p1-acme \
  erlang-p1-cache-tab erlang-p1-eimp erlang-p1-mqtree erlang-p1-pkix erlang-p1-sqlite3 \
  erlang-p1-stringprep erlang-p1-stun erlang-p1-tls erlang-p1-utils erlang-p1-xml erlang-p1-xmpp \
  erlang-p1-yaml erlang-p1-yconf erlang-p1-zlib erlang-public-key erlang-runtime-tools erlang-ssl \
  erlang-syntax-tools erlang-tools erlang-unicode-util-compat erlang-xmerl libltdl7 libodbc2 \
  >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
python3 -m venv venv
venv/bin/pip -q install slixmpp==1.17.0 2>pip.log
python3 - <<'PY'
import socket
import sqlite3

ports = []
for _ in range(2):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        ports.append(free.getsockname()[1])
open("ports", "w").write(f"{ports[0]} {ports[1]}\n")
base = sqlite3.connect("archive.sqlite")
base.executescript(open("root/usr/share/ejabberd/sql/lite.sql").read())
open("ejabberd.yml", "w").write(f"""
hosts: [localhost]
default_db: sql
sql_type: sqlite
sql_database: archive.sqlite
acl: {{loopback: {{ip: [127.0.0.0/8]}}}}
access_rules: {{c2s: {{allow: all}}, everybody: {{allow: all}}}}
api_permissions:
  "all": {{from: [mod_http_api], who: {{access: {{allow: {{acl: loopback}}}}}}, what: "*"}}
listen:
  - {{port: {ports[0]}, ip: "127.0.0.1", module: ejabberd_c2s, access: c2s, starttls: false}}
  - port: {ports[1]}
    ip: "127.0.0.1"
    module: ejabberd_http
    request_handlers: {{/api: mod_http_api}}
modules:
  mod_disco: {{}}
  mod_http_api: {{}}
  mod_mam: {{default: always, db_type: sql}}
  mod_muc:
    host: rooms.localhost
    access_create: everybody
    access_persistent: everybody
    access_mam: everybody
    default_room_options: {{persistent: true, mam: true}}
""")
PY
cat >try.py <<'PY'
import asyncio
import json
import sys
import urllib.request
from xml.etree import ElementTree as ET

from slixmpp import ClientXMPP
from slixmpp.exceptions import IqError
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher import StanzaPath

MAM, RSM = "{urn:xmpp:mam:2}", "{http://jabber.org/protocol/rsm}"
room, found = "harbour@rooms.localhost", []
urllib.request.urlopen(urllib.request.Request(
    f"http://127.0.0.1:{sys.argv[2]}/api/register",
    json.dumps({"user": "jan", "host": "localhost", "password": "x"}).encode(),
    {"Content-Type": "application/json"})).read()


def heard(message):
    result = message.xml.find(f"{MAM}result")
    if result is not None:
        found.append((result.get("id"), result.find(".//{jabber:client}body").text))


async def page(xmpp, tag, key):
    found.clear()
    ask = xmpp.make_iq_set(ito=room)
    limits = ET.SubElement(ET.SubElement(ask.xml, f"{MAM}query"), f"{RSM}set")
    ET.SubElement(limits, f"{RSM}max").text = "2"
    ET.SubElement(limits, RSM + tag).text = key
    try:
        await ask.send(timeout=20)
    except IqError as error:
        return error.condition
    return " ".join(text for _, text in found)


async def main():
    xmpp = ClientXMPP("jan@localhost", "x", plugin_config={
        "feature_mechanisms": {"unencrypted_scram": True, "unencrypted_plain": True}})
    xmpp.register_plugin("xep_0045")
    xmpp.register_handler(Callback("any", StanzaPath("message"), heard))
    xmpp.enable_direct_tls = xmpp.enable_starttls = False
    xmpp.enable_plaintext = True
    xmpp.connect("127.0.0.1", int(sys.argv[1]))
    await xmpp.wait_until("session_start", 20)
    await xmpp.plugin["xep_0045"].join_muc_wait(room, "jan", maxstanzas=0, timeout=20)
    for number in range(1, 7):
        xmpp.send_message(mto=room, mbody=f"m{number}", mtype="groupchat")
        await asyncio.sleep(0.3)
    await page(xmpp, "before", "")
    key = found[0][0]
    print("before the newest two:", await page(xmpp, "before", key))
    print("before a word:", await page(xmpp, "before", "nowhere"))
    print("after a word:", await page(xmpp, "after", "nowhere"))
    print("before a number that is no id:", await page(xmpp, "before", str(int(key) + 1)))
    print("after a number that is no id:", await page(xmpp, "after", str(int(key) - 1)))
    await xmpp.disconnect()

asyncio.run(main())
PY
erlang=$PWD/root/usr/lib/erlang
lib=$(echo "$PWD"/root/usr/lib/*-linux-gnu)
programs=$(echo "$erlang"/erts-*/bin)
ROOTDIR=$erlang BINDIR=$programs EMU=beam PROGNAME=erl HOME=$PWD ERL_LIBS=$lib LD_LIBRARY_PATH=$lib \
  EJABBERD_CONFIG_PATH=$PWD/ejabberd.yml EJABBERD_LOG_PATH=$PWD/ejabberd.log \
  "$programs/erlexec" -noinput -mnesia dir "\"$PWD/mnesia\"" -s ejabberd >server.log 2>&1 &
server=$!
read -r port door <ports
for turn in $(seq 300); do
  if python3 -c "import socket; socket.create_connection(('127.0.0.1', $port), 1)" 2>/dev/null; then
    break
  fi
  sleep 0.1
done
venv/bin/python try.py "$port" "$door" | tee seen
grep -qx 'before the newest two: m3 m4' seen
grep -qx 'before a word: m5 m6' seen
grep -qx 'after a word: m1 m2' seen
grep -qx 'before a number that is no id: m4 m5' seen
grep -qx 'after a number that is no id: m5 m6' seen
