#!/bin/sh
# leanqueue 0.1.0 (PyPI; a queue in one file, with leases).
#
# Guess: the number that `enqueue` returns, and `ack` takes, only grows: no other message of that
# queue gets it.
# Guess: an `ack` after the lease ended, when another consumer has the message, is refused.
# Seen: numbers begin at 0 again after every message was confirmed, `compact` ran, and the queue
# was opened again. If a message waits, or without `compact`, they go on.
# Seen: `ack` checks the number only, so a slow consumer confirms a message that another one works
# on. Together: a late `ack` confirms a new message with the old number, and no consumer gets it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install leanqueue==0.1.0 2>pip.log
cat >try.py <<'PY'
import time

from leanqueue import LeanQueueCore


def take(queue):
    """The next message, once the lease of an earlier consumer has ended."""
    for _ in range(500):
        taken = queue.dequeue(60_000)
        if taken:
            return taken
        time.sleep(0.02)
    raise SystemExit("nothing")


def numbers_go_on(name, confirmed, compact):
    queue = LeanQueueCore(name)
    queue.enqueue_batch([b"m1", b"m2", b"m3"])
    for _ in range(confirmed):
        queue.ack(queue.dequeue()[0])
    if compact:
        queue.compact()
    del queue
    return LeanQueueCore(name).enqueue(b"m4")


print("all confirmed:", numbers_go_on("first", 3, False))
print("all confirmed, compact:", numbers_go_on("second", 3, True))
print("one waits, compact:", numbers_go_on("third", 2, True))

queue = LeanQueueCore("late")
queue.enqueue(b"m1")
slow = queue.dequeue(1)
other = take(queue)
print("the slow one's ack:", queue.ack(slow[0]), "the other's:", queue.ack(other[0]))
queue.compact()
del queue
queue = LeanQueueCore("late")
queue.enqueue(b"m2")
print("its ack again, with m2 in the queue:", queue.ack(slow[0]), "next:", queue.dequeue())
PY
timeout 60 venv/bin/python try.py | tee seen
grep -qx 'all confirmed: 3' seen
grep -qx 'all confirmed, compact: 0' seen
grep -qx 'one waits, compact: 3' seen
grep -qx "the slow one's ack: True the other's: False" seen
grep -qx 'its ack again, with m2 in the queue: True next: None' seen
