"""Calls of imports, exports, backups and new data keys; they are added to those of statuses."""

import pathlib

import tideline
from tideline import _library as c

from statuses import UNREACHED, call, connected, empty, gives
from status_world import ROOM, USER
from support import KEY
from statuses_find import on_client

IMPORT, IMPORTED, BAD, EXPORT = (
    "tl_client_import", "tl_client_imported", "tl_client_import_bad", "tl_client_export")
BACKUP, REKEY, RECEIPT = "tl_client_backup", "tl_client_rekey", "tl_work_receipt"
CHECK, CHECKED = "tl_client_check", "tl_work_checked"
NAME = "old"


@c.ImportRead
def nothing(_context, _offset, _bytes, _size, got):
    got[0] = 0
    return 0


@c.ExportWrite
def everything(_context, _lines):
    return 0


def filled(w):
    """A client with an import that had a line of no use."""
    client = connected(w)
    work = client.import_messages(b"no json\n", NAME)
    while not work.step().is_done:
        pass
    return client


def cut(w):
    """A step of an import whose array has no end."""
    work = w.keep(connected(w).import_messages(b"[", NAME, array=True))
    return work._handle, 0, w.struct(c.Progress)


def source(w, kind="struct", **more):
    return getattr(w, kind)(c.Import, name=NAME, read=nothing, **more), w.out()


def target(w, kind="struct", conversation=ROOM, **more):
    return getattr(w, kind)(c.Export, conversation=conversation, write=everything, **more), w.out()


def copy(w, h=None, name="copy"):
    return w.view(f"{w.folder}/{name}"), w.out()


def beside(w):
    """A client of which a backup is under way."""
    client = connected(w)
    w.keep(client.backup(f"{w.folder}/copy"))
    return client


def late(w):
    """The last step of a backup where a file was put meanwhile."""
    work = w.keep(connected(w).backup(f"{w.folder}/copy"))
    pathlib.Path(w.folder, "copy").write_text("here")
    return work._handle, 60_000, w.struct(c.Progress)


def hindered(w):
    """A client of a file beside which another one lies."""
    client = connected(w)
    apart = pathlib.Path(w.folder, "another")
    tideline.Client(apart, KEY, user_id=USER).close()
    apart.rename(f"{w.path}-new")
    return client


def nothing_erased(w, h):
    return w.view(""), w.out()


def second(w):
    """A step of a new data key where another work is at it."""
    client = connected(w)
    w.keep(client.rekey()).step()
    return w.keep(client.rekey())._handle, 0, w.struct(c.Progress)


def checking(w, h):
    return h, 0, w.out()


def checked(w, is_done, kind="struct"):
    work = w.keep(connected(w).check())
    while is_done and not work.step().is_done:
        pass
    return work._handle, getattr(w, kind)(c.Checked)


def receipt(w, is_done, kind="struct"):
    work = w.keep(connected(w).rekey())
    while is_done and not work.step().is_done:
        pass
    return work._handle, getattr(w, kind)(c.Receipt)


on_client(BACKUP, copy, connected)
gives(BACKUP, "TL_E_INVALID", "a file is at `path`",
      call(BACKUP, connected, lambda w, h: (w.view(w.path), w.out())))
gives(BACKUP, "TL_E_LOCKED", "another backup to `path` is under way",
      call(BACKUP, beside, copy))
gives(BACKUP, "TL_E_UNSUPPORTED", "a client in memory", call(BACKUP, empty, copy))
gives(BACKUP, "TL_E_STORAGE", "the folder is missing",
      call(BACKUP, connected, lambda w, h: copy(w, name="missing/copy")))
gives("tl_work_step", "TL_E_INVALID", "of a backup, a file is at `path` now", late)
on_client(IMPORT, lambda w, h: source(w), connected)
on_client(IMPORTED, lambda w, h: (w.view(NAME), w.struct(c.Imported)), filled)
on_client(BAD, lambda w, h: (w.view(NAME), 0, 0, w.out()), filled)
on_client(EXPORT, lambda w, h: target(w), connected)
gives(IMPORT, "TL_E_TOO_NEW", "a longer struct whose tail is not zero",
      call(IMPORT, connected, lambda w, h: source(w, "longer")))
