"""The conversation that is looked at: its pages, and its list as walking through them gives it."""

from __future__ import annotations

import dataclasses
from typing import Any

from .findings import Report
from .stamp import Stamp, parse
from .talk import Answer, Talk

_LIMIT = 1_000
#: Rows that the pages of a walk have in common.
_OVERLAP = 3


@dataclasses.dataclass(frozen=True)
class Row:
    """One message of a page."""

    id: str
    us: int
    printed: str
    stamp: Stamp
    raw: dict[str, Any]

    @property
    def seq(self) -> int | None:
        """Its number, where it has one."""
        value = self.raw.get("seq")
        return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclasses.dataclass(frozen=True)
class Page:
    """A page, its oldest row first as far as its server's direction is known."""

    rows: tuple[Row, ...]
    size: int
    total: int | None
    has_more: bool | None
    data: dict[str, Any]

    @property
    def ids(self) -> list[str]:
        """The ids of its rows."""
        return [row.id for row in self.rows]


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


class Room:
    """A conversation as one connection sees it. ``rows`` is its list, the oldest first."""

    def __init__(self, talk: Talk, conversation: str, report: Report, depth: int) -> None:
        self.talk = talk
        self.id = conversation
        self.report = report
        self.depth = depth
        #: Whether pages list the newest first; None as long as that is not known.
        self.newest_first: bool | None = None
        self._times_seen = 1
        self.rows: list[Row] = []
        #: Whether the walk came to the start.
        self.whole = False
        self.total: int | None = None
        #: Sizes of pages by what was asked, where more was there.
        self.sizes: list[tuple[int, int]] = []
        self.stamps: list[Stamp] = []
        self.server_time: list[tuple[Stamp, float]] = []
        #: Cursors of the server's own that a page named last, for deletions and changes.
        self.cursors: dict[str, str] = {}

    # MARK: Pages

    def ask(self, limit: int, offset: int | None = 0, **place: Any) -> Answer:
        """Asks for a page, and gives the answer as it is."""
        return self.talk.ask("get_messages", conversation_id=self.id, limit=limit, offset=offset,
                             **place)

    def page(self, limit: int, offset: int | None = 0, **place: Any) -> Page | None:
        """A page, or None where there was no good answer."""
        answer = self.ask(limit, offset, **place)
        return self.read(answer, limit) if answer.ok else None

    def read(self, answer: Answer, limit: int) -> Page | None:
        """The page in an answer, and what is wrong with it by itself."""
        raw = answer.data.get("messages")
        if not isinstance(raw, list):
            self.report.fault("answer-malformed", "data of get_messages has no list `messages`")
            return None
        rows = [row for row in map(self.row, raw) if row is not None]
        self.cursors |= {name: answer.data[name] for name in ("deleted_since", "changed_since")
                         if isinstance(answer.data.get(name), str)}
        if len(raw) > limit:
            self.report.fault("over-limit", f"{limit} were asked and {len(raw)} came: what a page "
                              "proves is counted by what was asked")
        if len({row.id for row in rows}) < len(rows):
            self.report.fault("doubled", "a message is in one page more than once: offsets count "
                              "it twice, and others are passed over")
        self._learn(rows)
        if self.newest_first:
            rows.reverse()
        total = answer.data.get("total_count")
        return Page(tuple(rows), len(raw), total if isinstance(total, int) else None,
                    _flag(answer.data.get("has_more")), answer.data)

    def _learn(self, rows: list[Row]) -> None:
        """Takes the direction of the page that shows most times, by its two halves."""
        seen, half = len({row.us for row in rows}), len(rows) // 2
        if seen > self._times_seen and half:
            up = sum(row.us for row in rows[-half:]) - sum(row.us for row in rows[:half])
            self._times_seen, self.newest_first = seen, up < 0 if up else self.newest_first

    def row(self, raw: Any) -> Row | None:
        """A message that can be used, else None and a fault."""
        if not isinstance(raw, dict):
            self.report.fault("message-bad", "a message of a page is no object: it is set aside")
            return None
        missing = [name for name in ("message_id", "sender_id")
                   if not isinstance(raw.get(name), str) or not raw[name]
                   or len(raw[name].encode(errors="replace")) > 512]
        stamp = parse(raw.get("created_at"))
        if stamp is None:
            missing.append("created_at")
        if "payload" not in raw:
            missing.append("payload")
        if missing or stamp is None:
            self.report.fault("message-bad", f"a message has no usable {', '.join(missing)}: it "
                              "is set aside and leaves a gap")
            return None
        if raw.get("conversation_id", self.id) != self.id:
            self.report.fault("message-elsewhere", "a page has a message of another conversation: "
                              "it is set aside and leaves a gap")
            return None
        self.stamps.append(stamp)
        return Row(raw["message_id"], stamp.us, raw["created_at"], stamp, raw)

    # MARK: The list

    def walk(self) -> None:
        """Reads the list, from the newest page as far as ``depth`` or the start."""
        self.rows, self.whole = [], False
        known: set[str] = set()
        while len(self.rows) < self.depth:
            page = self.page(_LIMIT, max(0, len(self.rows) - _OVERLAP))
            if page is None:
                return
            if not self.rows:
                self.total = page.total
            older = [row for row in page.rows if row.id not in known]
            if self.rows and len(older) == len(page.rows):
                self.report.fault("page-holes", f"pages of {_OVERLAP} rows in common were asked, "
                                  f"and behind {len(self.rows)} messages one came without any: "
                                  "offsets do not count what pages show")
                return
            if not older:
                # All that was asked again, and no more: the rest is asked alone.
                page = self.page(_LIMIT, len(self.rows))
                older = [row for row in page.rows if row.id not in known] if page else []
                self.whole = page is not None and page.size == 0
                if not older:
                    return
            if self.rows and page is not None:
                self.sizes.append((_LIMIT, page.size))
            self.rows = older + self.rows
            known |= {row.id for row in older}

    def moved(self) -> bool:
        """Whether the conversation has changed since it was walked through."""
        page = self.page(1)
        if page is None:
            return False
        if page.total is None:
            return page.ids[-1:] != [row.id for row in self.rows[-1:]]
        known = {row.id for row in self.rows}
        return page.total != self.total or not set(page.ids) <= known

    def index(self, message: str) -> int | None:
        """Where a message stands in the list."""
        return next((n for n, row in enumerate(self.rows) if row.id == message), None)
