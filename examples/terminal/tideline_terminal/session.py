"""One account: the client, what the user sees of its list, and what came over the network.

It knows no socket: ``network`` carries its frames, and a test carries them in a time of its own.
"""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any, Callable, Optional, Union

import tideline
from tideline import ChangeKind, Origin, SealedMessage

from .search import Search
from .thread import Thread


def load_key(file: pathlib.Path) -> bytes:
    """The key of a file. It lies beside it only because this is an example: a real host keeps it in
    the system's key store."""
    path = pathlib.Path(f"{file}.key")
    if not path.exists():
        path.touch(0o600, exist_ok=False)
        path.write_bytes(os.urandom(tideline.KEY_BYTES))
    return path.read_bytes()


def open_payload(sealed: SealedMessage) -> Union[bytes, tideline.Plain]:
    """Says what a payload is: a text, an event such as "jan joined", or a message for machines that
    no screen shows."""
    try:
        payload: Any = json.loads(sealed.payload)
    except ValueError:
        return sealed.payload
    if isinstance(payload, dict):
        return tideline.Plain(
            sealed.payload, control="_control" in payload, event="event" in payload)
    return sealed.payload


class Arrivals:
    """Which messages came over the network since the start, by the change feed."""

    def __init__(self, client: tideline.Client) -> None:
        self._client = client
        self._seen = client.state().change_seq
        self._ranges: dict[str, list[tuple[int, int]]] = {}
        self._counted: set[int] = set()
        self.shown = 0
        self.fetched = 0

    def pull(self) -> None:
        """Takes what the feed has to say."""
        while True:
            changes = self._client.changes(self._seen, 1_000)
            if changes.resync:
                self._seen = self._client.state().change_seq
            if not changes.entries:
                return
            for change in changes.entries:
                self._seen = change.seq
                if change.kind == ChangeKind.INSERTED and change.origin in (
                        Origin.FETCHED, Origin.PUSHED):
                    self._ranges.setdefault(change.conversation, []).append(
                        (change.first, change.last))

    def show(self, conversation: str, numbers: list[int]) -> None:
        """Counts rows that a screen shows anew: from the network the first time, else from the
        cache."""
        self.pull()
        ranges = self._ranges.get(conversation, ())
        for number in numbers:
            self.shown += 1
            if number not in self._counted and any(
                    low <= number <= high for low, high in ranges):
                self._counted.add(number)
                self.fetched += 1

    @property
    def cached_percent(self) -> Optional[int]:
        """The share of what was shown that needed no network; None before anything was."""
        return None if not self.shown else 100 * (self.shown - self.fetched) // self.shown


class Session:
    """A client with its list of conversations and the one that is open."""

    def __init__(
        self, user: str, file: Optional[pathlib.Path] = None, *, hold_ms: int = 1_000,
        clock: Optional[Callable[[], int]] = None,
        profile: Optional[tideline.Profile] = None,
    ) -> None:
        self.user = user
        self.hold_ms = hold_ms
        self.client = tideline.Client(
            file, load_key(file) if file else None, user_id=user, profile=profile,
            open=open_payload, auto_mark_read=True, auto_mark_delivered=True, clock=clock,
            log=lambda level, line: None)
        self.search = Search(self.client)
        self.list = tideline.Rows(self.client.conversation_list())
        self.thread: Optional[Thread] = None
        self.arrivals = Arrivals(self.client)
        self.wanted_online = True

    def open(self, conversation: str) -> Thread:
        """Opens a conversation, where the user left off if anything is unread."""
        if self.thread is not None:
            self.thread.close()
        row = next((row for row in self.list.conversations if row.id == conversation), None)
        self.thread = Thread(self.client, conversation, hold_ms=self.hold_ms,
                             unread=bool(row and row.unread))
        self.thread.on_rows = lambda numbers: self.arrivals.show(conversation, numbers)
        return self.thread

    def poll(self) -> tuple[bool, bool]:
        """Brings the list and the open conversation to the newest state; says which changed."""
        listed = self.list.poll() is not None
        return listed, self.thread is not None and self.thread.poll()

    def close(self) -> None:
        """Ends it; what the user did is on disk."""
        if self.thread is not None:
            self.thread.close()
        self.list.window.close()
        self.client.close()
