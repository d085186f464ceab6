#!/bin/sh
# Turso 0.8.3 (PyPI, pyturso), its log of changes (`PRAGMA capture_data_changes_conn`).
#
# Guess: `change_id` is declared AUTOINCREMENT, so it only grows: a reader that has sent the changes
# up to a number, and deleted them from the log, finds the next ones above that number.
# Guess: in mode `full` the column `before` has the row as it was before the change.
# Seen: once the log was emptied, by the reader or before a restart, the numbers begin with 1 again,
# those of the transactions as well. `change_id > last` finds nothing until as many changes have
# passed again; they are never sent. A table of one's own with AUTOINCREMENT is right. Keep the
# newest entry, and delete those below it.
# Seen: `INSERT ... ON CONFLICT DO UPDATE` writes the new row into both columns, so a reader that
# compares them sees no change (Turso, issue 9069). `UPDATE` writes both rows.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install pyturso==0.8.3 2>pip.log
cat >try.py <<'PY'
import turso


def opened():
    base = turso.connect("store.db")
    base.execute("PRAGMA capture_data_changes_conn('full')")
    return base


def do(base, *statements):
    for statement in statements:
        base.execute(statement)
        base.commit()


def numbers(base, last=0):
    found = base.execute(f"SELECT change_id FROM turso_cdc WHERE change_id > {last}").fetchall()
    return " ".join(str(number) for number, in found) or "none"


def pair(base):
    columns = "bin_record_json_object(table_columns_json_array('m'), {})"
    return base.execute(
        f"SELECT {columns.format('before')}, {columns.format('after')} FROM turso_cdc"
        " WHERE table_name = 'm' ORDER BY change_id DESC LIMIT 1").fetchone()


insert = "INSERT INTO m (text) VALUES ('x')"
base = opened()
do(base, "CREATE TABLE m (id INTEGER PRIMARY KEY, text TEXT)", insert, insert)
last = base.execute("SELECT max(change_id) FROM turso_cdc").fetchone()[0]
print("read up to", last)
do(base, f"DELETE FROM turso_cdc WHERE change_id < {last}", insert)
print("the newest was kept: after", last, "are", numbers(base, last))
do(base, "DELETE FROM turso_cdc", insert)
print("all were deleted: after", last, "are", numbers(base, last), "in all", numbers(base))
do(base, "DELETE FROM turso_cdc")
base.close()
base = opened()
do(base, insert)
print("opened again: after", last, "are", numbers(base, last), "in all", numbers(base))
do(base, "CREATE TABLE own (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT)",
   "INSERT INTO own (text) VALUES ('x')", "DELETE FROM own", "INSERT INTO own (text) VALUES ('x')")
print("a table of one's own:", base.execute("SELECT id FROM own").fetchall())
do(base, "UPDATE m SET text = 'y' WHERE id = 1")
print("update:", *pair(base))
do(base, "INSERT INTO m VALUES (1, 'z') ON CONFLICT (id) DO UPDATE SET text = excluded.text")
print("upsert:", *pair(base))
PY
timeout 60 venv/bin/python try.py | tee seen
grep -qx 'read up to 6' seen
grep -qx 'the newest was kept: after 6 are 7 8' seen
grep -qx 'all were deleted: after 6 are none in all 1 2' seen
grep -qx 'opened again: after 6 are none in all 1 2' seen
grep -qx "a table of one's own: \[(2,)\]" seen
grep -qx 'update: {"id":1,"text":"x"} {"id":1,"text":"y"}' seen
grep -qx 'upsert: {"id":1,"text":"z"} {"id":1,"text":"z"}' seen
