"""One row on screen: an item of the list with its messages, and what is drawn around it."""

from __future__ import annotations

import dataclasses
from datetime import date, datetime, timezone
from typing import Optional

from tideline import Fold, Item, ItemFlags, Message, MessageFlags

FOLDED = MessageFlags.EVENT | MessageFlags.DELETED | MessageFlags.MODERATED
#: Messages of one sender that are closer than this stand under one name.
RUN_MINUTES = 5
_EPOCH = date(1970, 1, 1).toordinal()


@dataclasses.dataclass(frozen=True)
class Ends:
    """What lies beyond the first and the last item of the list."""

    #: The conversation begins here.
    start: bool = False
    gap_before: bool = False
    gap_after: bool = False
    #: What lies there is on its way.
    healing: bool = False


NO_ENDS = Ends()


@dataclasses.dataclass(frozen=True, eq=False)
class Entry:
    """One item as it is drawn. It is another object once anything of it has changed."""

    item: Item
    messages: tuple[Message, ...]
    #: For the first and the last item of the list; empty for all others.
    ends: Ends

    @property
    def is_group(self) -> bool:
        """Whether it stands for several messages that are folded together."""
        return ItemFlags.GROUP in self.item.flags

    @property
    def is_opened(self) -> bool:
        """Whether it is one message of a group that is open."""
        return ItemFlags.OPENED in self.item.flags

    @property
    def has_gap(self) -> bool:
        """Whether a gap is drawn beside it."""
        return (ItemFlags.SPLIT_BEFORE in self.item.flags or self.ends.gap_before
                or self.ends.gap_after)

    @property
    def message(self) -> Optional[Message]:
        """Its message, unless it is a group or an event."""
        if self.is_group or not self.messages or self.messages[0].flags & FOLDED:
            return None
        return self.messages[0]

    @property
    def day(self) -> Optional[date]:
        """Its day where the reader is; None for what the server has not taken yet."""
        return None if self.item.day is None else date.fromordinal(_EPOCH + self.item.day)


def fold(message: Message) -> Fold:
    """What folds, and how far the reader's days are from UTC then: a zone has two in a year."""
    moment = datetime.fromtimestamp(max(0, message.time_us) / 1_000_000, timezone.utc)
    offset = moment.astimezone().utcoffset()
    minutes = int(offset.total_seconds()) // 60 if offset is not None else 0
    return Fold(int(bool(message.flags & FOLDED)), zone_offset_min=minutes)
