"""What a server still knows later, and by whom: repeated sends, lists, and edits by others."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

from .findings import Report
from .talk import Answer, Manner, Talk
from .writing import Writer

#: Longer than servers that forget sends after two minutes know them.
_WAIT_S = 130.0
#: A list may be late by so much, in turns of a second.
_LIST_TURNS = 5


# MARK: Repeated sends

@dataclasses.dataclass(frozen=True)
class Known:
    """A message that the probe has sent, and what it was sent with."""

    id: str
    client_id: str
    payload: Any


class Repeats:
    """Repeats sends in a conversation. What a repetition makes is deleted, and is in ``gone``.
    ``send`` makes a message that nobody has repeated yet."""

    def __init__(self, conversation: str, report: Report, send: Callable[[], Known | None]) -> None:
        self._conversation = conversation
        self._report = report
        self._send = send
        self.gone: set[str] = set()

    def look(self, first: Known, talk: Talk, device: Callable[[], Talk] | None,
             patient: Manner | None) -> None:
        """Whether a send is known on this other connection, by another login, and after two
        minutes."""
        report, facts = self._report, self._report.facts
        if not facts.can.get("idempotent_send"):
            return
        if not self._is_known(first, talk):
            facts.idempotency = "connection"
        elif device is None:
            report.unknown("idempotency-device", "whether another login of this user may repeat a "
                           "send: name one by --device")
        else:
            other = device()
            if not self._is_known(first, other):
                facts.idempotency = "device"
            other.close()
        if facts.idempotency:
            report.trap("idempotency-scope", "a send that is repeated is known on one "
                        f"{facts.idempotency} alone, elsewhere it makes a second message: it needs "
                        f"TL_IDEMPOTENCY_{facts.idempotency.upper()}")
        if patient is None:
            report.unknown("idempotency-time", "for how long a repeated send is known: --patient "
                           "waits two minutes, ask who made the server beyond that")
            return
        sent = self._send()
        if sent is None:
            return
        patient.pause(_WAIT_S)
        if self._is_known(sent, talk):
            report.seen("idempotency-time", f"a send is known {_WAIT_S:.0f} s later. Declare the "
                        "time that the server promises beyond that, if it forgets")
        else:
            facts.idempotency_s = 120
            report.trap("idempotency-time", f"a send that is repeated {_WAIT_S:.0f} s later makes "
                        "a second message: it needs idempotency_s, of 120 or what the server says")

    def _is_known(self, sent: Known, talk: Talk) -> bool:
        answer = talk.ask("send_message", conversation_id=self._conversation,
                          client_id=sent.client_id, payload=sent.payload)
        made = _made(answer)
        if made is not None and made != sent.id:
            talk.ask("delete_message", conversation_id=self._conversation, message_id=made)
            self.gone.add(made)
        return made == sent.id


def _made(answer: Answer) -> str | None:
    message = answer.data.get("message")
    found = message.get("message_id") if isinstance(message, dict) else None
    return found if isinstance(found, str) else None


# MARK: Lists

def lists(writer: Writer) -> None:
    """Whether a list tells the last message at once, where it tells one."""
    report, talk = writer.room.report, writer.room.talk
    if _last(talk, writer.room.id) is None:
        return
    sent = writer.send()
    if sent is None:
        return
    writer.sent.append(sent)
    for turn in range(_LIST_TURNS):
        if _last(talk, writer.room.id) == sent.id:
            if turn:
                report.trap("list-late", f"a list tells a message some {turn} s after it was "
                            "confirmed")
            else:
                report.seen("list", "a list tells the last message at once")
            return
        writer.wait()
    report.fault("list-stale", "a list does not tell a message that was confirmed "
                 f"{_LIST_TURNS} s before: its answers are from a cache. Badges and previews go "
                 "back to it each time that it is asked")


def _last(talk: Talk, conversation: str) -> str | None:
    answer = talk.ask("get_conversations", limit=50, offset=0, include_last_message=True)
    listed = answer.data.get("conversations")
    for raw in listed if isinstance(listed, list) else []:
        if isinstance(raw, dict) and raw.get("conversation_id") == conversation:
            message = raw.get("last_message")
            found = message.get("message_id") if isinstance(message, dict) else None
            return found if isinstance(found, str) else None
    return None


# MARK: Others

def others(talk: Talk, stranger: Talk, conversation: str, report: Report, name: str,
           payload: str) -> None:
    """Whether another user's edit of a message is taken."""
    answer = talk.ask("send_message", conversation_id=conversation, client_id=name,
                      payload=json.loads(payload.replace("%", "of one")))
    made = _made(answer)
    if made is None:
        return
    edit = stranger.ask("edit_message", conversation_id=conversation, message_id=made,
                        payload=json.loads(payload.replace("%", "of another")))
    if edit.ok:
        report.trap("edits-of-others", "another user's edit of a message is taken: the library "
                    "ignores it, unless the profile says TL_PROFILE_OTHERS_EDIT. Refuse it with "
                    "`forbidden`, or do not hand it on")
    else:
        report.seen("others", f"another user's edit is answered {edit.code!r}")
