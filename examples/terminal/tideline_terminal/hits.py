"""The widgets of the search: the box, and the hits below it."""

from __future__ import annotations

from datetime import date
from typing import Callable, Optional

from rich.text import Text
from textual.binding import Binding
from textual.strip import Strip
from textual.widgets import Input

from . import palette
from .drawing import fitting
from .panes import Lines
from .search import Search, snippet


class SearchBox(Input):
    """Where one types; arrows choose, Enter opens, Escape closes."""

    BINDING_GROUP_TITLE = "Finding"
    HELP = "Type words to find. The arrows choose a message; Enter opens it where it was written."
    BINDINGS = [
        Binding("escape", "app.leave_search", "Close", key_display="esc"),
        Binding("enter", "submit", "Open", key_display="enter"),
        Binding("up", "app.step_hit(-1)", "Newer"),
        Binding("down", "app.step_hit(1)", "Older"),
    ]

    def __init__(self) -> None:
        super().__init__(placeholder="Find", id="search", select_on_focus=False)
        self.cursor_blink = False


class HitPane(Lines, can_focus=False):
    """The hits, and a line that says what was not searched."""

    ground = palette.PANEL

    def __init__(self, title_of: Callable[[str], str], today: Callable[[], date]) -> None:
        super().__init__(id="hits")
        self._title_of = title_of
        self._today = today
        self.search: Optional[Search] = None

    def render_line(self, y: int) -> Strip:
        search = self.search
        if search is None:
            return self.line(Text(""), self.ground)
        if y == self.size.height - 1:
            facts = [Text(f"{' ·' if at else ''} {fact}", style=palette.FAINT)
                     for at, fact in enumerate(search.about)]
            return self.line(fitting(facts, self.size.width), self.ground)
        rows = max(1, self.size.height - 1)
        at = max(0, search.chosen - rows + 1) + y
        if at >= len(search.hits):
            return self.line(Text(""), self.ground)
        hit = search.hits[at]
        message = hit.message
        line = Text.assemble(
            (f" {palette.short_time(message.time_us, self._today()):<9}", palette.FAINT),
            (f"{self._title_of(message.conversation)}  ", palette.FAINT),
            (f"{message.sender}: ", palette.colour_of(message.sender)), snippet(hit))
        line.truncate(self.size.width, overflow="ellipsis")
        return self.line(line, palette.SELECTED if at == search.chosen else self.ground)
