"""What is pushed of a log: all that came, with the right neighbours, as pages show it."""

from __future__ import annotations

from typing import Any

from .changing import LogWriter
from .entries import Log, name_of
from .stamp import parse
from .talk import Talk

#: So many pushes are looked at for the places that they name.
_LOOKED_AT = 8


def pushes(log: Log, watcher: Talk, writer: LogWriter) -> None:
    """What another connection was told."""
    # What was removed before the other connection listened is nothing new any more.
    report = log.report
    sent = [key for key in writer.ids if key not in writer.gone]
    watcher.drain()
    told = [event.frame for event in watcher.events if event.frame.get("type") == "entries_new"]
    if not told:
        report.trap("pushes", "another connection is told of no new entry: only syncs bring them")
        return
    missing = set(sent) - set(watcher.pushed())
    if missing:
        report.trap("pushes", f"{len(missing)} of {len(sent)} messages were not pushed")
    else:
        report.seen("pushes", f"all {len(sent)} messages were pushed to another connection")
    foreign = [key for key in watcher.pushed() if key not in {*log.ids, *writer.ids}]
    if foreign:
        report.fault("push-unknown", f"the message {foreign[0]!r} was pushed, and the log has none "
                     "of that id: it is shown twice, or goes away")
    pushed = {name_of(entry) for frame in told for entry in _entries(frame)}
    changes = [entry for entry in log.entries if "change" in entry
               and entry.get("target_id") in writer.ids and entry["change"] != "none"]
    silent = [entry for entry in changes if name_of(entry) not in pushed]
    if silent:
        report.trap("changes-unpushed", f"{len(silent)} of {len(changes)} changes were not pushed, "
                    f"{silent[0]['change']!r} for one: screens show them after the next sync alone")
    _same(log, told)
    named = [frame for frame in told if "prev" in frame or "before" in frame]
    if len(named) < len(told):
        report.trap("prev-missing", f"{len(told) - len(named)} of {len(told)} pushes name neither "
                    "`prev` nor `before`: each of them costs a request")
    _prev(writer, named)
    step = max(1, len(told) // _LOOKED_AT)
    for frame in [*told[::step], told[-1]]:
        _tokens(log, watcher, frame)


def _entries(frame: dict[str, Any]) -> list[dict[str, Any]]:
    entries = frame.get("entries")
    return [entry for entry in entries if isinstance(entry, dict)] \
        if isinstance(entries, list) else []


def _same(log: Log, told: list[dict[str, Any]]) -> None:
    """An entry has one time in pushes and pages."""
    listed = {name_of(entry): entry for entry in log.entries}
    for entry in (entry for frame in told for entry in _entries(frame)):
        shown = listed.get(name_of(entry))
        if shown is None or "message_id" not in shown:
            continue
        if parse(entry.get("created_at")) != parse(shown.get("created_at")):
            log.report.fault("push-differs", f"a push says {entry.get('created_at')!r} of a "
                             f"message and pages {shown.get('created_at')!r}: a message has one "
                             "time")


def _prev(writer: LogWriter, named: list[dict[str, Any]]) -> None:
    """`prev` is the entry before; one that was removed since stood where it was sent."""
    order = list(writer.log.ids)
    for at in range(len(writer.ids) - 2, -1, -1):
        if writer.ids[at] in writer.gone and writer.ids[at] not in order \
                and writer.ids[at + 1] in order:
            order.insert(order.index(writer.ids[at + 1]), writer.ids[at])
    place = {key: at for at, key in enumerate(order)}
    for frame in named:
        first = place.get(next(map(name_of, _entries(frame)), ""))
        if first is not None and "prev" in frame \
                and (first == 0 or order[first - 1] != frame["prev"]):
            writer.log.report.fault("prev-wrong", "`prev` of a push is not the entry before it in "
                                    "the log: what lies between is lost for good, and nothing "
                                    "finds out")
            return


def _tokens(log: Log, watcher: Talk, frame: dict[str, Any]) -> None:
    """`before` and `after` of a push lead to its own ends."""
    ids = [name_of(entry) for entry in _entries(frame)]
    place = {key: at for at, key in enumerate(log.ids)}
    for token, way, end in (("before", "after", 0), ("after", "before", -1)):
        if not isinstance(frame.get(token), str) or not ids or ids[end] not in place:
            continue
        answer = watcher.ask("get_entries", conversation_id=log.id, limit=1, **{way: frame[token]})
        listed = answer.data.get("entries")
        found = [name_of(entry) for entry in listed] if isinstance(listed, list) else []
        # An empty page that leads on proves nothing.
        if answer.ok and not found and (
                answer.data.get("present") is not True if way == "after"
                else "before" in answer.data):
            continue
        if not answer.ok or found[end:][:1] != [ids[end]]:
            said = repr(answer.code) if not answer.ok else "another entry"
            log.report.fault("push-token-wrong", f"`{token}` of a push is not where its entries "
                             f"{'begin' if end == 0 else 'end'}: asked with, it gives {said}. "
                             "What lies between is lost, or read twice")
            return
