"""The screen as a whole: panes, composer, span picture, status line, and what each key does."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Callable, Optional

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import HelpPanel, Input, Static
from tideline import Conversation, Message, MessageState, Phase, Status, TidelineError, Typing
from tideline.spans import Spans, read_spans

from . import palette, strip
from .hits import HitPane, SearchBox
from .network import Network
from .panes import ConversationPane, Facts, Keys, MessagePane
from .session import Session
from .thread import text_of

_PHASES = {Phase.OFFLINE: "offline", Phase.CATCHING_UP: "catching up",
           Phase.UP_TO_DATE: "up to date"}


class Composer(Input):
    """Where the user writes; Escape lets go of a reply or an edit, then of the line."""

    BINDING_GROUP_TITLE = "Writing"
    HELP = "Write a message here. Enter sends it. Escape goes to the messages."
    BINDINGS = [Binding("escape", "app.leave_composer", "Messages", key_display="esc"),
                Binding("enter", "submit", "Send", key_display="enter")]


class ChatApp(App[None]):
    """The client. ``port`` is the server's; without it a test carries the frames."""

    CSS_PATH = "app.tcss"
    TITLE = "Tideline"
    BINDING_GROUP_TITLE = "Everywhere"
    ENABLE_COMMAND_PALETTE = False
    #: Below 60 columns either the list or the conversation is shown.
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (60, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-high")]
    BINDINGS = [
        Binding("f1", "help", "Help", priority=True),
        Binding("question_mark", "help", "Help", show=False),
        Binding("tab", "app.focus_next", "Next pane", priority=True, key_display="tab"),
        Binding("ctrl+f", "search", "Find", priority=True),
        Binding("ctrl+l", "latest", "Newest message", priority=True),
        Binding("ctrl+o", "offline", "Offline or online", priority=True),
        Binding("ctrl+q", "quit", "Quit", priority=True),
    ]

    def __init__(self, session: Session, port: Optional[int] = None, *,
                 today: Callable[[], date] = date.today,
                 conversation: Optional[str] = None) -> None:
        super().__init__()
        self.session = session
        self.network = Network(session, port, self.news) if port is not None else None
        self._today = today
        self._first = conversation
        self._answering: Optional[Message] = None
        self._editing: Optional[Message] = None
        self._spans: Optional[Spans] = None
        self._spans_due = False
        self._trouble: Optional[str] = None
        self._loading_text = False

    def compose(self) -> ComposeResult:
        with Horizontal(id="body"):
            with Vertical(id="side"):
                yield Static(id="account")
                yield ConversationPane(self.session.user, self._today)
            with Vertical(id="main"):
                yield Facts(id="title")
                with Vertical(id="find"):
                    yield SearchBox()
                    yield HitPane(self._title_of, self._today)
                yield MessagePane(self.session.user, self._today)
                yield Static(id="spans")
                yield Static(id="banner")
                composer = Composer(
                    placeholder="Write a message", id="composer", select_on_focus=False)
                composer.cursor_blink = False
                yield composer
        yield Facts(id="status")
        yield Keys()

    def on_mount(self) -> None:
        self.conversations = self.query_one(ConversationPane)
        self.messages = self.query_one(MessagePane)
        self.composer = self.query_one(Composer)
        self.hits = self.query_one(HitPane)
        self.hits.search = self.session.search
        self.go(self.composer)
        self.query_one("#account", Static).update(
            Text.assemble((" ≈ ", palette.ACCENT), ("Tideline ", f"bold {palette.TEXT}"),
                          (self.session.user, palette.SOFT)))
        self.news()
        if self.network is not None:
            self._carrier = asyncio.ensure_future(self.network.run())
            # Nothing but the picture of the spans is drawn by time, since reading it costs.
            self.set_interval(0.5, self.draw_spans)
            self._building = self.set_interval(0.05, self.build_index)

    async def on_unmount(self) -> None:
        if self.network is not None:
            self._carrier.cancel()
            await asyncio.gather(self._carrier, return_exceptions=True)
        self.session.close()

    # What the session has to say.

    def news(self) -> None:
        """Brings the screen to the newest state, unless it is being taken down."""
        if not self.screen_stack or not self.query("#title"):
            return
        listed, moved = self.session.poll()
        if listed:
            self.conversations.show(self.session.list.conversations)
            if self.session.thread is None and self.session.list.conversations:
                self._open_first()
                return
        if moved:
            self._spans_due = True
            self._note_trouble()
            self.messages.bring()
        if listed or moved:
            self._draw_title()
        self._draw_status()

    def _open_first(self) -> None:
        rows = self.session.list.conversations
        chosen = next((row for row in rows if self._first in (row.id, row.title)), None)
        if chosen is not None or self._first is None:
            self.open((chosen or rows[0]).id)

    def open(self, conversation: str) -> None:
        """Opens a conversation."""
        self.session.open(conversation).poll()
        self.conversations.opened = self.conversations.selected = conversation
        self.conversations.see(False)
        self.conversations.refresh()
        self._let_go()
        row = self._row()
        self._write(row.draft.decode(errors="replace") if row else "")
        if row is not None and row.draft_reply_to and self.session.thread is not None:
            self._answering = self.session.thread.find(row.draft_reply_to)
        assert self.session.thread is not None
        self.messages.open(self.session.thread)
        self._spans_due = True
        self.draw_spans()
        self._draw_banner()
        self._draw_title()
        self._act()

    def _row(self) -> Optional[Conversation]:
        thread = self.session.thread
        return next((row for row in self.session.list.conversations
                     if thread is not None and row.id == thread.id), None)

    def _note_trouble(self) -> None:
        """Says once why what was asked for did not come."""
        thread = self.session.thread
        trouble = thread.state.trouble if thread is not None else Status.OK
        text = trouble.name.lower().replace("_", " ") if trouble != Status.OK else None
        if text is not None and text != self._trouble and trouble != Status.OFFLINE:
            self.notify(f"The server could not give this: {text}", severity="warning")
        self._trouble = text

    # Drawing.

    def _draw_title(self) -> None:
        row, thread = self._row(), self.session.thread
        if row is None or thread is None:
            return
        facts = [Text(f" {row.title or row.id}", f"bold {palette.TEXT}")]
        typing = [user for user in row.typing if user != self.session.user]
        if typing:
            facts.append(Text(f"   {', '.join(typing)} typing…", f"italic {palette.ACCENT}"))
        if thread.looking:
            facts.append(Text("   looking for the message…", f"italic {palette.WARNING}"))
        if thread.can_go_back:
            facts.append(Text("   b goes back", palette.SOFT))
        facts.append(Text(f"   {row.member_count} people", palette.FAINT))
        self.query_one("#title", Facts).show(facts)

    def draw_spans(self) -> None:
        """Reads and draws the picture of the spans, where anything has changed."""
        thread = self.session.thread
        if thread is None:
            return
        if self._spans_due or self._spans is None:
            self._spans_due = False
            self._spans = read_spans(self.session.client, thread.id)
        pane = self.query_one("#spans", Static)
        lines = strip.draw(self._spans, max(8, pane.size.width - 2), self.messages.seen_us)
        pane.update(Text("\n").join(lines))

    def _draw_banner(self) -> None:
        banner = self.query_one("#banner", Static)
        shown = self._editing or self._answering
        banner.display = shown is not None
        if shown is not None:
            word = "Editing" if self._editing else f"Reply to {shown.sender}"
            line = Text.assemble((f" {word}: ", f"bold {palette.ACCENT}"),
                                 (" ".join(text_of(shown).split()), palette.SOFT),
                                 no_wrap=True, overflow="ellipsis")
            banner.update(line)

    def _draw_status(self) -> None:
        state, stats = self.session.client.state(), self.session.client.stats()
        wanted = self.session.wanted_online
        phase = _PHASES[state.phase] if wanted else "offline by choice"
        if wanted and state.phase == Phase.OFFLINE:
            phase = "no connection"
        colour = {Phase.OFFLINE: palette.ERROR, Phase.CATCHING_UP: palette.WARNING}.get(
            state.phase, palette.ACCENT)
        facts = [Text.assemble((" ● ", colour), (phase, palette.TEXT))]
        parts = [f"{state.operations_open} to send"] if state.operations_open else []
        parts += [f"{stats.requests} requests", f"{palette.size(stats.bytes_in)} in",
                 f"{palette.size(stats.bytes_out)} out"]
        percent = self.session.arrivals.cached_percent
        if percent is not None:
            parts.append(f"{percent} % of {self.session.arrivals.shown:,} from the cache")
        facts += [Text.assemble(("  │  ", palette.FAINT), (part, palette.SOFT)) for part in parts]
        self.query_one("#status", Facts).show(facts)

    def on_resize(self) -> None:
        self.call_after_refresh(self.draw_spans)

    def go(self, pane: Widget) -> None:
        """Gives a pane the focus, and shows it where one has room."""
        self.screen.set_class(pane is self.conversations, "-list")
        self.set_focus(pane)

    def on_descendant_focus(self) -> None:
        """Marks the pane that has the focus."""
        self.screen.set_class(self.focused is self.conversations, "-list")
        self.screen.set_class(self.focused is self.messages, "-reading")

    def action_help(self) -> None:
        """Shows what the pane is for and all keys, or hides it."""
        if self.screen.query(HelpPanel):
            self.action_hide_help_panel()
        else:
            self.query_one("#body").mount(HelpPanel())

    # The composer.

    def _write(self, text: str) -> None:
        """Puts a text into the composer that the user has not typed."""
        self._loading_text = True
        self.composer.value = text
        self.composer.cursor_position = len(text)

    def _let_go(self) -> None:
        self._answering = self._editing = None
        self._draw_banner()

    def on_input_changed(self, event: Input.Changed) -> None:
        if isinstance(event.input, SearchBox):
            self._find(event.value)
            return
        thread = self.session.thread
        loading, self._loading_text = self._loading_text, False
        if thread is None or loading or self._editing is not None:
            return
        reply = self._answering.id if self._answering else ""
        self.session.client.draft(thread.id, event.value, reply)
        if event.value:
            self.session.client.typing(thread.id, Typing.BEGIN)
        self._act()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if isinstance(event.input, SearchBox):
            self._open_hit()
            return
        thread, text = self.session.thread, event.value.strip()
        if thread is None or not text:
            return
        try:
            if self._editing is not None:
                thread.edit(self._editing, text)
            else:
                thread.send(text, self._answering.id if self._answering else "")
                self.session.client.draft(thread.id, "")
        except TidelineError as error:
            self.notify(str(error), severity="error")
            return
        self._let_go()
        self._write("")
        self._act()

    def action_show_list(self) -> None:
        """Escape in the messages: back to the list."""
        self.go(self.conversations)

    def action_show_conversation(self) -> None:
        """Escape in the list: back to the conversation."""
        self.go(self.messages)

    def action_leave_composer(self) -> None:
        """Escape: first a reply or an edit is let go of, then the line."""
        if self._editing is not None:
            self._write("")
        if self._editing is not None or self._answering is not None:
            self._let_go()
        else:
            self.go(self.messages)

    # The search box.

    def build_index(self) -> None:
        """Brings what was stored before search was known into the index, while there is time."""
        if not self.session.search.build(4):
            self._building.stop()

    def _title_of(self, conversation: str) -> str:
        return next((row.title or row.id for row in self.session.list.conversations
                     if row.id == conversation), conversation)

    def action_search(self) -> None:
        """Shows the search box, which begins empty."""
        find, box = self.query_one("#find"), self.query_one(SearchBox)
        if not find.display:
            find.display = True
            box.value = ""
            self._find("")
        self.go(box)

    def action_leave_search(self) -> None:
        """Escape: the box goes, and the messages stay where they are."""
        self.query_one("#find").display = False
        self.go(self.messages)

    def _find(self, text: str) -> None:
        self.session.search.ask(text)
        self.hits.refresh()

    def action_step_hit(self, count: int) -> None:
        """Chooses another hit."""
        self.session.search.step(count)
        self.hits.refresh()

    def _open_hit(self) -> None:
        """Opens the conversation at the hit that is chosen; from there it goes both ways."""
        hit = self.session.search.hit
        if hit is None:
            return
        thread = self.session.thread
        is_here = thread is not None and thread.id == hit.message.conversation
        if not is_here:
            self.open(hit.message.conversation)
            thread = self.session.thread
        if thread is not None:
            thread.jump(hit.message.id, remember=is_here)
        self._act()

    # Keys.

    def on_conversation_pane_chosen(self, event: ConversationPane.Chosen) -> None:
        self.open(event.conversation)
        self.go(self.composer)

    def on_message_pane_newest(self, event: MessagePane.Newest) -> None:
        self.conversations.see(event.is_shown)

    def on_message_pane_acted(self, event: MessagePane.Acted) -> None:
        thread = self.session.thread
        if thread is None:
            return
        entry = thread.entry()
        try:
            if event.key == "b":
                thread.back()
            elif event.key == "g":
                self._fill()
            elif event.key == "enter" and entry is not None and (
                    entry.is_group or entry.is_opened):
                thread.toggle(entry)
            elif (message := thread.message()) is not None:
                self._act_on(message, event.key)
        except TidelineError as error:
            self.notify(str(error), severity="error")
        self._act()

    def _act_on(self, message: Message, key: str) -> None:
        thread = self.session.thread
        assert thread is not None
        if key == "enter" and message.reply_to:
            thread.jump(message.reply_to)
        elif key == "r" and message.state == MessageState.CONFIRMED:
            self._editing, self._answering = None, message
            self.go(self.composer)
            self._draw_banner()
        elif key == "e" and message.sender == self.session.user:
            self._editing, self._answering = message, None
            self._write(text_of(message))
            self.go(self.composer)
            self._draw_banner()
        elif key == "d" and message.sender == self.session.user:
            thread.delete(message)
        elif key == "t":
            thread.retry(message)
        elif key in "12345" and message.state == MessageState.CONFIRMED:
            thread.react(message, palette.REACTIONS[int(key) - 1], self.session.user)

    def _fill(self) -> None:
        """Fills the gap that the user means."""
        thread = self.session.thread
        gap = thread.gap() if thread is not None else None
        if thread is None or gap is None:
            self.notify("No gap is here: what is loaded is whole.")
        elif not thread.fill(gap):
            self.notify("This needs a connection.", severity="warning")

    def action_offline(self) -> None:
        """Goes offline, or online again."""
        if self.network is not None:
            self.network.switch()
        self._draw_status()

    def action_latest(self) -> None:
        """Goes to the newest message."""
        if self.session.thread is not None:
            self.session.thread.latest()
            self.messages.bring()
            self._act()

    def _act(self) -> None:
        """What the user did may have made frames, and has changed what is shown."""
        self.news()
        self.messages.bring()
        self._draw_title()
        if self.network is not None:
            self.network.wake()
