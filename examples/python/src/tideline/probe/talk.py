"""One conversation with an adapter: requests, their answers, and what comes beside them."""

from __future__ import annotations

import dataclasses
import itertools
import json
import traceback
from collections.abc import Callable
from typing import Any

from .findings import Report
from .link import Closed, Dial, Link

#: Pushes of the protocol, by the type of the frame.
PUSHES = frozenset({
    "message_new", "message_edited", "message_deleted", "messages_read", "messages_delivered",
    "messages_listened", "message_reacted", "message_pinned", "message_unpinned",
    "conversation_updated", "conversation_deleted", "typing", "entries_new"})

#: What may be tried again.
_LATER = frozenset({"rate_limited", "unavailable"})
#: A connection that ended is made anew so often, in all of a run.
_ENDS_MAX = 40


@dataclasses.dataclass(frozen=True)
class Answer:
    """What came to a request. ``code`` is "silence" where nothing did, "closed" where the
    connection ended, and "raised" where the adapter raised an exception."""

    ok: bool
    data: dict[str, Any]
    code: str = ""


@dataclasses.dataclass(frozen=True)
class Event:
    """A frame that came: the answer to a request, or something else. ``ids`` are the messages that
    a push tells to be new."""

    answers: str | None
    frame: dict[str, Any]
    ids: tuple[str, ...] = ()


@dataclasses.dataclass
class Tally:
    """What all connections of a run have counted together."""

    took_s: list[float] = dataclasses.field(default_factory=list)
    answered: dict[str, int] = dataclasses.field(default_factory=dict)
    silent: dict[str, int] = dataclasses.field(default_factory=dict)
    echoed: int = 0
    bare: int = 0
    ends: int = 0
    updates: int = 0
    foreign: set[str] = dataclasses.field(default_factory=set)


@dataclasses.dataclass(frozen=True)
class Manner:
    """How to talk: what to say first, in which envelope, and how long to wait."""

    clock: Callable[[], float]
    pause: Callable[[float], None]
    timeout_s: float = 10.0
    settle_s: float = 0.5
    hello: tuple[str, ...] = ()
    account: str = ""


