"""One open conversation: its window, the items over it, where they stand, and what is selected."""

from __future__ import annotations

import json
from typing import Any, Callable, Optional

import tideline
from tideline import (
    At, Edge, ItemFlags, LoadKind, Message, MessageState, OpKind, Placed, Status, Waiting,
    WindowState)

from .entries import NO_ENDS, RUN_MINUTES, Ends, Entry, fold

ROWS_MAX = 600
PAGE = 40
#: Entries that are remembered, many more than a screen shows.
REMEMBERED = 2_000


def text_of(message: Message) -> str:
    """What a message says."""
    try:
        payload: Any = json.loads(message.payload)
    except ValueError:
        return message.payload.decode(errors="replace")
    if isinstance(payload, dict):
        return str(payload.get("text", payload.get("event", "")))
    return str(payload)


class Thread:
    """What one conversation's screen shows. ``poll`` brings it along."""

    def __init__(self, client: tideline.Client, conversation: str, *, hold_ms: int = 1_000,
                 unread: bool = False) -> None:
        self.client = client
        self.id = conversation
        self.window = client.window(
            conversation, At.UNREAD if unread else At.LATEST, PAGE, rows_max=ROWS_MAX,
            hold_ms=hold_ms, preload=True)
        self.items = tideline.Items(
            self.window, gap_min=RUN_MINUTES, unread_line=unread, fold=fold)
        #: A line of the terminal is its unit of length.
        self.viewport = tideline.Viewport(
            0, bottom_up=True, hold_bottom=True, estimate=3, height_min=1)
        self.state: WindowState = self.window.state()
        #: The key of the item that is selected.
        self.selected: Optional[int] = None
        #: The key of an item that the screen is to show in its middle, once.
        self.wanted: Optional[int] = None
        self.to_end = not unread
        self.on_rows: Callable[[list[int]], None] = lambda numbers: None
        self._entries: dict[int, Entry] = {}
        self._shown: set[int] = set()
        self._looks_for_unread = unread
        self._target: Optional[str] = None
        self._came_from: list[str] = []

    def close(self) -> None:
        """Ends the watching."""
        self.items.close()
        self.window.close()

    # The list.

    def poll(self) -> bool:
        """Moves to the newest state; False when nothing changed."""
        diff = self.items.update()
        state = self.window.state()
        if diff is None and state == self.state:
            return False
        self.state = state
        if diff is not None:
            self.viewport.update(diff.ops, [item.key for item in self.items.current])
            self._note_new(diff)
        self._find_unread()
        self._arrive()
        return True

    def _note_new(self, diff: tideline.Diff) -> None:
        """Tells of messages that are shown for the first time."""
        if not any(op.kind == OpKind.INSERT for op in diff.ops):
            return
        new = [item for item in self.items.current if item.number not in self._shown]
        self._shown.update(item.number for item in new)
        self.on_rows([item.number for item in new])

    def _find_unread(self) -> None:
        if not self._looks_for_unread or not self.items.current:
            return
        place = self.items.state().unread_item
        if place is not None:
            self.wanted = self.items.current[place].key
        elif self.state.waiting in (Waiting.NOTHING, Waiting.CONNECTION):
            self.to_end = True
        self._looks_for_unread = place is None and not self.to_end

    def __len__(self) -> int:
        return len(self.items.current)

    def __getitem__(self, place: int) -> Entry:
        """The entry at a place: its messages are read when it is drawn."""
        item = self.items.current[place]
        ends = self._ends(place)
        known = self._entries.get(item.key)
        if known is not None and known.item is item and known.ends == ends:
            return known
        if len(self._entries) > REMEMBERED:
            self._entries.clear()
        entry = Entry(item, self.items.messages(place), ends)
        self._entries[item.key] = entry
        return entry

    def _ends(self, place: int) -> Ends:
        first, last = place == 0, place == len(self) - 1
        if not first and not last:
            return NO_ENDS
        state = self.state
        return Ends(
            start=first and state.at_start and not state.gap_before,
            gap_before=first and state.gap_before, gap_after=last and state.gap_after,
            healing=state.waiting > 0)

    def toggle(self, entry: Entry) -> None:
        """Opens or closes the group that an entry is, or is a message of."""
        place = self.items.find_key(entry.item.key)
        if place is not None:
            self.items.set_open(place, entry.is_group)

    # Where things stand.

    def place(self, height: int, height_of: Callable[[Entry], int],
              measure: bool) -> list[tuple[Entry, Placed]]:
        """The entries on a screen of so many lines, and where they stand. With ``measure`` all
        have other heights now."""
        self.viewport.resize(height, measure=measure)
        if self.items.current:
            # Steps do not tell what lies beyond the ends of the list.
            ends = (self[0], self[len(self) - 1])
            self.viewport.measure({entry.item.key: height_of(entry) for entry in ends})
        if self.to_end and self.state.at_end:
            self.viewport.scroll_to(edge=Edge.BOTTOM_END)
            self.to_end = False
        if self.wanted is not None:
            self.reveal(self.wanted, height, height_of, middle=True)
            self.wanted = None
        rows = self.viewport.place(lambda row: height_of(self[row.row]))
        return [(self[row.row], row) for row in rows if row.visible]

    def reveal(self, key: int, height: int, height_of: Callable[[Entry], int],
               middle: bool = False) -> None:
        """Scrolls as little as shows an item whole, or puts it in the middle."""
        place = self.items.find_key(key)
        if place is None:
            return
        lines = height_of(self[place])
        if middle:
            self.viewport.scroll_to(key, Edge.TOP, max(0, height - lines) // 2)
            return
        visible = self.viewport.state().visible
        found = self.viewport.find(key)
        if found is None:
            return
        if place < visible.start or place in visible and found.top < 0:
            self.viewport.scroll_to(key, Edge.TOP)
        elif place >= visible.stop or found.top + lines > height:
            # Of what is higher than the screen, the top is what one begins to read.
            self.viewport.scroll_to(key, Edge.TOP if lines > height else Edge.BOTTOM)

    # Where the user is.

    def entry(self) -> Optional[Entry]:
        """The entry that is selected."""
        place = None if self.selected is None else self.items.find_key(self.selected)
        return None if place is None else self[place]

    def message(self) -> Optional[Message]:
        """The message that is selected."""
        entry = self.entry()
        return entry.message if entry is not None else None

    def find(self, id: str) -> Optional[Message]:
        """A message of this conversation that is stored, wherever it stands."""
        found = self.items.find(id)
        if found is not None:
            return self.items.messages(*found, 1)[0]
        try:
            return self.client.message(self.id, id)
        except tideline.TidelineError:
            return None

    def jump(self, id: str, remember: bool = True) -> None:
        """Goes to a message, far away as it may be. ``back`` returns."""
        here = self.message()
        if remember and here is not None:
            self._came_from.append(here.id)
        self._target = id
        self.to_end = False
        if self.items.find(id) is None:
            self.window.load(LoadKind.AROUND, PAGE, at=At.MESSAGE, id=id)
        self._arrive()

    def back(self) -> bool:
        """Returns to where the last jump began. False when there was none."""
        if not self._came_from:
            return False
        self.jump(self._came_from.pop(), remember=False)
        return True

    @property
    def can_go_back(self) -> bool:
        """Whether ``back`` has somewhere to go."""
        return bool(self._came_from)

    @property
    def looking(self) -> bool:
        """Whether a jump has not arrived yet."""
        return self._target is not None

    @property
    def at_newest(self) -> bool:
        """Whether the newest message is on the screen."""
        visible = self.viewport.state().visible
        return self.state.at_end and bool(visible) and visible.stop == len(self)

    def latest(self) -> None:
        """Goes to the newest message."""
        self._target, self.selected, self.wanted = None, None, None
        self._looks_for_unread = False
        self.to_end = True
        if not self.state.at_end:
            self.window.load(LoadKind.LAST, PAGE)

    def _arrive(self) -> None:
        """Selects what a jump looks for, once it is here; gives up where it cannot come."""
        if self._target is None:
            return
        found = self.items.find(self._target)
        if found is not None:
            self.selected = self.wanted = self.items.current[found[0]].key
            self._target = None
        elif self.state.waiting == Waiting.NOTHING and self.state.trouble == Status.NOT_FOUND:
            self._target = None

    def gap(self) -> Optional[int]:
        """The place of the item beside the gap that a key fills: the one that is selected, else the
        first on the screen, else the last one of all."""
        chosen = None if self.selected is None else self.items.find_key(self.selected)
        near: list[int] = list(self.viewport.state().visible)
        if chosen is not None:
            near.insert(0, chosen)
        for place in near:
            if self[place].has_gap:
                return place
        # Ranges end at splits: the last one begins, or what is behind it does, below the last gap.
        for index in reversed(range(self.items.state().range_count)):
            first, count = self.items.range(index) or (0, 0)
            for place in (first + count, first):
                if place < len(self) and self[place].has_gap:
                    return place
        ends = (len(self) - 1, 0) if len(self) else ()
        return next((place for place in ends if self[place].has_gap), None)

    def fill(self, place: int) -> bool:
        """Asks for what lies in a gap. False when nothing can be asked for."""
        entry = self[place]
        try:
            if ItemFlags.SPLIT_BEFORE in entry.item.flags:
                # Rows are as of the read.
                return self.window.fill(self.items.read(place, 1)[0].row)
            if entry.ends.gap_after:
                return self.window.fill(self.state.row_count)
            return self.window.before(PAGE)
        except tideline.OfflineError:
            return False

    # What the user does.

    def send(self, text: str, reply_to: str = "") -> None:
        """Sends a message, and shows the end where it stands."""
        self.client.send(self.id, {"text": text}, reply_to=reply_to)
        self.latest()

    def edit(self, message: Message, text: str) -> None:
        """Gives a message another text; one that was not sent yet goes out with it."""
        if message.operation is not None and message.state != MessageState.CONFIRMED:
            self.client.operation_edit(message.operation, {"payload": {"text": text}})
        else:
            self._perform("edit_message", message, payload={"text": text})

    def react(self, message: Message, reaction: str, user: str) -> None:
        """Sets a reaction, or takes it back."""
        mine = user in reactions_of(message).get(reaction, ())
        self._perform("unreact_message" if mine else "react_message", message, reaction=reaction)

    def delete(self, message: Message) -> None:
        """Deletes a message; one that was not sent yet is dropped."""
        if message.operation is not None and message.state != MessageState.CONFIRMED:
            self.client.operation_cancel(message.operation)
        else:
            self._perform("delete_message", message)

    def retry(self, message: Message) -> bool:
        """Tries again to send a message that failed."""
        return (message.operation is not None
                and self.client.operation_retry(message.operation))

    def _perform(self, verb: str, message: Message, **members: Any) -> None:
        self.client.perform({"type": verb, "conversation_id": self.id, "message_id": message.id,
                             **members})


def reactions_of(message: Message) -> dict[str, list[str]]:
    """Who reacted how."""
    return {one.reaction: list(one.users) for one in message.reactions}
