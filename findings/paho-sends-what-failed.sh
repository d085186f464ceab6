#!/bin/sh
# paho-mqtt 2.2.0 (PyPI), Mosquitto 2.0.11 (Debian bookworm, 2.0.11-1.2+deb12u2).
#
# Guess: a `publish` whose result is the error MQTT_ERR_NO_CONN, and whose `wait_for_publish` raises
# "Message publish failed", was not sent and will not be: an outbox keeps it and sends it again
# later.
# Seen: that is so with QoS 0. With QoS 1 it is queued all the same and sent with the next
# connection, and `is_published` raises as before, after the server has confirmed it. An outbox that
# sends it again sends it twice; only `on_publish`, with the `mid` of the failed result, reports it.
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

PORT = int(sys.argv[1])
seen, sent, ready, last = [], [], threading.Event(), threading.Event()


def heard(client, data, message):
    seen.append(message.payload.decode())
    if seen[-1] == "the end":
        last.set()


reader = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
reader.on_subscribe = lambda *rest: ready.set()
reader.on_message = heard
reader.connect("127.0.0.1", PORT)
reader.subscribe("room", qos=1)
reader.loop_start()
assert ready.wait(20)
writer = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
writer.on_publish = lambda client, data, mid, *rest: sent.append(mid)
results = [writer.publish("room", f"QoS {qos}", qos=qos) for qos in (0, 1)]
for qos, result in enumerate(results):
    try:
        result.wait_for_publish(1)
    except RuntimeError as error:
        print(f"QoS {qos}: result {result.rc},", error)
connected = threading.Event()
writer.on_connect = lambda *rest: connected.set()
writer.connect("127.0.0.1", PORT)
writer.loop_start()
assert connected.wait(20)
end = writer.publish("room", "the end", qos=1)
end.wait_for_publish(20)
assert last.wait(20)
print("the other side sees:", ", ".join(seen))
try:
    results[1].is_published()
except RuntimeError as error:
    print("QoS 1 then:", error, "on_publish", results[1].mid in sent)
for each in reader, writer:
    each.disconnect()
    each.loop_stop()
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
failed='Message publish failed: The client is not currently connected.'
grep -qx "QoS 0: result 4, $failed" seen
grep -qx "QoS 1: result 4, $failed" seen
grep -qx 'the other side sees: QoS 1, the end' seen
grep -qx "QoS 1 then: $failed on_publish True" seen
