"""Plain values of windows and of the list of conversations."""

from __future__ import annotations

import dataclasses
import datetime
import json
from typing import Any

from ._words import Word, Words, moment
from .errors import Status
from .values import Basis, Message


class ConversationFlags(Words):
    """Flags of a conversation."""

    PENDING = 1 << 0
    UNREAD_EXACT = 1 << 1
    HAS_PENDING = 1 << 2
    HAS_STUCK = 1 << 3
    GONE = 1 << 4


@dataclasses.dataclass(frozen=True)
class Conversation:
    """One conversation. ``number`` is its identity on screen; bytes are as they came."""

    number: int
    flags: ConversationFlags
    member_count: int
    unread: int
    activity_us: int
    id: str
    title: str
    body: bytes
    last_read: str | None
    draft: bytes
    draft_reply_to: str | None
    typing_json: bytes
    last: Message | None
    client_id: str | None = None

    @property
    def activity(self) -> datetime.datetime | None:
        """When it was active last, in UTC; None where that is not known."""
        return moment(self.activity_us)

    @property
    def typing(self) -> tuple[str, ...]:
        """Who is typing now."""
        return tuple(json.loads(self.typing_json)) if self.typing_json else ()

    @property
    def json(self) -> Any:
        """The conversation's object as it came, or None."""
        return json.loads(self.body) if self.body else None


@dataclasses.dataclass(frozen=True)
class ListState:
    """How a list of conversations stands, as of its last poll."""

    total_exact: bool
    whole: bool
    refreshing: bool
    version: int
    checksum: int
    unread: int
    row_count: int
    conversation_count: int
    trouble: Status
    basis: Basis = Basis.CACHE
    #: When the server was last asked for its list, by the device's clock, or 0.
    as_of_us: int = 0

    @property
    def as_of(self) -> datetime.datetime | None:
        """``as_of_us`` in UTC; None where it is 0."""
        return moment(self.as_of_us)


class At(Word):
    """Where a window opens, and what a load is around."""

    LATEST = 0
    UNREAD = 1
    MESSAGE = 2
    TIME = 3


class LoadKind(Word):
    """What to load into a window."""

    INITIAL = 0
    BEFORE = 1
    AFTER = 2
    AROUND = 3
    LAST = 4


class OpKind(Word):
    """One step of a difference."""

    INSERT = 1
    REMOVE = 2
    UPDATE = 3
    MOVE = 4


@dataclasses.dataclass(frozen=True)
class Op:
    """One step: row numbers count from the first row, as the list is after the steps before."""

    kind: OpKind
    row: int
    from_: int
    count: int


@dataclasses.dataclass(frozen=True)
class Diff:
    """The difference between two versions of a window or a list."""

    from_version: int
    to_version: int
    checksum: int
    row_count: int
    ops: tuple[Op, ...]


class Waiting(Word):
    """What a window waits for."""

    NOTHING = 0
    CONNECTION = 1
    PRESENT = 2
    PLACE = 3
    OLDER = 4
    NEWER = 5
    REFRESH = 6


@dataclasses.dataclass(frozen=True)
class WindowState:
    """How a window stands, as of its last poll."""

    at_start: bool
    at_end: bool
    gap_before: bool
    gap_after: bool
    #: `At.UNREAD` was asked for and the server told no marker: the newest are shown.
    marker_unknown: bool
    version: int
    checksum: int
    row_count: int
    split_count: int
    waiting: Waiting
    trouble: Status
    anchor: int
    basis: Basis = Basis.CACHE
    #: When the server was last asked for all that is new there, by the device's clock, or 0.
    as_of_us: int = 0

    @property
    def as_of(self) -> datetime.datetime | None:
        """``as_of_us`` in UTC; None where it is 0."""
        return moment(self.as_of_us)


class ItemFlags(Words):
    """What is drawn of an item. Before and first are older, whichever way the list is read."""

    GROUP = 1 << 0
    OPENED = 1 << 1
    GROUP_FIRST = 1 << 2
    GROUP_LAST = 1 << 3
    RUN_FIRST = 1 << 4
    RUN_LAST = 1 << 5
    NEW_DAY = 1 << 6
    TIME_GAP = 1 << 7
    SPLIT_BEFORE = 1 << 8
    SPLIT_HEALING = 1 << 9
    UNREAD_BEFORE = 1 << 10


@dataclasses.dataclass(frozen=True)
class Item:
    """One row on screen: a message, or a group that folds together."""

    key: int
    flags: ItemFlags
    #: The window's row of its oldest message, and how many messages there are.
    row: int
    row_count: int
    #: In which range of splits it lies; None for those that go on to the present.
    range: int | None
    #: Its place in its open group.
    place: int
    group_count: int
    #: Days since 1970-01-01 where the host is; None where the server has given no time yet.
    day: int | None
    gap_us: int
    #: Of its oldest message.
    number: int
    bits: int


@dataclasses.dataclass(frozen=True)
class ItemsState:
    """How a list of items stands, as of its last poll."""

    behind: bool
    version: int
    checksum: int
    item_count: int
    row_count: int
    range_count: int
    unread_item: int | None


@dataclasses.dataclass(frozen=True)
class Fold:
    """What a function says of one message: ``fold`` other than 0 folds with neighbours that have
    the same; ``bits`` are the host's own."""

    fold: int = 0
    bits: int = 0
    #: Minutes that the host's days are east of UTC then; None for those of the items.
    zone_offset_min: int | None = None
