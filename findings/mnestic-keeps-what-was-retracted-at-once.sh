#!/bin/sh
# mnestic 0.18.0 (PyPI; the database Cozo, maintained anew), its engine RocksDB.
#
# Guess: where a key of type Validity gives the time from which a row holds, a retraction that is
# put after a row hides it from then on.
# Guess: `:put` of a row that names some of its columns leaves the others as they are.
# Seen: within one microsecond the assertion counts, in whatever order the two are put. So a
# message whose deletion has the same time stays, in each query of that time or later. A log with
# times in milliseconds, or seconds, has such pairs. A retraction one microsecond later hides the
# row.
# Seen: two edits with one time are one row: the last one stays, and the earlier text is lost.
# Seen: `:put` sets a column that is not named back to its default. `:update` leaves it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install mnestic==0.18.0 2>pip.log
cat >try.py <<'PY'
from mnestic import CozoDbPy

store = CozoDbPy("rocksdb", "store", "{}")


def run(script, **values):
    return store.run_script(script, values, False)["rows"]


def put(id, at, there, text):
    run("?[id, v, text] <- [[$id, [$at, $there], $text]] :put message {id, v => text}",
        id=id, at=at, there=there, text=text)


def texts(id, at="'NOW'"):
    rows = run(f"?[text] := *message{{id: $id, text @ {at}}}", id=id)
    return " ".join(text for (text,) in rows) or "none"


AT = 1771193745123000
run(":create message {id: String, v: Validity => text: String}")
put("m1", AT, True, "hello")
put("m1", AT, False, "")
print("deleted in the same microsecond:", texts("m1"), "and at that time:", texts("m1", AT))
put("m2", AT, False, "")
put("m2", AT, True, "hello")
print("put in the other order:", texts("m2"))
put("m3", AT, True, "hello")
put("m3", AT + 1, False, "")
print("deleted in the next one:", texts("m3"), "and before:", texts("m3", AT))
put("m4", AT, True, "first")
put("m4", AT, True, "second")
print("two edits with one time:", run("?[text] := *message{id: 'm4', text}"))

run(":create room {id: String => name: String, unread: Int default 0}")
for how in "put", "update":
    run("?[id, name, unread] <- [['r1', 'one', 5]] :put room {id => name, unread}")
    run(f"?[id, name] <- [['r1', 'two']] :{how} room {{id => name}}")
    print(f":{how} of a name:", run("?[name, unread] := *room{name, unread}"))
PY
timeout 60 venv/bin/python try.py | tee seen
grep -qx 'deleted in the same microsecond: hello and at that time: hello' seen
grep -qx 'put in the other order: hello' seen
grep -qx 'deleted in the next one: none and before: hello' seen
grep -qxF "two edits with one time: [['second']]" seen
grep -qxF ":put of a name: [['two', 0]]" seen
grep -qxF ":update of a name: [['two', 5]]" seen
