"""The list of conversations."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from . import _batch
from . import _library as c
from .errors import Status, check
from .values import Basis
from .views import Conversation, Diff, ListState

if TYPE_CHECKING:
    from .client import Client


class ConversationList:
    """The conversations in order, the one that was active last first.

    Made by ``Client.conversation_list``. ``poll`` moves it to the newest committed state and gives
    the difference, as a ``Window`` does; ``Rows`` keeps a Python list of it. Use it from one thread
    at a time.
    """

    def __init__(self, client: Client, config: c.ListConfig) -> None:
        self._handle = ctypes.c_void_p()
        # The client's hooks must outlive the list.
        self._client = client
        check(c.library.tl_list_open(
            client._handle, ctypes.byref(config), ctypes.byref(self._handle)))

    def close(self) -> None:
        """Closes it. Safe twice."""
        c.library.tl_list_close(self._handle)

    def __enter__(self) -> ConversationList:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), ctypes.c_void_p()
        if handle:
            c.library.tl_list_free(handle)

    def poll(self) -> Diff | None:
        """Moves to the newest committed state; None when nothing changed."""
        out = ctypes.POINTER(c.Diff)()
        if check(c.library.tl_list_poll(self._handle, ctypes.byref(out))) == Status.NONE:
            return None
        return _batch.diff(out)

    def rows(self, first: int = 0, count: int = 10_000) -> tuple[Conversation, ...]:
        """Rows as of the last poll, with content as it is now."""
        batch = ctypes.c_void_p()
        status = check(c.library.tl_list_rows(self._handle, first, count, ctypes.byref(batch)))
        if status == Status.NONE:
            return ()
        try:
            return _batch.conversations(batch)
        finally:
            c.library.tl_batch_free(batch)

    def find(self, conversation: str) -> int | None:
        """The row of a conversation by id, without a scan."""
        text, out = conversation.encode(), ctypes.c_uint32()
        status = check(c.library.tl_list_find(self._handle, c.view(text), ctypes.byref(out)))
        return out.value if status == Status.OK else None

    def state(self) -> ListState:
        """How it stands, as of its last poll."""
        out = c.ListStatus(struct_size=ctypes.sizeof(c.ListStatus))
        check(c.library.tl_list_state(self._handle, ctypes.byref(out)))
        return ListState(
            bool(out.flags & 1), bool(out.flags & 2), bool(out.flags & 4), out.version,
            out.checksum, out.unread, out.row_count, out.conversation_count, Status(out.trouble),
            Basis(out.basis), out.as_of_us)
