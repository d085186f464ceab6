#!/bin/sh
# kombu 5.7.0 (PyPI), its transport `filesystem://`: queues in a folder, without a server.
#
# Guess: messages of one producer come in the order of their sending, also after a restart.
# Guess: a message that was taken and not confirmed comes again when the process that took it was
# killed, as with a server of AMQP: `ack` is what removes it.
# Seen: a file is named by the milliseconds since the machine started, and by a random UUID. The
# names are sorted as texts: messages of one millisecond come in any order, and those that are sent
# after the machine was started again come before, or between, those that waited. So does the
# 10,000th second after the 9,999th.
# Seen: the file is removed before the message is handed out. What a killed process had taken is
# gone, without an error; a channel that waits with `consume` takes all that is there at once.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install kombu==5.7.0 2>pip.log
cat >try.py <<'PY'
import os

from kombu import Connection
from kombu.transport import filesystem

WHERE = {"data_folder_in": "spool", "data_folder_out": "spool", "control_folder": "control"}
os.mkdir("spool")


def connect():
    return Connection("filesystem://", transport_options=WHERE)


def take(queue, count):
    found = [queue.get(timeout=5) for _ in range(count)]
    for each in found:
        each.ack()
    return [each.payload for each in found]


with connect() as connection:
    queue = connection.SimpleQueue("room")
    orders = []
    for _ in range(5):
        for number in range(40):
            queue.put(number)
        orders.append(take(queue, 40))
    print("in order:", any(each == sorted(each) for each in orders),
          "- all there:", all(sorted(each) == list(range(40)) for each in orders))
    for name, first, second in (("a start of the machine", 86_400, 30),
                                ("the 10,000th second", 9_999, 10_000)):
        for text, seconds in (("before", first), ("after", second)):
            filesystem.monotonic = lambda: seconds  # The clock that the names are made of.
            queue.put(text)
        print(f"{name}:", *take(queue, 2))
    for text in "m1", "m2", "m3":
        filesystem.monotonic = lambda: 20_000 + int(text[1])
        queue.put(text)
if os.fork() == 0:
    with connect() as connection:
        print("taken, and then killed:", connection.SimpleQueue("room").get(timeout=5).payload,
              flush=True)
        os.kill(os.getpid(), 9)
os.wait()
with connect() as connection:
    queue = connection.SimpleQueue("room")
    print("the next process:", *take(queue, queue.qsize()))
PY
venv/bin/python try.py | tee seen
cat >expected <<'EOF'
in order: False - all there: True
a start of the machine: after before
the 10,000th second: after before
taken, and then killed: m1
the next process: m2 m3
EOF
cmp seen expected