for fault, status in (("the disk cannot be written", "TL_E_STORAGE"),
                      ("the disk is full", "TL_E_FULL")):
    gives(IMPORT, status, f"{fault}, with `TL_IMPORT_AGAIN`",
          call(IMPORT, filled, lambda w, h: source(w, flags=4)), fault)
gives(IMPORTED, "TL_E_TOO_NEW", "a longer struct whose tail is not zero",
      call(IMPORTED, filled, lambda w, h: (w.view(NAME), w.longer(c.Imported))))
gives(IMPORTED, "TL_E_NOT_FOUND", "a name of no import",
      call(IMPORTED, connected, lambda w, h: (w.view(NAME), w.struct(c.Imported))))
gives(BAD, "TL_NONE", "no line behind the last one",
      call(BAD, filled, lambda w, h: (w.view(NAME), 1, 0, w.out())))
gives(EXPORT, "TL_E_TOO_NEW", "a longer struct whose tail is not zero",
      call(EXPORT, connected, lambda w, h: target(w, "longer")))
gives(EXPORT, "TL_E_NOT_FOUND", "a conversation that is not known",
      call(EXPORT, connected, lambda w, h: target(w, conversation="nowhere")))
gives("tl_work_step", "TL_E_INCOMPLETE", "of an import, an array that has no end yet", cut)
on_client(REKEY, lambda w, h: (w.view(ROOM), w.out()), connected)
gives(REKEY, "TL_E_NOT_FOUND", "no such conversation",
      call(REKEY, connected, lambda w, h: (w.view(NAME), w.out())))
gives(REKEY, "TL_E_INVALID", "another file is `NAME-new`", call(REKEY, hindered, nothing_erased))
gives(REKEY, "TL_E_UNSUPPORTED", "a client in memory", call(REKEY, empty, nothing_erased))
for fault, status in (("the disk cannot be written", "TL_E_STORAGE"),
                      ("the disk is full", "TL_E_FULL")):
    gives(REKEY, status, f"{fault}, and something is to be erased",
          call(REKEY, connected, lambda w, h: (w.view(ROOM), w.out())), fault)
gives("tl_work_step", "TL_E_LOCKED", "of a `tl_client_rekey` beside another one", second)
gives(RECEIPT, "TL_OK", "it is done", lambda w: receipt(w, True))
gives(RECEIPT, "TL_NONE", "it is not done", lambda w: receipt(w, False))
gives(RECEIPT, "TL_E_TOO_NEW", "a longer struct whose tail is not zero",
      lambda w: receipt(w, True, "longer"))
UNREACHED[RECEIPT, "TL_E_CLOSED"] = "it reads what the work has done"
gives(RECEIPT, "TL_E_INVALID", "NULL for the work", lambda w: (None, w.struct(c.Receipt)))
on_client(CHECK, lambda w, h: (0, w.out()), connected)
gives(CHECK, "TL_E_UNSUPPORTED", "a client in memory",
      call(CHECK, empty, lambda w, h: (0, w.out())))
gives(CHECKED, "TL_OK", "it is done", lambda w: checked(w, True))
gives(CHECKED, "TL_NONE", "it is not done", lambda w: checked(w, False))
gives(CHECKED, "TL_E_TOO_NEW", "a longer struct whose tail is not zero",
      lambda w: checked(w, True, "longer"))
UNREACHED[CHECK, "TL_E_STORAGE"] = "it asks how long the open file is"
UNREACHED[CHECKED, "TL_E_CLOSED"] = "it reads what the work has found"
gives(CHECKED, "TL_E_INVALID", "NULL for the work", lambda w: (None, w.struct(c.Checked)))
for function in (IMPORTED, BAD, EXPORT):
    UNREACHED[function, "TL_E_STORAGE"] = "what it needs is in memory by then"
