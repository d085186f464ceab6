#!/bin/sh
# gmqtt 0.8.0 (PyPI), Mosquitto 2.0.11 (Debian bookworm, 2.0.11-1.2+deb12u2), QoS 1.
#
# Guess: `on_message` returns the code of the PUBACK, so the message is confirmed after it, and one
# whose handler raised comes again with the next connection of the session.
# Seen: by default it is confirmed first, and the handler's code goes nowhere: a message that could
# not be stored is lost, although QoS 1 and the kept session promise it at least once. With
# `optimistic_acknowledgement=False` it comes again.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download mosquitto=2.0.11-1.2+deb12u2 libcjson1 libdlt2 libev4 \
  libuv1 libwebsockets17 libwrap0 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
python3 -m venv venv
venv/bin/pip -q install gmqtt==0.8.0 2>pip.log
cat >try.py <<'PY'
import asyncio
import sys

import gmqtt

PORT = int(sys.argv[1])


async def session(name, version, choice, store, ready=None):
    client = gmqtt.Client(name, clean_session=False, **choice,
                          **({"session_expiry_interval": 3600} if version == 5 else {}))
    client.on_message = store
    if ready:
        client.on_subscribe = lambda *rest: ready.set()
    await client.connect("127.0.0.1", PORT, version=version)
    return client


async def case(name, version, choice, writer):
    handed, stored, ready, all_three, end = [], [], asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def store(client, topic, payload, qos, properties):
        text = payload.decode()
        handed.append(text)
        if len(handed) == 3:
            all_three.set()
        if handed.count("m2") == 1 and text == "m2":
            raise OSError("the disk is full")
        stored.append(text)
        if text == "m4":
            end.set()
        return 0

    client = await session(name, version, choice, store, ready)
    client.subscribe(name, qos=1)
    await asyncio.wait_for(ready.wait(), 20)
    for number in range(1, 4):
        writer.publish(name, f"m{number}", qos=1)
    await asyncio.wait_for(all_three.wait(), 20)
    await client.disconnect()
    writer.publish(name, "m4", qos=1)
    client = await session(name, version, choice, store)
    await asyncio.wait_for(end.wait(), 20)
    await client.disconnect()
    print(f"{name}: stored", *sorted(stored))


async def main():
    asyncio.get_running_loop().set_exception_handler(lambda loop, what: None)
    writer = gmqtt.Client("writer")
    await writer.connect("127.0.0.1", PORT)
    await case("MQTT 5", 5, {}, writer)
    after = {"optimistic_acknowledgement": False}
    await case("MQTT 5, not optimistic", 5, after, writer)
    await case("MQTT 3.1.1, not optimistic", 4, after, writer)
    await writer.disconnect()

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
timeout 120 venv/bin/python try.py "$port" 2>try.log | tee seen
grep -qx 'MQTT 5: stored m1 m3 m4' seen
grep -qx 'MQTT 5, not optimistic: stored m1 m2 m3 m4' seen
grep -qx 'MQTT 3.1.1, not optimistic: stored m1 m2 m3 m4' seen
