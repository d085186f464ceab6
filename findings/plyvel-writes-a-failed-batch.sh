#!/bin/sh
# plyvel 1.5.1 (PyPI, LevelDB).
#
# Guess: an exception within `with db.write_batch() as batch:` drops the batch, as it rolls back a
# transaction of sqlite3 or LMDB: all or nothing.
# Seen: what was put before the exception is written, as a batch, and the exception goes on. A
# cursor that was put first is stored without its messages. Only `write_batch(transaction=True)`
# drops it; a batch of a prefixed database is no other.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install plyvel==1.5.1 2>pip.log
cat >try.py <<'PY'
import plyvel

for name, choice in ("by default", {}), ("as a transaction", {"transaction": True}):
    for kind in "whole", "prefixed":
        base = plyvel.DB(f"{name} {kind}", create_if_missing=True)
        part = base if kind == "whole" else base.prefixed_db(b"room/")
        try:
            with part.write_batch(**choice) as batch:
                batch.put(b"cursor", b"2")
                batch.put(b"m1", b"one")
                raise ValueError("the second message cannot be read")
        except ValueError:
            print(f"{name}, {kind}:", *(key.decode() for key, _ in base))
        base.close()
PY
venv/bin/python try.py | tee seen
grep -qx 'by default, whole: cursor m1' seen
grep -qx 'by default, prefixed: room/cursor room/m1' seen
grep -qx 'as a transaction, whole:' seen
grep -qx 'as a transaction, prefixed:' seen
