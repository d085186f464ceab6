"""Messages by their words, and work that is done in steps."""

from __future__ import annotations

import ctypes
import dataclasses

from . import _batch
from . import _library as c
from ._words import Word
from .errors import Status, check
from .values import Message


@dataclasses.dataclass(frozen=True)
class Mark:
    """What is to be marked in the string of a member of the payload, or in the payload itself
    where ``member`` is empty: in its bytes, and in its code units."""

    member: str
    utf8: range
    utf16: range


@dataclasses.dataclass(frozen=True)
class Hit:
    """A message that was found, and what is to be marked in it, or in what the ``open`` hook gave
    to be searched."""

    message: Message
    marks: tuple[Mark, ...]
    searchable: str = ""


class Order(Word):
    """In which order hits come: ``tl_hit_order``."""

    TIME = 0
    RELEVANCE = 1


class Counted(Word):
    """Whether hits were counted: ``tl_counted``."""

    NOT = 0
    ALL = 1
    AT_LEAST = 2


class Asked(Word):
    """Why nothing was asked: ``tl_asked``."""

    YES = 0
    NO_WORD = 1
    ONLY_EXCLUSIONS = 2


@dataclasses.dataclass(frozen=True)
class Found:
    """Hits, and what was not searched.

    ``count`` is that of all hits, as ``counted`` says. ``unbuilt`` of ``total`` messages are not in
    the index yet, ``sealed`` ones are not opened, of ``partial`` conversations something is not
    here.
    """

    hits: tuple[Hit, ...]
    asked: Asked
    has_more: bool
    is_cut: bool
    sealed: int
    partial: int
    unbuilt: int
    total: int
    count: int = 0
    counted: Counted = Counted.NOT
    # By relevance, the batch that keeps the order.
    _batch: _Batch | None = dataclasses.field(default=None, repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Unsearched:
    """A conversation of which a search does not see all: ``tl_unsearched``. From ``whole_from_us``
    on nothing is missing, 0 being its beginning; None where nothing is known to be whole."""

    number: int
    conversation: str
    whole_from_us: int | None
    partial: bool
    sealed: int


class _Batch:
    """A batch that is freed with its last page."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self.handle = handle

    def __del__(self) -> None:
        c.library.tl_batch_free(self.handle)


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far work is."""

    done: int
    total: int
    is_done: bool


@dataclasses.dataclass(frozen=True)
class Receipt:
    """What ``rekey`` has done: ``tl_receipt``. All but ``files`` and ``file_bytes`` is of the
    conversation that was erased."""

    files: int
    conversations: int
    messages: int
    operations: int
    items: int
    bytes: int
    file_bytes: int


@dataclasses.dataclass(frozen=True)
class Checked:
    """What ``check`` has found: ``tl_checked``. ``messages`` and ``operations`` are those that are
    kept, once the file is healed. ``contradictions``: what decrypts and contradicts other rows."""

    is_healed: bool
    pages: int
    damaged: int
    messages: int
    operations: int
    contradictions: int


class Work:
    """Work that takes long, in steps. What is done is kept; another one goes on from there."""

    def __init__(
            self, client: object, handle: ctypes.c_void_p, function: object = None) -> None:
        self._handle = handle
        # The client's hooks, and a function of the work's own, must outlive the work.
        self._client = client
        self._function = function

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), ctypes.c_void_p()
        if handle:
            c.library.tl_work_free(handle)

    def step(self, ms: int = 0) -> Progress:
        """Works for about so many milliseconds, at least a little."""
        out = c.Progress(ctypes.sizeof(c.Progress))
        check(c.library.tl_work_step(self._handle, ms, ctypes.byref(out)))
        return Progress(out.done, out.total, bool(out.is_done))

    def receipt(self) -> Receipt | None:
        """What ``rekey`` has done; None before its end, and of other work."""
        out = c.Receipt(ctypes.sizeof(c.Receipt))
        if check(c.library.tl_work_receipt(self._handle, ctypes.byref(out))) == Status.NONE:
            return None
        return Receipt(**{name: getattr(out, name) for name, *_ in c.Receipt._fields_[1:]})

    def checked(self) -> Checked | None:
        """What ``check`` has found; None before its end, and of other work."""
        out = c.Checked(ctypes.sizeof(c.Checked))
        if check(c.library.tl_work_checked(self._handle, ctypes.byref(out))) == Status.NONE:
            return None
        return Checked(bool(out.is_healed), out.pages, out.damaged, out.messages, out.operations,
                       out.contradictions)


