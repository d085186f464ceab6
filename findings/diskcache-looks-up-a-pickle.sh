#!/bin/sh
# diskcache 5.6.3 (PyPI).
#
# Guess: a tuple of texts is found by each tuple that equals it. The manual warns that what is
# pickled is compared by its bytes; equal texts have equal bytes.
# Seen: pickle writes a text that stands in the tuple twice as one text and a reference to it, if it
# is one object. The room and the sender of a "note to self" have the same id: stored under one
# variable, read back with two texts of a parsed message, the key is not there. Written again, two
# entries have one key, `in` and `get` see either, and a deletion leaves the other. The cache hides
# it as a miss; with Index the same message is stored twice. One text, joined, is a safe key.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install diskcache==5.6.3 2>pip.log
cat >try.py <<'PY'
import json

import diskcache

parsed = json.loads('["user-17", "user-17", "user-42"]')
me, room, other = parsed
for kind in diskcache.Cache, diskcache.Index:
    store = kind(f"folder-{kind.__name__}")
    name = kind.__name__
    store[(me, me)] = "stored first"
    store[(me, other)] = "another's"
    print(f"{name}: the keys are equal:", (me, me) == (me, room))
    print(f"{name}: found by itself:", (me, me) in store, "by an equal key:", (me, room) in store)
    print(f"{name}: two different ids:", ("user-17", "user-42") in store)
    store[(me, room)] = "stored again"
    print(f"{name}: entries with that key:", sum(key == (me, me) for key in store))
    del store[(me, room)]
    print(f"{name}: after its deletion:", [store[key] for key in store if key == (me, me)])
    store.clear()
PY
venv/bin/python try.py | tee seen
for name in Cache Index; do
    grep -qx "$name: the keys are equal: True" seen
    grep -qx "$name: found by itself: True by an equal key: False" seen
    grep -qx "$name: two different ids: True" seen
    grep -qx "$name: entries with that key: 2" seen
    grep -qx "$name: after its deletion: \['stored first'\]" seen
done
