"""The picture of a conversation's spans, as two lines of cells."""

from __future__ import annotations

from typing import Optional

from rich.text import Text
from tideline.spans import Span, SpanKind, Spans

from . import palette
from .drawing import fitting

_COLOURS = {SpanKind.TRUSTED: palette.TRUSTED, SpanKind.UNVERIFIED: palette.UNVERIFIED,
            SpanKind.MISSING: palette.MISSING}
#: What wins a cell that several spans share: the eye is to find what is not proven.
_WEIGHT = {SpanKind.UNVERIFIED: 2, SpanKind.TRUSTED: 1, SpanKind.MISSING: 0}


def _cells(spans: Spans, width: int) -> list[SpanKind]:
    """What each cell of the line stands for, by server time from left to right."""
    low, high = spans.times()
    open_end = int(any(span.low_us is None for span in spans.spans)) * min(3, width // 8)
    inner = max(1, width - open_end)

    def cell(time_us: Optional[int], end: int) -> int:
        if time_us is None:
            return end
        return open_end + min(inner - 1, (time_us - low) * inner // max(1, high - low + 1))

    cells = [SpanKind.MISSING] * width
    for span in spans.spans:
        for at in range(cell(span.low_us, 0), min(width - 1, cell(span.high_us, width - 1)) + 1):
            if span.kind is not SpanKind.MISSING and _WEIGHT[span.kind] > _WEIGHT[cells[at]]:
                cells[at] = span.kind
    return cells


def _seen(spans: Spans, width: int, seen: tuple[int, int]) -> range:
    """The cells of what is on the screen."""
    low, high = spans.times()
    marks = Span(SpanKind.TRUSTED, *seen)
    shown = _cells(Spans((Span(SpanKind.MISSING, low, high), marks, *(
        span for span in spans.spans if span.low_us is None)), 0, 0, None), width)
    found = [at for at, kind in enumerate(shown) if kind is SpanKind.TRUSTED]
    return range(found[0], found[-1] + 1) if found else range(0)


def draw(spans: Spans, width: int, seen: Optional[tuple[int, int]]) -> list[Text]:
    """The line of cells, tall where the screen looks, and the legend."""
    width = max(8, width)
    looked = _seen(spans, width, seen) if seen else range(0)
    bar = Text()
    for at, kind in enumerate(_cells(spans, width)):
        bar.append("█" if at in looked else "▄", style=_COLOURS[kind])
    facts = [Text.assemble(("■ ", _COLOURS[kind]),
                           (f"{spans.count(kind):,} {kind.value}   ", palette.SOFT))
             for kind in (SpanKind.TRUSTED, SpanKind.UNVERIFIED)]
    gaps = sum(span.kind is SpanKind.MISSING for span in spans.spans)
    facts.append(Text.assemble(
        ("■ ", _COLOURS[SpanKind.MISSING]),
        ("nothing missing" if not gaps else f"{gaps} gap{'s' * (gaps > 1)}", palette.SOFT)))
    if spans.total is not None:
        facts.append(Text(f"   {spans.total:,} on the server", style=palette.FAINT))
    if spans.pending:
        facts.append(Text(f"   {spans.pending} waiting", style=palette.WARNING))
    return [bar, fitting(facts, width)]
