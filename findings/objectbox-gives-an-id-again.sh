#!/bin/sh
# ObjectBox 5.0.0 (PyPI, objectbox; its library 5.3.2).
#
# Guess: an id is given once, whatever is removed, as with AUTOINCREMENT of SQLite. While a program
# runs that is so, even after `remove_all` (objectbox-java, issue 557: "you can't reset" it).
# Guess: a `Date` cuts the microseconds of a `datetime`, as `isoformat(timespec="milliseconds")`.
# Seen: after a restart the counter goes on from the highest id that is there. If the newest message
# was removed, the next one gets its id: a draft, a notification or a "read up to" that has the
# number of the first then points at the second. After `remove_all` it begins with 1 again.
# Seen: a `Date` is rounded, so a time may be stored as one of the next second; `DateNano` keeps it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install objectbox==5.0.0 objectbox-api==5.0.0 objectbox-clib==5.3.2 2>pip.log
cat >try.py <<'PY'
import datetime

import objectbox


@objectbox.Entity()
class Message:
    id = objectbox.Id()
    text = objectbox.String()
    at = objectbox.Date(py_type=datetime.datetime)
    exact = objectbox.DateNano(py_type=datetime.datetime)


class Run:
    def __enter__(self):
        self.store = objectbox.Store(directory="store")
        return self.store.box(Message)

    def __exit__(self, *_):
        self.store.close()


with Run() as box:
    print("put:", *(box.put(Message(text=text)) for text in "abc"))
    box.remove(3)
    print("the newest removed:", box.put(Message(text="d")))
    box.remove(4)
    box.remove(2)
with Run() as box:
    print("and after a restart:", box.put(Message(text="e")), box.put(Message(text="f")))
    box.remove_all()
    print("all removed:", box.put(Message(text="g")))
    box.remove_all()
with Run() as box:
    print("and after a restart:", box.put(Message(text="h")))
    time = datetime.datetime(2026, 2, 15, 22, 15, 45, 999_600, datetime.timezone.utc)
    found = box.get(box.put(Message(text="i", at=time, exact=time)))
    print(time.time(), "as Date:", found.at.time(), "as DateNano:", found.exact.time())
PY
timeout 60 venv/bin/python try.py | tee seen
grep -qx 'put: 1 2 3' seen
grep -qx 'the newest removed: 4' seen
grep -qx 'and after a restart: 2 3' seen
grep -qx 'all removed: 4' seen
grep -qx 'and after a restart: 1' seen
grep -qx '22:15:45.999600 as Date: 22:15:46 as DateNano: 22:15:45.999600' seen
