#!/bin/sh
# slixmpp 1.17.0 (PyPI), Prosody 0.12.3 (Debian bookworm, 0.12.3-1+deb12u1), archive in SQLite.
#
# Guess: a loop over `xep_0313.iterate()` ends when the archive has no more, and raises `IqError` or
# `IqTimeout` where the server refuses a page or does not answer: so what it gave is all there is.
# Seen: an error ends the loop as the end of the archive does. When the message that the next page
# is to begin after was removed meanwhile, by a retention say, Prosody answers "item-not-found", and
# the rest of the archive is missing. A page that is asked for by itself,
# with `retrieve`, raises. A client that takes the end for proof drops what it did not get.
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
import sqlite3
import sys

from slixmpp import ClientXMPP
from slixmpp.exceptions import IqError


async def main():
    xmpp = ClientXMPP("eva@localhost", "x", plugin_config={
        "feature_mechanisms": {"unencrypted_scram": True, "unencrypted_plain": True}})
    xmpp.register_plugin("xep_0313")
    archive = xmpp.plugin["xep_0313"]
    xmpp.enable_direct_tls = xmpp.enable_starttls = False
    xmpp.enable_plaintext = True
    xmpp.connect("127.0.0.1", int(sys.argv[1]))
    await xmpp.wait_until("session_start", 20)
    base = sqlite3.connect("archive.sqlite", timeout=20)
    for number in range(1, 8):
        xmpp.send_message("jan@localhost", f"m{number}", mtype="chat")

    async def read(remove=None):
        seen = []
        async for message in archive.iterate(rsm={"max": 2}):
            seen.append(message["mam_result"]["forwarded"]["stanza"]["body"])
            key = message["mam_result"]["id"]
            if seen[-1] == remove:
                base.execute("DELETE FROM prosodyarchive WHERE user = 'eva' AND key = ?", (key,))
                base.commit()
        return seen, key

    for _ in range(100):
        if len((await read())[0]) == 7:
            break
        await asyncio.sleep(0.1)
    print("all:", *(await read())[0])
    seen, _ = await read(remove="m4")
    print("m4 is removed when it was read:", *seen)
    print("read again:", *(await read())[0])
    try:
        await archive.retrieve(rsm={"max": 2, "after": "unknown"})
    except IqError as error:
        print("by itself:", error.condition)
    await xmpp.disconnect()

asyncio.run(main())
PY
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir data
cat >server.lua <<LUA
data_path = "$folder/data"; plugin_paths = {}; run_as_root = true; interfaces = { "127.0.0.1" }
c2s_ports = { $port }; c2s_direct_tls_ports = {}; s2s_ports = {}; component_ports = {}
modules_enabled = { "saslauth", "disco", "mam" }; modules_disabled = { "s2s", "tls" }
authentication = "internal_plain"; allow_unencrypted_plain_auth = true
c2s_require_encryption = false
sql = { driver = "SQLite3", database = "$folder/archive.sqlite" }; storage = { archive = "sql" }
VirtualHost "localhost"
LUA
for user in eva jan; do
  root/usr/bin/lua5.4 root/usr/bin/prosodyctl --config server.lua register $user localhost x \
    >made.log 2>&1
done
root/usr/bin/lua5.4 root/usr/bin/prosody --config server.lua -F >server.log 2>&1 &
server=$!
for _ in $(seq 100); do
  if python3 -c "import socket; socket.create_connection(('127.0.0.1', $port), 1)" 2>/dev/null; then
    break
  fi
  sleep 0.1
done
timeout 60 venv/bin/python try.py "$port" 2>try.log | tee seen
grep -qx 'all: m1 m2 m3 m4 m5 m6 m7' seen
grep -qx 'm4 is removed when it was read: m1 m2 m3 m4' seen
grep -qx 'read again: m1 m2 m3 m5 m6 m7' seen
grep -qx 'by itself: item-not-found' seen
