#!/bin/sh
# redis-py 8.1.0 with Redis 7.0.15 (Debian bookworm, 5:7.0.15-1~deb12u10).
#
# Guess: a command whose answer is lost raises `ConnectionError`, and it is the caller's to decide
# whether it is sent again.
# Seen: by default redis-py connects anew and sends it again by itself, and the caller sees one good
# answer. An XADD of which the first answer was lost makes two entries. With
# `retry=Retry(NoBackoff(), 0)` it raises, and there is one entry.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download redis-tools=5:7.0.15-1~deb12u10 \
  libjemalloc2=5.3.0-1 liblzf1=3.6-3 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
python3 -m venv venv
venv/bin/pip -q install redis==8.1.0 2>pip.log
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
# Debian's redis-server is this program by another name.
ln -s "$(pwd)/root/usr/bin/redis-check-rdb" redis-server
export LD_LIBRARY_PATH="$(pwd)/root/usr/lib/$(uname -m)-linux-gnu"
./redis-server --bind 127.0.0.1 --port "$port" --save "" --dir . >server.log 2>&1 &
server=$!
for turn in $(seq 100); do
  if grep -q 'Ready to accept' server.log; then break; fi
  sleep 0.1
done
cat >try.py <<'PY'
import socket
import sys
import threading

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

PORT = int(sys.argv[1])


def between(lost):
    """A way to the server that ends a connection in the place of the first answers to XADD."""
    door = socket.create_server(("127.0.0.1", 0))

    def carry(client, server, is_answer, state):
        while data := client.recv(1 << 16):
            if not is_answer and b"XADD" in data:
                state["asked"] = True
            if is_answer and state.get("asked") and lost:
                lost.pop()
                for each in client, server:
                    each.shutdown(socket.SHUT_RDWR)
                return
            server.sendall(data)

    def accept():
        while True:
            client, _ = door.accept()
            server, state = socket.create_connection(("127.0.0.1", PORT)), {}
            for ends in (client, server, False, state), (server, client, True, state):
                threading.Thread(target=quiet, args=ends, daemon=True).start()

    def quiet(*ends):
        try:
            carry(*ends)
        except OSError:
            pass

    threading.Thread(target=accept, daemon=True).start()
    return door.getsockname()[1]


direct = redis.Redis(port=PORT)
for name, more in ("default", {}), ("without", {"retry": Retry(NoBackoff(), 0)}):
    link = redis.Redis(port=between([1]), **more)
    link.ping()
    try:
        link.xadd(name, {"text": "once"})
        said = "an id"
    except redis.ConnectionError:
        said = "ConnectionError"
    print(f"{name}: {said}, entries {direct.xlen(name)}", flush=True)
PY
venv/bin/python try.py "$port" | tee seen
grep -qx 'default: an id, entries 2' seen
grep -qx 'without: ConnectionError, entries 1' seen
