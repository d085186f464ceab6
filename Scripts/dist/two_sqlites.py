"""The host's SQLite and the library's in one process: each keeps its files and its locks."""

import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import threading

import tideline

KEY = bytes(range(32))
OPEN = ("import sys, tideline\n"
        "try: tideline.Client(sys.argv[1], bytes(range(32)), user_id='me').close()\n"
        "except tideline.LockedError: print('locked')\n"
        "else: print('free')")
WRITE = ("import sys, sqlite3\n"
         "base = sqlite3.connect(sys.argv[1], timeout=0)\n"
         "try: base.execute('BEGIN IMMEDIATE')\n"
         "except sqlite3.OperationalError as error: print(error)\n"
         "else: print('free')")
passed = failed = 0


def check(what, found, wanted):
    global passed, failed
    passed, failed = passed + (found == wanted), failed + (found != wanted)
    if found != wanted:
        print(f"two copies of SQLite: not so: {what}: {found!r}, not {wanted!r}")


def elsewhere(program, path):
    """What a process of its own says."""
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True)
    return done.stdout.strip() or done.stderr


def content(path):
    """The bytes of a file, read by a process of its own: closing it here would drop our locks."""
    return subprocess.run(["cat", path], capture_output=True, check=True).stdout


def raised(call, *arguments, **more):
    try:
        call(*arguments, **more)
    except Exception as error:
        return type(error).__name__
    return None


def loaded():
    """The copies of SQLite in this process, by the files that it has mapped."""
    maps = pathlib.Path("/proc/self/maps").read_text()
    return [name for name in ("libsqlite3.so", "libtideline.so") if name in maps]


def main(folder):
    ours, theirs = f"{folder}/ours.tideline", f"{folder}/theirs.db"
    client = tideline.Client(ours, KEY, user_id="me")
    base = sqlite3.connect(theirs, timeout=0, isolation_level=None)
    base.execute("PRAGMA journal_mode=DELETE")
    base.execute("CREATE TABLE t(n)")
    check("both are in the process", loaded(), ["libsqlite3.so", "libtideline.so"])

    # The host reads the library's file by mistake: it sees no database, and the lock stays, though
    # POSIX drops the locks of a process when it closes any descriptor of the file.
    client.send("c", {"text": "before"})
    wrong = sqlite3.connect(ours, timeout=0)
    check("the host's SQLite reads nothing of ours", raised(wrong.execute, "SELECT * FROM t"),
          "DatabaseError")
    wrong.close()
    check("our file is locked still", elsewhere(OPEN, ours), "locked")
    client.send("c", {"text": "after"})
    check("and goes on", len(client.messages("c").messages), 2)

    # The library is given the host's file by mistake, while the host holds its lock.
    base.execute("BEGIN IMMEDIATE")
    base.execute("INSERT INTO t VALUES (1)")
    before = content(theirs)
    check("we refuse the host's file", raised(tideline.Client, theirs, KEY, user_id="me"),
          REFUSED)
    check("and change nothing of it", content(theirs) == before, True)
    check("the host's lock is there still", elsewhere(WRITE, theirs), "database is locked")
    base.execute("COMMIT")
    check("the host goes on", base.execute("SELECT n FROM t").fetchall(), [(1,)])

    # Both at work at once, and in any order of closing.
    def host():
        mine = sqlite3.connect(theirs, timeout=10, isolation_level=None)
        for n in range(200):
            mine.execute("INSERT INTO t VALUES (?)", (n,))
        mine.close()
    worker = threading.Thread(target=host)
    worker.start()
    for n in range(200):
        client.send("c", {"text": str(n)})
    worker.join()
    check("all rows of the host", base.execute("SELECT count(*) FROM t").fetchone(), (201,))
    check("all messages", len(client.messages("c", limit=1000).messages), 202)
    base.close()
    client.send("c", {"text": "last"})
    client.close()
    check("our file is free after its end", elsewhere(OPEN, ours), "free")
    again = sqlite3.connect(theirs)
    check("the host's file is whole", again.execute("PRAGMA integrity_check").fetchone(), ("ok",))
    again.close()


REFUSED = "NotOursError"

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(made)
    print(f"two copies of SQLite: {passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)
