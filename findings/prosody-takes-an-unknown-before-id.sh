#!/bin/sh
# Prosody 0.12.3 (Debian bookworm, 0.12.3-1+deb12u1), its archive of rooms, slixmpp 1.17.0.
#
# Guess: a query of the archive with an id that is not there is refused with item-not-found, as
# XEP-0313 asks for the form's fields `before-id`, `after-id` and `ids`, and for `<before/>`.
# Seen: `after-id` is refused. `before-id` gives the first page where the storage is files, as by
# default, and is refused with SQL. Unknown `ids` are left out, and the answer is complete.
# Guess: a room that offers the field `with` in its form lists the messages of that occupant.
# Seen: the field is ignored: all messages are listed and counted. A client needs `<before/>` and
# `<after/>` to learn of a lost id, and compares what `ids` gave.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download prosody=0.12.3-1+deb12u1 lua-bitop lua-dbi-common \
  lua-dbi-sqlite3 lua-expat lua-filesystem lua-sec lua-socket lua5.4 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
python3 -m venv venv
venv/bin/pip -q install slixmpp==1.17.0 2>pip.log
sed -i -e "s#^CFG_SOURCEDIR=.*#CFG_SOURCEDIR='$folder/root/usr/lib/prosody'#" \
  -e "s#^CFG_PLUGINDIR=.*#CFG_PLUGINDIR='$folder/root/usr/lib/prosody/modules/'#" \
  root/usr/bin/prosody root/usr/bin/prosodyctl
LD_LIBRARY_PATH=$(echo "$folder"/root/usr/lib/*-linux-gnu)
LUA_CPATH="$LD_LIBRARY_PATH/lua/5.4/?.so;;" LUA_PATH="$folder/root/usr/share/lua/5.4/?.lua;;"
export LD_LIBRARY_PATH LUA_CPATH LUA_PATH
cat >try.py <<'PY'
import asyncio
import sys
from xml.etree import ElementTree as ET

from slixmpp import ClientXMPP
from slixmpp.exceptions import IqError
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher import StanzaPath

MAM, RSM, FORM = "{urn:xmpp:mam:2}", "{http://jabber.org/protocol/rsm}", "{jabber:x:data}"
room, found = "harbour@rooms.localhost", []


def heard(message):
    result = message.xml.find(f"{MAM}result")
    if result is not None:
        found.append((result.get("id"), result.find(".//{jabber:client}body").text))


async def page(xmpp, tag=None, *values):
    found.clear()
    ask = xmpp.make_iq_set(ito=room)
    query = ET.SubElement(ask.xml, f"{MAM}query")
    limits = ET.fromstring(f'<set xmlns="{RSM[1:-1]}"><max>2</max></set>')
    if tag in ("before", "after"):
        ET.SubElement(limits, RSM + tag).text = values[0]
    elif tag:
        form = ET.SubElement(query, f"{FORM}x", type="submit")
        for name, text in ("FORM_TYPE", "urn:xmpp:mam:2"), *((tag, each) for each in values):
            field = form.find(f"*[@var='{name}']")
            field = ET.SubElement(form, f"{FORM}field", var=name) if field is None else field
            ET.SubElement(field, f"{FORM}value").text = text
    query.append(limits)
    try:
        end = (await ask.send(timeout=20)).xml.find(f"{MAM}fin")
    except IqError as error:
        return error.condition
    return " ".join([*(text for _, text in found), "of", end.findtext(f".//{RSM}count")] +
                    ["complete"] * (end.get("complete") == "true"))


async def main():
    xmpp = ClientXMPP("eva@localhost", "x", plugin_config={
        "feature_mechanisms": {"unencrypted_scram": True, "unencrypted_plain": True}})
    xmpp.register_plugin("xep_0045")
    xmpp.register_handler(Callback("any", StanzaPath("message"), heard))
    xmpp.enable_direct_tls = xmpp.enable_starttls = False
    xmpp.enable_plaintext = True
    xmpp.connect("127.0.0.1", int(sys.argv[1]))
    await xmpp.wait_until("session_start", 20)
    await xmpp.plugin["xep_0045"].join_muc_wait(room, "eva", maxstanzas=0, timeout=20)
    for number in range(1, 5):
        xmpp.send_message(mto=room, mbody=f"m{number}", mtype="groupchat")
    for _ in range(100):
        if " of 4" in await page(xmpp):
            break
        await asyncio.sleep(0.1)
    known = found[0][0]
    for tag, *values in (("after", "no"), ("before", "no"), ("after-id", "no"), ("before-id", "no"),
                         ("ids", known, "no"), ("with", f"{room}/jan")):
        print(f"{sys.argv[2]}, {tag}:", await page(xmpp, tag, *values))
    await xmpp.disconnect()

asyncio.run(main())
PY
for storage in internal sql; do
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  mkdir "$storage"
  cat >server.lua <<LUA
data_path = "$folder/$storage"; plugin_paths = {}; run_as_root = true; interfaces = { "127.0.0.1" }
c2s_ports = { $port }; c2s_direct_tls_ports = {}; s2s_ports = {}; component_ports = {}
modules_enabled = { "saslauth", "disco" }; modules_disabled = { "s2s", "tls" }
authentication = "internal_plain"; allow_unencrypted_plain_auth = true
c2s_require_encryption = false; sql = { driver = "SQLite3", database = "$folder/archive.sqlite" }
storage = { muc_log = "$storage" }
VirtualHost "localhost"
Component "rooms.localhost" "muc"
  modules_enabled = { "muc_mam" }; muc_room_locking = false; muc_log_by_default = true
LUA
  root/usr/bin/lua5.4 root/usr/bin/prosodyctl --config server.lua register eva localhost x >made.log 2>&1
  root/usr/bin/lua5.4 root/usr/bin/prosody --config server.lua -F >server.log 2>&1 &
  server=$!
  for _ in $(seq 100); do
    if python3 -c "import socket; socket.create_connection(('127.0.0.1', $port), 1)" 2>/dev/null; then break; fi
    sleep 0.1
  done
  venv/bin/python try.py "$port" "$storage" | tee -a seen
  kill "$server"
done
test "$(grep -c 'item-not-found' seen)" = 7
grep -qx 'internal, before-id: m1 m2 of 4' seen
test "$(grep -c 'ids: m1 of 1 complete$' seen)$(grep -c 'with: m1 m2 of 4$' seen)" = 22
