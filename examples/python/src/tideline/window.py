"""One screen's view of a conversation."""

from __future__ import annotations

import array
import ctypes
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from . import _batch
from . import _library as c
from ._kept import Kept, summed
from .conversations import ConversationList
from .errors import Status, check
from .values import Basis, Message, Page
from .views import At, Conversation, Diff, LoadKind, OpKind, Waiting, WindowState

if TYPE_CHECKING:
    from .client import Client

Row = TypeVar("Row")


class Window:
    """Loaded messages in order, each once, with splits where messages may be missing.

    Made by ``Client.window``. ``poll`` moves it to the newest committed state and gives the
    difference; ``apply`` in this module brings a list of one's own along; ``rows`` reads content.
    Use a window from one thread at a time.
    """

    def __init__(self, client: Client, config: c.WindowConfig) -> None:
        self._handle = ctypes.c_void_p()
        # The client's hooks must outlive the window.
        self._client = client
        check(c.library.tl_window_open(
            client._handle, ctypes.byref(config), ctypes.byref(self._handle)))

    def close(self) -> None:
        """Closes it: what it asked for is dropped. Safe twice."""
        c.library.tl_window_close(self._handle)

    def __enter__(self) -> Window:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), ctypes.c_void_p()
        if handle:
            c.library.tl_window_free(handle)

    def poll(self) -> Diff | None:
        """Moves to the newest committed state; None when nothing changed."""
        out = ctypes.POINTER(c.Diff)()
        if check(c.library.tl_window_poll(self._handle, ctypes.byref(out))) == Status.NONE:
            return None
        return _batch.diff(out)

    def load(
        self, kind: LoadKind, count: int = 0, *, number: int = 0, at: At = At.LATEST,
        id: str = "", time_us: int = 0, past_gaps: bool = False,
    ) -> bool:
        """Loads more; ``poll`` brings it. False when nothing lies there."""
        text = id.encode()
        load = c.Load(
            struct_size=ctypes.sizeof(c.Load), flags=int(past_gaps), kind=kind, count=count,
            number=number, at=at, id=c.view(text), time_us=time_us)
        return check(c.library.tl_window_load(self._handle, ctypes.byref(load))) == Status.OK

    def before(self, count: int = 0, number: int = 0, *, past_gaps: bool = False) -> bool:
        """Loads older messages before a loaded one, or before the first row."""
        return self.load(LoadKind.BEFORE, count, number=number, past_gaps=past_gaps)

    def after(self, count: int = 0, number: int = 0, *, past_gaps: bool = False) -> bool:
        """Loads newer messages behind a loaded one, or behind the last row."""
        return self.load(LoadKind.AFTER, count, number=number, past_gaps=past_gaps)

    def page(self, first: int, count: int) -> Page | None:
        """Rows as of the last poll with their coverage; None when no row is there."""
        batch = ctypes.c_void_p()
        status = check(c.library.tl_window_rows(self._handle, first, count, ctypes.byref(batch)))
        if status == Status.NONE:
            return None
        try:
            return _batch.page(batch)
        finally:
            c.library.tl_batch_free(batch)

    def rows(self, first: int = 0, count: int = 10_000) -> tuple[Message, ...]:
        """Rows as of the last poll, with content as it is now."""
        page = self.page(first, count)
        return page.messages if page else ()

    def find(self, id: str) -> int | None:
        """The row of a message by id, without a scan."""
        text, out = id.encode(), ctypes.c_uint32()
        status = check(c.library.tl_window_find(self._handle, c.view(text), ctypes.byref(out)))
        return out.value if status == Status.OK else None

    def fill(self, row: int) -> bool:
        """Loads the messages of the gap before a row: from the cache where it has them all, else
        from the server. False when no gap is there."""
        return check(c.library.tl_window_fill(self._handle, row)) == Status.OK

    def show(self, first: int, count: int) -> None:
        """Says which rows are on screen."""
        check(c.library.tl_window_show(self._handle, first, count))

    def trim(self, first: int, count: int) -> None:
        """Keeps some rows and lets all others leave at the next poll."""
        check(c.library.tl_window_trim(self._handle, first, count))

    def state(self) -> WindowState:
        """How it stands, as of its last poll."""
        out = c.WindowStatus(struct_size=ctypes.sizeof(c.WindowStatus))
        check(c.library.tl_window_state(self._handle, ctypes.byref(out)))
        return WindowState(
            bool(out.flags & 1), bool(out.flags & 2), bool(out.flags & 4), bool(out.flags & 8),
            bool(out.flags & 16), out.version, out.checksum, out.row_count, out.split_count,
            Waiting(out.waiting), Status(out.trouble), out.anchor, Basis(out.basis), out.as_of_us)


def apply(rows: list[Row | None], diff: Diff) -> None:
    """Brings a list along by one difference; rows that are new or changed become None."""
    for op in diff.ops:
        if op.kind == OpKind.REMOVE:
            del rows[op.row:op.row + op.count]
        elif op.kind == OpKind.MOVE:
            rows.insert(op.row, rows.pop(op.from_))
        elif op.kind == OpKind.INSERT:
            rows[op.row:op.row] = [None] * op.count
        else:
            rows[op.row:op.row + op.count] = [None] * op.count


def checksum(numbers: Iterable[int]) -> int:
    """The checksum of a list of row numbers, to be compared with a difference's."""
    return summed(array.array("Q", numbers))


class Rows:
    """The messages of a window, or the conversations of a list, as a Python list that differences
    keep up to date.

    >>> rows = Rows(window)
    >>> if rows.poll():
    ...     draw(rows.messages)
    """

    def __init__(self, window: Window | ConversationList) -> None:
        self.window = window
        self._kept: Kept[Any] = Kept()

    @property
    def items(self) -> list[Any]:
        """The rows as of the last poll: a list of its own for each version."""
        return self._kept.rows

    @property
    def messages(self) -> list[Message]:
        """The rows of a window."""
        return self.items

    @property
    def conversations(self) -> list[Conversation]:
        """The rows of a list of conversations."""
        return self.items

    def poll(self) -> Diff | None:
        """Polls and reads what is new or changed; None when nothing changed."""
        diff = self.window.poll()
        if diff is not None:
            self._kept.bring(diff, self.window.rows, _number)
        return diff


_number = operator.attrgetter("number")
