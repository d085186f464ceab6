#!/bin/sh
# NATS server 2.9.10 (Debian bookworm, 2.9.10-1+b3) with JetStream, nats-py 2.9.0.
#
# Guess: a consumer that is to start at a number beyond the end of its stream is refused, or gives
# nothing until that number is reached.
# Seen: it is taken, and gives the very next message, with its lower number. A client that keeps the
# number up to which it has read goes on at the end after a restore, and misses what was stored
# between the restore and its return.
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
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy


async def main():
    link = await nats.connect(f"nats://127.0.0.1:{sys.argv[1]}", max_reconnect_attempts=3)
    jet = link.jetstream()
    await jet.add_stream(name="ROOM", subjects=["room"])
    for text in b"one", b"two", b"three":
        await jet.publish("room", text)
    made = await jet.add_consumer("ROOM", ConsumerConfig(
        deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=900,
        ack_policy=AckPolicy.NONE))
    print("asked from 900: starts behind", made.delivered.stream_seq, "pending", made.num_pending)
    await jet.publish("room", b"four")
    pull = await jet.pull_subscribe_bind(consumer=made.name, stream="ROOM")
    for each in await pull.fetch(1, timeout=5):
        print("given:", each.metadata.sequence.stream, each.data)
    await link.close()

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
grep -qx 'asked from 900: starts behind 3 pending 0' seen
grep -qx "given: 4 b'four'" seen
