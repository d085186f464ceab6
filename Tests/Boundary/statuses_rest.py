"""Calls on a client that rests, and the call that lets it rest; they are added to those of
statuses."""

import os

from statuses import MAKE, ORDINARY, connected, gives, handle
from statuses_release import closed
from status_world import MARK, ROOM

REST, WORDS = "tl_client_rest", "the file was removed while the client rested"


def rested(w):
    client = connected(w)
    client.rest()
    return client


def removed(function):
    """The arguments of a call that were made before the client rested, and the file went."""
    def setup(w):
        client = MAKE.get(function, connected)(w)
        target = handle(w, client, function)
        arguments = ORDINARY[function](w, target)
        client.rest()
        os.remove(w.path)
        return target._handle, *arguments
    return setup


def on(status, words, make, fault=None):
    gives(REST, status, words, lambda w: (make(w)._handle,), fault)


def changed(w):
    """A client with a commit that its file lacks."""
    client = connected(w)
    client.draft(ROOM, MARK)
    return client


on("TL_OK", "an ordinary call", changed)
on("TL_NONE", "it rests", rested)
gives(REST, "TL_E_INVALID", "NULL for the client", lambda w: (None,))
on("TL_E_CLOSED", "after `tl_client_close`", closed(connected))
on("TL_E_STORAGE", "the disk cannot be written", changed, "the disk cannot be written")
on("TL_E_FULL", "the disk is full", changed, "the disk is full")

# Some of these have no other case: an opening has read what they need.
for name in ("tl_client_messages", "tl_client_send", "tl_client_changes", "tl_client_operations",
             "tl_client_operation", "tl_operation_progress", "tl_window_show"):
    gives(name, "TL_E_STORAGE", WORDS, removed(name))
