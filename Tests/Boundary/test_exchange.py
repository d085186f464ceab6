"""A new data key where the system refuses a part of the exchange of two files: a file system that
cannot exchange names, and a folder that cannot be synced. A library that is loaded first plays it.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tideline

from support import KEY
from test_import import finish, lines, message

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static int is_set(const char *name) { return getenv(name) != NULL; }

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
  static int (*next)(int, const char *, int, const char *, unsigned);
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "renameat2");
  if (flags == 0 || !is_set("NO_EXCHANGE"))
    return next(from_folder, from, to_folder, to, flags);
  errno = EINVAL;
  return -1;
}

int fsync(int descriptor) {
  static int (*next)(int);
  struct stat status;
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "fsync");
  if (is_set("NO_FOLDER") && fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) {
    errno = EIO;
    return -1;
  }
  return next(descriptor);
}
"""
CHILD = """
import os, sys, tideline
client = tideline.Client(sys.argv[1], %r, user_id="me")
work = client.rekey()
try:
    while not work.step(0).is_done:
        if "NO_FOLDER_AT_END" in os.environ:
            os.environ["NO_FOLDER"] = "1"
    client.draft("c", "goes on")
    print("done", len(client.messages("c", limit=10_000).messages))
except tideline.StorageError:
    try:
        client.draft("c", "goes on")
        print("goes on")
    except tideline.ClosedError:
        print("ended")
""" % KEY


class Exchange(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.place.cleanup)
        cls.shim = pathlib.Path(cls.place.name) / "shim.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", cls.shim, "-x", "c", "-", "-ldl"],
                       input=SHIM, text=True, check=True)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "eva.tideline"
        with self.open() as client:
            finish(client.import_messages(lines(message(n, "c") for n in range(500)), "all"))
        self.old = self.file.open("rb")
        self.addCleanup(self.old.close)
        self.key = self.id()

    def open(self):
        return tideline.Client(self.file, KEY, user_id="me", log=lambda *_: None)

    def id(self):
        return self.file.read_bytes()[16:32]

    def rekey(self, *refused):
        environment = {**os.environ, "LD_PRELOAD": str(self.shim), **dict.fromkeys(refused, "1")}
        return subprocess.run([sys.executable, "-c", CHILD, self.file], text=True, check=True,
                              env=environment, stdout=subprocess.PIPE).stdout

    def left(self):
        """What an opening finds and leaves."""
        with self.open() as client:
            found = len(client.messages("c", limit=10_000).messages)
            draft = client.conversation("c").draft
        return found, draft, sorted(one.name for one in self.folder.iterdir())

    def slots(self):
        """Whether the old file has slots yet, whatever its name is."""
        self.old.seek(0)
        return any(self.old.read(8192)[64:1344])

    def test_names_that_cannot_be_exchanged(self):
        self.assertEqual(self.rekey("NO_EXCHANGE"), "done 500\n")
        self.assertNotEqual(self.id(), self.key)
        self.assertEqual(
            self.left(), (500, b"goes on", ["eva.tideline", "eva.tideline-own"]))
        # It was overwritten by its open file.
        self.assertFalse(self.slots())

    def test_a_folder_that_cannot_be_synced(self):
        """Which file has the name after a loss of power is not known, so nothing is committed."""
        for more in ((), ("NO_EXCHANGE",)):
            with self.subTest(more=more):
                self.assertEqual(self.rekey("NO_FOLDER_AT_END", *more), "ended\n")
                self.assertEqual(self.left(), (500, b"", ["eva.tideline"]))
                # The next one is as any other.
                with self.open() as client:
                    finish(client.rekey())
                self.assertEqual(self.left(), (500, b"", ["eva.tideline"]))
                self.assertNotEqual(self.id(), self.key)


if __name__ == "__main__":
    unittest.main()
