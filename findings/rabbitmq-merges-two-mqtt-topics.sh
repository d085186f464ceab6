#!/bin/sh
# RabbitMQ 3.10.8 (Debian bookworm, 3.10.8-1.1+deb12u1) as a server of MQTT, paho-mqtt 2.2.0 (PyPI).
#
# Guess: a message comes with the topic that it was published to, and only to subscriptions of that
# topic: `room/a.b` and `room/a/b` are two topics, as they are in Mosquitto.
# Guess: the retained message of each topic is kept apart.
# Seen: the server makes `.` of each `/`, as AMQP has it, and `/` of each `.` on the way out. The
# two topics are one: what is published to either goes to readers of both, as `room/a/b`, and the
# second retained message replaces the first. Who reads `room/a.b` is given a topic that he never
# named: paho-mqtt finds no callback for it. Names of rooms and users with dots need an escape.
set -eu
folder=$(mktemp -d)
names=''
server=''
end() {
  for each in $server $names; do
    kill "$each" 2>/dev/null || true
    wait "$each" 2>/dev/null || true
  done
  rm -rf "$folder"
}
trap end EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download rabbitmq-server=3.10.8-1.1+deb12u1 erlang-asn1 \
  erlang-base erlang-crypto erlang-eldap erlang-inets erlang-mnesia erlang-os-mon erlang-parsetools \
  erlang-public-key erlang-runtime-tools erlang-ssl erlang-syntax-tools erlang-tools erlang-xmerl \
  >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
python3 -m venv venv
venv/bin/pip -q install paho-mqtt==2.2.0 2>pip.log
python3 -c 'import socket
free = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
print(*[each.getsockname()[1] for each in free])' >ports
read -r amqp port distribution names_port <ports
rabbit=$(echo "$folder"/root/usr/lib/rabbitmq/lib/rabbitmq_server-*)
BINDIR=$(echo "$folder"/root/usr/lib/erlang/erts-*/bin)
export BINDIR ROOTDIR="$folder/root/usr/lib/erlang" EMU=beam PROGNAME=erl HOME="$folder" \
  ERL_LIBS="$rabbit/plugins" ERL_EPMD_PORT="$names_port" ERL_EPMD_ADDRESS=127.0.0.1 \
  RABBITMQ_HOME="$rabbit" RABBITMQ_PLUGINS_DIR="$rabbit/plugins" \
  RABBITMQ_NODENAME=topics@localhost RABBITMQ_DIST_PORT="$distribution" \
  RABBITMQ_MNESIA_BASE="$folder/data" RABBITMQ_MNESIA_DIR="$folder/data/node" \
  RABBITMQ_FEATURE_FLAGS_FILE="$folder/flags" RABBITMQ_PID_FILE="$folder/pid" \
  RABBITMQ_LOG_BASE="$folder" RABBITMQ_CONFIG_FILE="$folder/server.conf" \
  RABBITMQ_ENABLED_PLUGINS_FILE="$folder/plugins" RABBITMQ_CONF_ENV_FILE="$folder/none" \
  RABBITMQ_ADVANCED_CONFIG_FILE="$folder/none.config" \
  RABBITMQ_GENERATED_CONFIG_DIR="$folder/made" RABBITMQ_SCHEMA_DIR="$folder/schema"
echo '[rabbitmq_mqtt].' >plugins
cat >server.conf <<CONF
listeners.tcp.default = 127.0.0.1:$amqp
mqtt.listeners.tcp.1 = 127.0.0.1:$port
log.console = true
log.file = false
CONF
cat >try.py <<'PY'
import queue
import sys

import paho.mqtt.client as mqtt


class Client(mqtt.Client):
    def __init__(self, name):
        super().__init__(mqtt.CallbackAPIVersion.VERSION2, client_id=name)
        self.done, self.seen = queue.Queue(), queue.Queue()
        self.username_pw_set("guest", "guest")
        self.on_connect = self.on_subscribe = lambda *rest: self.done.put(rest)
        self.on_message = lambda _, __, message: self.seen.put(message)
        self.connect("127.0.0.1", int(sys.argv[1]))
        self.loop_start()
        self.done.get(timeout=20)

    def read(self, topic):
        self.subscribe(topic, qos=1)
        self.done.get(timeout=20)
        return self

    def next(self):
        message = self.seen.get(timeout=20)
        return f"{message.payload.decode()} as {message.topic}"


dot, slash, writer = Client("dot").read("room/a.b"), Client("slash").read("room/a/b"), Client("w")
named = queue.Queue()
dot.message_callback_add("room/a.b", lambda _, __, message: named.put(message))
for topic in "room/a.b", "room/a/b":
    writer.publish(topic, f"to {topic}", qos=1, retain=True).wait_for_publish(20)
for reader, topic in (dot, "room/a.b"), (slash, "room/a/b"):
    print(f"who reads {topic}:", reader.next(), "and", reader.next())
print("paho-mqtt's callback of room/a.b was called:", named.qsize(), "times")
print("retained for room/a.b:", Client("late").read("room/a.b").next())
PY
"$BINDIR/epmd" >names.log 2>&1 &
names=$!
"$BINDIR/erlexec" -noinput -kernel inet_dist_use_interface '{127,0,0,1}' -boot start_sasl \
  -s rabbit boot >server.log 2>&1 &
server=$!
for _ in $(seq 600); do
  if grep -q 'Server startup complete' server.log; then break; fi
  sleep 0.1
done
venv/bin/python try.py "$port" 2>try.log | tee seen
grep -qx 'who reads room/a.b: to room/a.b as room/a/b and to room/a/b as room/a/b' seen
grep -qx 'who reads room/a/b: to room/a.b as room/a/b and to room/a/b as room/a/b' seen
grep -qx "paho-mqtt's callback of room/a.b was called: 0 times" seen
grep -qx 'retained for room/a.b: to room/a/b as room/a/b' seen