class Talk:
    """A connection, which is made anew where it ends. With ``replies`` off, updates are kept
    waiting for their reply. ``channel`` is what each connection subscribes to."""

    _numbers = itertools.count(1)

    def __init__(self, dial: Dial, manner: Manner, tally: Tally, report: Report,
                 channel: str | None = None) -> None:
        self._dial = dial
        self._link: Link = dial()
        self._channel = channel
        self._manner = manner
        self._tally = tally
        self._report = report
        self._done: set[str] = set()
        self._closed = False
        self.replies = True
        self.events: list[Event] = []
        self.refs: list[str] = []
        self._begin()

    def _begin(self) -> None:
        for line in self._manner.hello:
            self._hello(line)
        if self._channel is not None:
            self.ask("subscribe", conversation_id=self._channel)

    def _hello(self, line: str) -> None:
        # The first frame belongs to the transport, not to the protocol: it may have an answer.
        self._link.send(line.encode())
        wanted = json.loads(line).get("type")
        for _ in range(1_000):
            frame = self._link.receive(self._manner.timeout_s)
            if frame is None:
                return
            value = self._open(frame)
            if value is not None and value.get("type") == wanted and "status" in value:
                return
            if value is not None:
                self._beside(value)

    # MARK: Asking

    def ask(self, verb: str, **members: Any) -> Answer:
        """Asks once more where the server says that it is busy."""
        for turn in range(4):
            answer = self._once(verb, members)
            if answer.code not in _LATER or turn == 3:
                break
            wait = answer.data.get("retry_after_ms")
            self._manner.pause(min(wait, 60_000) / 1_000 if isinstance(wait, int) else 1.0)
        return answer

    def _once(self, verb: str, members: dict[str, Any]) -> Answer:
        number = f"probe-{next(self._numbers)}"
        request: dict[str, Any] = {"type": verb, "request_id": number}
        request.update((name, value) for name, value in members.items() if value is not None)
        frame: dict[str, Any] = request
        if self._manner.account:
            frame = {"account": self._manner.account, "type": "command", "payload": request}
        began = self._manner.clock()
        try:
            self._send(frame)
            value = self._wait(verb, number)
        except Exception as error:  # Whatever an adapter does is a finding.  # noqa: BLE001
            return self._ended(error, _named(verb, members))
        if value is None:
            self._tally.silent[verb] = self._tally.silent.get(verb, 0) + 1
            return Answer(False, {}, "silence")
        self._tally.took_s.append(self._manner.clock() - began)
        self._tally.answered[verb] = self._tally.answered.get(verb, 0) + 1
        return self._read(verb, value)

    def _ended(self, error: Exception, asked: str) -> Answer:
        """Notes what ended the connection, and makes a new one. Raises ``Closed`` where none can
        be had."""
        self._tally.ends += 1
        if isinstance(error, (Closed, OSError, EOFError)):
            self._report.fault("connection-ended", f"the connection ended at {asked}: {error}. "
                               "What is not known, or not taken, is answered with an error: each "
                               "client would ask again on the next connection, and end that")
        else:
            self._report.fault("adapter-raised", f"{type(error).__name__} at {asked}, "
                               f"{_place(error)}: {error}. A request is answered whatever happens")
        if self._tally.ends > _ENDS_MAX:
            raise Closed(f"the connection ended {self._tally.ends} times, the last time at {asked}")
        self._shut()
        self._link, self._closed = self._dial(), False
        self._begin()
        return Answer(False, {}, "closed" if isinstance(error, (Closed, OSError, EOFError))
                      else "raised")

    def _send(self, frame: dict[str, Any]) -> None:
        self._link.send(json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode())

    def _wait(self, verb: str, number: str) -> dict[str, Any] | None:
        for _ in range(10_000):
            raw = self._link.receive(self._manner.timeout_s)
            if raw is None:
                return None
            value = self._open(raw)
            if value is None:
                continue
            if "status" not in value:
                self._beside(value)
                continue
            if self._is_answer(value, verb, number):
                self.events.append(Event(number, value))
                return value
        return None

    def _is_answer(self, value: dict[str, Any], verb: str, number: str) -> bool:
        echo = value.get("request_id")
        if echo is None:
            self._tally.bare += 1
            if value.get("type") == verb:
                self._done.add(number)
                return True
            self._report.fault("answered-twice", f"an answer to {value.get('type')} came while "
                               f"{verb} was asked: a request is answered once")
            return False
        if echo == number:
            self._tally.echoed += 1
            self._done.add(number)
            return True
        if echo in self._done:
            self._report.fault("answered-twice", f"a second answer to one {value.get('type')}: the "
                               "second is taken for nothing, or for that of another request")
        else:
            self._report.fault("echo-wrong", f"request_id {number!r} came back as {echo!r}: no "
                               "answer is ever found")
        return False

    def _read(self, verb: str, value: dict[str, Any]) -> Answer:
        status, data = value.get("status"), value.get("data")
        if status == "ok":
            if value.get("type") != verb or not isinstance(data, dict):
                self._report.fault("answer-malformed", f"the answer to {verb} has the type "
                                   f"{value.get('type')!r} and data that is "
                                   f"{type(data).__name__}: it counts as a failed try")
                return Answer(False, {}, "malformed")
            return Answer(True, data)
        error = value.get("error")
        if status != "error" or not isinstance(error, dict):
            self._report.fault("answer-malformed", f"the status of the answer to {verb} is "
                               f"{status!r}: it counts as a failed try")
            return Answer(False, {}, "malformed")
        code = error.get("code")
        if code == "exists" and isinstance(data, dict):
            return Answer(False, data, "exists")
        return Answer(False, error, code if isinstance(code, str) else "none")

    # MARK: What comes beside answers

    def _open(self, raw: bytes) -> dict[str, Any] | None:
        """The frame within its envelope."""
        try:
            value = json.loads(raw)
        except ValueError:
            self._report.fault("frame-broken", f"a frame is no JSON: {raw[:80]!r}")
            return None
        if not isinstance(value, dict):
            self._report.fault("frame-broken", f"a frame is no object: {raw[:80]!r}")
            return None
        if value.get("type") == "reply" and isinstance(value.get("payload"), dict):
            inner: dict[str, Any] = value["payload"]
            return inner
        return value

    def _beside(self, value: dict[str, Any]) -> None:
        kind = value.get("type")
        if kind == "update" and isinstance(value.get("payload"), dict):
            self._update(value)
        elif kind in PUSHES:
            message = value.get("message")
            named = message.get("message_id") if isinstance(message, dict) else None
            fresh = kind == "message_new" and named is not None
            ids: tuple[str, ...] = (str(named),) if fresh else ()
            entries = value.get("entries")
            if kind == "entries_new" and isinstance(entries, list):
                ids = tuple(str(entry["message_id"]) for entry in entries
                            if isinstance(entry, dict) and "message_id" in entry)
            self.events.append(Event(None, value, ids))
        else:
            self._tally.foreign.add(str(kind))
            self.events.append(Event(None, value))

    def _update(self, value: dict[str, Any]) -> None:
        self._tally.updates += 1
        update = value["payload"]
        ref, body = update.get("ref"), update.get("payload")
        inner = body if isinstance(body, dict) else {}
        items = inner.get("items")
        fresh = (isinstance(items, list) and update.get("action") == "new"
                 and inner.get("entity") == "message")
        ids = tuple(str(item.get("message_id")) for item in items or [] if isinstance(item, dict))
        self.events.append(Event(None, value, ids if fresh else ()))
        if not isinstance(ref, str) or not ref:
            self._report.fault("update-without-ref", "an update has no ref: nothing can be "
                               "replied, and it blocks all that come behind it")
            return
        self.refs.append(ref)
        if self.replies:
            self.reply(ref, value.get("account"))

    def reply(self, ref: str, account: str | None) -> None:
        """Says that an update has taken effect."""
        frame: dict[str, Any] = {"type": "reply", "payload": {"ref": ref}}
        if account is not None:
            frame["account"] = account
        self._send(frame)

    def drain(self) -> None:
        """Takes what comes until nothing does for a while."""
        try:
            self._drain()
        except Exception as error:  # noqa: BLE001
            self._ended(error, "no request")

    def _drain(self) -> None:
        for _ in range(10_000):
            raw = self._link.receive(self._manner.settle_s)
            if raw is None:
                return
            value = self._open(raw)
            if value is not None and "status" in value:
                self._is_answer(value, "", "")
            elif value is not None:
                self._beside(value)

    def pushed(self) -> list[str]:
        """The ids of messages that were told to be new, in the order of their coming."""
        return [found for event in self.events for found in event.ids]

    def close(self) -> None:
        """Ends the connection; a second time changes nothing."""
        if not self._closed:
            self._shut()

    def _shut(self) -> None:
        self._closed = True
        try:
            self._link.close()
        except Exception as error:  # noqa: BLE001
            self._report.fault("adapter-raised", f"{type(error).__name__} at the end of a "
                               f"connection, {_place(error)}: {error}")


def _named(verb: str, members: dict[str, Any]) -> str:
    """A request by what it asks for."""
    places = [name for name in members
              if name not in ("conversation_id", "limit", "offset") and members[name] is not None]
    return f"{verb} with {', '.join(places)}" if places else verb


def _place(error: Exception) -> str:
    """The line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "nowhere"
