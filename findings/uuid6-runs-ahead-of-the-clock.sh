#!/bin/sh
# uuid6 2025.0.1 (PyPI).
#
# Guess: the time in a UUID of version 7 is that of its making, and those of one millisecond are
# kept in order by a counter in the bits that the standard (RFC 9562, 6.2) leaves for it.
# Seen: `uuid7()` has no counter. Each id gets a millisecond of its own: the last one and one more,
# if the clock is not beyond that. 20,000 ids made at once are up to 20 seconds ahead of the clock,
# and the next process, which does not know of them, gives ids that sort before them. A mark "read
# up to this id" hides messages that come later.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install uuid6==2025.0.1 2>pip.log
cat >many.py <<'PY'
import time

import uuid6

ids = [uuid6.uuid7() for _ in range(20_000)]
clock = time.time()
stamps = [each.int >> 80 for each in ids]
print("ids", len(ids), "milliseconds", len(set(stamps)), "in order", ids == sorted(ids))
print("ahead of the clock by more than 10 s:", stamps[-1] / 1000 - clock > 10)
open("last", "w").write(str(ids[-1]))
PY
cat >next.py <<'PY'
import uuid6

print("the next process's id sorts after:", str(uuid6.uuid7()) > open("last").read())
PY
venv/bin/python many.py | tee seen
venv/bin/python next.py | tee -a seen
grep -qx 'ids 20000 milliseconds 20000 in order True' seen
grep -qx 'ahead of the clock by more than 10 s: True' seen
grep -qx "the next process's id sorts after: False" seen
