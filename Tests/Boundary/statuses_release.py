"""Calls on a client whose file was given up, and those that give it up and take it again; they are
added to those of statuses."""

import os
import pathlib
import shutil

import tideline
from tideline import _library as c

from statuses import MAKE, ORDINARY, connected, empty, gives, handle
from status_world import MARK, USER
from support import KEY

RELEASE, REACQUIRE, WATCH = "tl_client_release", "tl_client_reacquire", "tl_file_watch"
WORDS = "after `tl_client_release`"


def refused(function):
    """The arguments of a call that were made before the file was given up."""
    def setup(w):
        client = MAKE.get(function, connected)(w)
        target = handle(w, client, function)
        arguments = ORDINARY[function](w, target)
        client.release()
        return target._handle, *arguments
    return setup


for name in ORDINARY:
    if name != "tl_client_event_fd":
        gives(name, "TL_E_RELEASED", WORDS, refused(name))


def on(function, status, words, make, fault=None):
    gives(function, status, words, lambda w: (make(w)._handle,), fault)


def released(change=lambda w: None):
    """A client without its file, to which something was done since."""
    def make(w):
        client = connected(w)
        shutil.copy(w.path, w.path + "-old")
        client.draft(MARK, MARK)
        client.release()
        change(w)
        return client
    return make


def closed(make):
    def close(w):
        client = make(w)
        client.close()
        return client
    return close


def taken(w):
    w.keep(tideline.Client(w.path, KEY, user_id=USER))


def older(w):
    os.replace(w.path + "-old", w.path)


def spoilt(w):
    data = bytearray(pathlib.Path(w.path).read_bytes())
    for at in range(8_192, len(data), 64):
        data[at] ^= 1
    pathlib.Path(w.path).write_bytes(data)


on(RELEASE, "TL_OK", "an ordinary call", connected)
on(RELEASE, "TL_NONE", "it was given up before", released())
on(RELEASE, "TL_E_UNSUPPORTED", "a client in memory", empty)
on(RELEASE, "TL_E_CLOSED", "after `tl_client_close`", closed(connected))
on(REACQUIRE, "TL_OK", "an ordinary call", released())
on(REACQUIRE, "TL_NONE", "the file was not given up", connected)
on(REACQUIRE, "TL_E_CLOSED", "after `tl_client_close`", closed(released()))
on(REACQUIRE, "TL_E_LOCKED", "another client has the file", released(taken))
on(REACQUIRE, "TL_E_MISMATCH", "an older copy is in the place of the file", released(older))
on(REACQUIRE, "TL_E_NOT_FOUND", "the file was removed", released(lambda w: os.remove(w.path)))
on(REACQUIRE, "TL_E_NOT_OURS", "another program has put a file there",
   released(lambda w: pathlib.Path(w.path).write_text(MARK * 4_096)))
on(REACQUIRE, "TL_E_DAMAGED", "its pages were changed", released(spoilt))
on(REACQUIRE, "TL_E_STORAGE", "the disk cannot be read", released(), "the disk cannot be read")
for name in (RELEASE, REACQUIRE):
    gives(name, "TL_E_INVALID", "NULL for the client", lambda w: (None,))

gives(WATCH, "TL_OK", "an ordinary call", lambda w: (w.view(connected(w) and w.path),
                                                     w.out(c.c_int32)))
gives(WATCH, "TL_E_INVALID", "NULL for `out`", lambda w: (w.view(w.path), None))
gives(WATCH, "TL_E_NOT_FOUND", "no file", lambda w: (w.view(w.path), w.out(c.c_int32)))
