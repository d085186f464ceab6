#!/bin/sh
# Turso 0.8.3 (PyPI, pyturso), with SQLite of Python.
#
# Guess: `close()` of the only connection lets go of the file, as SQLite's does: another process may
# open it, and a file that is deleted at a logout is gone.
# Seen: the file stays open and locked as long as the object exists, which a program often holds
# until it ends. Another process, with SQLite or with Turso, is refused as "locked". The object has
# to go as well (`del base`, or None in its place).
# Guess: while one connection is open, the file is locked for other processes.
# Seen: if the same process opens and closes a second one, the lock of the first is gone: locks of
# POSIX belong to the process. Another process then gets in beside it. Open a file once.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install pyturso==0.8.3 2>pip.log
cat >other.py <<'PY'
import importlib
import sys

library = importlib.import_module(sys.argv[1])
try:
    base = library.connect("store.db")
    print(base.execute("SELECT count(*) FROM m").fetchone()[0])
except library.Error as error:
    print("locked" if "lock" in str(error).lower() else error)
PY
cat >try.py <<'PY'
import os
import subprocess
import sys

import turso


def others():
    found = [subprocess.run([sys.executable, "other.py", name], capture_output=True,
                            text=True).stdout.strip() for name in ("sqlite3", "turso")]
    here = [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")
            if os.path.exists(f"/proc/self/fd/{name}")]
    return f"SQLite {found[0]}, Turso {found[1]}, open here {os.getcwd() + '/store.db' in here}"


base = turso.connect("store.db")
base.execute("CREATE TABLE m (text TEXT)").close()
base.commit()
print("open:", others())
base.close()
print("closed:", others())
del base
print("deleted:", others())
first = turso.connect("store.db")
print("open again:", others())
second = turso.connect("store.db")
second.close()
del second
print("a second one opened and closed:", others())
PY
timeout 90 venv/bin/python try.py | tee seen
grep -qx 'open: SQLite locked, Turso locked, open here True' seen
grep -qx 'closed: SQLite locked, Turso locked, open here True' seen
grep -qx 'deleted: SQLite 0, Turso 0, open here False' seen
grep -qx 'open again: SQLite locked, Turso locked, open here True' seen
grep -qx 'a second one opened and closed: SQLite 0, Turso 0, open here True' seen
