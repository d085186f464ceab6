"""A file that the host has open itself: what is not ours stays the host's, with its locks."""

import contextlib
import fcntl
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import tideline

from support import KEY

# POSIX drops the locks of a process when it closes any descriptor of the file, so that another
# process has to be asked.
WRITE = """
import sqlite3, sys
base = sqlite3.connect(sys.argv[1], timeout=0)
try:
    base.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    print(error)
"""


def elsewhere(path):
    return subprocess.run([sys.executable, "-c", WRITE, path], capture_output=True,
                          text=True).stdout.strip()


class Locks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "file")

    def test_a_database_of_the_hosts_keeps_its_locks(self):
        base = sqlite3.connect(self.path, isolation_level=None)
        with contextlib.closing(base):
            base.execute("CREATE TABLE t(n)")
            base.execute("BEGIN IMMEDIATE")
            base.execute("INSERT INTO t VALUES (1)")
            with self.assertRaises(tideline.NotOursError):
                tideline.Client(self.path, KEY, user_id="me")
            self.assertEqual(elsewhere(self.path), "database is locked")
            base.execute("COMMIT")
            self.assertEqual(base.execute("SELECT n FROM t").fetchall(), [(1,)])

    def test_any_file_of_the_hosts_keeps_its_locks(self):
        """Also an empty one, and one that is shorter than a header, at any position."""
        for content in (b"", b"x" * 5_000, b"y" * 20_000):
            with open(self.path, "wb") as file:
                file.write(content)
            # Asks of the lock; it is opened before and closed after, for that would drop it.
            asking = os.open(self.path, os.O_RDWR)
            file = os.open(self.path, os.O_RDWR)
            fcntl.lockf(file, fcntl.LOCK_EX)
            os.lseek(file, 3, os.SEEK_SET)
            with self.subTest(len(content)), self.assertRaises(tideline.NotOursError):
                tideline.Client(self.path, KEY, user_id="me")
            program = ("import fcntl, sys; f = open(sys.argv[1], 'r+b')\n"
                       "try: fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
                       "except OSError: print('held')")
            told = subprocess.run([sys.executable, "-c", program, self.path],
                                  capture_output=True, text=True)
            self.assertEqual(told.stdout.strip(), "held")
            self.assertEqual(os.lseek(file, 0, os.SEEK_CUR), 3)
            os.close(file)
            os.close(asking)

    def test_a_file_of_ours_that_the_host_reads_opens(self):
        """As a host does that copies it, or that can only write it."""
        tideline.Client(self.path, KEY, user_id="me").close()
        for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_PATH):
            file = os.open(self.path, flags)
            with tideline.Client(self.path, KEY, user_id="me", existing=True) as client:
                client.send("c", "text")
            os.close(file)

    def test_another_file_that_is_only_written_is_not_ours(self):
        with open(self.path, "wb") as file:
            file.write(b"z" * 20_000)
            file.flush()
            with self.assertRaises(tideline.NotOursError):
                tideline.Client(self.path, KEY, user_id="me")
