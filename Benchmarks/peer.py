"""What the rows that are Python programs share: the messages of `data.c` and how figures are told.

A program is run as `PROGRAM FOLDER MESSAGES CONVERSATIONS COMMAND` and does what it can of the
commands of `run.py`.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import sys
import time

OUT = pathlib.Path(__file__).resolve().parent.parent / "out" / "bench"
PAGE = 100
SCREEN = 50


class _Message(ctypes.Structure):
    """The first members of `data_message`; the rest is room."""

    _fields_ = [("json", ctypes.c_char * 16384), ("size", ctypes.c_size_t),
                ("rest", ctypes.c_uint64 * 32)]


class Data:
    """The messages that everything is measured on."""

    def __init__(self, messages, conversations):
        self.messages, self.conversations = messages, conversations
        self._library = ctypes.CDLL(str(OUT / "data.so"))
        self._library.data_length.restype = ctypes.c_uint64
        self._library.data_length.argtypes = [ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32]
        self._library.data_make.argtypes = [ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p]
        self._made = _Message()

    def length(self, conversation):
        return self._library.data_length(self.messages, self.conversations, conversation)

    def json(self, conversation, index):
        """One message as a server prints it."""
        self._library.data_make(conversation, index, ctypes.byref(self._made))
        return ctypes.string_at(ctypes.addressof(self._made), self._made.size)

    def page(self, conversation, first, end):
        """A JSON array of messages."""
        return b"[" + b",".join(self.json(conversation, i) for i in range(first, end)) + b"]"


class Stopwatch:
    """Counts only inside `with`."""

    def __init__(self):
        self.total = 0

    def __enter__(self):
        self._began = time.perf_counter_ns()

    def __exit__(self, *_):
        self.total += time.perf_counter_ns() - self._began


def told(figure, count, watch):
    """One figure, as `told` of `bench.h` prints it."""
    print(json.dumps({"figure": figure, "count": count, "ns": watch.total}, separators=(",", ":")),
          flush=True)


def said(figure, value):
    print(json.dumps({"figure": figure, "value": value}, separators=(",", ":")), flush=True)


def memory_kib(process="self"):
    """Bytes of a process in memory now."""
    with open(f"/proc/{process}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def drop_cache(folder):
    """The system forgets what it kept of the files, so that they are read from the disk."""
    files = [folder] if folder.is_file() else [f for f in folder.rglob("*") if f.is_file()]
    for file in [*files, folder.with_name(folder.name + "-wal")]:
        with contextlib.suppress(FileNotFoundError):
            handle = os.open(file, os.O_RDONLY)
            os.fsync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


def main(commands):
    """Runs the command that the arguments name; `commands` gives functions by name."""
    path, messages, conversations, command = sys.argv[1:5]
    return commands[command](pathlib.Path(path), Data(int(messages), int(conversations)))
