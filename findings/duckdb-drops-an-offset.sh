#!/bin/sh
# DuckDB 2.0.1, beside 1.3.2 (PyPI, duckdb), time zone UTC.
#
# Guess: the text '2026-05-01T12:00:00+02:00' in a column TIMESTAMP is 10:00, the instant in UTC, as
# DuckDB had it; at the least, one instant is one value there, however it comes.
# Guess: in a file of JSON a text stays a text, except what looks like a whole time.
# Seen: since 1.4 the offset is dropped without an error: 12:00. A server's times with an offset are
# wrong by it after an update, beside older rows that are right, and "newer than" misses messages.
# A `datetime` of Python is 10:00 all the same, and so is what `read_json` finds to be times by
# itself, but not with the type TIMESTAMP given for the column: one instant, two values. A column
# TIMESTAMPTZ is right each time.
# Seen: where all messages of a file are like "12:30", they are read as the type TIME.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install duckdb==1.3.2 --target older 2>pip.log
venv/bin/pip -q install duckdb==2.0.1 --target newer 2>>pip.log
cat >try.py <<'PY'
import datetime

import duckdb

TEXT = "2026-05-01T12:00:00+02:00"
with open("room.ndjson", "w") as file:
    print('{"id": 1, "body": "12:30", "sent": "%s"}' % TEXT, file=file)
    print('{"id": 2, "body": "7:45", "sent": "%s"}' % TEXT, file=file)
base = duckdb.connect()
base.execute("SET TimeZone = 'UTC'")
for kind in "TIMESTAMP", "TIMESTAMPTZ":
    base.execute(f"CREATE OR REPLACE TABLE message (how VARCHAR, sent {kind})")
    base.execute("INSERT INTO message VALUES ('1 text', ?)", [TEXT])
    instant = datetime.datetime.fromisoformat(TEXT)
    base.execute("INSERT INTO message VALUES ('2 datetime', ?)", [instant])
    base.execute("INSERT INTO message SELECT '3 json', sent FROM 'room.ndjson' LIMIT 1")
    base.execute(
        "INSERT INTO message SELECT '4 json with a type', sent FROM "
        f"read_json('room.ndjson', columns = {{id: 'BIGINT', sent: '{kind}'}}) LIMIT 1")
    for how, hour in base.execute(
            "SELECT how, strftime(sent, '%H:%M') FROM message ORDER BY how").fetchall():
        print(f"{duckdb.__version__}, {kind}, {how[2:]}: {hour}")
print(f"{duckdb.__version__}, texts like 12:30:",
      base.execute("SELECT DISTINCT typeof(body) FROM 'room.ndjson'").fetchone()[0])
PY
PYTHONPATH=older venv/bin/python try.py | tee seen
PYTHONPATH=newer venv/bin/python try.py | tee -a seen
for how in text datetime json 'json with a type'; do
    grep -qx "1.3.2, TIMESTAMP, $how: 10:00" seen
    grep -qx "1.3.2, TIMESTAMPTZ, $how: 10:00" seen
    grep -qx "2.0.1, TIMESTAMPTZ, $how: 10:00" seen
done
for how in text 'json with a type'; do
    grep -qx "2.0.1, TIMESTAMP, $how: 12:00" seen
done
for how in datetime json; do
    grep -qx "2.0.1, TIMESTAMP, $how: 10:00" seen
done
grep -qx '2.0.1, texts like 12:30: TIME' seen
