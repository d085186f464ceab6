#!/bin/sh
# rstream 1.1.1 (PyPI), RabbitMQ 3.10.8 (Debian bookworm, 3.10.8-1.1+deb12u1), streams.
#
# Guess: a publishing id marks a repetition: of one publisher's messages with the same id the first
# is stored, and ids may come in any order, as those of NATS may.
# Guess: `publisher_name`, which each `send` of rstream takes, is the publisher of that message.
# Seen: the server stores only an id above the highest one of the publisher, and confirms the others
# as it confirms what it stored. A send that overtakes another in an outbox makes the other vanish.
# Seen: rstream names the first publisher of a stream for all that one `Producer` sends there.
# Another user's messages, and those without a name and an id, which rstream numbers from 1, are
# compared with the ids of the first one: they are confirmed, and not stored. Use one `Producer` for
# each name.
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
venv/bin/pip -q install rstream==1.1.1 2>pip.log
python3 -c 'import socket
free = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
print(*[each.getsockname()[1] for each in free])' >ports
read -r amqp port distribution names_port <ports
rabbit=$(echo "$folder"/root/usr/lib/rabbitmq/lib/rabbitmq_server-*)
BINDIR=$(echo "$folder"/root/usr/lib/erlang/erts-*/bin)
export BINDIR ROOTDIR="$folder/root/usr/lib/erlang" EMU=beam PROGNAME=erl HOME="$folder" \
  ERL_LIBS="$rabbit/plugins" ERL_EPMD_PORT="$names_port" ERL_EPMD_ADDRESS=127.0.0.1 \
  RABBITMQ_HOME="$rabbit" RABBITMQ_PLUGINS_DIR="$rabbit/plugins" \
  RABBITMQ_NODENAME=stream@localhost RABBITMQ_DIST_PORT="$distribution" \
  RABBITMQ_MNESIA_BASE="$folder/data" RABBITMQ_MNESIA_DIR="$folder/data/node" \
  RABBITMQ_FEATURE_FLAGS_FILE="$folder/flags" RABBITMQ_PID_FILE="$folder/pid" \
  RABBITMQ_LOG_BASE="$folder" RABBITMQ_CONFIG_FILE="$folder/server.conf" \
  RABBITMQ_ENABLED_PLUGINS_FILE="$folder/plugins" RABBITMQ_CONF_ENV_FILE="$folder/none" \
  RABBITMQ_ADVANCED_CONFIG_FILE="$folder/none.config" \
  RABBITMQ_GENERATED_CONFIG_DIR="$folder/made" RABBITMQ_SCHEMA_DIR="$folder/schema"
echo '[rabbitmq_stream].' >plugins
cat >server.conf <<CONF
listeners.tcp.default = 127.0.0.1:$amqp
stream.listeners.tcp.1 = 127.0.0.1:$port
log.console = true
log.file = false
CONF
cat >try.py <<'PY'
import asyncio
import sys

from rstream import Consumer, ConsumerOffsetSpecification, OffsetType, Producer, RawMessage

SERVER = {"host": "127.0.0.1", "port": int(sys.argv[1]), "username": "guest", "password": "guest"}


async def case(number, *sends, producers=1):
    """Sends each, waits for its confirmation, and reads the stream."""
    name, seen, last = f"room-{number}", [], asyncio.Event()
    made = [Producer(**SERVER) for _ in range(producers)]
    await made[0].create_stream(name)
    for place, (publisher, key, text) in enumerate(sends):
        await made[place % producers].send_wait(
            name, RawMessage(text.encode(), publishing_id=key), publisher_name=publisher)
    for each in made:
        await each.close()

    async def heard(message, context):
        seen.append(bytes(message).decode())
        if seen[-1] == "end":
            last.set()

    async with Producer(**SERVER) as other:
        await other.send_wait(name, RawMessage(b"end"))
    reader = Consumer(**SERVER)
    await reader.start()
    await reader.subscribe(name, heard, decoder=lambda data: data, offset_specification=(
        ConsumerOffsetSpecification(OffsetType.FIRST, None)))
    await asyncio.wait_for(last.wait(), 30)
    await reader.close()
    return f"{len(sends)} confirmed, stored: {', '.join(seen[:-1])}"


async def main():
    print("ids 5, 3, 5, 6:", await case(
        1, ("eva", 5, "m5"), ("eva", 3, "m3"), ("eva", 5, "m5 again"), ("eva", 6, "m6")))
    both = ("eva", 5, "eva 5"), ("jan", 1, "jan 1")
    print("two names, one producer:", await case(2, *both))
    print("two names, two producers:", await case(3, *both, producers=2))
    print("then without a name:", await case(4, ("eva", 3, "eva 3"), *(
        (None, None, f"n{number}") for number in range(1, 6))))

asyncio.run(main())
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
grep -qx 'ids 5, 3, 5, 6: 4 confirmed, stored: m5, m6' seen
grep -qx 'two names, one producer: 2 confirmed, stored: eva 5' seen
grep -qx 'two names, two producers: 2 confirmed, stored: eva 5, jan 1' seen
grep -qx 'then without a name: 6 confirmed, stored: eva 3, n4, n5' seen
