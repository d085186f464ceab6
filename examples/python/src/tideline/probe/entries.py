"""A server that keeps a log: its pages by tokens, its changes, its pushes. Takes the place of all
checks of pages by offset."""

from __future__ import annotations

from typing import Any

from .findings import Report
from .talk import Answer, Talk

_NOWHERE = "tideline-probe-nowhere"
_PAGE = 20
_PAGES_MAX = 200
#: A walk that meets so many empty pages in a row is not led anywhere.
_EMPTY_MAX = 50


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
        self._epochs: set[str] = set()

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
        for entry in data["entries"]:
            self._members(entry)
        for token in ("before", "after"):
            if len(str(data.get(token, "")).encode()) > 2_048:
                report.fault("token-long", f"`{token}` is over 2,048 bytes: it counts as none")
        if isinstance(data.get("epoch"), str):
            self._epochs.add(data["epoch"])
        if len(self._epochs) > 1:
            report.fault("epoch-changes", f"pages name {len(self._epochs)} epochs: each new one "
                         "says that the history was replaced, and all is read again")
        return data

    def _members(self, entry: Any) -> None:
        """What an entry has to have."""
        if not name_of(entry) or entry.get("change") == "none" or entry.get("deleted") is True:
            return
        wanted = ["sender_id", "target_id"] if "change" in entry else \
            ["sender_id", "created_at", "payload"]
        if entry.get("change") in ("react", "unreact", "reactions"):
            wanted.append("reactions" if entry["change"] == "reactions" else "reaction")
        missing = [name for name in wanted if name not in entry]
        if missing:
            self.report.fault("entry-bad", f"an entry has no {', '.join(missing)}: it keeps its "
                              "place, and is shown as unreadable or does nothing")

    def walk(self) -> bool:
        """Reads it from the newest page down to the start. Whether that was reached."""
        found: list[Any] = []
        place: dict[str, str] = {}
        asked, empty = set[str](), 0
        for turn in range(_PAGES_MAX):
            data = self.page(_PAGE, **place)
            if data is None:
                return False
            if turn == 0 and data.get("present") is not True:
                self.report.trap("present-missing", "the newest page does not say `present`: "
                                 "nothing is ever known to be up to date")
            found = data["entries"] + found
            empty = 0 if data["entries"] else empty + 1
            is_endless = data.get("before") in asked or empty > _EMPTY_MAX
            if is_endless:
                self.report.fault("start-endless", "`before` of a page leads to a page that was "
                                  "there, or to nothing again and again: scrolling back never "
                                  "ends. The page at the start of the log has no `before`")
            if "before" not in data or is_endless:
                self.entries = found
                if len(set(self.ids)) < len(found):
                    self.report.fault("doubled", "an entry is in the log twice, or a change has "
                                      "the id of a message")
                self._edits()
                return True
            place = {"before": data["before"]}
            asked.add(data["before"])
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
    _suffixes(log)
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


def _suffixes(log: Log) -> None:
    """A shorter newest page is the end of a longer one."""
    whole = log.page(_PAGE)
    for limit in (1, 2, 5):
        part = log.page(limit)
        if whole is None or part is None or len(whole["entries"]) <= limit:
            continue
        ids = [name_of(entry) for entry in part["entries"]]
        longer = [name_of(entry) for entry in whole["entries"]]
        if ids and ids[-1] in longer and ids != longer[-len(ids):]:
            log.report.fault("entries-order", "a short page is not the end of a longer one: "
                             "`entries` lists the oldest first, in the order of the log")


def refusals(log: Log, is_read_only: bool) -> None:
    """What is unknown is refused, and not taken for empty."""
    report = log.report
    if log.talk.ask("get_entries", conversation_id=_NOWHERE, limit=5).ok:
        report.trap("unknown-conversation", "a conversation that does not exist is answered as an "
                    "empty one: one that was deleted stays on the screen. Answer `not_found`")
    if not is_read_only:
        answer = log.talk.ask("tideline_probe", conversation_id=log.id)
        if answer.ok or answer.code not in ("unsupported", "silence"):
            report.trap("unknown-verb", f"a verb that does not exist is answered "
                        f"{answer.code or 'ok'!r}: answer `unsupported`")


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
    if isinstance((log.page(1) or {}).get("epoch"), str):
        report.unknown("epoch", "whether the epoch is another one after each restore: ask who made "
                       "the server, then declare TL_SERVER_LOG_EPOCH")
    else:
        can["log_epoch"] = False
