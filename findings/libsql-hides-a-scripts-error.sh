#!/bin/sh
# libsql 0.1.11 (PyPI, the Python bindings to libSQL), beside SQLite of Python.
#
# Guess: `executescript` raises where a statement fails, as with `sqlite3`.
# Guess: a text comes back with all its characters.
# Seen: the script ends at the statement that fails, and returns as if all was well: tables are
# missing, messages are stored without the cursor behind them, and a text that is no SQL is taken as
# well. A script with BEGIN leaves its transaction open, and nothing reports that either. `execute`
# raises, a ValueError. Use one `execute` for each statement.
# Seen: a text is stored as it is, and read up to its first NUL character.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install libsql==0.1.11 2>pip.log
cat >try.py <<'PY'
import sqlite3

import libsql


def do(action, *words):
    try:
        action(*words)
        return "returns"
    except Exception as error:
        return f"raises {type(error).__name__}"


def messages(base):
    return base.execute("SELECT count(*) FROM m").fetchone()[0]


for name, library in ("sqlite3", sqlite3), ("libsql", libsql):
    base = library.connect(name)
    base.execute("CREATE TABLE m (text TEXT)")
    base.commit()
    print(f"{name}: execute", do(base.execute, "INSERT INTO missing VALUES (1)"))
    print(f"{name}: no SQL", do(base.executescript, "this is no statement"))
    print(f"{name}: a script", do(
        base.executescript, "INSERT INTO m VALUES ('one'); INSERT INTO missing VALUES (1);"
        " INSERT INTO m VALUES ('two')"), "- messages", messages(base))
    print(f"{name}: with BEGIN", do(
        base.executescript, "BEGIN; INSERT INTO missing VALUES (1); COMMIT"),
        "- in a transaction", base.in_transaction)
    stored, text = base.execute("SELECT length(hex(?1)) / 2, ?1", ("a\0b",)).fetchone()
    print(f"{name}: a text of {stored} bytes is read as {text!r}")
    base.close()
PY
timeout 60 venv/bin/python try.py | tee seen
grep -qx 'sqlite3: no SQL raises OperationalError' seen
grep -qx 'sqlite3: a script raises OperationalError - messages 1' seen
grep -qx 'sqlite3: with BEGIN raises OperationalError - in a transaction True' seen
grep -qxF "sqlite3: a text of 3 bytes is read as 'a\x00b'" seen
grep -qx 'libsql: execute raises ValueError' seen
grep -qx 'libsql: no SQL returns' seen
grep -qx 'libsql: a script returns - messages 1' seen
grep -qx 'libsql: with BEGIN returns - in a transaction True' seen
grep -qx "libsql: a text of 3 bytes is read as 'a'" seen
