"""What is searched for: hits as one types, newest first, and the one that is chosen. No widget."""

from __future__ import annotations

from typing import Optional

import tideline
from rich.text import Text
from tideline import Asked, Found, Hit

from . import palette
from .thread import text_of

PAGE = 20
#: Bytes of a text before what is marked, where it does not fit.
BEFORE = 24


class Search:
    """What is asked and found."""

    def __init__(self, client: tideline.Client) -> None:
        self._client = client
        client.search_switch(True)
        self._work: Optional[tideline.Work] = client.search_build()
        self._text = ""
        self._last: Optional[Found] = None
        self.hits: list[Hit] = []
        #: The place of the hit that is chosen.
        self.chosen = 0

    def build(self, ms: int) -> bool:
        """Brings what was stored before into the index, a little; False when all of it is."""
        if self._work is not None and self._work.step(ms).is_done:
            self._work = None
        return self._work is not None

    def ask(self, text: str) -> None:
        """Finds anew."""
        self._text, self.chosen = text, 0
        self._last = self._client.search(text, limit=PAGE)
        self.hits = list(self._last.hits)

    def step(self, count: int) -> None:
        """Chooses an older hit, or a newer one; older pages are read on the way."""
        at = self.chosen + count
        if at >= len(self.hits) and self._last is not None and self._last.has_more:
            self._last = self._client.search(self._text, limit=PAGE, after=self.hits[-1])
            self.hits += self._last.hits
        self.chosen = max(0, min(len(self.hits) - 1, at))

    @property
    def hit(self) -> Optional[Hit]:
        """The hit that is chosen."""
        return self.hits[self.chosen] if self.chosen < len(self.hits) else None

    @property
    def about(self) -> list[str]:
        """How much was found, and what was not searched."""
        found = self._last
        if found is None or found.asked == Asked.NO_WORD:
            return ["words", "the beginning of a word", "\"a phrase\"", "-without"]
        if found.asked == Asked.ONLY_EXCLUSIONS:
            return ["say what is to be found, too"]
        parts = [f"{len(self.hits)}{' and more' if found.has_more else ''} found"]
        if found.unbuilt:
            parts.append(f"{found.unbuilt:,} messages are not looked at yet")
        if found.sealed:
            parts.append(f"{found.sealed:,} are not opened")
        if found.partial:
            parts.append(f"of {found.partial:,} conversations something is not here")
        return parts


def snippet(hit: Hit) -> Text:
    """The text of a hit in one line, with what was found marked."""
    data = text_of(hit.message).encode()
    marks = [mark.utf8 for mark in hit.marks if mark.member in ("", "text")]
    at = max(0, marks[0].start - BEFORE) if marks else 0
    while at < len(data) and data[at] & 0xC0 == 0x80:
        at += 1
    line = Text("…" if at else "", style=palette.SOFT, no_wrap=True)

    def add(end: int, style: str) -> None:
        nonlocal at
        line.append(" ".join(data[at:end].decode(errors="replace").split("\n")), style=style)
        at = max(at, end)

    for mark in marks:
        add(mark.start, palette.SOFT)
        add(mark.stop, f"bold {palette.WARNING}")
    add(len(data), palette.SOFT)
    return line
