"""Calls of functions that have no client, window or list; they are added to those of statuses."""

import ctypes
import json
import pathlib

from tideline import _library as c

from statuses import OTHERS, TEXT, gives
from status_world import MARK, ROOM, USER, message
from support import KEY

BIG = b" " * ((16 << 20) + 1)


def opening(w, key=KEY, user=USER, path=None, flags=0, kind="struct"):
    """The arguments of an opening."""
    config = getattr(w, kind)(c.ClientConfig, path=path or w.path, key=w.view(key), user_id=user,
                              flags=flags)
    return config, w.out()


def existing(w):
    """A client's file that nobody has open."""
    w.refilled().close()


def opens(status, words, before=None, fault=None, **more):
    def setup(w):
        if before:
            before(w)
        return opening(w, **more)
    gives("tl_client_open", status, words, setup, fault)


def spoil(w):
    """Changes every page of a file but the first, which says what it is."""
    existing(w)
    path = pathlib.Path(w.path)
    data = bytearray(path.read_bytes())
    for at in range(8_192, len(data), 64):
        data[at] ^= 1
    path.write_bytes(data)
    pathlib.Path(w.path + "-wal").unlink(missing_ok=True)


opens("TL_OK", "a new file")
gives("tl_client_open", "TL_E_INVALID", "NULL for the configuration", lambda w: (None, w.out()))
opens("TL_E_TOO_NEW", "a longer struct whose tail is not zero", kind="longer")
opens("TL_E_KEY", "another key", existing, key=bytes(32))
opens("TL_E_DAMAGED", "a file whose pages were changed", spoil)
opens("TL_E_NOT_OURS", "a file of another program",
      lambda w: pathlib.Path(w.path).write_text(MARK * 4_096))
opens("TL_E_LOCKED", "the file is open", lambda w: w.refilled())
opens("TL_E_MISMATCH", "another user", existing, user=f"{MARK}-other")
opens("TL_E_NOT_FOUND", "no file, and `TL_OPEN_EXISTING`", flags=2)
opens("TL_E_STORAGE", "a folder that is not there", path=f"/{MARK}/{MARK}/{MARK}")
opens("TL_E_FULL", "a new file on a full disk", fault="the disk is full")

ACCOUNT = "tl_frame_account"
gives(ACCOUNT, "TL_OK", "a frame with an account", lambda w: (w.view(OTHERS), w.out(c.View)))
gives(ACCOUNT, "TL_NONE", "a frame without one", lambda w: (w.view("{}"), w.out(c.View)))
gives(ACCOUNT, "TL_E_INVALID", "NULL for `out`", lambda w: (w.view(OTHERS), None))
gives(ACCOUNT, "TL_E_FRAME", "half a frame", lambda w: (w.view("{"), w.out(c.View)))
gives(ACCOUNT, "TL_E_TOO_LARGE", "a frame over 16 MiB", lambda w: (w.view(BIG), w.out(c.View)))


def batch(w):
    """A batch of messages that nobody frees before the world ends."""
    query, out = w.struct(c.Query, conversation=ROOM), ctypes.c_void_p()
    assert c.library.tl_client_messages(w.known()._handle, query, ctypes.byref(out)) == 0
    w.batches.append(out)
    return out


COVERAGE, BLOCK = "tl_batch_coverage", "tl_batch_block"
gives(COVERAGE, "TL_OK", "an ordinary call", lambda w: (batch(w), w.struct(c.Coverage)))
gives(COVERAGE, "TL_E_INVALID", "NULL for the batch", lambda w: (None, w.struct(c.Coverage)))
gives(COVERAGE, "TL_E_TOO_NEW", "a longer struct whose tail is not zero",
      lambda w: (batch(w), w.longer(c.Coverage)))
gives(BLOCK, "TL_OK", "an ordinary call", lambda w: (batch(w), w.out(c.View)))
gives(BLOCK, "TL_E_INVALID", "NULL for the batch", lambda w: (None, w.out(c.View)))

LIST = json.dumps([message(1)])
for name in ("tl_merge_messages", "tl_merge_deltas"):
    gives(name, "TL_OK", "an ordinary call", lambda w: (w.view(LIST), w.view("[]"), w.out(TEXT)))
    gives(name, "TL_QUARANTINED", "an item that is no object",
          lambda w: (w.view("[7]"), w.view("[]"), w.out(TEXT)))
    gives(name, "TL_E_INVALID", "NULL for `out`", lambda w: (w.view(LIST), w.view("[]"), None))
    gives(name, "TL_E_FRAME", "an object for a list",
          lambda w: (w.view("{}"), w.view("[]"), w.out(TEXT)))
    gives(name, "TL_E_TOO_LARGE", "a list over 16 MiB",
          lambda w: (w.view(BIG), w.view("[]"), w.out(TEXT)))
