#!/bin/sh
# queuelib 1.10.0 (PyPI; the disk queues of Scrapy).
#
# Guess: `FifoDiskQueue.push` has written the message to the file when it returns, so a process that
# is killed, without a power cut, loses none.
# Guess: at the least, what is pushed after the restart is what is popped.
# Seen: the place and the count are written by `close()` only. After a kill the messages of that
# run, which are in the file, do not count, and those that it popped are given again.
# Seen: new messages are appended behind them, counted, and read from the old place: each pop gives
# one of the lost messages, and as many new ones stay in the file and are never given. A queue of
# things to send sends what was given up, and keeps back what is new. FifoSQLiteQueue does neither.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install queuelib==1.10.0 2>pip.log
cat >killed.py <<'PY'
import os
import signal
import sys

import queuelib.queue

queue = getattr(queuelib.queue, sys.argv[1])(sys.argv[1])
print("killed after popping", queue.pop().decode(), "and pushing lost1, lost2", flush=True)
queue.push(b"lost1")
queue.push(b"lost2")
os.kill(os.getpid(), signal.SIGKILL)
PY
cat >try.py <<'PY'
import subprocess
import sys

import queuelib.queue


def rest(queue):
    return " ".join(queue.pop().decode() for _ in range(len(queue))) or "nothing"


for kind in "FifoDiskQueue", "FifoSQLiteQueue":
    print(kind, flush=True)
    queue = getattr(queuelib.queue, kind)(kind)
    for text in b"m1", b"m2":
        queue.push(text)
    queue.close()
    subprocess.run([sys.executable, "killed.py", kind])
    queue = getattr(queuelib.queue, kind)(kind)
    print(f"{kind} after the kill gives:", rest(queue))
    for text in b"new1", b"new2":
        queue.push(text)
    queue.close()
    queue = getattr(queuelib.queue, kind)(kind)
    print(f"{kind} after pushing new1, new2 gives:", rest(queue), "then", queue.pop())
    queue.close()
PY
timeout 60 venv/bin/python try.py | tee seen
grep -qx 'FifoDiskQueue after the kill gives: m1 m2' seen
grep -qx 'FifoDiskQueue after pushing new1, new2 gives: lost1 lost2 then None' seen
grep -qx 'FifoSQLiteQueue after the kill gives: m2 lost1 lost2' seen
grep -qx 'FifoSQLiteQueue after pushing new1, new2 gives: new1 new2 then None' seen
