"""A picture of what a client has of a conversation: what is trusted, unverified, missing.

    python -m tideline.spans FILE KEYFILE USER CONVERSATION > spans.svg

Only repeated reads of the cache are used, so any host can draw the same.
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import html
import pathlib
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone

from .client import Client
from .values import Coverage, From, Gap, Message, MessageFlags, MessageState, Page, Stop

_PAGE = 10_000
_NO_TIME = -(1 << 63), (1 << 63) - 1


class SpanKind(enum.Enum):
    """What is known of a stretch of a conversation."""

    #: Proven whole: all messages that the server had there are stored.
    TRUSTED = "trusted"
    #: Messages are stored, but others may stand beside them, or they may have been deleted.
    UNVERIFIED = "unverified"
    #: Nothing is stored, and there may be messages.
    MISSING = "missing"


@dataclasses.dataclass(frozen=True)
class Span:
    """A stretch between two server times. ``low_us`` is None where it reaches to an unknown start,
    ``high_us`` where nothing newer is known. ``count`` is how many messages are stored in it."""

    kind: SpanKind
    low_us: int | None
    high_us: int | None
    count: int = 0


@dataclasses.dataclass(frozen=True)
class Spans:
    """All of a conversation, oldest first; two neighbours differ in kind or have a gap between."""

    spans: tuple[Span, ...]
    pending: int
    stored: int
    total: int | None

    def count(self, kind: SpanKind) -> int:
        """How many messages are stored in spans of a kind."""
        return sum(span.count for span in self.spans if span.kind is kind)

    def times(self) -> tuple[int, int]:
        """The oldest and the newest time that is known; (0, 0) where there is none."""
        known = [time for span in self.spans for time in (span.low_us, span.high_us)
                 if time is not None]
        return (min(known), max(known)) if known else (0, 0)


def _pages(client: Client, conversation: str) -> Iterator[Page]:
    """The whole cache of a conversation, oldest first."""
    page = client.messages(conversation, From.OLDEST, limit=_PAGE)
    yield page
    while page.messages and page.coverage.stop != Stop.PRESENT:
        page = client.messages(
            conversation, From.AFTER, number=page.messages[-1].number, limit=_PAGE)
        if page.messages:
            yield page


def _missing(gap: Gap) -> Span:
    low, high = (None if time in _NO_TIME else time for time in (gap.low_us, gap.high_us))
    return Span(SpanKind.MISSING, low, high)


class _Reader:
    """Rows and gaps in order, gathered into spans."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.pending = 0

    def page(self, rows: Iterable[Message], coverage: Coverage) -> None:
        gaps = list(coverage.gaps)
        for row, message in enumerate(rows):
            while gaps and gaps[0].before_row <= row:
                self.spans.append(_missing(gaps.pop(0)))
            self.message(message)
        self.spans += map(_missing, gaps)

    def message(self, message: Message) -> None:
        if message.state != MessageState.CONFIRMED:
            self.pending += 1
            return
        kind = (SpanKind.UNVERIFIED if MessageFlags.UNVERIFIED in message.flags
                else SpanKind.TRUSTED)
        last = self.spans[-1] if self.spans else None
        if last is not None and last.kind is kind:
            self.spans[-1] = dataclasses.replace(
                last, high_us=message.time_us, count=last.count + 1)
        else:
            self.spans.append(Span(kind, message.time_us, message.time_us, 1))


def read_spans(client: Client, conversation: str) -> Spans:
    """Reads what a client has of a conversation, from the cache alone."""
    reader = _Reader()
    coverage: Coverage | None = None
    for page in _pages(client, conversation):
        coverage = page.coverage
        reader.page(page.messages, coverage)
    return Spans(tuple(reader.spans), reader.pending,
                 coverage.known_count if coverage else 0,
                 coverage.total_count if coverage else None)


_COLOURS = {SpanKind.TRUSTED: "#2e9e6b", SpanKind.UNVERIFIED: "#e0a526",
            SpanKind.MISSING: "#c9ced6"}
_WIDTH, _LEFT, _RIGHT, _TOP, _BAR = 960.0, 24.0, 24.0, 56.0, 36.0


def _day(time_us: int) -> str:
    return datetime.fromtimestamp(time_us / 1_000_000, timezone.utc).strftime("%Y-%m-%d")


