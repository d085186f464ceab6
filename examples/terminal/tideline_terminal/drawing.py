"""Entries as lines of text: what one looks like at a width. No widget, no terminal."""

from __future__ import annotations

import dataclasses
from datetime import date
from typing import Callable, Optional, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text
from tideline import ItemFlags, Message, MessageFlags, MessageState

from . import palette
from .entries import FOLDED, Entry
from .thread import reactions_of, text_of

INDENT = 3
_STATES = {
    MessageState.QUEUED: ("◷ waits to be sent", palette.WARNING),
    MessageState.IN_FLIGHT: ("↑ is being sent", palette.SOFT),
    MessageState.UNKNOWN: ("? may have arrived · t tries again", palette.WARNING),
    MessageState.REFUSED: ("✗ not sent · t tries again, d drops", palette.ERROR),
}
_OLDER = "older ones on the server · g fills"
_MISSING = "messages may be missing · g fills"
_NEWER = "newer ones on the server · g fills"
_HEALING = "loading what lies here"


@dataclasses.dataclass(frozen=True)
class Block:
    """An entry at a width. The lines from ``first`` to ``last`` are its own; what is drawn between
    it and its neighbours stands before and behind them."""

    lines: list[Text]
    first: int
    last: int


class Drawing:
    """Draws entries at a width, and remembers what it drew for as long as nothing changes."""

    def __init__(self, user: str, find: Callable[[str], Optional[Message]],
                 today: Callable[[], date]) -> None:
        self._user = user
        self._find = find
        self._today = today
        self._console = Console(width=80, legacy_windows=False, color_system="truecolor")
        self._drawn: dict[int, tuple[Entry, Block]] = {}
        self._width = 0
        self._quotes_nothing = False

    def block(self, entry: Entry, width: int) -> Block:
        """The lines of an entry; at least one."""
        if width != self._width or len(self._drawn) > 4_000:
            self._drawn.clear()
            self._width = width
        before = self._drawn.get(entry.item.key)
        # One that changed is another object.
        if before is not None and before[0] is entry:
            return before[1]
        self._quotes_nothing = False
        above, below = self._above(entry, width), self._below_all(entry, width)
        own = self._own(entry, width)
        block = Block([*above, *own, *below], len(above), len(above) + len(own))
        # What a row quotes may come later, so a row that lacks it is drawn each time.
        if not self._quotes_nothing:
            self._drawn[entry.item.key] = entry, block
        return block

    def _above(self, entry: Entry, width: int) -> list[Text]:
        """What stands between an entry and the one before, from the top down."""
        flags, ends, lines = entry.item.flags, entry.ends, []
        if ends.start:
            lines.append(_centred("· the beginning of the conversation ·", width, palette.FAINT))
        if ends.gap_before:
            lines.append(_gap(_HEALING if ends.healing else _OLDER, width))
        if ItemFlags.SPLIT_BEFORE in flags:
            lines.append(_gap(_HEALING if ItemFlags.SPLIT_HEALING in flags else _MISSING, width))
        if ItemFlags.NEW_DAY in flags and entry.day is not None:
            lines += [Text(""), _rule(palette.day_title(entry.day, self._today()), width,
                                      palette.FAINT, palette.SOFT)]
        if ItemFlags.UNREAD_BEFORE in flags:
            lines.append(_rule("new messages", width, palette.ERROR, palette.ERROR))
        return lines

    @staticmethod
    def _below_all(entry: Entry, width: int) -> list[Text]:
        """What lies behind the last entry."""
        if not entry.ends.gap_after:
            return []
        return [_gap(_HEALING if entry.ends.healing else _NEWER, width)]

    def _own(self, entry: Entry, width: int) -> list[Text]:
        if entry.is_group:
            return [_centred(f"▸ {entry.item.row_count} events", width, palette.SOFT)]
        if not entry.messages:
            return [Text("")]
        message = entry.messages[0]
        if not message.flags & FOLDED:
            return self._message(message, ItemFlags.RUN_FIRST in entry.item.flags, width)
        lines = [_centred(event_text(message), width, palette.SOFT)]
        if ItemFlags.GROUP_FIRST in entry.item.flags:
            lines.insert(0, _centred(f"▾ {entry.item.group_count} events", width, palette.SOFT))
        return lines

    def _message(self, message: Message, first: bool, width: int) -> list[Text]:
        mine = MessageFlags.MINE in message.flags
        colour = palette.MINE if mine else palette.colour_of(message.sender)
        lines: list[Text] = []
        if first:
            head = Text("  ")
            head.append("you" if mine else message.sender, style=f"bold {colour}")
            head.append(f"  {palette.clock(message.time_us)}", style=palette.FAINT)
            lines += [Text(""), head]
        if message.reply_to:
            lines.append(self._quote(message.reply_to, width))
        body = Text(text_of(message), style=palette.TEXT)
        if message.state != MessageState.CONFIRMED:
            body.stylize(palette.SOFT)
        if MessageFlags.EDITED in message.flags:
            body.append(" (edited)", style=palette.FAINT)
        if MessageFlags.PINNED in message.flags:
            body.append(" 📌")
        if mine and message.state == MessageState.CONFIRMED:
            body.append(" ✓✓" if _read_by_others(message, self._user) else " ✓",
                        style=palette.ACCENT)
        for line in body.wrap(self._console, max(8, width - INDENT - 2)):
            line.rstrip()
            lines.append(Text.assemble(("▎ ", colour), " ", line))
        lines += self._below(message, width)
        return lines

    def _below(self, message: Message, width: int) -> list[Text]:
        """Reactions, and how far a message of the user's is."""
        lines: list[Text] = []
        chips = Text(" " * INDENT)
        for reaction, users in reactions_of(message).items():
            if users:
                chip = f" {reaction} {len(users)} "
                if len(chips) > INDENT and chips.cell_len + cell_len(chip) > width:
                    lines.append(chips)
                    chips = Text(" " * INDENT)
                style = f"{palette.TEXT} on {palette.RAISED}"
                if self._user in users:
                    style = f"bold {palette.ACCENT} on {palette.RAISED}"
                chips.append(chip, style=style)
                chips.append(" ")
        if len(chips) > INDENT:
            lines.append(chips)
        if message.state in _STATES:
            label, colour = _STATES[message.state]
            lines.append(Text(" " * INDENT + label, style=f"italic {colour}"))
        return lines

    def _quote(self, id: str, width: int) -> Text:
        quoted = self._find(id)
        line = Text(" " * INDENT + "↪ ", style=palette.SOFT)
        if quoted is None:
            self._quotes_nothing = True
            line.append("a message that is not here", style=f"italic {palette.SOFT}")
        else:
            who = "you" if MessageFlags.MINE in quoted.flags else quoted.sender
            line.append(f"{who} ", style=f"bold {palette.SOFT}")
            line.append(" ".join(text_of(quoted).split()), style=palette.SOFT)
        line.truncate(max(8, width - 2), overflow="ellipsis")
        return line


