"""What is pushed: to whom, in which order, and whether it comes again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .findings import Report
from .room import Room
from .stamp import parse
from .talk import Event, Talk, Tally
from .writing import Writer

_SHOWN = 5


def echoes(writer: Writer, talk: Talk, report: Report) -> None:
    """Where the push of one's own message stands beside the answer."""
    at = {found: n for n, event in enumerate(talk.events) for found in event.ids}
    before = sum(sent.id in at and at[sent.id] < sent.answer_at for sent in writer.sent)
    behind = sum(sent.id in at and at[sent.id] > sent.answer_at for sent in writer.sent)
    none = len(writer.sent) - before - behind
    places = [(before, "before its answer"), (behind, "behind its answer"), (none, "not at all")]
    said = [f"{count} {word}" for count, word in places if count]
    report.seen("echo", "a message of one's own is pushed to the connection that sent it: "
                + ", ".join(said))


def heard(writer: Writer, watcher: Talk, room: Room, report: Report) -> None:
    """What another connection of the same user was told."""
    watcher.drain()
    # What was deleted before the other connection listened is nothing new any more.
    wanted = [found for found in writer.ids if found not in writer.gone]
    told = [found for found in watcher.pushed() if found in set(wanted)]
    if not told:
        report.trap("pushes", "another connection of the same user is told of no new message: "
                    "only syncs bring them, ask for them often")
        return
    missing = len(wanted) - len(set(told))
    if missing:
        report.trap("pushes", f"{missing} of {len(wanted)} messages were not pushed to another "
                    "connection: do not declare TL_PROFILE_PUSH_LOSSLESS")
    else:
        report.seen("pushes", f"all {len(wanted)} messages were pushed to another connection")
        report.unknown("lossless", "whether pushes are lossless: that none was dropped here proves "
                       "nothing, ask who made the server")
    first = list(dict.fromkeys(told))
    if first != [found for found in wanted if found in set(told)]:
        report.trap("pushes-order", "pushes come in another order than messages were sent: do not "
                    "declare TL_PROFILE_PUSH_LOSSLESS")
    _same(watcher, room, report)


def _messages(event: Event) -> list[Any]:
    if event.frame.get("type") == "update":
        items = event.frame["payload"].get("payload", {}).get("items")
        return items if isinstance(items, list) else []
    return [event.frame.get("message")]


def _same(watcher: Talk, room: Room, report: Report) -> None:
    shown = {row.id: row for row in room.rows}
    for event in watcher.events:
        for raw in _messages(event) if event.ids else []:
            row = shown.get(str(raw.get("message_id"))) if isinstance(raw, dict) else None
            stamp = parse(raw.get("created_at")) if isinstance(raw, dict) else None
            if row is not None and (stamp is None or stamp.us != row.us):
                report.fault("push-differs", f"a push says {raw.get('created_at')!r} of a message "
                             f"and pages {row.printed!r}: it is shown in two places")
                return


def reconnect(writer: Writer, open_talk: Callable[[], Talk], tally: Tally, report: Report) -> None:
    """What a new connection brings: the same pages, and what was not replied to."""
    room = writer.room
    room.talk.replies = False
    sent = writer.send()
    room.talk.drain()
    room.talk.close()
    fresh = open_talk()
    fresh.replies = False
    room.talk = fresh
    page = room.page(_SHOWN)
    fresh.drain()
    if sent is not None:
        writer.sent.append(sent)
        if page is not None and sent.id not in page.ids:
            report.fault("lost-message", "a message that was confirmed is gone on the next "
                         "connection")
    if tally.updates:
        _redelivery(fresh, open_talk, report, room)
        return
    report.facts.can["envelope"] = False
    pushed = fresh.pushed()
    if pushed:
        report.trap("pushes-at-connect", f"a new connection begins with {len(pushed)} messages "
                    "that were pushed before: a client takes each once")
    else:
        report.seen("redelivery", "no updates: what is pushed while a client is away comes by its "
                    "next sync")


def _redelivery(fresh: Talk, open_talk: Callable[[], Talk], report: Report, room: Room) -> None:
    """Updates are repeated until they are replied to, and then no more."""
    report.facts.can["envelope"] = True
    owed = list(fresh.refs)
    if not owed:
        report.fault("redelivery", "an update that was not replied to does not come again: what a "
                     "dying client had received is lost")
        return
    for event in list(fresh.events):
        if event.frame.get("type") == "update":
            fresh.reply(event.frame["payload"]["ref"], event.frame.get("account"))
    room.page(1)
    fresh.close()
    room.talk = open_talk()
    room.page(1)
    room.talk.drain()
    again = set(room.talk.refs) & set(owed)
    if again:
        report.trap("redelivery", f"{len(again)} updates come again although they were replied to: "
                    "they are known by their ref, and cost what they weigh")
    else:
        report.seen("redelivery", "updates come again until they are replied to, and then no more")