class _Scale:
    """Server time to a place on the picture. An open end takes a little room beyond the known."""

    def __init__(self, spans: Spans) -> None:
        self.low, self.high = spans.times()
        self.inner = _WIDTH - _LEFT - _RIGHT
        self.before = 48.0 if any(span.low_us is None for span in spans.spans) else 0.0
        self.after = 48.0 if any(span.high_us is None for span in spans.spans) else 0.0

    def at(self, time_us: int) -> float:
        share = (time_us - self.low) / max(1, self.high - self.low)
        return _LEFT + self.before + share * (self.inner - self.before - self.after)

    def ends(self, span: Span) -> tuple[float, float]:
        low = _LEFT if span.low_us is None else self.at(span.low_us)
        high = _WIDTH - _RIGHT if span.high_us is None else self.at(span.high_us)
        return low, max(high, low)


def _merged(spans: Spans, scale: _Scale) -> Iterator[tuple[SpanKind, float, float, int]]:
    """Bars at least two points wide; what would be thinner beside its like becomes one bar."""
    bars: list[tuple[SpanKind, float, float, int]] = []
    for span in spans.spans:
        low, high = scale.ends(span)
        if bars and bars[-1][0] is span.kind and low - bars[-1][2] < 2:
            kind, first, _, count = bars[-1]
            bars[-1] = kind, first, max(high, bars[-1][2]), count + span.count
        else:
            bars.append((span.kind, low, max(high, low + 2), span.count))
    # What is stored lies above what is missing, so that a single message can be seen.
    return iter(sorted(bars, key=lambda bar: bar[0] is not SpanKind.MISSING))


def _text(x: float, y: float, text: str, anchor: str = "start", colour: str = "#5b6472",
          size: int = 13, weight: str = "normal") -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" '
            f'font-size="{size}" font-weight="{weight}">{html.escape(text)}</text>')


def _legend(spans: Spans) -> Iterator[str]:
    at = _LEFT
    labels = [(kind, f"{kind.value}: {spans.count(kind):,} messages")
              for kind in (SpanKind.TRUSTED, SpanKind.UNVERIFIED)]
    gaps = sum(span.kind is SpanKind.MISSING for span in spans.spans)
    labels.append((SpanKind.MISSING, f"missing: {gaps} {'gap' if gaps == 1 else 'gaps'}"))
    for kind, label in labels:
        yield (f'<rect x="{at:.1f}" y="134" width="12" height="12" rx="2" '
               f'fill="{_COLOURS[kind]}"/>')
        yield _text(at + 18, 145, label)
        at += 44 + 7.2 * len(label)


def svg(spans: Spans, title: str) -> str:
    """The picture: server time from left to right."""
    scale = _Scale(spans)
    parts = [
        (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} 164" '
         'font-family="ui-sans-serif, system-ui, sans-serif" role="img">'),
        f"<title>{html.escape(title)}</title>",
        f'<rect width="{_WIDTH:.0f}" height="164" rx="10" fill="#ffffff" stroke="#dfe3e8"/>',
        _text(_LEFT, 34, title, colour="#1c2430", size=17, weight="600")]
    of = f" of {spans.total:,} on the server" if spans.total is not None else ""
    waiting = f", {spans.pending} waiting" if spans.pending else ""
    parts.append(_text(_WIDTH - _RIGHT, 34, f"{spans.stored:,} stored{of}{waiting}", "end"))
    parts.append(f'<rect x="{_LEFT}" y="{_TOP}" width="{scale.inner:.1f}" height="{_BAR}" rx="4" '
                 'fill="#eef1f4"/>')
    for kind, low, high, count in _merged(spans, scale):
        hint = f"{kind.value}" + (f", {count:,} messages" if count else "")
        parts.append(f'<rect x="{low:.1f}" y="{_TOP}" width="{high - low:.1f}" height="{_BAR}" '
                     f'fill="{_COLOURS[kind]}"><title>{hint}</title></rect>')
    if spans.times() != (0, 0):
        parts.append(_text(_LEFT + scale.before, 112, _day(scale.low)))
        parts.append(_text(_WIDTH - _RIGHT - scale.after, 112, _day(scale.high), "end"))
    parts += _legend(spans)
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tideline.spans", description=__doc__)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("key", type=pathlib.Path, help="the file that holds the 32 bytes")
    parser.add_argument("user")
    parser.add_argument("conversation")
    parser.add_argument("--account", default="")
    arguments = parser.parse_args()
    with Client(arguments.file, arguments.key.read_bytes(), user_id=arguments.user,
                account=arguments.account, existing=True) as client:
        found = {row.id: row.title for row in client.conversations(limit=1_000)}
        title = found.get(arguments.conversation) or arguments.conversation
        sys.stdout.write(svg(read_spans(client, arguments.conversation), title))


if __name__ == "__main__":
    main()
