"""Where entries stand on a screen of lines: the arithmetic of a list that hangs at the bottom.

It measures no more entries than the screen shows, whatever the length of the list.
"""

from __future__ import annotations

from typing import Callable, Optional, Sequence

#: Where one entry stands: its index, and the line of the screen that its first line is on.
Placed = tuple[int, int]


class Scroller:
    """Keeps the lowest visible entry where it is while others come and go around it."""

    def __init__(self, height_of: Callable[[int], int]) -> None:
        self._height_of = height_of
        self._keys: Sequence[str] = ()
        self._index: dict[str, int] = {}
        self._anchor = 0
        #: How many lines lie below the anchor on the screen; negative where it is cut.
        self._below = 0
        self.height = 1
        #: Whether the end is in view and the list is held to it.
        self.at_end = True

    def update(self, keys: Sequence[str]) -> None:
        """Takes the list as it is now. What is visible stays where it is."""
        before, anchor = self._keys, self._anchor
        self._keys = keys
        self._index = {key: index for index, key in enumerate(keys)}
        while anchor >= 0 and before:
            place = self._index.get(before[anchor]) if anchor < len(before) else None
            if place is not None:
                self._anchor = place
                return
            anchor -= 1
        self._anchor = 0

    def find(self, key: str) -> Optional[int]:
        """The index of an entry."""
        return self._index.get(key)

    def place(self) -> list[Placed]:
        """The entries on the screen, from its top down."""
        if not self._keys:
            return []
        self._settle()
        placed: list[Placed] = []
        index, bottom = self._anchor, self.height - self._below
        while index >= 0 and bottom > 0:
            bottom -= self._height_of(index)
            placed.append((index, bottom))
            index -= 1
        placed.reverse()
        index, top = self._anchor + 1, self.height - self._below
        while index < len(self._keys) and top < self.height:
            placed.append((index, top))
            top += self._height_of(index)
            index += 1
        visible = [(index, top) for index, top in placed
                   if top < self.height and top + self._height_of(index) > 0]
        self._hold(visible)
        return visible

    def scroll(self, lines: int) -> None:
        """Moves the content down by lines, so that older entries come; up where negative."""
        self._below -= lines
        self.at_end = False
        self.place()

    def to_end(self) -> None:
        """Shows the end, and holds the list to it."""
        self.at_end = True

    def show(self, index: int, middle: bool = False) -> None:
        """Scrolls as little as shows an entry whole, or puts it in the middle."""
        if middle:
            self._anchor = index
            self._below = max(0, (self.height - self._height_of(index)) // 2)
            self.at_end = False
            self.place()
            return
        for place, top in self.place():
            if place == index:
                self._show_visible(index, top)
                return
        above = bool(self._keys) and index < self._anchor
        self._anchor, self.at_end = index, False
        self._below = max(0, self.height - self._height_of(index)) if above else 0
        self.place()

    def _show_visible(self, index: int, top: int) -> None:
        over = top + self._height_of(index) - self.height
        if top < 0:
            self.scroll(-top)
        elif over > 0:
            self.scroll(-min(over, top))

    def _settle(self) -> None:
        """No blank line beside the list where it is longer than the screen."""
        self._anchor = min(self._anchor, len(self._keys) - 1)
        last = len(self._keys) - 1
        if self.at_end:
            self._anchor, self._below = last, 0
            return
        lines = 0
        for index in range(self._anchor + 1, last + 1):
            lines += self._height_of(index)
            if lines >= self._below:
                break
        self._below = min(self._below, lines)
        top = self.height - self._below
        for index in range(self._anchor, -1, -1):
            top -= self._height_of(index)
            if top <= 0:
                return
        # The first entry stands below the top of the screen: everything moves up, if it can.
        self._below += top
        for index in range(self._anchor + 1, last + 1):
            lines = self._lines_below(index)
            if lines >= self._below:
                return
        self._below = min(self._below, self._lines_below(last))

    def _lines_below(self, last: int) -> int:
        return sum(self._height_of(index) for index in range(self._anchor + 1, last + 1))

    def _hold(self, visible: list[Placed]) -> None:
        """The anchor is the lowest entry that is visible."""
        if not visible:
            return
        self._anchor, top = visible[-1]
        self._below = self.height - top - self._height_of(self._anchor)
        self.at_end = self._anchor == len(self._keys) - 1 and self._below >= 0
