#!/bin/sh
# amqtt 0.12.1 (PyPI), its broker of MQTT 3.1.1, with paho-mqtt 2.2.0 as its clients.
#
# Guess: what waited for a client that was away comes as any other message. The mark "retained" is
# for a topic's last state, which a new subscription gets.
# Guess: a session without `clean session` stays until the broker ends, whoever its client is.
# Guess: a message has the lower QoS of its publication and its subscription (MQTT 3.1.1, 3.8.4).
# Seen: each message that waited is marked as retained. A client that takes the mark for old state,
# as it should, shows none of them as news, or keeps the last one of a topic only.
# Seen: the session of a client without a name and password is dropped a second after it left, with
# its subscriptions. What was published meanwhile was confirmed and is gone, and who does not look
# at "session present" and subscribe again gets nothing any more.
# Seen: a publication with QoS 0 comes with the QoS of the subscription, 1, and waits as well.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install amqtt==0.12.1 paho-mqtt==2.2.0 2>pip.log
cat >try.py <<'PY'
import asyncio
import logging
import socket
import threading
import time

from amqtt.broker import Broker
from paho.mqtt.client import CallbackAPIVersion, Client
from pwdlib import PasswordHash

logging.disable(logging.CRITICAL)
with open("users", "w") as file:
    file.write(f"jan:{PasswordHash.recommended().hash('for this machine alone')}\n")
LOGINS = "amqtt.plugins.authentication."
KINDS = {"anonymous": {f"{LOGINS}AnonymousAuthPlugin": {"allow_anonymous": True}},
         "named": {f"{LOGINS}FileAuthPlugin": {"password_file": "users"}}}


def client(kind, port, key, **choice):
    """A client that is connected, and what it received."""
    seen, is_up = [], threading.Event()
    each = Client(CallbackAPIVersion.VERSION2, key, **choice)
    if kind == "named":
        each.username_pw_set("jan", "for this machine alone")

    def connected(_client, _data, flags, _reason, _more):
        seen.append(f"present: {flags.session_present};")
        is_up.set()

    each.on_connect = connected
    each.on_message = lambda _client, _data, message: seen.append(
        f"{message.payload.decode()} QoS {message.qos}{' retained' * message.retain},")
    each.connect("127.0.0.1", port)
    each.loop_start()
    is_up.wait(20)
    return each, seen


def until(seen, text):
    for _ in range(80):
        if any(each.startswith(text) for each in seen):
            break
        time.sleep(0.1)


def use(kind, port):
    def publish(text, qos):
        sent = writer.publish("room", text, qos)
        sent.wait_for_publish(20)
        return sent.is_published()

    def end(each):
        each.disconnect()
        each.loop_stop()
        time.sleep(4)

    writer, _ = client(kind, port, "writer")
    reader, seen = client(kind, port, "reader", clean_session=False)
    is_subscribed = threading.Event()
    reader.on_subscribe = lambda *_: is_subscribed.set()
    reader.subscribe("room", 1)
    is_subscribed.wait(20)
    publish("m1", 0)
    publish("m2", 1)
    until(seen, "m2")
    print(f"{kind}:", *seen)
    end(reader)
    print(f"{kind}, away: confirmed", all([publish("m3", 1), publish("m4", 0), publish("m5", 1)]))
    reader, seen = client(kind, port, "reader", clean_session=False)
    publish("m6", 1)
    until(seen, "m6")
    print(f"{kind}, back:", *seen)
    for each in reader, writer:
        each.disconnect()
        each.loop_stop()


async def main():
    for kind, plugins in KINDS.items():
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        broker = Broker({"plugins": plugins, "listeners": {
            "default": {"type": "tcp", "bind": f"127.0.0.1:{port}"}}})
        await broker.start()
        await asyncio.to_thread(use, kind, port)
        await broker.shutdown()

asyncio.run(main())
PY
timeout 100 venv/bin/python try.py 2>try.log | tee seen
cat >expected <<'EOF'
anonymous: present: False; m1 QoS 1, m2 QoS 1,
anonymous, away: confirmed True
anonymous, back: present: False;
named: present: False; m1 QoS 1, m2 QoS 1,
named, away: confirmed True
named, back: present: True; m3 QoS 1 retained, m4 QoS 1 retained, m5 QoS 1 retained, m6 QoS 1,
EOF
cmp seen expected
