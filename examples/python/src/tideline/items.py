"""What a person sees of a window: messages, and groups of them that fold together."""

from __future__ import annotations

import ctypes
import logging
import operator
from collections.abc import Callable
from typing import Any

from . import _batch
from . import _library as c
from ._kept import Kept
from .errors import Status, check
from .values import Message, Page
from .views import Diff, Fold, Item, ItemsState
from .window import Window

_key = operator.attrgetter("key")
_log = logging.getLogger("tideline")

FoldFunction = Callable[[Message], Fold | None]


class Items:
    """A list of items over a window, polled like one.

    ``poll`` polls the window too and gives the difference; ``current`` is the list, kept up to
    date by ``update``. With ``fold`` a function decides what folds: it is given a message and
    answers with a ``Fold``, or None for what the flags say. It must answer by the message alone,
    and must not poll.

    >>> items = Items(window, deleted=True, events=True)
    >>> if items.update():
    ...     draw(items.current)
    """

    def __init__(
        self, window: Window, *, reversed: bool = False, deleted: bool = False,
        moderated: bool = False, events: bool = False, mixed: bool = False,
        unread_line: bool = False, gap_min: int = 0, zone_offset_min: int = 0,
        fold: FoldFunction | None = None,
    ) -> None:
        self._handle = ctypes.c_void_p()
        # The window and the function must outlive the items.
        self.window = window
        self._kept: Kept[Item] = Kept()
        config = c.ItemsConfig(
            struct_size=ctypes.sizeof(c.ItemsConfig),
            flags=reversed | deleted << 1 | moderated << 2 | events << 3 | mixed << 4
            | unread_line << 5,
            gap_min=gap_min, zone_offset_min=zone_offset_min)
        if fold is not None:
            self._hook = self._fold_hook(fold)
            config.fold = self._hook
        check(c.library.tl_items_open(
            window._handle, ctypes.byref(config), ctypes.byref(self._handle)))

    def _fold_hook(self, function: FoldFunction) -> Any:
        def hook(
            _: object, message: ctypes._Pointer[c.Message], out: ctypes._Pointer[c.Fold]
        ) -> None:
            # An exception may not cross the library: it is logged, and the flags decide.
            try:
                answer = function(_batch.message_at(ctypes.addressof(message.contents)))
                if answer is None:
                    return
                out.contents.fold = answer.fold
                out.contents.bits = answer.bits
                if answer.zone_offset_min is not None:
                    out.contents.zone_offset_min = answer.zone_offset_min
            except Exception:  # noqa: BLE001
                _log.exception("the fold function failed")

        return c.FoldHook(hook)

    def close(self) -> None:
        """Closes it; the window stays open. Safe twice."""
        c.library.tl_items_close(self._handle)

    def __enter__(self) -> Items:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), ctypes.c_void_p()
        if handle:
            c.library.tl_items_free(handle)

    @property
    def current(self) -> list[Item]:
        """The items as of the last ``update``: a list of its own for each version."""
        return self._kept.rows

    def poll(self) -> Diff | None:
        """Polls the window and gives what changed of the items; None when nothing did."""
        out = ctypes.POINTER(c.Diff)()
        if check(c.library.tl_items_poll(self._handle, ctypes.byref(out))) == Status.NONE:
            return None
        return _batch.diff(out)

    def update(self) -> Diff | None:
        """Polls and brings ``current`` along; None when nothing changed. Rows, ranges and places
        in ``current`` are as of when the item was read."""
        diff = self.poll()
        if diff is None:
            return None
        self._kept.bring(diff, self.read, _key)
        return diff

    def read(self, first: int = 0, count: int = 10_000) -> tuple[Item, ...]:
        """Items as of the last poll."""
        batch = ctypes.c_void_p()
        status = check(c.library.tl_items_read(self._handle, first, count, ctypes.byref(batch)))
        if status == Status.NONE:
            return ()
        try:
            return _batch.items(batch)
        finally:
            c.library.tl_batch_free(batch)

    def page(self, item: int, first: int = 0, count: int = 0) -> Page | None:
        """Messages of an item with their coverage, in the order of the list."""
        batch = ctypes.c_void_p()
        status = check(c.library.tl_items_messages(
            self._handle, item, first, count, ctypes.byref(batch)))
        if status == Status.NONE:
            return None
        try:
            return _batch.page(batch)
        finally:
            c.library.tl_batch_free(batch)

    def messages(self, item: int, first: int = 0, count: int = 0) -> tuple[Message, ...]:
        """Messages of an item, in the order of the list."""
        page = self.page(item, first, count)
        return page.messages if page else ()

    def find(self, id: str) -> tuple[int, int] | None:
        """The item of a message and the place of the message inside of it."""
        text, item, place = id.encode(), ctypes.c_uint32(), ctypes.c_uint32()
        status = check(c.library.tl_items_find(
            self._handle, c.view(text), ctypes.byref(item), ctypes.byref(place)))
        return (item.value, place.value) if status == Status.OK else None

    def find_key(self, key: int) -> int | None:
        """The item that has a key."""
        item = ctypes.c_uint32()
        status = check(c.library.tl_items_find_key(self._handle, key, ctypes.byref(item)))
        return item.value if status == Status.OK else None

    def bits(self, item: int, place: int = 0) -> int | None:
        """What the function gave for one message of an item."""
        out = ctypes.c_uint64()
        status = check(c.library.tl_items_bits(self._handle, item, place, ctypes.byref(out)))
        return out.value if status == Status.OK else None

    def range(self, index: int) -> tuple[int, int] | None:
        """The first item of a range that ends at a split, and how many it has."""
        first, count = ctypes.c_uint32(), ctypes.c_uint32()
        status = check(c.library.tl_items_range(
            self._handle, index, ctypes.byref(first), ctypes.byref(count)))
        return (first.value, count.value) if status == Status.OK else None

    def set_open(self, item: int, open: bool) -> bool:
        """Opens or closes the group of an item; ``poll`` shows it. False when nothing changes."""
        return check(c.library.tl_items_set_open(self._handle, item, int(open))) == Status.OK

    def unread(self, number: int) -> None:
        """Puts the unread line before a message, or takes it away for 0; ``poll`` shows it."""
        check(c.library.tl_items_unread(self._handle, number))

    def show(self, first: int, count: int) -> None:
        """Says which items are on screen."""
        check(c.library.tl_items_show(self._handle, first, count))

    def state(self) -> ItemsState:
        """How it stands, as of its last poll."""
        out = c.ItemsStatus(struct_size=ctypes.sizeof(c.ItemsStatus))
        check(c.library.tl_items_state(self._handle, ctypes.byref(out)))
        return ItemsState(
            bool(out.flags & 1), out.version, out.checksum, out.item_count, out.row_count,
            out.range_count, None if out.unread_item == c.ITEM_NONE else out.unread_item)
