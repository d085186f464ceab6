#!/bin/sh
# slixmpp 1.17.0 (PyPI), Prosody 0.12.3 (Debian bookworm, 0.12.3-1+deb12u1), XEP-0198.
#
# Guess: a resumed stream first sends again what the server had not got, and then what was written
# meanwhile, so messages arrive in the order of their sending.
# Guess: `stanza_not_sent` is raised for a stanza that is given up: the program sends it later.
# Guess: where the server does not know the stream any more, what it had not confirmed is sent in
# the new one, or an event for each says that it was not.
# Seen: what was written while there was no connection is sent first, and what was lost comes behind
# it. Each of the former had raised `stanza_not_sent`, so a program that sends it again sends twice.
# Seen: with a new stream what was under way is dropped, and no event names it. `sm_failed` comes
# when the list is empty already: an outbox keeps what `stanza_acked` has not named.
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

from slixmpp import ClientXMPP

SERVER = "127.0.0.1", int(sys.argv[1])


class Relay:
    """A way to the server that loses what is sent, and can be cut."""

    def __init__(self):
        self.links, self.is_losing, self.is_closed = [], False, False

    async def start(self):
        server = await asyncio.start_server(self.link, "127.0.0.1", 0)
        return server.sockets[0].getsockname()

    async def link(self, reader, writer):
        if self.is_closed:
            return writer.transport.abort()
        far_reader, far_writer = await asyncio.open_connection(*SERVER)
        self.links += [writer, far_writer]
        await asyncio.gather(self.copy(reader, far_writer), self.copy(far_reader, writer))

    async def copy(self, source, target):
        try:
            while data := await source.read(65536):
                if not self.is_losing:
                    target.write(data)
        except OSError:
            pass
        target.close()

    def cut(self):
        self.is_closed, self.is_losing = True, False
        for each in self.links:
            each.transport.abort()


def client(name):
    xmpp = ClientXMPP(f"{name}@localhost", "x", plugin_config={
        "feature_mechanisms": {"unencrypted_scram": True, "unencrypted_plain": True}})
    xmpp.register_plugin("xep_0198")
    xmpp.enable_direct_tls = xmpp.enable_starttls = False
    xmpp.enable_plaintext = True
    return xmpp


async def until(what):
    for _ in range(200):
        if what():
            return
        await asyncio.sleep(0.1)


async def case(name, pause):
    relay, seen, said = Relay(), [], []
    jan, eva = client("jan"), client("eva")
    jan.add_event_handler("message", lambda message: seen.append(message["body"]))
    jan.connect(*SERVER)
    await jan.wait_until("session_start", 20)
    jan.send_presence()

    def note(event):
        def heard(stanza):
            if getattr(stanza, "name", None) == "message":
                said.append(f"{event} {stanza['body']}")
            elif not event.startswith("stanza"):
                said.append(event)
        eva.add_event_handler(event, heard)

    for event in "stanza_acked", "stanza_not_sent", "session_resumed", "sm_failed":
        note(event)
    eva.connect(*(await relay.start()))
    await eva.wait_until("session_start", 20)

    def send(text):
        eva.send_message("jan@localhost", f"{name}-{text}", mtype="chat")

    send("m1")
    await until(lambda: f"{name}-m1" in seen)
    eva.plugin["xep_0198"].request_ack()
    await until(lambda: f"stanza_acked {name}-m1" in said)
    relay.is_losing = True
    send("m2")
    await asyncio.sleep(0.5)
    relay.cut()
    await asyncio.sleep(pause)
    send("m3")
    relay.is_closed = False
    eva.connect(*(await relay.start()))
    await until(lambda: "session_resumed" in said or "sm_failed" in said)
    await asyncio.sleep(1)
    send("m4")
    await until(lambda: f"{name}-m4" in seen)
    eva.plugin["xep_0198"].request_ack()
    await until(lambda: f"stanza_acked {name}-m4" in said)
    print(f"{name}, received:", *(text.split("-")[1] for text in seen if text.startswith(name)))
    print(f"{name}, events:", *(text.replace(f" {name}-", ":") for text in said))
    await eva.disconnect()
    await jan.disconnect()


async def main():
    await case("soon", 0.5)
    await case("late", 5)

asyncio.run(main())
PY
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir data
cat >server.lua <<LUA
data_path = "$folder/data"; plugin_paths = {}; run_as_root = true; interfaces = { "127.0.0.1" }
c2s_ports = { $port }; c2s_direct_tls_ports = {}; s2s_ports = {}; component_ports = {}
modules_enabled = { "saslauth", "disco", "smacks" }; modules_disabled = { "s2s", "tls" }
authentication = "internal_plain"; allow_unencrypted_plain_auth = true
c2s_require_encryption = false
smacks_hibernation_time = 3
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
timeout 90 venv/bin/python try.py "$port" 2>try.log | tee seen
grep -qx 'soon, received: m1 m3 m2 m4' seen
grep -qx 'late, received: m1 m3 m4' seen
grep -q '^soon, .* stanza_not_sent:m3 .* stanza_acked:m3' seen
grep -q '^late, .* sm_failed' seen
test "$(grep -c '^late, .*:m2' seen)" = 0
