#!/bin/sh
# Mosquitto 2.0.11 (Debian bookworm, 2.0.11-1.2+deb12u2), two of them with a bridge, paho-mqtt 2.2.0
# (PyPI), MQTT 5, QoS 1.
#
# Guess: a bridge between two servers that speak MQTT 5 carries a message as it is: its properties,
# such as the id that its sender gave it, its content type, and the topic for the answer.
# Guess: a message with an expiry interval expires at the other server as well.
# Seen: a bridge speaks MQTT 3.1.1 unless `bridge_protocol_version mqttv50` is set, and drops all
# properties. A reader there has no id to know a repetition by, and no topic to answer to.
# Seen: the expiry is one of them. A retained message that is gone at its own server after a second
# stays at the other one for good. With the setting both come across, less the time that has passed.
set -eu
folder=$(mktemp -d)
servers=
trap 'for each in $servers; do kill "$each" 2>/dev/null || true; done; rm -rf "$folder"' EXIT
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
import time

from paho.mqtt import client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

NAME, HERE, THERE = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def connect(port):
    ready = threading.Event()
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
    client.on_subscribe = lambda *rest: ready.set()
    client.on_connect = lambda *rest: client.subscribe("room/#", 1)
    client.heard = queue.Queue()
    client.on_message = lambda client, data, message: client.heard.put(message)
    client.connect("127.0.0.1", port)
    client.loop_start()
    assert ready.wait(20)
    return client


def send(client, topic, text, retain=False, **more):
    properties = Properties(PacketTypes.PUBLISH)
    for key, value in more.items():
        setattr(properties, key, value)
    client.publish(topic, text, 1, retain, properties).wait_for_publish(20)


def late(port):
    """What a reader that comes now is given: the retained messages, and then the end."""
    reader = connect(port)
    send(reader, "room/end", "end")
    found = []
    while (message := reader.heard.get(timeout=20)).topic != "room/end":
        found.append(message.payload.decode())
    return " ".join(found) or "nothing"


here, there = connect(HERE), connect(THERE)
while there.heard.empty(): # Until the bridge stands.
    send(here, "room/begin", "begin")
    time.sleep(0.2)
send(here, "room/1", "m1", UserProperty=[("id", "k1")], ContentType="text/plain",
     ResponseTopic="reply/1", CorrelationData=b"c1", MessageExpiryInterval=60)
send(here, "room/2", "m2", True, MessageExpiryInterval=2)
for client in here, there:
    while (message := client.heard.get(timeout=20)).topic != "room/1":
        pass
    print(f"{NAME}, {'here' if client is here else 'there'}:",
          *sorted(message.properties.json()) or ["no properties"])
    while client.heard.get(timeout=20).topic != "room/2":
        pass
time.sleep(4) # Twice the expiry interval.
print(f"{NAME}, a late reader: here {late(HERE)}, there {late(THERE)}")
PY
serve() {
  root/usr/sbin/mosquitto -c "$1.conf" >>server.log 2>&1 &
  servers="$servers $!"
  for turn in $(seq 100); do
    if python3 -c "import socket; socket.create_connection(('127.0.0.1', $2), 1)" 2>/dev/null
    then break; fi
    sleep 0.1
  done
}
for name in default mqttv50; do
  ports=$(python3 -c 'import socket
free = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*[each.getsockname()[1] for each in free])')
  here=${ports% *} there=${ports#* }
  printf 'listener %s 127.0.0.1\nallow_anonymous true\n' "$there" >there.conf
  printf 'listener %s 127.0.0.1\nallow_anonymous true\nconnection carry\naddress 127.0.0.1:%s\n' \
    "$here" "$there" >here.conf
  echo 'topic room/# out 1' >>here.conf
  [ "$name" = default ] || echo 'bridge_protocol_version mqttv50' >>here.conf
  serve there "$there"
  serve here "$here"
  timeout 60 venv/bin/python try.py "$name" "$here" "$there" | tee -a seen
done
cat >expected <<'END'
default, here: ContentType CorrelationData MessageExpiryInterval ResponseTopic UserProperty
default, there: no properties
default, a late reader: here nothing, there m2
mqttv50, here: ContentType CorrelationData MessageExpiryInterval ResponseTopic UserProperty
mqttv50, there: ContentType CorrelationData MessageExpiryInterval ResponseTopic UserProperty
mqttv50, a late reader: here nothing, there nothing
END
cmp seen expected
