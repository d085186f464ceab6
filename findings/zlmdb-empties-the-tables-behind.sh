#!/bin/sh
# zlmdb 26.10.1 (PyPI; tables of typed keys and values in LMDB).
#
# Guess: `truncate` empties the table that it is called for. Tables share one key space, where each
# begins with its slot and ends where the next slot begins.
# Guess: `rebuild_indexes` writes the index of a table anew, and nothing else.
# Seen: `truncate` empties that table and each one of a higher slot, in one transaction and without
# an error: the key that it compares with the table's end is the first one, read once. The number
# that it returns counts the others' rows too. Tables of lower slots stay, and the last one is the
# only one that can be emptied alone. `rebuild_indexes` truncates the index first, and so empties
# the tables behind that.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install zlmdb==26.10.1 2>pip.log
cat >try.py <<'PY'
import zlmdb


class Room:
    def __init__(self, oid, name):
        self.oid, self.name = oid, name


class Tables(zlmdb.Schema):
    def __init__(self):
        super().__init__()
        self.messages = zlmdb.MapOidString(slot=100)
        self.typing = zlmdb.MapStringString(slot=101)
        self.outbox = zlmdb.MapOidString(slot=102)
        self.rooms = zlmdb.MapOidPickle(slot=103)
        self.rooms_by_name = zlmdb.MapStringOid(slot=104)
        self.rooms.attach_index("by_name", self.rooms_by_name, lambda room: room.name)
        self.receipts = zlmdb.MapOidString(slot=105)

    def show(self, label, base):
        with base.begin() as look:
            print(f"{label}:", *(f"{name} {getattr(self, name).count(look)}" for name in
                                 ("messages", "typing", "outbox", "rooms", "receipts")))


tables = Tables()
with zlmdb.Database("store") as base:
    with base.begin(write=True) as change:
        for number in range(3):
            tables.messages[change, number] = "a text"
            tables.outbox[change, number] = "to be sent"
            tables.rooms[change, number] = Room(number, f"room {number}")
            tables.receipts[change, number] = "read"
        tables.typing[change, "ada"] = "yes"
    tables.show("written", base)
    with base.begin(write=True) as change:
        tables.rooms.rebuild_indexes(change)
    tables.show("index of rooms rebuilt", base)
    with base.begin(write=True) as change:
        deleted = tables.typing.truncate(change)
    tables.show(f"typing emptied, {deleted} deleted", base)
PY
venv/bin/python try.py 2>errors | tee seen
grep -qx 'written: messages 3 typing 1 outbox 3 rooms 3 receipts 3' seen
grep -qx 'index of rooms rebuilt: messages 3 typing 1 outbox 3 rooms 3 receipts 0' seen
grep -q '^typing emptied, .*: messages 3 typing 0 outbox 0 rooms 0 receipts 0$' seen
