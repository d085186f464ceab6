"""One open conversation: its window, its entries, what is selected, and where jumps came from."""

from __future__ import annotations

import json
from typing import Any, Callable, Optional

import tideline
from tideline import (
    At, LoadKind, Message, MessageFlags, MessageState, OpKind, Status, Waiting, WindowState)

from .entries import Entry, EntryKind, entries

ROWS_MAX = 600
PAGE = 40


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
        self.rows = tideline.Rows(self.window)
        self.state: WindowState = self.window.state()
        self.entries: list[Entry] = []
        self.opened: set[str] = set()
        self.selected: Optional[str] = None
        #: The key of an entry that the screen is to show in its middle, once.
        self.wanted: Optional[str] = None
        self.to_end = not unread
        self.on_rows: Callable[[list[int]], None] = lambda numbers: None
        self._unread: Optional[int] = None
        self._looks_for_unread = unread
        self._target: Optional[str] = None
        self._came_from: list[str] = []

    def close(self) -> None:
        """Ends the watching."""
        self.window.close()

    # The list.

    def poll(self) -> bool:
        """Moves to the newest state; False when nothing changed."""
        known = {row.number for row in self.rows.messages}
        diff = self.rows.poll()
        state = self.window.state()
        if diff is None and state == self.state:
            return False
        self.state = state
        if diff is not None and any(op.kind == OpKind.INSERT for op in diff.ops):
            self.on_rows([row.number for row in self.rows.messages if row.number not in known])
        self._find_unread()
        self._build()
        self._arrive()
        return True

    def _find_unread(self) -> None:
        if self._looks_for_unread and self.rows.messages:
            self._looks_for_unread = False
            first = next((row for row in self.rows.messages if MessageFlags.UNREAD in row.flags),
                         None)
            if first is not None:
                self._unread = first.number
                self.wanted = f"message {first.number}"
            else:
                self.to_end = True

    def _build(self) -> None:
        self.entries = entries(self.rows.messages, self.state, self._unread, self.opened)

    def toggle(self, entry: Entry) -> None:
        """Opens or closes a group."""
        self.opened ^= {entry.key}
        self._build()

    # Where the user is.

    def entry(self) -> Optional[Entry]:
        """The entry that is selected."""
        return next((entry for entry in self.entries if entry.key == self.selected), None)

    def message(self) -> Optional[Message]:
        """The message that is selected."""
        entry = self.entry()
        return entry.message if entry and entry.kind == EntryKind.MESSAGE else None

    def find(self, id: str) -> Optional[Message]:
        """A message of this conversation that is stored, wherever it stands."""
        row = self.window.find(id)
        if row is not None and row < len(self.rows.messages):
            return self.rows.messages[row]
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
        if self.window.find(id) is None:
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
        row = self.window.find(self._target)
        if row is not None and row < len(self.rows.messages):
            self.selected = self.wanted = f"message {self.rows.messages[row].number}"
            self._target = None
        elif self.state.waiting == Waiting.NOTHING and self.state.trouble == Status.NOT_FOUND:
            self._target = None

    def fill(self, entry: Entry) -> bool:
        """Asks for what lies in a gap. False when nothing can be asked for."""
        try:
            if entry.key == "gap before":
                return self.window.before(PAGE)
            return self.window.fill(entry.row)
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
    if not message.reactions:
        return {}
    found: dict[str, list[str]] = json.loads(message.reactions)
    return found
