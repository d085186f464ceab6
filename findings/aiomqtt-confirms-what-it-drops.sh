#!/bin/sh
# aiomqtt 2.5.1 (PyPI), paho-mqtt 2.2.0, Mosquitto 2.0.11 (Debian bookworm, 2.0.11-1.2+deb12u2).
#
# Guess: `max_queued_incoming_messages` slows the server down: a QoS 1 message that finds the queue
# full is not confirmed, and comes later. At the least the loop over `messages` raises.
# Guess: a message is confirmed when the loop takes it.
# Seen: paho confirms each message when it arrives, and aiomqtt drops the newest where its queue is
# full. The loop goes on across the gap; only a line of the log reports it. With the session kept,
# nothing comes again: the server was told that all arrived. So a bound on this queue loses
# messages, and a program that ends loses what the queue held.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download mosquitto=2.0.11-1.2+deb12u2 libcjson1 libdlt2 libev4 \
  libuv1 libwebsockets17 libwrap0 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
python3 -m venv venv
venv/bin/pip -q install aiomqtt==2.5.1 paho-mqtt==2.2.0 2>pip.log
cat >try.py <<'PY'
import asyncio
import logging
import sys

from aiomqtt import Client

PORT, dropped = int(sys.argv[1]), asyncio.Semaphore(0)


class Log(logging.Handler):
    def emit(self, record):
        if "full" in record.getMessage():
            dropped.release()


logging.getLogger("mqtt").addHandler(Log())


def reader(**choice):
    return Client("127.0.0.1", PORT, identifier="reader", clean_session=False, **choice)


async def take(client, last):
    seen = []
    async for message in client.messages:
        seen.append(message.payload.decode())
        if seen[-1] == last:
            return seen


async def main():
    async with asyncio.timeout(60), Client("127.0.0.1", PORT) as writer:
        async with reader(max_queued_incoming_messages=3) as client:
            await client.subscribe("room", qos=1)
            for number in range(1, 11):
                await writer.publish("room", f"m{number}", qos=1)
            for _ in range(7):
                await dropped.acquire()
            first = await take(client, "m3")
            await writer.publish("room", "m11", qos=1)
            print("in one connection:", *first, *await take(client, "m11"))
        await writer.publish("room", "m12", qos=1)
        async with reader() as client:
            print("in the next one:", *await take(client, "m12"))

asyncio.run(main())
PY
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
printf 'listener %s 127.0.0.1\nallow_anonymous true\nuser %s\n' "$port" "$(id -un)" >server.conf
LD_LIBRARY_PATH=$(find "$folder/root" -type d -path '*/lib/*-linux-gnu' | tr '\n' ':') \
  root/usr/sbin/mosquitto -c server.conf >server.log 2>&1 &
server=$!
for _ in $(seq 100); do
  if grep -q ' running$' server.log; then break; fi
  sleep 0.1
done
venv/bin/python try.py "$port" | tee seen
grep -qx 'in one connection: m1 m2 m3 m11' seen
grep -qx 'in the next one: m12' seen