def fitting(facts: Sequence[Text], width: int) -> Text:
    """One line of facts. One that does not fit is left out whole; the first one is shortened."""
    line = Text(no_wrap=True)
    for fact in facts:
        if not line or line.cell_len + fact.cell_len <= width:
            line.append(fact)
    line.truncate(max(1, width), overflow="ellipsis")
    return line


def _read_by_others(message: Message, user: str) -> bool:
    return any(reader.user != user for reader in message.read_by)


def event_text(message: Message) -> str:
    """What an event says on its one line."""
    if MessageFlags.DELETED in message.flags:
        return f"{message.sender} deleted a message"
    if MessageFlags.MODERATED in message.flags:
        return f"a message of {message.sender} was hidden"
    return text_of(message)


def _centred(text: str, width: int, colour: str) -> Text:
    line = Text(text, style=colour, no_wrap=True)
    line.truncate(max(1, width - 2), overflow="ellipsis")
    line.pad_left(max(0, (width - line.cell_len) // 2))
    return line


def _rule(title: str, width: int, line: str, colour: str) -> Text:
    side = max(1, (width - len(title) - 6) // 2)
    return Text.assemble(("  " + "─" * (side - 1), line), (f" {title} ", colour),
                         ("─" * (side - 1), line))


def _gap(label: str, width: int) -> Text:
    side = max(1, (width - len(label) - 6) // 2)
    return Text.assemble(("  " + "╌" * (side - 1), palette.WARNING),
                         (f" {label} ", f"italic {palette.WARNING}"),
                         ("╌" * (side - 1), palette.WARNING))
