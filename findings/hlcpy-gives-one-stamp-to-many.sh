#!/bin/sh
# hlcpy 0.0.2 (PyPI; hybrid logical clocks).
#
# Guess: each `sync()` gives a stamp of its own, in each of its forms: its bytes as its text.
# Guess: bytes, and texts, are sorted as the stamps are; a log of changes is kept under either.
# Guess: what is read from bytes is the stamp, or at the most an earlier one.
# Seen: the bytes have milliseconds, rounded up, and the counter that should part the stamps of one
# millisecond counts those of one nanosecond. So stamps that are made at once have the same bytes:
# of changes that are stored under them the last one is left. Read back, a stamp is later than it
# was. The number is little-endian, so bytes are not in the order of time.
# Seen: the counter in the text has no fixed length. Behind a faster clock it counts, and the tenth
# stamp sorts before the second.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install hlcpy==0.0.2 2>pip.log
cat >try.py <<'PY'
import time

from hlcpy import HLC

SECOND = 10**9
clock = HLC()
stamps = []
for _ in range(1000):
    clock.sync()
    stamps.append(HLC(*clock.tuple()))
print("1,000 stamps, all in order:", all(a < b for a, b in zip(stamps, stamps[1:])))
print("1,000 stamps, fewer than 100 as bytes:", len({each.to_bytes() for each in stamps}) < 100)
one = HLC(1_777_636_800 * SECOND + 400_000, 0)
print("read back it is later:", HLC.from_bytes(one.to_bytes()) > one)
hours = [HLC((1_777_636_800 + 3600 * hour) * SECOND, 0).to_bytes() for hour in range(24)]
print("24 hours, bytes in order:", hours == sorted(hours))
clock = HLC()
clock.merge(HLC(time.time_ns() + 3600 * SECOND, 0))
texts = []
for _ in range(10):
    clock.sync()
    texts.append(str(clock))
ends = [text.split("_")[1] for text in sorted(texts)]
print("behind a faster clock, sorted:", *ends)
PY
venv/bin/python try.py | tee seen
grep -qx '1,000 stamps, all in order: True' seen
grep -qx '1,000 stamps, fewer than 100 as bytes: True' seen
grep -qx 'read back it is later: True' seen
grep -qx '24 hours, bytes in order: False' seen
grep -qx 'behind a faster clock, sorted: 10 11 2 3 4 5 6 7 8 9' seen
