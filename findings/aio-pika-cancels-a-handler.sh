#!/bin/sh
# aio-pika 10.2.1 (PyPI, aiormq 7.2.4), RabbitMQ 3.10.8 (Debian bookworm, 3.10.8-1.1+deb12u1).
#
# Guess: the handler of a message runs on to its end when the connection is lost. Its `ack` then
# raises, and the message comes again with the next connection.
# Seen: the handler is cancelled where it stands, with `CancelledError`, which no `except Exception`
# catches. What it had stored by then stays, the rest is not done, and the message comes again while
# nothing says that its first half is there. One commit must hold all that a message changes; what
# must end once begun needs a task of its own.
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
venv/bin/pip -q install aio-pika==10.2.1 aiormq==7.2.4 2>pip.log
python3 -c 'import socket
free = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
print(*[each.getsockname()[1] for each in free])' >ports
read -r port distribution names_port <ports
rabbit=$(echo "$folder"/root/usr/lib/rabbitmq/lib/rabbitmq_server-*)
BINDIR=$(echo "$folder"/root/usr/lib/erlang/erts-*/bin)
export BINDIR ROOTDIR="$folder/root/usr/lib/erlang" EMU=beam PROGNAME=erl HOME="$folder" \
  ERL_LIBS="$rabbit/plugins" ERL_EPMD_PORT="$names_port" ERL_EPMD_ADDRESS=127.0.0.1 \
  RABBITMQ_HOME="$rabbit" RABBITMQ_PLUGINS_DIR="$rabbit/plugins" \
  RABBITMQ_NODENAME=queue@localhost RABBITMQ_DIST_PORT="$distribution" \
  RABBITMQ_MNESIA_BASE="$folder/data" RABBITMQ_MNESIA_DIR="$folder/data/node" \
  RABBITMQ_FEATURE_FLAGS_FILE="$folder/flags" RABBITMQ_PID_FILE="$folder/pid" \
  RABBITMQ_LOG_BASE="$folder" RABBITMQ_CONFIG_FILE="$folder/server.conf" \
  RABBITMQ_ENABLED_PLUGINS_FILE="$folder/plugins" RABBITMQ_CONF_ENV_FILE="$folder/none" \
  RABBITMQ_ADVANCED_CONFIG_FILE="$folder/none.config" \
  RABBITMQ_GENERATED_CONFIG_DIR="$folder/made" RABBITMQ_SCHEMA_DIR="$folder/schema"
echo '[].' >plugins
cat >server.conf <<CONF
listeners.tcp.default = 127.0.0.1:$port
log.console = true
log.file = false
CONF
cat >try.py <<'PY'
import asyncio
import sys

import aio_pika


class Relay:
    """A way to the server that can be cut."""

    def __init__(self):
        self.links = []

    async def start(self):
        server = await asyncio.start_server(self.link, "127.0.0.1", 0)
        return server.sockets[0].getsockname()[1]

    async def link(self, reader, writer):
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]))
        self.links += [writer, far_writer]
        await asyncio.gather(self.copy(reader, far_writer), self.copy(far_reader, writer))

    async def copy(self, source, target):
        try:
            while data := await source.read(65536):
                target.write(data)
        except OSError:
            pass
        target.close()

    def cut(self):
        links, self.links = self.links, []
        for each in links:
            each.transport.abort()


async def main():
    relay, first, last = Relay(), asyncio.Event(), asyncio.Event()
    connection = await aio_pika.connect_robust(
        f"amqp://guest:guest@127.0.0.1:{await relay.start()}/", reconnect_interval=0.2)
    channel = await connection.channel()
    queue = await channel.declare_queue("room", durable=True)

    async def heard(message):
        when = "again" if message.redelivered else "first"
        print(when, "row 1")
        first.set()
        try:
            await asyncio.sleep(1)
            print(when, "row 2")
            await message.ack()
            last.set()
        except Exception as error:
            print(when, "caught", type(error).__name__)
        except BaseException as error:
            print(when, "passed on", type(error).__name__)
            raise

    await channel.default_exchange.publish(
        aio_pika.Message(b"hello", delivery_mode=2), routing_key="room")
    await queue.consume(heard)
    await asyncio.wait_for(first.wait(), 20)
    relay.cut()
    await asyncio.wait_for(last.wait(), 20)
    await connection.close()

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
cat >expected <<'EOF'
first row 1
first passed on CancelledError
again row 1
again row 2
EOF
cmp seen expected
