"""A server that keeps a log: its pages by tokens, its changes, its pushes. Takes the place of all
checks of pages by offset."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .findings import Report
from .talk import Answer, Manner, Talk

_NOWHERE = "tideline-probe-nowhere"
_PAGE = 20
_PAGES_MAX = 200


def name_of(entry: Any) -> str:
    """The id of an entry, empty where it has none."""
    found = entry.get("entry_id") or entry.get("message_id") if isinstance(entry, dict) else None
    return found if isinstance(found, str) else ""


class Log:
    """A conversation as one connection sees it. ``entries`` is its log, the oldest first."""

    def __init__(self, talk: Talk, conversation: str, report: Report) -> None:
        self.talk = talk
        self.id = conversation
        self.report = report
        self.entries: list[Any] = []

    @property
    def ids(self) -> list[str]:
        """The ids of all its entries."""
        return [name_of(entry) for entry in self.entries]

    def ask(self, limit: int, **place: str) -> Answer:
        """Asks for a page, and gives the answer as it is."""
        return self.talk.ask("get_entries", conversation_id=self.id, limit=limit, **place)

    def page(self, limit: int, **place: str) -> dict[str, Any] | None:
        """The data of a page, or None where there was no good answer."""
        answer = self.ask(limit, **place)
        if not answer.ok:
            return None
        data, report = answer.data, self.report
        if not isinstance(data.get("entries"), list) or not isinstance(data.get("after"), str):
            report.fault("entries-malformed", "data of get_entries has no list `entries`, or no "
                         "token `after`: without it nothing newer is ever asked for")
            return None
        if len(data["entries"]) > limit:
            report.fault("over-limit", f"{limit} were asked and {len(data['entries'])} came")
        if not all(map(name_of, data["entries"])):
            report.fault("entry-without-id", "an entry has no id: the page is cut in two there")
        for token in ("before", "after"):
            if len(str(data.get(token, "")).encode()) > 2_048:
                report.fault("token-long", f"`{token}` is over 2,048 bytes: it counts as none")
        return data

    def walk(self) -> bool:
        """Reads it from the newest page down to the start. Whether that was reached."""
        found: list[Any] = []
        place: dict[str, str] = {}
        for turn in range(_PAGES_MAX):
            data = self.page(_PAGE, **place)
            if data is None:
                return False
            if turn == 0 and data.get("present") is not True:
                self.report.trap("present-missing", "the newest page does not say `present`: "
                                 "nothing is ever known to be up to date")
            found = data["entries"] + found
            if "before" not in data:
                self.entries = found
                if len(set(self.ids)) < len(found):
                    self.report.fault("doubled", "an entry is in the log twice, or a change has "
                                      "the id of a message")
                self._edits()
                return True
            place = {"before": data["before"]}
        self.report.unknown("start", f"the start of the log: {_PAGES_MAX} pages do not reach it")
        return False


    def _edits(self) -> None:
        senders = {entry.get("message_id"): entry.get("sender_id") for entry in self.entries
                   if "change" not in entry}
        others = [entry for entry in self.entries if entry.get("change") == "edit"
                  and senders.get(entry.get("target_id"), entry.get("sender_id"))
                  != entry.get("sender_id")]
        if others:
            self.report.trap("edits-of-others", f"{len(others)} edits are not by the sender of "
                             "their message: the library ignores them, unless the profile says "
                             "that others edit")


def both_ways(log: Log) -> None:
    """The way up shows what the way down has shown, and says `present` at its end alone."""
    if not log.entries:
        log.report.unknown("order", "the order of the log: it has no entry")
        return
    middle = len(log.entries) // 2
    data = log.page(_PAGE)
    while data is not None and "before" in data and len(log.entries) > _PAGE:
        ids = [name_of(entry) for entry in data["entries"]]
        if ids and ids[0] in log.ids[:middle]:
            break
        data = log.page(_PAGE, before=data["before"])
    found = [name_of(entry) for entry in data["entries"]] if data else []
    for _ in range(_PAGES_MAX):
        if data is None or data.get("present") is True:
            break
        data = log.page(_PAGE, after=data["after"])
        found += [name_of(entry) for entry in data["entries"]] if data else []
    wanted = log.ids[log.ids.index(found[0]):] if found and found[0] in log.ids else None
    if found == wanted:
        log.report.seen("order", "the log is the same upwards and downwards")
    elif wanted is not None and found == wanted[:len(found)]:
        log.report.fault("present-early", "a page says `present`, and newer entries are there: "
                         "they are missing until something else asks for them")
    else:
        log.report.fault("page-holes", "what `after` leads over is not what `before` led over: "
                         "entries are missing, doubled or in another order")


def places(log: Log, old: str | None) -> None:
    """`around_id`, tokens that nobody gave, one of an earlier connection, the epoch."""
    report, can = log.report, log.report.facts.can
    target = log.ids[len(log.entries) // 2] if log.entries else ""
    around = log.page(_PAGE, around_id=target)
    if around is None:
        report.trap("around-missing", "around_id: not there. A gap whose token has expired stays")
    elif target not in [name_of(entry) for entry in around["entries"]]:
        report.fault("around-wrong", "the page of around_id does not hold that entry")
    else:
        report.seen("around", "around_id: the page holds the entry")
        answer = log.ask(_PAGE, around_id=_NOWHERE)
        if answer.code not in ("not_found", "closed", "raised"):
            report.fault("around-unknown", f"around_id of no entry is answered "
                         f"{answer.code or 'ok'!r}, not `not_found`")
    answer = log.ask(_PAGE, after=_NOWHERE)
    taken = [name for name in ("after", "before") if log.ask(_PAGE, **{name: _NOWHERE}).ok]
    if taken:
        can["log_refuses"] = False
        report.trap("tokens-taken", f"a token that nobody gave is taken for some place, as "
                    f"{' and '.join(f'`{name}`' for name in taken)}: ask for its entry first, or "
                    "do not declare TL_SERVER_LOG_REFUSES. Tokens count in their connection alone "
                    "then")
    elif answer.code != "unknown_cursor":
        report.fault("tokens-refused-otherwise", f"a token that nobody gave is answered "
                     f"{answer.code!r}, not `unknown_cursor`: a walk ends there")
    else:
        report.seen("tokens", "a token that nobody gave is refused with `unknown_cursor`")
        report.unknown("tokens-restored", "whether a token of before a restore is refused as well: "
                       "ask who made the server, then declare TL_SERVER_LOG_REFUSES")
    if old is not None:
        kept = log.ask(_PAGE, after=old)
        report.seen("tokens-last", "a token of an earlier connection is "
                    + ("good" if kept.ok else f"answered {kept.code!r}"))
    can["log_epoch"] = isinstance((log.page(1) or {}).get("epoch"), str)
    if can["log_epoch"]:
        report.unknown("epoch", "whether the epoch is another one after each restore: ask who made "
                       "the server")


def write(log: Log, manner: Manner, run: str, payload: str, count: int) -> list[str]:
    """Sends, edits, reacts and deletes. Gives the ids of what was sent."""
    report, sent = log.report, []
    for number in range(count):
        answer = log.talk.ask(
            "send_message", conversation_id=log.id, client_id=f"probe-{run}-{number}",
            payload=json.loads(payload.replace("%", str(number))))
        found = answer.data.get("message") if answer.ok else None
        key = name_of(found) or answer.data.get("message_id")
        if isinstance(key, str):
            sent.append(key)
    if len(sent) < 4:
        report.unknown("sends", f"{len(sent)} of {count} sends were taken")
        return sent
    log.talk.ask("send_message", conversation_id=log.id, client_id=f"probe-{run}-0",
                 payload=json.loads(payload.replace("%", "0")))
    wanted = []
    for at, (verb, changes, more) in enumerate((
            ("edit_message", {"edit"}, {"payload": json.loads(payload.replace("%", "edited"))}),
            ("react_message", {"react", "reactions"}, {"reaction": "+"}),
            ("delete_message", {"delete"}, {}))):
        answer = log.talk.ask(verb, conversation_id=log.id, message_id=sent[at], **more)
        if answer.ok:
            wanted.append((verb, changes, sent[at]))
        else:
            report.seen(verb, f"{verb}: refused with {answer.code!r}")
    manner.pause(1.1)
    if not log.walk():
        return sent
    lost = [key for key in sent if key not in log.ids]
    if lost:
        report.fault("lost-message", f"{len(lost)} confirmed messages are not in the log")
    own = [entry for entry in log.entries if entry.get("client_id") == f"probe-{run}-0"]
    if not own:
        report.trap("client-ids", "the log does not name the client_id of what was sent: what was "
                    "never answered is found by its payload")
    log.report.facts.can["idempotent_send"] = len(own) == 1
    for verb, changes, target in wanted:
        there = [entry for entry in log.entries if entry.get("target_id") == target
                 and entry.get("change") in changes]
        marked = [entry for entry in log.entries if entry.get("message_id") == target
                  and (entry.get("edited_at") or entry.get("deleted"))]
        if not there and not marked:
            report.fault("changes-untold", f"{verb} was taken, and no entry of the log tells of it")
    return sent


def pushes(log: Log, watcher: Talk, sent: list[str]) -> None:
    """What another connection was told, and whether `prev` is the entry before."""
    report, place = log.report, {key: at for at, key in enumerate(log.ids)}
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
    named = [frame for frame in told if "prev" in frame or "before" in frame]
    if len(named) < len(told):
        report.trap("prev-missing", f"{len(told) - len(named)} of {len(told)} pushes name neither "
                    "`prev` nor `before`: each of them costs a request")
    for frame in named:
        entries = frame.get("entries")
        ids = [name_of(entry) for entry in entries] if isinstance(entries, list) else []
        at = place.get(ids[0]) if ids else None
        if at is not None and "prev" in frame and (at == 0 or log.ids[at - 1] != frame["prev"]):
            report.fault("prev-wrong", "`prev` of a push is not the entry before it in the log: "
                         "what lies between is lost for good, and nothing finds out")
            return


def probe_log(
    log: Log, manner: Manner, open_talk: Callable[[], Talk], watcher: Talk | None, run: str,
    payload: str, count: int,
) -> None:
    """All checks of a log. Without a watcher nothing is written."""
    report = log.report
    report.facts.can.update(dict.fromkeys(
        ("before", "around", "changed_since", "sequence", "envelope"), False))
    sent: list[str] = []
    if watcher is None:
        report.unknown("writing", "what becomes of what is sent: nothing was written")
        log.walk()
    else:
        sent = write(log, manner, run, payload, count)
    both_ways(log)
    if watcher is not None:
        pushes(log, watcher, sent)
    newest = log.page(_PAGE)
    log.talk.close()
    log.talk = open_talk()
    places(log, newest["after"] if newest else None)
    report.unknown("lossless", "whether pushes are lossless: ask who made the server")
