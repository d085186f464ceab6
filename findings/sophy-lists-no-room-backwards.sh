#!/bin/sh
# sophy 0.7.1 (PyPI; the Python bindings to Sophia, a key-value store).
#
# Guess: a cursor with a prefix gives the keys that begin with it, in the order that is asked for:
# `order="<"` lists a room's messages with the newest first.
# Seen: downwards it gives nothing, and raises nothing: the cursor begins at the prefix itself,
# below which there is no key of it. A room looks empty, while upwards all is there. It needs a
# `key` to begin at that is above the room's last one. Upwards such a key gives nothing, so the two
# directions cannot share it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install sophy==0.7.1 2>pip.log
cat >try.py <<'PY'
import sophy

base = sophy.Sophia("store")
messages = base.add_database(
    "messages", sophy.Schema([sophy.StringIndex("key")], [sophy.StringIndex("text")]))
base.open()
for room in "abc":
    for number in range(1, 4):
        messages[f"{room}/{number}"] = "a text"
for choice in {}, {"key": "b/2"}, {"key": "b/~"}:
    for order in ">=", ">", "<=", "<":
        found = [key for key, _ in messages.cursor(order=order, prefix="b/", **choice)]
        print(order, choice.get("key", "no key") + ":", *found or ["nothing"])
base.close()
PY
venv/bin/python try.py | tee seen
for order in '>=' '>'; do
  grep -qx "$order no key: b/1 b/2 b/3" seen
  grep -qx "$order b/~: nothing" seen
done
for order in '<=' '<'; do
  grep -qx "$order no key: nothing" seen
  grep -qx "$order b/~: b/3 b/2 b/1" seen
done
grep -qx '>= b/2: b/2 b/3' seen
grep -qx '<= b/2: b/2 b/1' seen
