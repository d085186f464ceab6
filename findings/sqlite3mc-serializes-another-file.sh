#!/bin/sh
# SQLite3 Multiple Ciphers 2.6.1 (PyPI: apsw-sqlite3mc 3.54.0.0), its default cipher.
#
# Guess: `serialize` gives the bytes of the database's file, as SQLite's text says, so the image of
# an encrypted database is as encrypted as its file is, and can be kept where copies of the file
# are.
# Guess: the bytes of the file, read from the disk, can be opened with `deserialize` and the key.
# Seen: the image has the file's length and is in the clear, while each other copy is encrypted:
# `VACUUM INTO`, `ATTACH` without KEY (with the first database's key), and the backup API, which
# refuses a target without a key. The file's bytes cannot be opened from memory: without a key they
# are no database, and a database in memory takes none. What `serialize` gave is opened without one,
# and has to be encrypted by the program before it is stored.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install apsw-sqlite3mc==3.54.0.0 2>pip.log
cat >try.py <<'PY'
import pathlib

import apsw

KEY = "PRAGMA key = 'a passphrase'"
TEXT = b"good morning"


def image(name):
    return pathlib.Path(name).read_bytes()


def show(label, content):
    print(f"{label}: {'in the clear' if TEXT in content else 'encrypted'}")


def memory(label, content, *first):
    with apsw.Connection(":memory:") as base:
        try:
            for statement in first:
                base.execute(statement)
            base.deserialize("main", content)
            print(f"{label}:", base.execute("SELECT * FROM message").get)
        except apsw.Error as error:
            print(f"{label}: {error}")


def back_up(label, source, name, *first):
    target = apsw.Connection(name)
    for statement in first:
        target.execute(statement)
    try:
        with target.backup("main", source, "main") as copy:
            copy.step()
        show(label, image(name))
    except apsw.Error as error:
        print(f"{label}: {error}")
    target.close()


base = apsw.Connection("file.db")
base.execute(KEY)
base.execute("CREATE TABLE message(text); INSERT INTO message VALUES(?)", (TEXT.decode(),))
show("the file", image("file.db"))
serialized = base.serialize("main")
show("serialize", serialized)
print("serialize: as long as the file", len(serialized) == len(image("file.db")))
base.execute("VACUUM INTO 'vacuum.db'")
show("VACUUM INTO", image("vacuum.db"))
base.execute("ATTACH 'attached.db' AS other; CREATE TABLE other.copy AS SELECT * FROM message")
show("ATTACH without KEY", image("attached.db"))
back_up("backup with a key", base, "backup.db", KEY)
back_up("backup without a key", base, "plain.db")
memory("from memory, what serialize gave", serialized)
memory("from memory, the file", image("file.db"))
memory("from memory, the file with its key", image("file.db"), KEY)
PY
venv/bin/python try.py | tee seen
for copy in 'the file' 'VACUUM INTO' 'ATTACH without KEY' 'backup with a key'; do
  grep -qx "$copy: encrypted" seen
done
grep -qx 'serialize: in the clear' seen
grep -qx 'serialize: as long as the file True' seen
grep -qx 'backup without a key: backup is not supported with incompatible .*' seen
grep -qx 'from memory, what serialize gave: good morning' seen
grep -qx 'from memory, the file: file is not a database' seen
grep -qx 'from memory, the file with its key: Setting key not supported for in-memory .*' seen
