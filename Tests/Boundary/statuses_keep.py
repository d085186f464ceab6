"""Calls of the functions that keep a budget; they are added to those of statuses."""

import tideline
from tideline import _library as c

from statuses import UNREACHED, call, connected, gives
from status_world import ROOM
from statuses_find import on_client

RETAIN, PURGE, ROOMS = "tl_client_retain", "tl_client_purge", "tl_client_room"


def bounded(w):
    """A client with a budget."""
    client = connected(w)
    client.retain(tideline.Budget(messages=1_000_000))
    return client


on_client(RETAIN, lambda w, h: (w.struct(c.Budget, messages=5),), connected)
on_client(PURGE, lambda w, h: (w.out(),), bounded)
on_client(ROOMS, lambda w, h: (w.view(ROOM), w.struct(c.Room)), connected)
gives(PURGE, "TL_E_INVALID", "no budget is set", call(PURGE, connected, lambda w, h: (w.out(),)))
gives(RETAIN, "TL_E_TOO_NEW", "a longer struct whose tail is not zero",
      call(RETAIN, connected, lambda w, h: (w.longer(c.Budget),)))
gives(ROOMS, "TL_E_TOO_NEW", "a longer struct whose tail is not zero",
      call(ROOMS, connected, lambda w, h: (w.view(ROOM), w.longer(c.Room))))
gives(ROOMS, "TL_E_NOT_FOUND", "a conversation that is not known",
      call(ROOMS, connected, lambda w, h: (w.view("nowhere"), w.struct(c.Room))))
for fault, status in (("the disk cannot be written", "TL_E_STORAGE"),
                      ("the disk is full", "TL_E_FULL")):
    gives(RETAIN, status, fault,
          call(RETAIN, connected, lambda w, h: (w.struct(c.Budget, messages=5),)), fault)
UNREACHED[ROOMS, "TL_E_STORAGE"] = "what it needs is in memory by then"
