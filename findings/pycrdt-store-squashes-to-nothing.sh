#!/bin/sh
# pycrdt-store 0.1.5 with pycrdt 0.14.13 (PyPI), its store in SQLite.
#
# Guess: `squash_after_inactivity_of`, or `document_ttl` as it was called, makes one update of those
# of a document that was not written to for so long. Read again, the document is what it was.
# Seen: that is so where the store has functions that compress, which by default it has not. Without
# them the one update is that of an empty document, and those before it are deleted: the first write
# after the pause removes what was there, and is itself not shown, since it needs what is gone. No
# error, and the program that still has the document notices nothing until it loads it again.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install pycrdt-store==0.1.5 pycrdt==0.14.13 2>pip.log
cat >try.py <<'PY'
import asyncio
import zlib

from pycrdt import Doc, Text
from pycrdt.store import SQLiteYStore


async def case(name, squash, compress):
    class Store(SQLiteYStore):
        db_path = f"{name}.db"
        squash_after_inactivity_of = squash

    made, updates = Doc(), []
    text = made.get("room", type=Text)
    held = made.observe(lambda event: updates.append(event.update))
    store = Store("room")
    if compress:
        store.register_compression_callbacks(zlib.compress, zlib.decompress)
    async with store:
        for word in "m1 ", "m2 ", "m3":
            text += word
            await store.write(updates[-1])
        await asyncio.sleep(1.5)  # The pause that the store waits for.
        text += " m4"
        await store.write(updates[-1])
        found = Doc()
        async for update, *_ in store.read():
            found.apply_update(update)
    made.unobserve(held)
    print(f"{name}: made {text} - read again {str(found.get('room', type=Text)) or 'nothing'}")


asyncio.run(case("never squashed", None, False))
asyncio.run(case("squashed, compressed", 1, True))
asyncio.run(case("squashed", 1, False))
PY
timeout 60 venv/bin/python try.py | tee seen
grep -qx 'never squashed: made m1 m2 m3 m4 - read again m1 m2 m3 m4' seen
grep -qx 'squashed, compressed: made m1 m2 m3 m4 - read again m1 m2 m3 m4' seen
grep -qx 'squashed: made m1 m2 m3 m4 - read again nothing' seen
