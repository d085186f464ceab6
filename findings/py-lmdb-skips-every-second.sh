#!/bin/sh
# py-lmdb 3.0.0 (PyPI, lmdb).
#
# Guess: a loop over a cursor that deletes each key that it is given, by the cursor, deletes them
# all.
# Guess: `delete(key, value)` deletes the key only where it has that value.
# Seen: `Cursor.delete` moves on to the next key and the loop moves on once more, so every second
# key stays; backwards the loop ends after the first. `Transaction.delete` within the same loops
# deletes all. The value is looked at in databases made with `dupsort` only, so elsewhere it guards
# nothing.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install lmdb==3.0.0 2>pip.log
cat >try.py <<'PY'
import lmdb

base = lmdb.open("store", max_dbs=2)


def left(name, way, delete):
    with base.begin(write=True) as change:
        for number in range(6):
            change.put(b"m%d" % number, b"x")
        cursor = change.cursor()
        for key, _ in getattr(cursor, way)():
            delete(change, cursor, key)
        found = [key.decode() for key, _ in change.cursor()]
        print(f"{name}, {way}: left", *found or ["none"])
        for key in found:
            change.delete(key.encode())


for way in "iternext", "iterprev":
    left("by the cursor", way, lambda change, cursor, key: cursor.delete())
    left("by the transaction", way, lambda change, cursor, key: change.delete(key))
for name, choice in (b"plain", {}), (b"dupsort", {"dupsort": True}):
    table = base.open_db(name, **choice)
    with base.begin(write=True, db=table) as change:
        change.put(b"key", b"new")
        print(f"{name.decode()}: deleted if old", change.delete(b"key", b"old"))
PY
venv/bin/python try.py | tee seen
grep -qx 'by the cursor, iternext: left m1 m3 m5' seen
grep -qx 'by the cursor, iterprev: left m0 m1 m2 m3 m4' seen
test "$(grep -c 'by the transaction, .*: left none' seen)" = 2
grep -qx 'plain: deleted if old True' seen
grep -qx 'dupsort: deleted if old False' seen
