#!/bin/sh
# amazon.ion 0.15.0 (PyPI; Ion, a binary and a text form of JSON's kind with times).
#
# Guess: a time with nanoseconds, which is kept and printed with all its digits, is compared and
# sorted with them.
# Guess: `null` and `true` are read as Python's None and True.
# Guess: a key that is no text raises, or is written as a text, as `json` does.
# Seen: times are compared by the microsecond: two of one microsecond are equal, a set keeps the
# first, and `max` gives an older one as the newest. A cursor of "after this time" drops or repeats
# messages. `fractional_seconds` has the digits.
# Seen: what is read is of classes of its own, so `is None`, `== None` and `is True` are false.
# Seen: one key that is no text, a room's number say, is written without its name, and read as None.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install amazon.ion==0.15.0 2>pip.log
cat >try.py <<'PY'
from amazon.ion import simpleion as ion


def again(value):
    return ion.loads(ion.dumps(value))


older = again(ion.loads("2026-05-01T12:00:00.123456111Z"))
newer = again(ion.loads("2026-05-01T12:00:00.123456789Z"))
print("printed:", ion.dumps(older, binary=False), ion.dumps(newer, binary=False))
print("equal:", older == newer, "older is less:", older < newer)
print("in a set:", len({older, newer}), "the newest:", max(older, newer).fractional_seconds)
message = again({"edited": None, "read": True})
print("null is None:", message["edited"] is None, "equals it:", message["edited"] == None)  # noqa
print("true is True:", message["read"] is True, "equals it:", message["read"] == True)  # noqa
print("a number as key:", again({17: "a room"}))
PY
venv/bin/python try.py | tee seen
grep -q '12:00:00.123456111Z .*12:00:00.123456789Z$' seen
grep -qx 'equal: True older is less: False' seen
grep -qx 'in a set: 1 the newest: 0.123456111' seen
grep -qx 'null is None: False equals it: False' seen
grep -qx 'true is True: False equals it: True' seen
grep -qx "a number as key: {None: 'a room'}" seen
