"""Calls of functions that have no client, window or list; they are added to those of statuses."""

import ctypes
import json
import os
import pathlib

import tideline
from tideline import _library as c

from statuses import OTHERS, TEXT, gives
from status_world import MARK, ROOM, USER, message
from support import KEY

BIG = b" " * ((16 << 20) + 1)


def opening(w, key=KEY, user=USER, path=None, flags=0, kind="struct", account="",
            capabilities=0, server=0, key_kind=0):
    """The arguments of an opening."""
    profile = w.struct(c.Profile, flags=server, capabilities=capabilities)
    config = getattr(w, kind)(c.ClientConfig, path=path or w.path, key=w.view(key), user_id=user,
                              flags=flags, account=account, key_kind=key_kind,
                              profile=ctypes.pointer(profile._obj))
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


def lacking(w):
    """The opening of a copy that lacks the log, where that is to be refused."""
    w.refilled().send(ROOM, MARK)
    copy = pathlib.Path(w.folder, "copy")
    copy.write_bytes(pathlib.Path(w.path).read_bytes())
    return opening(w, path=str(copy), flags=64)


opens("TL_OK", "a new file")
gives("tl_client_open", "TL_E_DAMAGED", "a copy without its log, and `TL_OPEN_FRESH`", lacking)
gives("tl_client_open", "TL_E_INVALID", "NULL for the configuration", lambda w: (None, w.out()))
gives("tl_client_open", "TL_E_INVALID", "a path that ends in -wal",
      lambda w: opening(w, path=w.path + "-wal"))
opens("TL_E_TOO_NEW", "a longer struct whose tail is not zero", kind="longer")
opens("TL_E_KEY", "another key", existing, key=bytes(32))
opens("TL_E_DAMAGED", "a file whose pages were changed", spoil)
opens("TL_E_NOT_OURS", "a file of another program",
      lambda w: pathlib.Path(w.path).write_text(MARK * 4_096))
opens("TL_E_LOCKED", "the file is open", lambda w: w.refilled())
opens("TL_E_MISMATCH", "another user", existing, user=f"{MARK}-other")
opens("TL_E_MISMATCH", "another account", existing, account=f"{MARK}-other")
opens("TL_E_MISMATCH", "another kind of position", existing, capabilities=1 << 4)
opens("TL_E_MISMATCH", "a log in place of times", existing, capabilities=1 << 6)
opens("TL_E_INVALID", "numbers, and a log", capabilities=1 << 4 | 1 << 6)
opens("TL_E_UNSUPPORTED", "`TL_PROFILE_ORDER_NOT_TIME` without numbers", server=1 << 7)
opens("TL_E_NOT_FOUND", "no file, and `TL_OPEN_EXISTING`", flags=2)
opens("TL_E_STORAGE", "a pipe has the name that a new file is made under",
      lambda w: os.mkfifo(w.path + "-new"))
opens("TL_E_STORAGE", "a folder that is not there", path=f"/{MARK}/{MARK}/{MARK}")
opens("TL_E_FULL", "a new file on a full disk", fault="the disk is full")

SALVAGE = "tl_salvage"


def salvaging(w, name="saved", **more):
    """The arguments of a salvage of the file."""
    config, out = opening(w, **more)
    return config, w.view(f"{w.folder}/{name}"), out


def salvages(status, words, before=existing, **more):
    def setup(w):
        before(w)
        return salvaging(w, **more)
    gives(SALVAGE, status, words, setup)


def headless(w, has_own=False):
    """Changes both copies of the header, and removes the third one."""
    existing(w)
    path = pathlib.Path(w.path)
    data = bytearray(path.read_bytes())
    for at in (70, 4_166):
        data[at] ^= 1
    path.write_bytes(data)
    if not has_own:
        pathlib.Path(f"{w.path}-own").unlink(missing_ok=True)


def stranger(w):
    """The salvage of a file of another user, at its end."""
    existing(w)
    config, path, out = salvaging(w, user=f"{MARK}-other")
    assert c.library.tl_salvage(config, path, out) == 0
    return w.keep(tideline.Work(None, out._obj))._handle, 60_000, w.struct(c.Progress)


salvages("TL_OK", "a file whose pages were changed", spoil)
salvages("TL_E_INVALID", "a file is at `path`",
         lambda w: (existing(w), pathlib.Path(w.folder, "saved").write_text("here")))
salvages("TL_E_TOO_NEW", "a longer struct whose tail is not zero", kind="longer")
salvages("TL_E_KEY", "another key", key=bytes(32))
salvages("TL_E_NO_SLOT", "a passphrase, of a file without", key=MARK.encode(), key_kind=1)
salvages("TL_E_CODE", "a code with a typing error", key=b"0", key_kind=2)
salvages("TL_E_DAMAGED", "all copies of its header changed", headless)
salvages("TL_OK", "both copies of its header changed, and `NAME-own` beside it",
         lambda w: headless(w, has_own=True))
salvages("TL_E_NOT_OURS", "a file of another program",
         lambda w: pathlib.Path(w.path).write_text(MARK * 4_096))
salvages("TL_E_LOCKED", "the file is open", lambda w: w.refilled())
salvages("TL_E_NOT_FOUND", "no file", lambda w: None)
salvages("TL_E_STORAGE", "the folder of the new file is missing", name="missing/saved")
gives(SALVAGE, "TL_E_UNSUPPORTED", "in memory", lambda w: (
    w.struct(c.ClientConfig, user_id=USER, flags=1), w.view(f"{w.folder}/saved"), w.out()))
