#!/bin/sh
# msgpack 1.2.4, ormsgpack 1.13.1, msgspec 0.23.0 and u-msgpack-python 2.8.0 (PyPI), Python 3.11.
#
# Guess: MessagePack has a type for times (extension -1), so each library that takes a datetime
# writes it as that, and reads it again, from whichever of the four it came.
# Guess: a time without a zone is refused by all of them, or is taken for one thing by all of them.
# Seen: ormsgpack writes a text, and cannot read the type: a message of another library that has a
# time in it raises as a whole, unless the program brings an `ext_hook`.
# Seen: msgspec writes the type for a time with a zone and a text for one without, so one field has
# two types, and its values are not in one order. u-msgpack-python takes the second for UTC, msgpack
# refuses it.
# Seen: msgpack reads its own time as a `Timestamp`, which cannot be compared with a datetime.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install msgpack==1.2.4 ormsgpack==1.13.1 msgspec==0.23.0 u-msgpack-python==2.8.0 \
  2>pip.log
cat >try.py <<'PY'
from datetime import datetime, timedelta, timezone

import msgpack
import msgspec
import ormsgpack
import umsgpack

WRITERS = {"msgpack": lambda value: msgpack.packb(value, datetime=True),
           "ormsgpack": ormsgpack.packb, "msgspec": msgspec.msgpack.encode,
           "umsgpack": umsgpack.packb}
READERS = {"msgpack": msgpack.unpackb, "ormsgpack": ormsgpack.unpackb,
           "msgspec": msgspec.msgpack.decode, "umsgpack": umsgpack.unpackb}


def form(data):
    return "time" if data[0] in (0xC7, 0xD6, 0xD7) else "text" if data[0] >> 5 == 5 or \
        data[0] == 0xD9 else "other"


def tried(call, *values):
    try:
        return call(*values)
    except Exception as error: # Each library has its own.
        return error


print("readers:", *READERS)
noon = datetime(2026, 5, 1, 12, 0, 0, 123456)
for name, value in ("no zone", noon), ("zone", noon.replace(tzinfo=timezone(timedelta(hours=2)))):
    for writer, write in WRITERS.items():
        data = tried(write, value)
        if isinstance(data, Exception):
            print(f"{name}, {writer} raises {type(data).__name__}")
            continue
        found = {reader: tried(READERS[reader], data) for reader in READERS}
        print(f"{name}, {writer} writes a {form(data)}:",
              *(type(each).__name__ for each in found.values()))
        if writer == "umsgpack":
            print("  by umsgpack:", found["umsgpack"])
mark = msgpack.unpackb(msgpack.packb(value, datetime=True))
print("compared with a datetime:", type(tried(lambda: mark < value)).__name__)
PY
venv/bin/python try.py | tee seen
cat >expected <<'END'
readers: msgpack ormsgpack msgspec umsgpack
no zone, msgpack raises ValueError
no zone, ormsgpack writes a text: str str str str
no zone, msgspec writes a text: str str str str
no zone, umsgpack writes a time: Timestamp ValueError datetime datetime
  by umsgpack: 2026-05-01 12:00:00.123456+00:00
zone, msgpack writes a time: Timestamp ValueError datetime datetime
zone, ormsgpack writes a text: str str str str
zone, msgspec writes a time: Timestamp ValueError datetime datetime
zone, umsgpack writes a time: Timestamp ValueError datetime datetime
  by umsgpack: 2026-05-01 10:00:00.123456+00:00
compared with a datetime: TypeError
END
cmp seen expected
