#!/bin/sh
# NATS server 2.9.10 (Debian bookworm, 2.9.10-1+b3) with JetStream, nats-py 2.9.0.
#
# Guess: `metadata.timestamp` of a message is the server's time with the digits below a microsecond
# dropped.
# Seen: it went through a float and is rounded, so some half of all are a microsecond late. Who asks
# for what came after such a time misses what was stored within that microsecond. The exact time is
# in the subject of the reply.
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
from datetime import datetime, timedelta, timezone

import nats
from nats.js.api import AckPolicy, ConsumerConfig

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


async def main():
    link = await nats.connect(f"nats://127.0.0.1:{sys.argv[1]}", max_reconnect_attempts=3)
    jet = link.jetstream()
    await jet.add_stream(name="ROOM", subjects=["room"])
    for _ in range(500):
        await jet.publish("room", b"")
    made = await jet.add_consumer("ROOM", ConsumerConfig(ack_policy=AckPolicy.NONE))
    pull = await jet.pull_subscribe_bind(consumer=made.name, stream="ROOM")
    found = []
    while len(found) < 500:
        found += await pull.fetch(500 - len(found), timeout=10)
    late = early = 0
    for each in found:
        told = (each.metadata.timestamp.astimezone(timezone.utc) - EPOCH) // timedelta(microseconds=1)
        exact = int(each.reply.split(".")[-2]) // 1000
        late, early = late + (told > exact), early + (told < exact)
    print("late", "many" if 100 < late < 400 else late, "early", early)
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
grep -qx 'late many early 0' seen
