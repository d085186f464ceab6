#!/bin/sh
# NATS server 2.9.10 (Debian bookworm, 2.9.10-1+b3) with JetStream, nats-py 2.9.0.
#
# Guess: `max_payload` bounds the payload, and nats-py raises `MaxPayloadError` for what is too long,
# before it is sent.
# Seen: the server counts headers as well, nats-py does not. A payload of the allowed length with a
# `Nats-Msg-Id` is sent, and the server ends the connection. A client that takes the end of a
# connection for a reason to send again does so for ever.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download nats-server=2.9.10-1+b3 >apt.log 2>&1
dpkg-deb -x ./nats-server_*.deb root
python3 -m venv venv
venv/bin/pip -q install nats-py==2.9.0 2>pip.log
cat >try.py <<'PY'
import asyncio
import sys

import nats


async def quiet(error):
    pass


async def main():
    link = await nats.connect(f"nats://127.0.0.1:{sys.argv[1]}", allow_reconnect=False,
                              error_cb=quiet)
    jet = link.jetstream(timeout=3)
    await jet.add_stream(name="ROOM", subjects=["room"])
    most = link.max_payload
    try:
        await jet.publish("room", b"x" * (most + 1))
    except Exception as error:
        print("too long:", type(error).__name__, "connected", link.is_connected)
    await jet.publish("room", b"x" * most)
    print("the longest: stored", (await jet.stream_info("ROOM")).state.messages)
    try:
        await jet.publish("room", b"x" * most, headers={"Nats-Msg-Id": "a"})
    except Exception as error:
        print("with an id:", type(error).__name__, "connected", link.is_connected)

asyncio.run(main())
PY
: >server.log
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$(find root -name nats-server -type f)" -a 127.0.0.1 -p "$port" -js -sd store >server.log 2>&1 &
server=$!
for turn in $(seq 100); do
  if grep -q 'Server is ready' server.log; then break; fi
  sleep 0.1
done
venv/bin/python try.py "$port" | tee seen
grep -qx 'too long: MaxPayloadError connected True' seen
grep -qx 'the longest: stored 1' seen
grep -q 'with an id: .* connected False' seen