class Finds:
    """What a client finds."""

    _handle: ctypes.c_void_p

    def search_switch(self, on: bool) -> bool:
        """Switches search on or off; False when it was so. What is stored is then to be built."""
        return check(c.library.tl_search_switch(self._handle, int(on))) == Status.OK

    def search_build(self) -> Work:
        """Gives the work that brings what is stored into the index."""
        handle = ctypes.c_void_p()
        check(c.library.tl_search_build(self._handle, ctypes.byref(handle)))
        return Work(self, handle)

    def search_check(self) -> Work:
        """Gives the work that looks whether the index is right; a step that finds that it is not
        raises ``DamagedError`` and leaves it to be built anew."""
        handle = ctypes.c_void_p()
        check(c.library.tl_search_check(self._handle, ctypes.byref(handle)))
        return Work(self, handle)

    def search(
        self, text: str | bytes, conversation: str = "", *, sender: str = "",
        mine: bool = False, attachment: bool = False, from_us: int = 0, before_us: int = 0,
        after: Hit | None = None, order: Order = Order.TIME, behind: Found | None = None,
        limit: int = 0, marks: bool = True,
    ) -> Found:
        """Finds messages, newest first: ``after`` is the last hit of the page before. By relevance
        ``behind`` is that page, which has the order. Without ``marks`` a third of the time is
        saved."""
        texts = (text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text),
                 conversation.encode(), sender.encode())
        search = c.Search(
            ctypes.sizeof(c.Search), mine | attachment << 1 | (not marks) << 2,
            *map(c.view, texts), from_us, before_us, after.message.time_us if after else 0,
            after.message.number if after else 0, limit, order,
            behind._batch.handle if behind and behind._batch else None)
        out = ctypes.c_void_p()
        check(c.library.tl_client_search(self._handle, ctypes.byref(search), ctypes.byref(out)))
        batch = _Batch(out)
        found = _found(out)
        return dataclasses.replace(found, _batch=batch) if order else found

    def unsearched(
        self, conversation: str = "", after: int = 0, limit: int = 0,
    ) -> tuple[Unsearched, ...]:
        """Names the conversations of which a search does not see all, behind a local number."""
        out, name = ctypes.c_void_p(), conversation.encode()
        if check(c.library.tl_search_unsearched(
                self._handle, c.view(name), after, limit, ctypes.byref(out))) == Status.NONE:
            return ()
        try:
            count = ctypes.c_size_t()
            place = c.library.tl_batch_unsearched(out, ctypes.byref(count))
            return tuple(
                Unsearched(
                    one.number, _text(one.conversation),
                    None if one.whole_from_us == (1 << 63) - 1 else one.whole_from_us,
                    bool(one.flags & 1), one.sealed)
                for one in (c.Unsearched * count.value).from_address(place))
        finally:
            c.library.tl_batch_free(out)


def _found(batch: ctypes.c_void_p) -> Found:
    told = c.Searched(ctypes.sizeof(c.Searched))
    check(c.library.tl_batch_searched(batch, ctypes.byref(told)))
    count = ctypes.c_size_t()
    address = c.library.tl_batch_hits(batch, ctypes.byref(count))
    hits: list[Hit] = []
    if address:
        rows = ctypes.cast(address, ctypes.POINTER(c.Hit))[:count.value]
        messages = _batch.spaced(batch, ctypes.sizeof(c.Hit), count.value)
        hits = [
            Hit(message, tuple([_mark(mark) for mark in row.marks[:row.mark_count]])
                if row.mark_count else (), _text(row.searchable))
            for row, message in zip(rows, messages)]
    return Found(
        tuple(hits), Asked(told.asked), bool(told.has_more), bool(told.is_cut), told.sealed,
        told.partial, told.unbuilt, told.total, told.count, Counted(told.counted))


def _text(view: c.View) -> str:
    return (ctypes.string_at(view.data, view.size) if view.size else b"").decode(errors="replace")


def _mark(mark: c.Mark) -> Mark:
    return Mark(
        _text(mark.member), range(mark.utf8_first, mark.utf8_first + mark.utf8_count),
        range(mark.utf16_first, mark.utf16_first + mark.utf16_count))
