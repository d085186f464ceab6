#!/bin/sh
# etcd 3.4.23 (Debian bookworm: etcd-server, 3.4.23-4+b4), its JSON gateway.
#
# Guess: a range with `min_mod_revision` gives the keys that changed since a revision, so its
# `count` is their number, and `count_only` says how much is new before it is fetched. With `limit`,
# `more` is true while some of them are left.
# Seen: keys are filtered, `count` is not: it is the number of all keys of the range, also with
# `count_only`. A reader that fetches until it has `count` never ends, and one that shows it shows
# ten new messages where there are two. `more` is right, the whole range being filtered before it
# is cut.
set -eu
folder=$(mktemp -d)
server=
end() {
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$folder"
}
trap end EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download etcd-server=3.4.23-4+b4 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
port=$(free_port)
peers=$(free_port)
cat >try.py <<'PY'
import base64
import json
import sys
import time
import urllib.error
import urllib.request

HERE = f"http://127.0.0.1:{sys.argv[1]}/v3/kv/"


def coded(text):
    return base64.b64encode(text.encode()).decode()


def ask(path, **fields):
    request = urllib.request.Request(HERE + path, json.dumps(fields).encode())
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def ready():
    for _ in range(200):
        try:
            return ask("range", key=coded("x"))
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    sys.exit("no server")


def show(label, **fields):
    answer = ask("range", key=coded("room/"), range_end=coded("room0"), **fields)
    keys = [base64.b64decode(row["key"]).decode() for row in answer.get("kvs", [])]
    print(f"{label}: count {answer.get('count')}, more {answer.get('more', False)},",
          *keys or ["no keys"])


ready()
for number in range(10):
    answer = ask("put", key=coded(f"room/{number}"), value=coded("a text"))
since = int(answer["header"]["revision"]) - 1
show("since", min_mod_revision=since)
show("since, only the count", min_mod_revision=since, count_only=True)
show("since, at most one", min_mod_revision=since, limit=1)
show("since, at most two", min_mod_revision=since, limit=2)
show("since the next change", min_mod_revision=since + 2)
PY
root/usr/bin/etcd --data-dir store --listen-client-urls "http://127.0.0.1:$port" \
  --advertise-client-urls "http://127.0.0.1:$port" \
  --listen-peer-urls "http://127.0.0.1:$peers" >server.log 2>&1 &
server=$!
timeout 60 python3 try.py "$port" | tee seen
grep -qx 'since: count 10, more False, room/8 room/9' seen
grep -qx 'since, only the count: count 10, more False, no keys' seen
grep -qx 'since, at most one: count 10, more True, room/8' seen
grep -qx 'since, at most two: count 10, more False, room/8 room/9' seen
grep -qx 'since the next change: count 10, more False, no keys' seen
