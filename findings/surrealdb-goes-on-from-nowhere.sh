#!/bin/sh
# SurrealDB in the process (PyPI: surrealdb 2.0.0, surrealdb-embedded 3.0.0b10).
#
# Guess: a change feed is read on from the last `versionstamp` that was read: `SHOW CHANGES FOR TABLE
# room SINCE <it>` gives that change again, or what follows it.
# Guess: a version that the database never gave is refused.
# Seen: the numbers given are 65,536 times those that `SINCE` takes. A reader that goes on from the
# last one it has seen is answered with nothing, without an error, until the counter of the database
# has grown 65,536-fold: it looks idle, and misses all. Divided by 65,536 the number works, and gives
# the last change once more.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install surrealdb==2.0.0 surrealdb-embedded==3.0.0b10 2>pip.log
cat >try.py <<'PY'
from surrealdb import Surreal


def since(number):
    found = base.query(f"SHOW CHANGES FOR TABLE room SINCE {number}")
    names = [str(change["update"]["id"].id) for each in found for change in each["changes"]
             if "update" in change]
    return [each["versionstamp"] for each in found], " ".join(names) or "nothing"


base = Surreal("mem://")
base.use("test", "test")
base.query("DEFINE TABLE room CHANGEFEED 1h")
for number in range(1, 4):
    base.query(f"CREATE room:m{number} SET text = 'hello'")
stamps, names = since(0)
print("read:", names, "- stamps", *stamps)
for number in range(4, 7):
    base.query(f"CREATE room:m{number} SET text = 'hello'")
print("on from the last stamp:", since(stamps[-1])[1])
print("on from it / 65536:", since(stamps[-1] // 65536)[1])
print("on from far beyond:", since(10**12)[1])
PY
timeout 60 venv/bin/python try.py | tee seen
grep -qx 'read: m1 m2 m3 - stamps 65536 131072 196608 262144' seen
grep -qx 'on from the last stamp: nothing' seen
grep -qx 'on from it / 65536: m3 m4 m5 m6' seen
grep -qx 'on from far beyond: nothing' seen
