"""The two panes: the list of conversations, and the messages of the one that is open."""

from __future__ import annotations

from datetime import date
from typing import Callable, Optional, Sequence

from rich.style import Style
from rich.text import Text
from textual import events
from textual.message import Message as Event
from textual.strip import Strip
from textual.widget import Widget
from tideline import Conversation, ConversationFlags, MessageFlags

from . import palette
from .drawing import Drawing, event_text
from .entries import FOLDED, Entry, EntryKind
from .scroller import Scroller
from .thread import Thread, text_of


class Lines(Widget, can_focus=True):
    """A widget that draws lines of text of its own making."""

    ground = palette.GROUND

    def line(self, text: Text, background: str) -> Strip:
        """A line over the whole width."""
        ground = Style(bgcolor=background, color=palette.TEXT)
        width = self.size.width
        # A text renders its own style only where it is part of another one.
        whole = Text.assemble(text)
        strip = Strip(whole.render(self.app.console)).adjust_cell_length(width)
        return strip.apply_style(ground).crop(0, width)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.turn(3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.turn(-3)

    def turn(self, lines: int) -> None:
        """Scrolls; older content comes where positive."""


class ConversationPane(Lines):
    """The list of conversations: title, time, unread count, draft or typing or last message."""

    ground = palette.PANEL
    ROW = 3

    class Chosen(Event):
        """A conversation is to be opened."""

        def __init__(self, id: str) -> None:
            super().__init__()
            self.conversation = id

    def __init__(self, user: str, today: Callable[[], date]) -> None:
        super().__init__(id="conversations")
        self._user = user
        self._today = today
        self.rows: Sequence[Conversation] = ()
        self.selected: Optional[str] = None
        self.opened: Optional[str] = None
        self._first = 0

    def show(self, rows: Sequence[Conversation]) -> None:
        """Takes the list as it is now."""
        self.rows = rows
        self.refresh()

    @property
    def place(self) -> int:
        """The row that is selected."""
        return next((at for at, row in enumerate(self.rows) if row.id == self.selected), 0)

    def step(self, count: int) -> None:
        """Selects another one."""
        if not self.rows:
            return
        at = max(0, min(len(self.rows) - 1, self.place + count))
        self.selected = self.rows[at].id
        visible = max(1, self.size.height // self.ROW)
        self._first = max(min(self._first, at), at - visible + 1)
        self.refresh()

    def turn(self, lines: int) -> None:
        visible = max(1, self.size.height // self.ROW)
        first = self._first + (-1 if lines > 0 else 1)
        self._first = max(0, min(first, len(self.rows) - visible))
        self.refresh()

    def on_key(self, event: events.Key) -> None:
        steps = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -8, "pagedown": 8}
        if event.key in steps:
            self.step(steps[event.key])
        elif event.key == "enter" and self.rows:
            self.post_message(self.Chosen(self.rows[self.place].id))
        else:
            return
        event.stop()

    def on_click(self, event: events.Click) -> None:
        at = self._first + event.y // self.ROW
        if at < len(self.rows):
            self.selected = self.rows[at].id
            self.post_message(self.Chosen(self.rows[at].id))

    def render_line(self, y: int) -> Strip:
        at, part = self._first + y // self.ROW, y % self.ROW
        if at >= len(self.rows):
            return self.line(Text(""), self.ground)
        row = self.rows[at]
        background = palette.SELECTED if row.id == self.opened else self.ground
        if self.has_focus and row.id == (self.selected or self.rows[0].id):
            background = palette.RAISED
        mark = ("▌", palette.ACCENT) if row.id == self.opened else (" ", "")
        if part == 2:
            return self.line(Text.assemble(mark), background)
        text = self._head(row) if part == 0 else self._below(row)
        return self.line(Text.assemble(mark, text), background)

    def _head(self, row: Conversation) -> Text:
        when = palette.short_time(row.activity_us, self._today())
        style = f"bold {palette.TEXT}" if row.unread else palette.TEXT
        title = Text(row.title or row.id, style=style, no_wrap=True)
        room = max(1, self.size.width - 3 - len(when))
        title.truncate(room - 1, overflow="ellipsis", pad=True)
        return Text.assemble(title, " ", (when, palette.ACCENT if row.unread else palette.FAINT))

    def _below(self, row: Conversation) -> Text:
        badge = ""
        if row.unread:
            exact = ConversationFlags.UNREAD_EXACT in row.flags
            badge = f" {row.unread if row.unread < 1_000 else '999+'}{'' if exact else '+'} "
        text = self._preview(row)
        text.truncate(max(1, self.size.width - 3 - len(badge)), overflow="ellipsis", pad=True)
        text.append(" ")
        text.append(badge, style=f"bold {palette.GROUND} on {palette.ACCENT}")
        return text

    def _preview(self, row: Conversation) -> Text:
        typing = [user for user in row.typing if user != self._user]
        if typing:
            return Text(f"{', '.join(typing)} typing…", style=f"italic {palette.ACCENT}")
        if row.draft and row.id != self.opened:
            return Text.assemble(("Draft: ", palette.ERROR),
                                 (row.draft.decode(errors="replace"), palette.SOFT))
        if ConversationFlags.HAS_STUCK in row.flags:
            return Text("✗ a message was not sent", style=palette.ERROR)
        if row.last is None:
            return Text("")
        if row.last.flags & FOLDED:
            return Text(event_text(row.last), style=palette.FAINT)
        mine = MessageFlags.MINE in row.last.flags
        who = "you" if mine else row.last.sender
        return Text.assemble((f"{who}: ", palette.SOFT),
                             (" ".join(text_of(row.last).split()), palette.FAINT))


class MessagePane(Lines):
    """The messages of the open conversation."""

    class Acted(Event):
        """A key that does something with the entry that is selected."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    ACTS = {"enter", "e", "r", "d", "t", "b", "g", "1", "2", "3", "4", "5"}

    def __init__(self, user: str, today: Callable[[], date]) -> None:
        super().__init__(id="messages")
        self._user = user
        self._today = today
        self.thread: Optional[Thread] = None
        self._drawing: Optional[Drawing] = None
        self._lines: list[tuple[Text, bool]] = []
        self.scroller = Scroller(self._height_of)
        self.seen_us: Optional[tuple[int, int]] = None

    def open(self, thread: Thread) -> None:
        """Shows another conversation."""
        self.thread = thread
        self._drawing = Drawing(self._user, thread.find, self._today)
        self.scroller = Scroller(self._height_of)
        self.seen_us = None
        self.bring()

    def bring(self) -> None:
        """Takes the thread as it is now. What is on the screen stays where it is."""
        thread = self.thread
        if thread is None or self._drawing is None:
            return
        self.scroller.height = max(1, self.size.height)
        self.scroller.update([entry.key for entry in thread.entries])
        if thread.to_end and thread.state.at_end:
            self.scroller.to_end()
            thread.to_end = False
        if thread.wanted is not None:
            index = self.scroller.find(thread.wanted)
            if index is not None:
                thread.wanted = None
                self.scroller.show(index, middle=True)
        self._layout()

    def _height_of(self, index: int) -> int:
        assert self.thread is not None and self._drawing is not None
        return len(self._drawing.lines(self.thread.entries[index], self.size.width))

    def _layout(self) -> None:
        """Draws the lines of the screen, and tells the window which rows are on it."""
        thread, drawing = self.thread, self._drawing
        if thread is None or drawing is None:
            return
        height = self.size.height
        lines = [(Text(""), False)] * height
        shown: list[Entry] = []
        for index, top in self.scroller.place():
            entry = thread.entries[index]
            shown.append(entry)
            chosen = self.has_focus and entry.key == thread.selected
            for part, text in enumerate(drawing.lines(entry, self.size.width)):
                if 0 <= top + part < height:
                    blank = not text.plain
                    lines[top + part] = (text, chosen and not blank)
        self._lines = lines
        self._tell(shown)
        self.refresh()

    def _tell(self, shown: list[Entry]) -> None:
        thread = self.thread
        rows = [entry.row for entry in shown if entry.count]
        if thread is None:
            return
        if rows and self.app.app_focus:
            thread.window.show(rows[0], rows[-1] - rows[0] + 1)
        else:
            thread.window.show(0, 0)
        times = [entry.message.time_us for entry in shown
                 if entry.message is not None and entry.message.time_us > 0]
        self.seen_us = (min(times), max(times)) if times else None

    def render_line(self, y: int) -> Strip:
        if y >= len(self._lines):
            return self.line(Text(""), self.ground)
        text, chosen = self._lines[y]
        return self.line(text, palette.SELECTED if chosen else self.ground)

    def on_resize(self) -> None:
        self.bring()

    def on_focus(self) -> None:
        if self.thread is not None and self.thread.entry() is None:
            self._select_at(self._placed_choices()[-1:])
        self._layout()

    def on_blur(self) -> None:
        self._layout()

    def turn(self, lines: int) -> None:
        self.scroller.scroll(lines)
        self._layout()

    # The entry that is selected.

    def _choices(self) -> list[int]:
        assert self.thread is not None
        kinds = (EntryKind.DAY, EntryKind.UNREAD, EntryKind.START)
        return [at for at, entry in enumerate(self.thread.entries) if entry.kind not in kinds]

    def _placed_choices(self) -> list[int]:
        if self.thread is None or not self.thread.entries:
            return []
        choices = set(self._choices())
        return [index for index, _ in self.scroller.place() if index in choices]

    def gap(self) -> Optional[Entry]:
        """The gap that a key fills: the one that is selected, else the first on the screen, else
        the last one above or below."""
        thread = self.thread
        if thread is None:
            return None
        chosen = thread.entry()
        shown = [thread.entries[index] for index in self._placed_choices()]
        every = [*thread.entries, *reversed(shown), *([chosen] if chosen else [])]
        return next((entry for entry in reversed(every) if entry.kind == EntryKind.GAP), None)

    def _select_at(self, indices: list[int]) -> None:
        if self.thread is not None and indices:
            self.thread.selected = self.thread.entries[indices[0]].key

    def step(self, count: int) -> None:
        """Selects another entry, and scrolls to it."""
        thread = self.thread
        if thread is None or not thread.entries:
            return
        choices = self._choices()
        if not choices:
            return
        at = self.scroller.find(thread.selected) if thread.selected else None
        if at is None or at not in choices:
            self._select_at(self._placed_choices()[-1:])
        else:
            place = max(0, min(len(choices) - 1, choices.index(at) + count))
            thread.selected = thread.entries[choices[place]].key
            # The first one shows what stands above it, too.
            first = place == 0 and count < 0
            self.scroller.show(0 if first else choices[place])
        self._layout()

    def page(self, screens: int) -> None:
        """Scrolls by screens; the selection follows into view."""
        self.scroller.scroll(screens * max(1, self.size.height - 2))
        visible = self._placed_choices()
        self._select_at(visible[:1] if screens > 0 else visible[-1:])
        self._layout()

    def on_key(self, event: events.Key) -> None:
        steps = {"up": -1, "k": -1, "down": 1, "j": 1}
        if event.key in steps:
            self.step(steps[event.key])
        elif event.key in ("pageup", "pagedown"):
            self.page(1 if event.key == "pageup" else -1)
        elif event.key in self.ACTS:
            self.post_message(self.Acted(event.key))
        else:
            return
        event.stop()
