"""A run of the probe: what is checked, and in which order."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable

from . import entries, lasting, places, pushing, reading
from .changing import LogWriter
from .entries import Log
from .findings import Level, Report
from .link import Closed, Dial
from .room import Room
from .talk import Answer, Manner, Talk, Tally
from .telling import pushes
from .writing import Sent, Writer

_PAGE = 50
#: A room in which others write may change under a check; then it is done again.
_TURNS = 3
#: Says that there is no such conversation for this user.
_REFUSED = ("not_found", "forbidden")


@dataclasses.dataclass(frozen=True)
class Setup:
    """What a run is given. ``clock`` and ``pause`` are for tests, in which no time passes."""

    dial: Dial
    conversation: str
    read_only: bool = False
    messages: int = 60
    depth: int = 400
    payload: str = '"probe %"'
    hello: tuple[str, ...] = ()
    #: What another user, and another login of this one, say first; empty where there is none.
    other: tuple[str, ...] = ()
    device: tuple[str, ...] = ()
    #: Waits two minutes to see whether a repeated send is still known.
    patient: bool = False
    account: str = ""
    timeout_s: float = 10.0
    settle_s: float = 0.5
    clock: Callable[[], float] = time.time
    pause: Callable[[float], None] = time.sleep
    run: str = ""


def probe(setup: Setup) -> Report:
    """Finds out what there is to find out. What an adapter raises, or a connection that ends, is a
    finding, and the other checks go on.

    Raises ``Closed`` where there is no connection to begin with, and what the way to the adapter
    raises."""
    report, tally = Report(), Tally()
    manner = Manner(setup.clock, setup.pause, setup.timeout_s, setup.settle_s, setup.hello,
                    setup.account)
    run = _Run(setup, report, tally, manner)
    try:
        run.all(run.open_talk())
    except (Closed, OSError) as error:
        if not (tally.answered or tally.ends):
            raise
        report.fault("connection-lost", f"no new connection could be had: {error}. What was to be "
                     "checked after that was not")
    places.manners(report, tally)
    return report


class _Run:
    """All checks, one after the other."""

    def __init__(self, setup: Setup, report: Report, tally: Tally, manner: Manner) -> None:
        self.setup, self.report, self.tally, self.manner = setup, report, tally, manner
        self.name = setup.run or os.urandom(4).hex()

    def open_talk(self, hello: tuple[str, ...] | None = None) -> Talk:
        """A connection of this user, or of who says ``hello`` so."""
        setup = self.setup
        manner = self.manner if hello is None else dataclasses.replace(self.manner, hello=hello)
        return Talk(setup.dial, manner, self.tally, self.report,
                    None if setup.read_only else setup.conversation)

    def step(self, name: str, check: Callable[[], None]) -> None:
        """One check. What its answers break in it is told, and the others go on."""
        try:
            check()
        except (Closed, OSError):
            raise
        except Exception as error:  # noqa: BLE001
            self.report.unknown(f"check-{name}", f"{name}: the answers were of no use to the check "
                                f"({type(error).__name__}: {error})")

    def all(self, talk: Talk) -> None:
        setup, report = self.setup, self.report
        watcher = None if setup.read_only else self.open_talk()
        log = Log(talk, setup.conversation, report)
        if (keeps := keeps_log(log)) is not False:
            if keeps:
                self.log(log, watcher)
            self.close(log.talk, watcher)
            return
        room = Room(talk, setup.conversation, report, max(setup.depth, setup.messages + 100))
        writer: Writer | None = None
        if setup.read_only:
            report.unknown("writing", "what becomes of what is sent, edited and deleted, echoes, "
                           "idempotency and redelivery: nothing was written")
        else:
            writer = Writer(room, self.manner, self.name, setup.payload)
            if not writer.fill(setup.messages):
                writer = None
        room.walk()
        if not room.rows and self.tally.silent.get("get_messages"):
            return
        _read(self, room, writer)
        self.step("since", lambda: places.since(room))
        self.step("refusals", lambda: places.refusals(room, setup.read_only))
        if writer is not None and watcher is not None:
            self.write(writer, watcher)
        self.step("times", lambda: places.times(room, self.manner))
        report.unknown("horizon", "how long deletions are remembered: ask who made the server")
        if report.facts.order_is_time:
            report.unknown("backdating", "whether messages may be stamped earlier than those "
                           "before them, by bridges, imports or a clock set back: none was seen")
        self.close(room.talk, watcher)

    def log(self, log: Log, watcher: Talk | None) -> None:
        """All checks of a log, in the place of those of pages by offset. Without a watcher nothing
        is written."""
        setup, report = self.setup, self.report
        report.facts.can.update(dict.fromkeys(
            ("before", "around", "changed_since", "sequence", "envelope"), False))
        writer = LogWriter(log, self.manner, self.name, setup.payload)
        if watcher is None:
            report.unknown("writing", "what becomes of what is sent: nothing was written")
            log.walk()
        else:
            self.step("writing", lambda: writer.write(setup.messages))
        self.step("order", lambda: entries.both_ways(log))
        if watcher is not None:
            self.step("pushes", lambda: pushes(log, watcher, writer))
        newest = log.page(1)
        log.talk.close()
        log.talk = self.open_talk()
        self.step("places", lambda: entries.places(log, newest["after"] if newest else None))
        self.step("refusals", lambda: entries.refusals(log, setup.read_only))
        if writer.sent:
            repeats = lasting.Repeats(setup.conversation, report, writer.send)
            self.step("repeating later", lambda: self.repeat(
                repeats, writer.sent[0], log.talk))
        self.step("others", lambda: self.others(log.talk))
        report.unknown("lossless", "whether pushes are lossless: ask who made the server")

    def repeat(self, repeats: lasting.Repeats, first: lasting.Known, talk: Talk) -> None:
        """Whether a send is known later, and by another login."""
        setup = self.setup
        repeats.look(first, talk,
                     (lambda: self.open_talk(setup.device)) if setup.device else None,
                     self.manner if setup.patient else None)

    @staticmethod
    def close(*talks: Talk | None) -> None:
        """Ends these connections."""
        for talk in talks:
            if talk is not None:
                talk.close()

    def write(self, writer: Writer, watcher: Talk) -> None:
        """What becomes of what is written."""
        room, report = writer.room, self.report
        self.step("changes", writer.change)
        self.step("echoes", lambda: pushing.echoes(writer, room.talk, report))
        self.step("pushes", lambda: pushing.heard(writer, watcher, room, report))
        self.step("repeating", writer.repeat)
        self.step("list", lambda: lasting.lists(writer))
        self.step("verbs", writer.verbs)
        self.step("others", lambda: self.others(room.talk, writer))
        room.talk.drain()
        watcher.close()
        self.step("reconnecting", lambda: pushing.reconnect(
            writer, self.open_talk, self.tally, report))
        self.step("repeating later", lambda: self.repeat_sent(writer))

    def repeat_sent(self, writer: Writer) -> None:
        """The same of a server of times or numbers, on the connection that is there now."""
        def known(sent: Sent | None) -> lasting.Known | None:
            if sent is None:
                return None
            return lasting.Known(sent.id, sent.client_id, sent.row.raw["payload"])

        first = known(writer.sent[0])
        if first is not None:
            repeats = lasting.Repeats(self.setup.conversation, self.report,
                                      lambda: known(writer.send()))
            self.repeat(repeats, first, writer.room.talk)

    def others(self, talk: Talk, writer: Writer | None = None) -> None:
        """Whether another user may rewrite a message."""
        if self.setup.read_only:
            return
        if not self.setup.other:
            self.report.unknown("others", "whether the server lets another user edit a message: "
                                "name one by --other")
            return
        stranger = self.open_talk(self.setup.other)
        lasting.others(talk, stranger, self.setup.conversation, self.report,
                       f"probe-{self.name}-other", self.setup.payload)
        stranger.close()


def keeps_log(log: Log) -> bool | None:
    """Whether the server has a log in the place of pages by offset. None if it gives no page of
    this conversation at all, which is a finding."""
    old = log.talk.ask("get_messages", conversation_id=log.id, limit=1, offset=0)
    if old.code not in ("unsupported", *_REFUSED):
        log.report.facts.can["log"] = False
        return False
    verb, answer = ("get_messages", old) if old.code in _REFUSED else ("get_entries", log.ask(1))
    if answer.ok:
        log.report.facts.can["log"] = True
        return True
    _refused(log, verb, answer)
    return None


def _refused(log: Log, verb: str, answer: Answer) -> None:
    if answer.code in _REFUSED:
        log.report.fault("room-refused", f"{verb} of the conversation {log.id!r} is answered "
                         f"{answer.code!r}: nothing was checked. Name a conversation that is "
                         "there, and that this user may read")
    else:
        log.report.fault("pages-refused", "get_messages is answered 'unsupported', and get_entries "
                         f"of the conversation {log.id!r} {answer.code!r}: a server needs one of "
                         "them, and nothing was checked")


def _read(run: _Run, room: Room, writer: Writer | None) -> None:
    report = room.report
    own = writer.ids if writer is not None else []
    if writer is not None:
        run.step("sends", writer.here)
    checks: dict[str, Callable[[], None]] = {
        "order": lambda: reading.order(room, own), "offsets": lambda: reading.offsets(room),
        "sizes": lambda: reading.sizes(room, _PAGE), "counts": lambda: reading.counts(room),
        "after": lambda: reading.after(room), "before": lambda: places.before(room),
        "around": lambda: places.around(room)}
    for name, check in checks.items():
        for turn in range(_TURNS):
            known = len(report.findings)
            run.step(name, check)
            fresh = report.findings[known:]
            if not any(found.level is Level.FAULT for found in fresh) or not room.moved():
                break
            # Others have written meanwhile: what was found says nothing.
            del report.findings[known:]
            if turn + 1 == _TURNS:
                report.unknown("busy", "some of what pages are like: others wrote all the time")
            room.walk()
