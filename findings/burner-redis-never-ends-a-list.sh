#!/bin/sh
# burner-redis 0.1.7 (PyPI; Redis in the process, with the calls of redis-py), beside Redis 7.0.15
# (Debian bookworm, 5:7.0.15-1~deb12u10) with redis-py 8.1.0.
#
# Guess: the calls that burner-redis has answer as those of redis-py do with Redis.
# Guess: a consumer that starts pages through the messages that it has not confirmed: it calls
# `XREADGROUP` with the last id of each page until a page is empty.
# Seen: a page begins with that id itself, so the last message comes again and again, and the loop
# has no end. Redis continues after the id.
# Seen: such a read does not raise `times_delivered`, by which a bot sets aside a message that
# fails too often. The rows of `xpending_range` have bytes as keys.
# Seen: a deleted message stays pending, so each `XAUTOCLAIM` reports it. Redis reports it once.
# Seen: `XADD` with an id that is not above the last raises WRONGTYPE, and the call raises it, not
# its await.
# Seen: a counter of a hash goes on below zero after its largest number, where Redis raises. A set
# exists after its last member was removed.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download redis-tools=5:7.0.15-1~deb12u10 \
  libjemalloc2=5.3.0-1 liblzf1=3.6-3 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
python3 -m venv venv
venv/bin/pip -q install burner-redis==0.1.7 redis==8.1.0 2>pip.log
port=$(python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
# Debian's redis-server is this program by another name.
ln -s "$(pwd)/root/usr/bin/redis-check-rdb" redis-server
LD_LIBRARY_PATH="$(pwd)/root/usr/lib/$(uname -m)-linux-gnu" \
  ./redis-server --bind 127.0.0.1 --port "$port" --save "" --dir . >server.log 2>&1 &
server=$!
for turn in $(seq 300); do
  if grep -q 'Ready to accept' server.log; then break; fi
  sleep 0.1
done
cat >try.py <<'PY'
import asyncio
import sys

import redis.asyncio
from burner_redis import BurnerRedis


async def show(name, store):
    def say(title, text):
        print(f"{name}, {title}: {text}")

    async def pending(start):
        answer = await store.xreadgroup("bots", "b1", {"room": start}, count=2)
        return [id.decode() for id, _ in answer[0][1]] if answer else []

    for number in range(1, 5):
        await store.xadd("room", {"text": "hello"}, id=f"{number}-0")
    await store.xgroup_create("room", "bots", id="0")
    await store.xreadgroup("bots", "b1", {"room": ">"})
    pages, start = [], "0"
    for _ in range(6):
        ids = await pending(start)
        pages.append("+".join(ids) or "empty")
        if not ids:
            break
        start = ids[-1]
    say("six pages at the most", ", ".join(pages))
    rows = await store.xpending_range("room", "bots", min="1-0", max="1-0", count=1)
    row = {str(key).strip("b'"): value for key, value in rows[0].items()}
    kind = type(next(iter(rows[0]))).__name__
    say("times_delivered", f"{row['times_delivered']}, keys are {kind}")
    await store.xdel("room", "1-0")
    gone = []
    for _ in range(3):
        answer = await store.xautoclaim("room", "bots", "b2", min_idle_time=0, start_id="0-0")
        gone.append("+".join(id.decode() for id in answer[2]) or "none")
    say("deleted, as three XAUTOCLAIM have it", ", ".join(gone))
    try:
        call = store.xadd("room", {"text": "late"}, id="2-0")
        try:
            await call
        except redis.exceptions.ResponseError as error:
            say("a lower id, by the await", str(error).split()[0])
    except redis.exceptions.ResponseError as error:
        say("a lower id, by the call", str(error).split()[0])
    await store.hincrby("counts", "r1", 2**63 - 1)
    try:
        say("one more", await store.hincrby("counts", "r1", 1))
    except redis.exceptions.ResponseError:
        say("one more", "raises")
    await store.sadd("typing", "u1")
    await store.srem("typing", "u1")
    say("an emptied set exists", await store.exists("typing"))


async def main():
    client = redis.asyncio.Redis(port=int(sys.argv[1]))
    await show("Redis", client)
    await client.aclose()
    await show("burner-redis", BurnerRedis())


asyncio.run(main())
PY
timeout 60 venv/bin/python try.py "$port" | tee seen
cat >expected <<'EOF'
Redis, six pages at the most: 1-0+2-0, 3-0+4-0, empty
Redis, times_delivered: 2, keys are str
Redis, deleted, as three XAUTOCLAIM have it: 1-0, none, none
Redis, a lower id, by the await: The
Redis, one more: raises
Redis, an emptied set exists: 0
burner-redis, six pages at the most: 1-0+2-0, 2-0+3-0, 3-0+4-0, 4-0, 4-0, 4-0
burner-redis, times_delivered: 1, keys are bytes
burner-redis, deleted, as three XAUTOCLAIM have it: 1-0, 1-0, 1-0
burner-redis, a lower id, by the call: WRONGTYPE
burner-redis, one more: -9223372036854775808
burner-redis, an emptied set exists: 1
EOF
cmp expected seen
