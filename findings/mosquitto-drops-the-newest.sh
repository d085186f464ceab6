#!/bin/sh
# Mosquitto 2.0.11 (Debian bookworm, 2.0.11-1.2+deb12u2), paho-mqtt 2.2.0 (PyPI), MQTT 5, QoS 1.
#
# Guess: when the queue of a persistent session is full (`max_queued_messages`, 1,000 by default),
# the oldest messages give way, as in a ring; or the publisher is refused with "quota exceeded"
# (0x97).
# Seen: the newest are dropped. The publisher is answered with success for each. The reader comes
# back to a session that "is present", gets the oldest, and then what is sent next: the gap is in
# the middle, between two messages that look like neighbours, and nothing on either side reports it.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download mosquitto=2.0.11-1.2+deb12u2 libcjson1 libdlt2 libev4 \
  libuv1 libwebsockets17 libwrap0 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
python3 -m venv venv
venv/bin/pip -q install paho-mqtt==2.2.0 2>pip.log
cat >try.py <<'PY'
import sys
import threading

from paho.mqtt import client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

PORT, seen, codes, come = int(sys.argv[1]), [], set(), threading.Semaphore(0)


def heard(client, data, message):
    seen.append(message.payload.decode())
    come.release()


def connect(name):
    """A connected client whose session is kept, and whether it was there already."""
    client, ready, present = mqtt.Client(
        mqtt.CallbackAPIVersion.VERSION2, name, protocol=mqtt.MQTTv5), threading.Event(), []
    kept = Properties(PacketTypes.CONNECT)
    kept.SessionExpiryInterval = 3600

    def connected(client, data, flags, *rest):
        present.append(flags.session_present)
        ready.set()

    client.on_connect, client.on_message = connected, heard
    client.on_subscribe = lambda *rest: ready.set()
    client.on_publish = lambda client, data, mid, code, rest: codes.add(str(code))
    client.connect("127.0.0.1", PORT, clean_start=False, properties=kept)
    client.loop_start()
    assert ready.wait(20)
    ready.clear()
    return client, ready, present[0]


reader, ready, _ = connect("reader")
reader.subscribe("room", qos=1)
assert ready.wait(20)
reader.disconnect()
reader.loop_stop()
writer = connect("writer")[0]
for number in range(1, 11):
    writer.publish("room", f"m{number}", qos=1).wait_for_publish(20)
reader, _, present = connect("reader")
for _ in range(4):
    assert come.acquire(timeout=20)
writer.publish("room", "m11", qos=1).wait_for_publish(20)
assert come.acquire(timeout=20)
print("answers:", *codes, "- session present", present, "-", *seen)
for each in reader, writer:
    each.disconnect()
    each.loop_stop()
PY
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
printf 'listener %s 127.0.0.1\nallow_anonymous true\nuser %s\nmax_queued_messages 4\n' "$port" \
  "$(id -un)" >server.conf
LD_LIBRARY_PATH=$(find "$folder/root" -type d -path '*/lib/*-linux-gnu' | tr '\n' ':') \
  root/usr/sbin/mosquitto -c server.conf >server.log 2>&1 &
server=$!
for _ in $(seq 100); do
  if grep -q ' running$' server.log; then break; fi
  sleep 0.1
done
venv/bin/python try.py "$port" | tee seen
grep -qx 'answers: Success - session present True - m1 m2 m3 m4 m11' seen
