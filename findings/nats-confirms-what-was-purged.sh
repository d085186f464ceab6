#!/bin/sh
# NATS server 2.9.10 (Debian bookworm, 2.9.10-1+b3) with JetStream, nats-py 2.9.0.
#
# Guess: what is known of a message id goes with the message, so a message that was purged, or
# deleted, and is published again under its id is stored again.
# Seen: within the duplicate window the second publication is confirmed as a duplicate, with the
# number of the message that is gone, and nothing is stored. A confirmation under a known id does
# not say that the message is there.
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


async def main():
    link = await nats.connect(f"nats://127.0.0.1:{sys.argv[1]}", max_reconnect_attempts=3)
    jet = link.jetstream()
    await jet.add_stream(name="ROOM", subjects=["room"])
    for what in ("first", "after a purge", "after a deletion"):
        if what == "after a purge":
            await jet.purge_stream("ROOM")
        if what == "after a deletion":
            other = await jet.publish("room", b"other", headers={"Nats-Msg-Id": "b"})
            await jet.delete_msg("ROOM", other.seq)
            ack = await jet.publish("room", b"other", headers={"Nats-Msg-Id": "b"})
        else:
            ack = await jet.publish("room", b"one", headers={"Nats-Msg-Id": "a"})
        state = (await jet.stream_info("ROOM")).state
        print(f"{what}: duplicate {bool(ack.duplicate)}, number {ack.seq}, stored {state.messages}")
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
grep -qx 'first: duplicate False, number 1, stored 1' seen
grep -qx 'after a purge: duplicate True, number 1, stored 0' seen
grep -qx 'after a deletion: duplicate True, number 2, stored 0' seen
