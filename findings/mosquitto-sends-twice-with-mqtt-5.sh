#!/bin/sh
# Mosquitto 2.0.11 (Debian bookworm, 2.0.11-1.2+deb12u2), paho-mqtt 2.2.0 (PyPI), QoS 1.
#
# Guess: a client with two subscriptions that match a message, `room/#` and `room/1`, gets it as
# often with MQTT 5 as with MQTT 3.1.1: the server, and what it is set to, are the same.
# Guess: a shared subscription (`$share`) gets no retained message when it is made (MQTT 5, 4.8.2):
# a worker that joins a group finds new work only.
# Seen: with 3.1.1 it comes once, with 5 once for each subscription. A client that is moved to
# MQTT 5 shows each message of such a room twice.
# Seen: each worker that joins is given the retained message, though one before it had it. A job
# that was retained is done once for every start of a worker.
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
LD_LIBRARY_PATH=$(echo "$folder"/root/usr/lib/*-linux-gnu)
export LD_LIBRARY_PATH
cat >try.py <<'PY'
import queue
import sys
import threading

from paho.mqtt import client as mqtt


class Client(mqtt.Client):
    def __init__(self, protocol, *topics):
        super().__init__(mqtt.CallbackAPIVersion.VERSION2, protocol=protocol)
        self.heard, self.ready, self.wanted = queue.Queue(), threading.Event(), len(topics)
        self.on_message = lambda client, data, each: self.heard.put(
            each.payload.decode() + " (retained)" * each.retain)
        self.on_subscribe = self.subscribed
        self.on_connect = lambda *rest: [self.subscribe(topic, 1) for topic in topics]
        self.connect("127.0.0.1", int(sys.argv[1]))
        self.loop_start()
        assert self.ready.wait(20)

    def subscribed(self, *rest):
        self.wanted -= 1
        if self.wanted == 0:
            self.ready.set()

    def say(self, topic, text, retain=False):
        self.publish(topic, text, 1, retain).wait_for_publish(20)

    def all(self, last):
        found = []
        while not found or found[-1] != last:
            found.append(self.heard.get(timeout=20))
        return found[:-1] or ["nothing"]


for name, protocol in ("3.1.1", mqtt.MQTTv311), ("5", mqtt.MQTTv5):
    client = Client(protocol, "room/#", "room/1", "end")
    client.say("room/1", "m1")
    client.say("end", "end")
    print(f"MQTT {name}:", *client.all("end"))
writer = Client(mqtt.MQTTv5, "end")
writer.say("job/1", "clean up", True)
for turn in 1, 2:
    worker = Client(mqtt.MQTTv5, "$share/group/job/#", "end")
    writer.say("end", "end")
    print(f"worker {turn}:", *worker.all("end"), flush=True)
PY
port=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
printf 'listener %s 127.0.0.1\nallow_anonymous true\n' "$port" >server.conf
root/usr/sbin/mosquitto -c server.conf >server.log 2>&1 &
server=$!
for _ in $(seq 100); do
  if python3 -c "import socket; socket.create_connection(('127.0.0.1', $port), 1)" 2>/dev/null
  then break; fi
  sleep 0.1
done
timeout 60 venv/bin/python try.py "$port" | tee seen
cat >expected <<'END'
MQTT 3.1.1: m1
MQTT 5: m1 m1
worker 1: clean up (retained)
worker 2: clean up (retained)
END
cmp seen expected
