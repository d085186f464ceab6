"""Calls on a client whose name another holder has taken; they are added to those of statuses."""

import tideline
from tideline import storage_check

from statuses import ORDINARY, gives, handle
from status_world import MARK, ROOM, USER
from support import KEY, ROOT

DictStorage = storage_check.find(f"{ROOT}/examples/storage/dict.py:DictStorage")


WORDS = "another holder has taken the name over"


def taken(function):
    """The arguments of a call on a client that has met its successor's number."""
    def setup(w):
        name, storage = f"{MARK}-name", DictStorage()
        client = w.known(name, storage=storage)
        target = handle(w, client, function)
        arguments = ORDINARY[function](w, target)
        w.keep(tideline.Client(name, KEY, user_id=USER, storage=storage))
        try:
            client.draft(ROOM, f"{MARK}-late")
        except tideline.LockedError:
            pass
        return target._handle, *arguments
    return setup


for name in ORDINARY:
    if name != "tl_client_event_fd":
        gives(name, "TL_E_LOCKED", WORDS, taken(name))
