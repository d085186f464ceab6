#!/bin/sh
# SlateDB 0.17.0 (PyPI, slatedb), on the file system.
#
# Guess: `await db.put(...)` returns when the write is durable: its object store is the log, and
# earlier releases waited by default.
# Guess: when a second process opens the database, the first one's next write raises.
# Seen: `put` returns at once, with a handle; `await_durable` of that waits. Of a database that
# another has opened since, writes return as before, and are read back, until a flush in the
# background fails; they are nowhere. `shutdown` says nothing of them either. A reply, or a cursor of
# the server, that is sent after `put` may be for what is lost.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install slatedb==0.17.0 2>pip.log
cat >try.py <<'PY'
import asyncio
import os

from slatedb import uniffi as slate


async def main():
    store = slate.ObjectStore.resolve("file:///")
    path = os.getcwd().lstrip("/") + "/store"
    first = await slate.DbBuilder(path, store).build()
    before = await first.put(b"m1", b"x")
    await before.await_durable()
    second = await slate.DbBuilder(path, store).build()
    handle = await first.put(b"m2", b"x")
    print("first: put returns, reads", await first.get(b"m2"))
    try:
        await handle.await_durable()
        print("durable")
    except slate.Error as error:
        print("await_durable:", str(error).split("'")[1])
    await first.shutdown()
    print("shutdown returns")
    print("second: m1", await second.get(b"m1"), "m2", await second.get(b"m2"))
    await second.shutdown()
    third = await slate.DbBuilder(path, store).build()
    print("third: m1", await third.get(b"m1"), "m2", await third.get(b"m2"))
    await third.shutdown()

asyncio.run(main())
PY
timeout 100 venv/bin/python try.py 2>try.log | tee seen
grep -qx "first: put returns, reads b'x'" seen
grep -q '^await_durable: Closed error: detected newer' seen
grep -qx 'shutdown returns' seen
grep -qx "second: m1 b'x' m2 None" seen
grep -qx "third: m1 b'x' m2 None" seen
