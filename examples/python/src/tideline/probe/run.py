"""A run of the probe: what is checked, and in which order."""

from __future__ import annotations

import dataclasses
import os
import time
from typing import Callable, Optional

from . import places, pushing, reading
from .entries import Log, probe_log
from .findings import Level, Report
from .link import Dial
from .room import Room
from .talk import Manner, Talk, Tally
from .writing import Writer

_PAGE = 50
#: A room in which others write may change under a check; then it is done again.
_TURNS = 3


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
    account: str = ""
    timeout_s: float = 10.0
    settle_s: float = 0.5
    clock: Callable[[], float] = time.time
    pause: Callable[[float], None] = time.sleep
    run: str = ""


def probe(setup: Setup) -> Report:
    """Finds out what there is to find out. Raises ``Closed`` where the connection does not stand,
    and what the way to the adapter raises."""
    report, tally = Report(), Tally()
    manner = Manner(setup.clock, setup.pause, setup.timeout_s, setup.settle_s, setup.hello,
                    setup.account)

    def open_talk() -> Talk:
        talk = Talk(setup.dial, manner, tally, report)
        if not setup.read_only:
            talk.ask("subscribe", conversation_id=setup.conversation)
        return talk

    talk = open_talk()
    watcher = None if setup.read_only else open_talk()
    run = setup.run or os.urandom(4).hex()
    log = Log(talk, setup.conversation, report)
    if keeps_log(log):
        probe_log(log, manner, open_talk, watcher, run, setup.payload, setup.messages)
        places.manners(report, tally)
        for each in (log.talk, watcher):
            if each is not None:
                each.close()
        return report
    room = Room(talk, setup.conversation, report, max(setup.depth, setup.messages + 100))
    writer: Optional[Writer] = None
    if setup.read_only:
        report.unknown("writing", "what becomes of what is sent, edited and deleted, echoes, "
                       "idempotency and redelivery: nothing was written")
    else:
        writer = Writer(room, manner, run, setup.payload)
        if not writer.fill(setup.messages):
            writer = None
    room.walk()
    if not room.rows and tally.silent.get("get_messages"):
        places.manners(report, tally)
        return report
    _read(room, writer, setup)
    places.since(room)
    places.refusals(room, setup.read_only)
    if writer is not None and watcher is not None:
        _write(writer, watcher, open_talk, tally)
    places.times(room, manner)
    places.manners(report, tally)
    report.unknown("horizon", "how long deletions are remembered: ask who made the server")
    if report.facts.order_is_time:
        report.unknown("backdating", "whether messages may be stamped earlier than those before "
                       "them, by bridges, imports or a clock set back: none was seen")
    for each in (room.talk, watcher):
        if each is not None:
            each.close()
    return report


def keeps_log(log: Log) -> bool:
    """Whether the server has a log in the place of pages by offset."""
    old = log.talk.ask("get_messages", conversation_id=log.id, limit=1, offset=0)
    log.report.facts.can["log"] = old.code == "unsupported" and log.ask(1).ok
    return log.report.facts.can["log"]


def _read(room: Room, writer: Optional[Writer], setup: Setup) -> None:
    report = room.report
    own = writer.ids if writer is not None else []
    if writer is not None:
        writer.here()
    checks: list[Callable[[], None]] = [
        lambda: reading.order(room, own), lambda: reading.offsets(room),
        lambda: reading.sizes(room, _PAGE), lambda: reading.counts(room),
        lambda: reading.after(room), lambda: places.before(room), lambda: places.around(room)]
    for check in checks:
        for turn in range(_TURNS):
            known = len(report.findings)
            check()
            fresh = report.findings[known:]
            if not any(found.level is Level.FAULT for found in fresh) or not room.moved():
                break
            # Others have written meanwhile: what was found says nothing.
            del report.findings[known:]
            if turn + 1 == _TURNS:
                report.unknown("busy", "some of what pages are like: others wrote all the time")
            room.walk()


def _write(
    writer: Writer, watcher: Talk, open_talk: Callable[[], Talk], tally: Tally
) -> None:
    room, report = writer.room, writer.room.report
    writer.change()
    pushing.echoes(writer, room.talk, report)
    pushing.heard(writer, watcher, room, report)
    writer.repeat()
    writer.verbs()
    room.talk.drain()
    watcher.close()
    pushing.reconnect(writer, open_talk, tally, report)
