"""What stands on the screen of a conversation: rows of a window with the lines between them.

Pure: a list of rows and what the window says of its ends give a list of entries.
"""

from __future__ import annotations

import dataclasses
import enum
from datetime import date, datetime, timezone
from typing import Collection, Optional, Sequence

from tideline import Message, MessageFlags, MessageState, WindowState

FOLDED = MessageFlags.EVENT | MessageFlags.DELETED | MessageFlags.MODERATED
#: Messages of one sender that are closer than this stand under one name.
RUN_US = 5 * 60 * 1_000_000


class EntryKind(enum.Enum):
    """What an entry is."""

    MESSAGE = "message"
    EVENT = "event"
    GROUP = "group"
    DAY = "day"
    UNREAD = "unread"
    GAP = "gap"
    START = "start"


@dataclasses.dataclass(frozen=True)
class Entry:
    """One entry. ``key`` stays the same for as long as it is the same thing to a person; ``row`` is
    the row of the window at which it stands, ``count`` how many rows it stands for."""

    kind: EntryKind
    key: str
    row: int
    count: int = 0
    message: Optional[Message] = None
    #: The first of a run of one sender; a group that is open; a gap that is being filled.
    first: bool = False
    open: bool = False
    healing: bool = False
    day: Optional[date] = None


def day_of(message: Message) -> date:
    """The day of a message where the reader is; what is pending is of today."""
    if message.state != MessageState.CONFIRMED or message.time_us <= 0:
        return date.max
    moment = datetime.fromtimestamp(message.time_us / 1_000_000, timezone.utc)
    return moment.astimezone().date()


def group_key(message: Message) -> str:
    """Names a group by its newest message: it stays while older ones are loaded above."""
    return f"group {message.number}"


def _breaks(before: Message, after: Message, unread: Optional[int]) -> bool:
    """Whether something is drawn between two rows, so that no group spans them."""
    return (MessageFlags.GAP_BEFORE in after.flags or after.number == unread
            or day_of(before) != day_of(after))


def _group_end(rows: Sequence[Message], row: int, unread: Optional[int]) -> int:
    """The end of the run of folded rows that begins at a row."""
    end = row + 1
    while (end < len(rows) and rows[end].flags & FOLDED
           and not _breaks(rows[end - 1], rows[end], unread)):
        end += 1
    return end


def _lines_before(rows: Sequence[Message], row: int, unread: Optional[int]) -> list[Entry]:
    """The gap, the day and the unread line above a row."""
    message, lines = rows[row], []
    if row > 0 and MessageFlags.GAP_BEFORE in message.flags:
        lines.append(Entry(EntryKind.GAP, f"gap {message.number}", row,
                           healing=MessageFlags.GAP_HEALING in message.flags))
    day = day_of(message)
    if day != date.max and (row == 0 or day != day_of(rows[row - 1])):
        lines.append(Entry(EntryKind.DAY, f"day {day.isoformat()}", row, day=day))
    if message.number == unread:
        lines.append(Entry(EntryKind.UNREAD, "unread", row))
    return lines


def _starts_run(rows: Sequence[Message], row: int, lines: bool) -> bool:
    if row == 0 or lines:
        return True
    before, message = rows[row - 1], rows[row]
    if before.flags & FOLDED or before.sender != message.sender:
        return True
    return message.time_us - before.time_us > RUN_US > 0 and message.time_us > 0


def entries(rows: Sequence[Message], state: WindowState, unread: Optional[int],
            opened: Collection[str]) -> list[Entry]:
    """The entries of a window, oldest first. ``unread`` is the number of the message that the
    unread line stands above; ``opened`` are the keys of groups that are open."""
    found: list[Entry] = []
    if state.at_start and rows and not state.gap_before:
        found.append(Entry(EntryKind.START, "start", 0))
    elif state.gap_before:
        found.append(Entry(EntryKind.GAP, "gap before", 0, healing=state.waiting > 0))
    row = 0
    while row < len(rows):
        lines = _lines_before(rows, row, unread)
        found += lines
        end = _group_end(rows, row, unread) if rows[row].flags & FOLDED else row + 1
        key = group_key(rows[end - 1])
        if end - row > 1:
            found.append(Entry(EntryKind.GROUP, key, row, end - row, rows[end - 1],
                               open=key in opened))
        if end - row == 1 or key in opened:
            for index in range(row, end):
                message = rows[index]
                folded = bool(message.flags & FOLDED)
                found.append(Entry(
                    EntryKind.EVENT if folded else EntryKind.MESSAGE,
                    f"message {message.number}", index, 1, message,
                    first=_starts_run(rows, index, bool(lines) and index == row)))
        row = end
    if state.gap_after:
        found.append(Entry(EntryKind.GAP, "gap after", len(rows), healing=state.waiting > 0))
    return found
