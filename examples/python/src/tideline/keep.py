"""How much is kept: budgets, purges, and what is stored."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Optional

from . import _library as c
from .errors import check
from .find import Work


@dataclasses.dataclass(frozen=True)
class Budget:
    """How much is kept; 0 is no bound. With ``untold`` a message stays until who follows the feed
    has asked for what comes behind the entry that tells of it."""

    messages: int = 0
    bytes: int = 0
    messages_each: int = 0
    bytes_each: int = 0
    age_us: int = 0
    young_us: int = 0
    untold: bool = False


@dataclasses.dataclass(frozen=True)
class Room:
    """What is stored, and what was purged. ``over``: what has to stay takes more than the budget;
    ``counted``: all that is stored is in these numbers."""

    messages: int
    bytes: int
    purged_messages: int
    purged_bytes: int
    free_bytes: int
    counted: bool
    over: bool


class Keeps:
    """How much a client keeps."""

    _handle: ctypes.c_void_p

    def retain(self, budget: Optional[Budget]) -> None:
        """Sets how much is kept until the client is closed; ``None`` keeps all."""
        if budget is None:
            check(c.library.tl_client_retain(self._handle, None))
            return
        told = c.Budget(
            ctypes.sizeof(c.Budget), int(budget.untold), budget.messages, budget.bytes,
            budget.messages_each, budget.bytes_each, budget.age_us, budget.young_us)
        check(c.library.tl_client_retain(self._handle, ctypes.byref(told)))

    def purge(self) -> Work:
        """Gives the work that keeps the budget now."""
        handle = ctypes.c_void_p()
        check(c.library.tl_client_purge(self._handle, ctypes.byref(handle)))
        return Work(self, handle)

    def room(self, conversation: str = "") -> Room:
        """What is stored of a conversation, or of all of them."""
        name = conversation.encode()
        out = c.Room(struct_size=ctypes.sizeof(c.Room))
        check(c.library.tl_client_room(self._handle, c.view(name), ctypes.byref(out)))
        return Room(
            out.messages, out.bytes, out.purged_messages, out.purged_bytes, out.free_bytes,
            bool(out.flags & 1), bool(out.flags & 2))
