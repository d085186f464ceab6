#!/bin/sh
# lsm-db 0.7.3 (PyPI; the LSM store of SQLite 4).
#
# Guess: `del db[a:c]` deletes the keys that `db[a:c]` lists, and both leave out `c`, as slices of
# Python do.
# Seen: the list has both ends, and the deletion has neither, so it is not the deletion of what was
# listed, and both ends stay. Who drops old messages up to a key keeps that one, and the first. `del
# db[a:a]` deletes nothing, and `db[a:a]` lists `a`.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install lsm-db==0.7.3 2>pip.log
cat >try.py <<'PY'
import lsm


def words(pairs):
    return " ".join(key.decode() for key, _ in pairs)


def fresh(name):
    base = lsm.LSM(name)
    for key in "abcdef":
        base[key] = key
    return base


base = fresh("one")
print("b to e lists:", words(base["b":"e"]))
del base["b":"e"]
print("b to e deleted, left:", words(base))
base = fresh("two")
print("c to c lists:", words(base["c":"c"]))
del base["c":"c"]
print("c to c deleted, left:", words(base))
PY
venv/bin/python try.py | tee seen
grep -qx 'b to e lists: b c d e' seen
grep -qx 'b to e deleted, left: a b e f' seen
grep -qx 'c to c lists: c' seen
grep -qx 'c to c deleted, left: a b c d e f' seen