gives("tl_work_step", "TL_E_MISMATCH", "of a salvage, a file of another user", stranger)

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


def viewport(w):
    """A viewport of three rows; the second has a height."""
    view = w.keep(tideline.Viewport(100, overscroll_max=50))
    view.update([tideline.Op(tideline.OpKind.INSERT, 0, 0, 3)], [1, 2, 3])
    view.measure({2: 90})
    return view


def inserting(count, *keys):
    """The arguments of an update that puts rows in at the top."""
    def arguments(w, view):
        step = w.keep(c.Op(1, 0, 0, count))
        return ctypes.byref(step), 1, w.keep((ctypes.c_uint64 * len(keys))(*keys)), None, len(keys)
    return arguments


def pulled(w, view):
    view.scroll(-10, finger=True)
    return (0,)


def moving(w, view):
    view.animate_to(0, 3)
    return ()


def measuring(key, height):
    return lambda w, view: (
        ctypes.byref(w.keep(ctypes.c_uint64(key))), ctypes.byref(w.keep(ctypes.c_int64(height))), 1)


LAYOUT, FAR, PLACED = c.POINTER(c.Layout), 1 << 41, c.Placed
VIEWPORT = {
    "update": inserting(1, 4, 1, 2, 3),
    "measure": measuring(1, 30),
    "resize": lambda w, view: (50, 1),
    "layout": lambda w, view: (w.out(LAYOUT),),
    "scroll": lambda w, view: (10, 1),
    "scroll_to": lambda w, view: (w.struct(c.Target, key=2),),
    "animate_to": lambda w, view: (w.struct(c.Target, key=2), 0, 0),
    "tick": lambda w, view: (*moving(w, view), 1),
    "release": pulled,
    "stop": moving,
    "find": lambda w, view: (2, w.out(PLACED)),
    "at": lambda w, view: (50, w.out(PLACED)),
    "state": lambda w, view: (w.struct(c.ViewportStatus),),
}


def on_viewport(name, status, words, arguments):
    def setup(w):
        view = viewport(w)
        return view._handle, *arguments(w, view)
    gives(f"tl_viewport_{name}", status, words, setup)


gives("tl_viewport_new", "TL_OK", "an ordinary call",
      lambda w: (w.struct(c.ViewportConfig, extent=100), w.out()))
gives("tl_viewport_new", "TL_E_INVALID", "a negative margin",
      lambda w: (w.struct(c.ViewportConfig, margin=-1), w.out()))
gives("tl_viewport_new", "TL_E_INVALID", "an unknown flag",
      lambda w: (w.struct(c.ViewportConfig, flags=16), w.out()))
gives("tl_viewport_new", "TL_E_TOO_LARGE", "an extent over 2^40",
      lambda w: (w.struct(c.ViewportConfig, extent=FAR), w.out()))
gives("tl_viewport_new", "TL_E_TOO_NEW", "a longer struct whose tail is not zero",
      lambda w: (w.longer(c.ViewportConfig), w.out()))
for name, arguments in VIEWPORT.items():
    on_viewport(name, "TL_OK", "an ordinary call", arguments)
    gives(f"tl_viewport_{name}", "TL_E_INVALID", "NULL for the viewport",
          lambda w, arguments=arguments: (None, *arguments(w, viewport(w))))
on_viewport("update", "TL_E_INVALID", "two rows with one key", inserting(1, 2, 1, 2, 3))
on_viewport("update", "TL_E_INVALID", "too few keys", inserting(2, 4, 1, 2, 3))
on_viewport("update", "TL_E_TOO_LARGE", "a list of over 1,048,576 rows",
            inserting(1 << 20, 4, 1, 2, 3))
on_viewport("measure", "TL_NONE", "a key that no row has", measuring(9, 30))
on_viewport("measure", "TL_E_INVALID", "a negative height", measuring(1, -1))
on_viewport("measure", "TL_E_TOO_LARGE", "a height over 2^40", measuring(1, FAR))
on_viewport("resize", "TL_E_INVALID", "a negative extent", lambda w, view: (-1, 0))
on_viewport("resize", "TL_E_TOO_LARGE", "an extent over 2^40", lambda w, view: (FAR, 0))
on_viewport("scroll", "TL_E_INVALID", "an unknown flag", lambda w, view: (1, 2))
for name in ("scroll_to", "animate_to"):
    more = (0, 0) if name == "animate_to" else ()

    def to(kind="struct", more=more, **fields):
        return lambda w, view: (getattr(w, kind)(c.Target, **fields), *more)
    on_viewport(name, "TL_NONE", "a key that no row has", to(key=9))
    on_viewport(name, "TL_E_INVALID", "an end with a key", to(edge=2, key=1))
    on_viewport(name, "TL_E_TOO_LARGE", "an inset over 2^40", to(key=1, inset=FAR))
    on_viewport(name, "TL_E_TOO_NEW", "a longer struct whose tail is not zero",
                to("longer", key=1))
on_viewport("tick", "TL_NONE", "nothing moves", lambda w, view: (0,))
on_viewport("release", "TL_NONE", "nothing is pulled", lambda w, view: (0,))
on_viewport("stop", "TL_NONE", "no animation", lambda w, view: ())
on_viewport("find", "TL_NONE", "a key that no row has", lambda w, view: (9, w.out(PLACED)))
on_viewport("at", "TL_NONE", "a place below the view", lambda w, view: (100, w.out(PLACED)))
on_viewport("state", "TL_E_TOO_NEW", "a longer struct whose tail is not zero",
            lambda w, view: (w.longer(c.ViewportStatus),))
