#!/bin/sh
# neosqlite 1.17.2 (PyPI; MongoDB's calls on SQLite), beside montydb 2.5.6, which has them too.
#
# Guess: one filter selects the same documents in each call: `count_documents`, `update_many` and
# `delete_many` take the documents that `find` lists.
# Guess: `{"deleted": {"$ne": True}}` selects documents without that field too, as in MongoDB.
# Guess: a number is compared with numbers only, so no text is `$gt` 0.
# Seen: `find` lists the documents without the field, and those that have null there. The other
# three calls compare as SQL does, and take only documents with a value. So `find` lists three
# messages, and one is counted, changed or deleted. `$nin` selects the same documents in all four
# calls.
# Seen: `{"$exists": True}` omits a field that is null, and each text is greater than 0.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install neosqlite==1.17.2 montydb==2.5.6 2>pip.log
cat >try.py <<'PY'
from montydb import MontyClient
from neosqlite import Connection

MESSAGES = [
    {"_id": "m1", "text": "a"},
    {"_id": "m2", "text": "b", "deleted": True},
    {"_id": "m3", "text": "c", "deleted": False},
    {"_id": "m4", "text": "d", "deleted": None},
]
FILTERS = [
    {"deleted": {"$ne": True}},
    {"deleted": {"$nin": [True]}},
    {"deleted": {"$exists": True}},
    {"text": {"$gt": 0}},
]
ROOMS = {
    "neosqlite": Connection(":memory:")["room"],
    "montydb": MontyClient(":memory:").db.room,
}
for name, room in ROOMS.items():
    for which in FILTERS:
        room.delete_many({})
        room.insert_many([dict(message) for message in MESSAGES])
        found = " ".join(message["_id"] for message in room.find(which)) or "none"
        counts = [
            room.count_documents(which),
            room.update_many(which, {"$set": {"seen": 1}}).modified_count,
            room.delete_many(which).deleted_count,
        ]
        print(f"{name} {which}: found {found}, counted, changed, deleted", *counts)
PY
timeout 60 venv/bin/python try.py | tee seen
for line in \
  "neosqlite {'deleted': {'\$ne': True}}: found m1 m3 m4, counted, changed, deleted 1 1 1" \
  "montydb {'deleted': {'\$ne': True}}: found m1 m3 m4, counted, changed, deleted 3 3 3" \
  "neosqlite {'deleted': {'\$nin': [True]}}: found m1 m3 m4, counted, changed, deleted 3 3 3" \
  "neosqlite {'deleted': {'\$exists': True}}: found m2 m3, counted, changed, deleted 2 2 2" \
  "montydb {'deleted': {'\$exists': True}}: found m2 m3 m4, counted, changed, deleted 3 3 3" \
  "neosqlite {'text': {'\$gt': 0}}: found m1 m2 m3 m4, counted, changed, deleted 4 4 4" \
  "montydb {'text': {'\$gt': 0}}: found none, counted, changed, deleted 0 0 0"; do
  grep -qxF "$line" seen
done
