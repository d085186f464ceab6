#!/bin/sh
# persist-queue 1.1.0 (PyPI), its UniqueAckQ in SQLite.
#
# Guess: the queue is unique among what waits, as UniqueQ is: an item that was taken and confirmed
# may be put again, "mark room 5 as read" say, or a second "ok".
# Guess: `clear_acked_data()` removes what was confirmed.
# Seen: an item that was ever confirmed, or given up with `ack_failed`, is not put again. `put`
# raises nothing: it returns None in place of a number, and nothing is sent. `clear_acked_data()`
# keeps the newest 1,000, so it makes no difference here. With `keep_latest=0` what was confirmed
# can be put again, and what was given up with `clear_ack_failed=True` as well.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install persist-queue==1.1.0 2>pip.log
cat >try.py <<'PY'
import persistqueue

item = {"room": "general", "read": 5}


def put(label):
    print(f"{label}: put returns", queue.put(item), "waiting", queue.size)


queue = persistqueue.UniqueQ("plain")
put("UniqueQ, first")
queue.get()
queue.task_done()
put("UniqueQ, taken")

queue = persistqueue.UniqueAckQ("ack")
put("UniqueAckQ, first")
queue.ack(queue.get())
put("UniqueAckQ, confirmed")
queue.clear_acked_data()
put("UniqueAckQ, cleared")
queue.clear_acked_data(keep_latest=0)
put("UniqueAckQ, cleared, none kept")
queue.ack_failed(queue.get())
put("UniqueAckQ, given up")
queue.clear_acked_data(keep_latest=0)
put("UniqueAckQ, given up, cleared, none kept")
queue.clear_acked_data(keep_latest=0, clear_ack_failed=True)
put("UniqueAckQ, given up, all cleared")
PY
timeout 60 venv/bin/python try.py | tee seen
grep -qx 'UniqueQ, taken: put returns 2 waiting 1' seen
grep -qx 'UniqueAckQ, first: put returns 1 waiting 1' seen
grep -qx 'UniqueAckQ, confirmed: put returns None waiting 0' seen
grep -qx 'UniqueAckQ, cleared: put returns None waiting 0' seen
grep -qx 'UniqueAckQ, cleared, none kept: put returns 2 waiting 1' seen
grep -qx 'UniqueAckQ, given up: put returns None waiting 0' seen
grep -qx 'UniqueAckQ, given up, cleared, none kept: put returns None waiting 0' seen
grep -qx 'UniqueAckQ, given up, all cleared: put returns 3 waiting 1' seen
