#!/bin/sh
# libmdbx 0.3.2 (PyPI, the Python bindings to libmdbx).
#
# Guess: `cursor.iter()`, `iter(env)` and `env.items()` give all entries. An index often has keys
# only, with empty values.
# Guess: `with env.rw_transaction()` commits at its end, or aborts on an exception, as in py-lmdb.
# Guess: `delete(txn, key, value)` deletes the key only where it has that value.
# Guess: `except Exception` around a call catches what it raises.
# Seen: the loop ends before the first entry with an empty value, as if it were the last one, and
# nothing is raised. A loop over the cursor itself gives all. The value of a key that is there and
# empty is None, as that of a key that is not there.
# Seen: the end of `with` aborts; only `commit()` commits. An empty value to delete is no value: the
# key is deleted whatever it has. The errors are BaseException, so `except Exception` misses them.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install libmdbx==0.3.2 2>pip.log
cat >try.py <<'PY'
import mdbx

base = mdbx.Env("store", maxdbs=2)


def keys(pairs):
    return " ".join(key.decode() for key, _ in pairs)


with base.rw_transaction() as change:
    rows = change.create_map("rows")
    for key, value in (b"m1", b"x"), (b"m2", b""), (b"m3", b"x"):
        rows.put(change, key, value)
    change.commit()
with base.ro_transaction() as read:
    print("cursor.iter():", keys(read.cursor("rows").iter()))
    print("the cursor itself:", keys(read.cursor("rows")))
    rows = read.open_map("rows")
    print("empty:", rows.get(read, b"m2"), "missing:", rows.get(read, b"m9"))
base.set_default_db("rows")
print("env.items():", keys(base.items()))
with base.rw_transaction() as change:
    change.open_map("rows").put(change, b"m4", b"x")
with base.ro_transaction() as read:
    print("after with:", read.open_map("rows").get(read, b"m4"))
with base.rw_transaction() as change:
    rows = change.open_map("rows")
    for value in b"other", b"":
        try:
            rows.delete(change, b"m1", value)
            print(f"delete if {value}: deleted")
        except BaseException as error:
            print(f"delete if {value}: an Exception", isinstance(error, Exception))
PY
timeout 60 venv/bin/python try.py | tee seen
grep -qx 'cursor.iter(): m1' seen
grep -qx 'the cursor itself: m1 m2 m3' seen
grep -qx 'empty: None missing: None' seen
grep -qx 'env.items(): m1' seen
grep -qx 'after with: None' seen
grep -qx "delete if b'other': an Exception False" seen
grep -qx "delete if b'': deleted" seen
