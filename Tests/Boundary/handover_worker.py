"""One of two processes that hand a file over to one another, until it is killed or told to end.

    handover_worker.py FOLDER NAME SECONDS

It takes the file, does a turn, and lets go of it. What it was told is stored it notes in NAME.log,
and each message that it notifies of in told.log, after the place in the feed is on disk. An alarm
that nothing handles kills it SECONDS after each start, wherever it is.
"""

import json
import os
import random
import signal
import sys
import time

import tideline

from support import KEY, message

folder, name, seconds = sys.argv[1:]
PATH, SEEN = os.path.join(folder, "file"), os.path.join(folder, "seen")
log, told = (os.open(os.path.join(folder, one), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
             for one in (f"{name}.log", "told.log"))


def note(file, *words):
    os.write(file, (" ".join(map(str, words)) + "\n").encode())


def seen():
    try:
        with open(SEEN, encoding="utf-8") as file:
            return int(file.read())
    except FileNotFoundError:
        return 0


def keep(place):
    with open(f"{SEEN}-{name}", "w", encoding="utf-8") as file:
        file.write(str(place))
    os.rename(f"{SEEN}-{name}", SEEN)


def notify(client):
    """As docs/howto/notifications.md has it, with the place kept before anything is shown."""
    place, rows = seen(), []
    changes = client.changes(place)
    while changes.entries:
        for change in changes.entries:
            if change.notify:
                rows += client.numbered(change.conversation, change.first, change.last)
            place = change.seq
        changes = client.changes(place)
    keep(place)
    for row in rows:
        if row.sender != "me":
            note(told, row.id)


def push(client, number):
    """The same push reaches both processes."""
    frame = {"type": "message_new", "conversation_id": "c",
             "message": message(number % 60, message_id=f"p{number}", payload=f"p{number}")}
    client.receive(json.dumps(frame))
    note(log, "stored", f"p{number}")


def turn(client, window):
    for number in range(pushed[0], pushed[0] + 2):
        push(client, number)
    pushed[0] += 1
    text = f"{name}-{os.getpid()}-{pushed[0]}"
    client.send("c", text)
    note(log, "stored", text)
    notify(client)
    window.poll()
    count = window.state().row_count
    shown = [row.number for row in window.rows(max(0, count - 20), 20)]
    stored = [row.number for row in client.messages("c", limit=20).messages]
    if shown != stored:
        note(log, "wrong", shown, stored)


def main():
    client = tideline.when_free(PATH, lambda: tideline.Client(PATH, KEY, user_id="me"))
    window = client.window("c", count=50)
    while True:
        note(log, "got", time.monotonic_ns())
        turn(client, window)
        note(log, "leaves", time.monotonic_ns())
        client.release()
        if os.path.exists(os.path.join(folder, "end")):
            return
        # The other one has it next, where there is another one.
        time.sleep(random.uniform(0, 0.004))
        note(log, "wants", time.monotonic_ns())
        client.reacquire(timeout=60.0)


pushed = [int(open(os.path.join(folder, "pushed"), encoding="utf-8").read())]
if float(seconds) > 0:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, float(seconds))
main()
