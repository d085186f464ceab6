"""Calls of the functions that find messages; they are added to those of statuses."""

import ctypes
import json

from tideline import _library as c

from statuses import call, connected, gives
from status_world import MARK, ROOM, ROWS, message

SWITCH, BUILD, SEARCH, STEP = (
    "tl_search_switch", "tl_search_build", "tl_client_search", "tl_work_step")
CHECK = "tl_search_check"
READ, BYTES = "the disk cannot be read", "the disk gives other bytes"


def searching(w):
    """A client whose search is on, and whose memory for pages was just used for messages."""
    client = connected(w)
    client.search_switch(True)
    work = client.search_build()
    while not work.step(100).is_done:
        pass
    client.messages(ROOM, limit=ROWS)
    return client


def switched(w):
    """One of which nothing is built."""
    client = connected(w)
    client.search_switch(True)
    client.messages(ROOM, limit=ROWS)
    return client


def partial(w):
    """One that knows a conversation of which nothing is whole."""
    client = searching(w)
    old = {**message(0), "conversation_id": f"{MARK}-elsewhere"}
    work = client.import_messages(json.dumps(old).encode(), "old")
    while not work.step().is_done:
        pass
    return client


def search(w, h):
    return w.struct(c.Search, text=MARK), w.out()


def on_client(function, arguments, make):
    gives(function, "TL_OK", "an ordinary call", call(function, make, arguments))
    gives(function, "TL_E_INVALID", "NULL for the client", lambda w: (None, *arguments(w, None)))

    def closed(w):
        client = make(w)
        client.close()
        return client._handle, *arguments(w, client)
    gives(function, "TL_E_CLOSED", "after `tl_client_close`", closed)


on_client(SWITCH, lambda w, h: (1,), connected)
gives(SWITCH, "TL_NONE", "it is off already", call(SWITCH, connected, lambda w, h: (0,)))
gives(SWITCH, "TL_E_STORAGE", "the disk cannot be written",
      call(SWITCH, connected, lambda w, h: (1,)), "the disk cannot be written")
gives(SWITCH, "TL_E_FULL", "the disk is full",
      call(SWITCH, connected, lambda w, h: (1,)), "the disk is full")

on_client(BUILD, lambda w, h: (w.out(),), searching)
on_client(CHECK, lambda w, h: (w.out(),), searching)
on_client(SEARCH, search, searching)
gives(CHECK, "TL_E_NOT_FOUND", "search is off", call(CHECK, connected, lambda w, h: (w.out(),)))
gives(BUILD, "TL_E_NOT_FOUND", "search is off", call(BUILD, connected, lambda w, h: (w.out(),)))
gives(SEARCH, "TL_E_NOT_FOUND", "search is off", call(SEARCH, connected, search))
gives(SEARCH, "TL_E_TOO_LARGE", "a text over 4 MiB", call(SEARCH, searching, lambda w, h: (
    w.struct(c.Search, text="x" * ((4 << 20) + 1)), w.out())))
gives(SEARCH, "TL_E_TOO_NEW", "a longer struct whose tail is not zero",
      call(SEARCH, searching, lambda w, h: (w.longer(c.Search, text=MARK), w.out())))
for fault, status in ((READ, "TL_E_STORAGE"), (BYTES, "TL_E_DAMAGED")):
    gives(BUILD, status, fault, call(BUILD, searching, lambda w, h: (w.out(),)), fault)
    gives(CHECK, status, fault, call(CHECK, searching, lambda w, h: (w.out(),)), fault)
    gives(SEARCH, status, fault, call(SEARCH, searching, search), fault)


UNSEARCHED = "tl_search_unsearched"
on_client(UNSEARCHED, lambda w, h: (w.view(), 0, 0, w.out()), partial)
gives(UNSEARCHED, "TL_NONE", "a conversation that is searched as a whole",
      call(UNSEARCHED, searching, lambda w, h: (w.view(ROOM), 0, 0, w.out())))
gives(UNSEARCHED, "TL_E_NOT_FOUND", "search is off",
      call(UNSEARCHED, connected, lambda w, h: (w.view(), 0, 0, w.out())))
for fault, status in ((READ, "TL_E_STORAGE"), (BYTES, "TL_E_DAMAGED")):
    gives(UNSEARCHED, status, fault,
          call(UNSEARCHED, searching, lambda w, h: (w.view(), 0, 0, w.out())), fault)


def step(make, kind="struct", before=lambda client, work: None):
    """The arguments of a step of work."""
    def setup(w):
        client = make(w)
        work = w.keep(client.search_build())
        before(client, work)
        return work._handle, 0, getattr(w, kind)(c.Progress)
    return setup


def finish(_, work):
    """What is built is looked at once more, and merged."""
    while not work.step(100).is_done:
        pass


gives(STEP, "TL_OK", "an ordinary call", step(switched))
gives(STEP, "TL_NONE", "nothing is left to do", step(searching, before=finish))
gives(STEP, "TL_E_INVALID", "NULL for the work", lambda w: (None, 0, w.struct(c.Progress)))
gives(STEP, "TL_E_CLOSED", "after `tl_client_close`",
      step(switched, before=lambda client, work: client.close()))
gives(STEP, "TL_E_TOO_NEW", "a longer struct whose tail is not zero", step(switched, "longer"))
gives(STEP, "TL_E_NOT_FOUND", "search was switched off",
      step(switched, before=lambda client, work: client.search_switch(False)))
for fault, status in ((READ, "TL_E_STORAGE"), (BYTES, "TL_E_DAMAGED"),
                      ("the disk is full", "TL_E_FULL")):
    gives(STEP, status, fault, step(switched), fault)


def hits(w):
    """A batch of hits that nobody frees before the world ends."""
    out = ctypes.c_void_p()
    client = w.known()
    client.search_switch(True)
    asked = w.struct(c.Search, text=MARK)
    assert c.library.tl_client_search(client._handle, asked, ctypes.byref(out)) == 0
    w.batches.append(out)
    return out


SEARCHED = "tl_batch_searched"
gives(SEARCHED, "TL_OK", "an ordinary call", lambda w: (hits(w), w.struct(c.Searched)))
gives(SEARCHED, "TL_E_INVALID", "NULL for the batch", lambda w: (None, w.struct(c.Searched)))
gives(SEARCHED, "TL_E_TOO_NEW", "a longer struct whose tail is not zero",
      lambda w: (hits(w), w.longer(c.Searched)))
