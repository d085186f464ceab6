"""The two panes: the list of conversations, and the messages of the one that is open."""

from __future__ import annotations

from datetime import date
from typing import Callable, Optional, Sequence

from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import ActiveBinding, Binding
from textual.message import Message as Event
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from tideline import Conversation, ConversationFlags, MessageFlags

from . import palette
from .drawing import Drawing, event_text, fitting
from .entries import FOLDED, Entry
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


class Facts(Widget):
    """A line of facts: those that do not fit are left out whole."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._facts: Sequence[Text] = ()

    def show(self, facts: Sequence[Text]) -> None:
        """Takes the facts as they are now, the most important one first."""
        self._facts = facts
        self.refresh()

    def render(self) -> Text:
        return fitting(self._facts, self.size.width)


class Keys(Widget):
    """The keys of what has the focus, as far as they fit whole; Help and Escape first. A click on
    one presses it. The help panel names all."""

    def __init__(self) -> None:
        super().__init__()
        self._keys: Sequence[ActiveBinding] = ()
        self._ends: list[tuple[int, str]] = []

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._take)

    def _take(self, screen: Screen[object]) -> None:
        # A terminal that another window covers has no focus, and keeps its keys.
        if self.app.app_focus:
            # Two keys may do the same; the first one is shown.
            first: dict[str, ActiveBinding] = {}
            for key in screen.active_bindings.values():
                if key.binding.show:
                    first.setdefault(key.binding.action, key)
            self._keys = sorted(first.values(), key=lambda key: (
                key.binding.action != "help", key.binding.key != "escape"))
            self.refresh()

    def render(self) -> Text:
        line, self._ends = Text(no_wrap=True), []
        for key in self._keys:
            name = self.app.get_key_display(key.binding)
            shown = Text.assemble((name, f"bold {palette.ACCENT}"), f" {key.binding.description} ")
            if line.cell_len + shown.cell_len > self.size.width:
                break
            line.append(shown)
            self._ends.append((line.cell_len, key.binding.key))
        return line

    def on_click(self, event: events.Click) -> None:
        for end, key in self._ends:
            if event.x < end:
                self.app.simulate_key(key)
                return


class ConversationPane(Lines):
    """The list of conversations: title, time, unread count, draft or typing or last message."""

    BINDING_GROUP_TITLE = "Conversations"
    HELP = "The conversations, the latest first. Choose one with the arrows; Enter opens it."
    BINDINGS = [
        Binding("escape", "app.show_conversation", "Messages", key_display="esc"),
        Binding("enter", "choose", "Open", key_display="enter"),
        Binding("up,k", "step(-1)", "Up"),
        Binding("down,j", "step(1)", "Down"),
        Binding("pageup", "step(-8)", "Page up", show=False),
        Binding("pagedown", "step(8)", "Page down", show=False),
    ]
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
        self._sees_newest = False

    def see(self, newest: bool) -> None:
        """Takes whether the newest message of the one that is open is on the screen."""
        if newest != self._sees_newest:
            self._sees_newest = newest
            self.refresh()

    def _unread(self, row: Conversation) -> int:
        return 0 if self._sees_newest and row.id == self.opened else row.unread

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

    def action_step(self, count: int) -> None:
        """Selects another one."""
        self.step(count)

    def action_choose(self) -> None:
        """Opens the one that is selected."""
        if self.rows:
            self.post_message(self.Chosen(self.rows[self.place].id))

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
        unread = self._unread(row)
        style = f"bold {palette.TEXT}" if unread else palette.TEXT
        title = Text(row.title or row.id, style=style, no_wrap=True)
        room = max(1, self.size.width - 3 - len(when))
        title.truncate(room - 1, overflow="ellipsis", pad=True)
        return Text.assemble(title, " ", (when, palette.ACCENT if unread else palette.FAINT))

    def _below(self, row: Conversation) -> Text:
        badge = ""
        if unread := self._unread(row):
            badge = f" {unread if unread < 1_000 else '999+'} "
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

    class Newest(Event):
        """Whether the newest message is on the screen has changed."""

        def __init__(self, is_shown: bool) -> None:
            super().__init__()
            self.is_shown = is_shown

    class Acted(Event):
        """A key that does something with the entry that is selected."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    BINDING_GROUP_TITLE = "Messages"
    HELP = ("The messages, the newest at the bottom. The arrows select one; older and newer "
            "messages are loaded as you scroll.")
    BINDINGS = [
        Binding("escape", "app.show_list", "List", key_display="esc"),
        Binding("enter", "act('enter')", "Open", key_display="enter",
                tooltip="the message that is quoted, or a group of events"),
        Binding("r", "act('r')", "Reply"),
        Binding("e", "act('e')", "Edit"),
        Binding("d", "act('d')", "Delete"),
        *(Binding(str(at), f"act('{at}')", f"React {palette.REACTIONS[at - 1]}", show=False)
          for at in range(1, 6)),
        Binding("g", "act('g')", "Fill gap"),
        Binding("b", "act('b')", "Back", tooltip="to where the jump began"),
        Binding("t", "act('t')", "Try again", tooltip="to send what failed"),
        Binding("up,k", "step(-1)", "Older"),
        Binding("down,j", "step(1)", "Newer"),
        Binding("pageup", "page(1)", "Page up", show=False),
        Binding("pagedown", "page(-1)", "Page down", show=False),
    ]
    def __init__(self, user: str, today: Callable[[], date]) -> None:
        super().__init__(id="messages")
        self._user = user
        self._today = today
        self.thread: Optional[Thread] = None
        self._drawing: Optional[Drawing] = None
        self._lines: list[tuple[Text, bool]] = []
        self._width = 0
        self.seen_us: Optional[tuple[int, int]] = None
        self._sees_newest: Optional[bool] = None

    def open(self, thread: Thread) -> None:
        """Shows another conversation."""
        self.thread = thread
        self._drawing = Drawing(self._user, thread.find, self._today)
        self.seen_us = self._sees_newest = None
        self.bring()

    def _height_of(self, entry: Entry) -> int:
        assert self._drawing is not None
        return len(self._drawing.block(entry, self.size.width).lines)

    def bring(self) -> None:
        """Draws the thread as it is now, and tells it which items are on the screen. What was there
        stays where it was."""
        thread, drawing = self.thread, self._drawing
        if thread is None or drawing is None:
            return
        height, width = self.size.height, self.size.width
        lines = [(Text(""), False)] * height
        shown = thread.place(height, self._height_of, width != self._width)
        self._width = width
        for entry, row in shown:
            chosen = self.has_focus and row.key == thread.selected
            block = drawing.block(entry, width)
            for part, text in enumerate(block.lines):
                if 0 <= row.top + part < height:
                    own = block.first <= part < block.last and bool(text.plain)
                    lines[row.top + part] = (text, chosen and own)
        self._lines = lines
        if shown and self.app.app_focus:
            thread.items.show(shown[0][1].row, len(shown))
        else:
            thread.items.show(0, 0)
        times = [message.time_us for entry, _ in shown for message in entry.messages
                 if message.time_us > 0]
        self.seen_us = (min(times), max(times)) if times else None
        newest = thread.at_newest and self.app.app_focus
        if newest != self._sees_newest:
            self._sees_newest = newest
            self.post_message(self.Newest(newest))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        if y >= len(self._lines):
            return self.line(Text(""), self.ground)
        text, chosen = self._lines[y]
        return self.line(text, palette.SELECTED if chosen else self.ground)

    def on_resize(self) -> None:
        self.bring()

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        if has_focus and self.thread is not None and self.thread.entry() is None:
            self._select_visible(last=True)
        self.bring()

    def turn(self, lines: int) -> None:
        if self.thread is not None:
            self.thread.viewport.scroll(-lines)
        self.bring()

    # The entry that is selected.

    def _select_visible(self, last: bool) -> None:
        """Selects the last or the first item on the screen."""
        thread = self.thread
        visible = thread.viewport.state().visible if thread is not None else range(0)
        if thread is not None and visible:
            thread.selected = thread.items.current[visible[-1 if last else 0]].key

    def step(self, count: int) -> None:
        """Selects another entry, and scrolls to it."""
        thread = self.thread
        if thread is None or not len(thread):
            return
        at = None if thread.selected is None else thread.items.find_key(thread.selected)
        if at is None:
            self._select_visible(last=True)
        else:
            place = max(0, min(len(thread) - 1, at + count))
            thread.selected = thread.items.current[place].key
            thread.reveal(thread.selected, self.size.height, self._height_of)
        self.bring()

    def page(self, screens: int) -> None:
        """Scrolls by screens; the selection follows into view."""
        if self.thread is not None:
            self.thread.viewport.scroll(-screens * max(1, self.size.height - 2))
            self.bring()
            self._select_visible(last=screens < 0)
        self.bring()

    def action_step(self, count: int) -> None:
        """Selects another entry."""
        self.step(count)

    def action_page(self, screens: int) -> None:
        """Scrolls by screens."""
        self.page(screens)

    def action_act(self, key: str) -> None:
        """Does something with the entry that is selected."""
        self.post_message(self.Acted(key))
