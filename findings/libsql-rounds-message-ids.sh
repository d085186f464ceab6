#!/bin/sh
# libsql 0.1.11 (PyPI, the Python bindings to libSQL), beside SQLite of Python.
#
# Guess: libSQL is a fork of SQLite, so a Python integer of up to 64 bits is bound as an INTEGER,
# and a larger one raises, as with `sqlite3`.
# Seen: each integer beyond 32 bits is bound as a floating-point number, so ids and numbers beyond
# 2^53 are rounded: two Snowflake ids that follow each other are one key. The second insert fails
# (UNIQUE), or takes the place of the first message with `INSERT OR REPLACE`. Neither is found by
# its id in the text of a statement. In a column without a type a time in milliseconds comes back
# as a float, and 2^64 raises nothing. Bind such an id as text, for `CAST(? AS INTEGER)`.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install libsql==0.1.11 2>pip.log
cat >try.py <<'PY'
import sqlite3

import libsql

first = 1771193745123456788
for name, library in ("sqlite3", sqlite3), ("libsql", libsql):
    base = library.connect(":memory:")
    base.execute("CREATE TABLE m (id INTEGER PRIMARY KEY, text TEXT, at)")
    for number in first, first + 1:
        base.execute("INSERT OR REPLACE INTO m VALUES (?, ?, ?)",
                     (number, f"text {number - first}", 1771193745123))
    print(f"{name}: two ids,", *base.execute("SELECT text, at FROM m").fetchall())
    print(f"{name}: by the text of the id,",
          base.execute(f"SELECT count(*) FROM m WHERE id = {first + 1}").fetchone()[0])
    print(f"{name}: cast,", base.execute("SELECT CAST(? AS INTEGER)",
                                         (str(first),)).fetchone()[0] == first)
    for number in 2**31 - 1, 2**31, 2**64:
        try:
            print(f"{name}: {number} is", base.execute("SELECT typeof(?)", (number,)).fetchone()[0])
        except OverflowError as error:
            print(f"{name}: {number} raises", type(error).__name__)
PY
timeout 60 venv/bin/python try.py | tee seen
grep -qx "sqlite3: two ids, ('text 0', 1771193745123) ('text 1', 1771193745123)" seen
grep -qx 'sqlite3: by the text of the id, 1' seen
grep -qx 'sqlite3: 2147483648 is integer' seen
grep -qx 'sqlite3: 18446744073709551616 raises OverflowError' seen
grep -qx "libsql: two ids, ('text 1', 1771193745123.0)" seen
grep -qx 'libsql: by the text of the id, 0' seen
grep -qx 'libsql: cast, True' seen
grep -qx 'libsql: 2147483647 is integer' seen
grep -qx 'libsql: 2147483648 is real' seen
grep -qx 'libsql: 18446744073709551616 is real' seen
