#!/bin/sh
# unqlite 1.2.0 (PyPI; UnQLite and its document collections).
#
# Guess: two collections share nothing but the file, whatever their names are.
# Guess: a float comes back as it was stored.
# Seen: a record of the collection `room` is the key `room_<its id>` of one table for all, and the
# collection `room_1` keeps its head under the key `room_1`. The second message of `room` overwrites
# that head: all messages of `room_1` are gone, without an error, and `create` cannot make it again.
# Made in the other order, `room_1` "exists" before it was made, and `store` raises. Give rooms
# names that do not end with an underscore and a number.
# Seen: a float keeps 15 digits, so a time with microseconds comes back some microseconds off.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install unqlite==1.2.0 2>pip.log
cat >try.py <<'PY'
import unqlite


def words(room):
    found = room.all()
    return "none" if found is None else " ".join(record["text"] for record in found)


base = unqlite.UnQLite("first.db")
later, room = base.collection("room_1"), base.collection("room")
later.create()
later.store([{"text": "a"}, {"text": "b"}])
room.create()
room.store({"text": "one"})
print("one message in room: room_1 has", words(later))
room.store({"text": "two"})
print("two messages in room: room_1 has", words(later), "made again", later.create())
base.close()

base = unqlite.UnQLite("second.db")
room, later = base.collection("room"), base.collection("room_1")
room.create()
room.store([{"text": "one"}, {"text": "two"}])
print("not made: room_1 exists", later.exists(), "made", later.create())
try:
    later.store({"text": "a"})
except ValueError as error:
    print("stored in room_1:", type(error).__name__)
base.close()

base = unqlite.UnQLite("third.db")
room = base.collection("times")
room.create()
room.store({"at": 1771193745.123456})
print("a time:", room.fetch(0)["at"])
base.close()
PY
timeout 60 venv/bin/python try.py | tee seen
grep -qx 'one message in room: room_1 has a b' seen
grep -qx 'two messages in room: room_1 has none made again False' seen
grep -qx 'not made: room_1 exists True made False' seen
grep -qx 'stored in room_1: ValueError' seen
grep -qx 'a time: 1771193745.12346' seen
