"""Plain values of what the user does."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from ._words import Word


class OperationState(Word):
    """How far an operation is."""

    QUEUED = 1
    IN_FLIGHT = 2
    UNKNOWN = 3
    REFUSED = 4
    SENT = 5


class OperationWait(Word):
    """What a queued or unknown operation waits for."""

    NOTHING = 0
    CONNECTION = 1
    TURN = 2
    RETRY = 3
    UPLOAD = 4
    SEAL = 5
    CHECK = 6


@dataclasses.dataclass(frozen=True)
class Performed:
    """What ``perform`` began: an operation (0 for ``typing``), and the local number of the message
    that it sends, or None."""

    operation: int
    number: int | None


@dataclasses.dataclass(frozen=True)
class Operation:
    """One thing the user did. ``request`` and ``result`` are JSON as they were given."""

    id: int
    number: int | None
    state: OperationState
    waiting: OperationWait
    attempts: int
    upload_permille: int
    retry_ms: int | None
    verb: str
    conversation: str
    message: str
    client_id: str
    request: bytes
    result: bytes
    error_code: str
    error_text: str

    @property
    def json(self) -> Any:
        """The result as a JSON value, or None where there is none."""
        return json.loads(self.result) if self.result else None


class Typing(Word):
    """What the user does at the keyboard."""

    BEGIN = 1
    PAUSE = 2
    FINISHED = 3
