#!/bin/sh
# nque 1.0.2 (PyPI; a persistent queue on LMDB).
#
# Guess: `items_count_max` bounds how many items may wait. A program whose next release opens the
# same queue with a larger bound is handed what waits, and then what it adds.
# Seen: the bound is part of each item's key, by its digits: with 2,000 in the place of 1,000, what
# waits is never handed out, and neither is what is added, although `put` returns as always. No
# error is raised, the queue looks empty, and it stays so. Opened with the old bound again, it hands
# out what is older, and never what was added in between. With 500, as many digits, all is handed
# out.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install nque==1.0.2 lmdb==3.0.0 2>pip.log
cat >try.py <<'PY'
import sys

import nque

path, bound, way, *texts = sys.argv[1:]
queue = nque.FifoBasicQueueLmdb(path, items_count_max=int(bound))
if way == "put":
    queue.put([text.encode() for text in texts])
elif way == "pop":
    print(*[item.decode() for item in queue.pop(9)] or ["nothing"])
PY
# Each call is a process of its own, as two releases of a program are.
for bound in 500 2000; do
  venv/bin/python try.py "queue-$bound" 1000 put m1 m2
  venv/bin/python try.py "queue-$bound" "$bound" put m3
  printf '1000, then %s: %s\n' "$bound" "$(venv/bin/python try.py "queue-$bound" "$bound" pop)"
  venv/bin/python try.py "queue-$bound" "$bound" put m4
  printf '1000, then %s, one more: %s\n' "$bound" \
    "$(venv/bin/python try.py "queue-$bound" "$bound" pop)"
  printf '1000, then %s, then 1000: %s\n' "$bound" \
    "$(venv/bin/python try.py "queue-$bound" 1000 pop)"
done | tee seen
grep -qx '1000, then 500: m1 m2 m3' seen
grep -qx '1000, then 500, one more: m4' seen
grep -qx '1000, then 500, then 1000: nothing' seen
grep -qx '1000, then 2000: nothing' seen
grep -qx '1000, then 2000, one more: nothing' seen
grep -qx '1000, then 2000, then 1000: m1 m2' seen
