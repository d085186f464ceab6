"""Where the rows of an endless list stand on a screen. It needs no client."""

from __future__ import annotations

import array
import ctypes
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from . import _library as c
from ._words import Word
from .errors import Status, check
from .views import Op


class Edge(Word):
    """What a scroll to brings where: ``tl_edge``."""

    TOP = 0
    BOTTOM = 1
    TOP_END = 2
    BOTTOM_END = 3


@dataclasses.dataclass(frozen=True)
class Placed:
    """One row of a layout. ``top`` counts from the top of the view down."""

    key: int
    row: int
    top: int
    height: int
    visible: bool
    measured: bool


@dataclasses.dataclass(frozen=True)
class Layout:
    """One round between host and viewport: it is complete when nothing is missing."""

    rows: tuple[Placed, ...]
    missing: tuple[Placed, ...]
    layouts: int


@dataclasses.dataclass(frozen=True)
class ViewportState:
    """How a viewport stands. ``bar`` is where the thumb begins and how long it is, as shares."""

    near_top: bool
    near_bottom: bool
    held_top: bool
    held_bottom: bool
    moving: bool
    row_count: int
    visible: range
    placed: range
    anchor: int | None
    anchor_row: int
    anchor_top: int
    checksum: int
    layouts: int
    total: int
    above: int
    below: int
    overscroll: int
    bar: tuple[float, float]


class Viewport:
    """Which rows to place where, while rows come, go and are scrolled.

    Lengths are whole numbers of a unit of your own: a cell of a terminal, a 64th of a pixel.

    >>> viewport = Viewport(24, bottom_up=True, hold_bottom=True)
    >>> viewport.update(diff.ops, keys)              # after each poll of a window or of items
    >>> for row in viewport.place(lambda row: height(row.key)):
    ...     draw(row.key, row.top)
    """

    def __init__(
        self, extent: int, *, bottom_up: bool = False, reversed: bool = False,
        hold_top: bool = False, hold_bottom: bool = False, margin: int = 0, estimate: int = 0,
        height_min: int = 0, overscroll_max: int = 0, near: int = 0, speed: int = 0,
        animation_ms: int = 0,
    ) -> None:
        self._handle = ctypes.c_void_p()
        flags = bottom_up | reversed << 1 | hold_top << 2 | hold_bottom << 3
        config = c.ViewportConfig(
            struct_size=ctypes.sizeof(c.ViewportConfig), flags=flags, extent=extent, margin=margin,
            estimate=estimate, height_min=height_min, overscroll_max=overscroll_max, near=near,
            speed=speed, animation_ms=animation_ms)
        check(c.library.tl_viewport_new(ctypes.byref(config), ctypes.byref(self._handle)))

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), ctypes.c_void_p()
        if handle:
            c.library.tl_viewport_free(handle)

    def update(
        self, steps: Sequence[Op], keys: Iterable[int] = (),
        classes: Iterable[int] | None = None,
    ) -> None:
        """Takes the steps to the next list, whose rows have these keys.

        An ``array.array("Q")`` of keys and an ``array.array("I")`` of classes are not copied.
        """
        ops = (c.Op * len(steps))(*(c.Op(op.kind, op.row, op.from_, op.count) for op in steps))
        all_keys = _array("Q", keys)
        kinds = None if classes is None else _array("I", classes)
        if kinds is not None and len(kinds) != len(all_keys):
            raise ValueError("there is not one class for each row")
        check(c.library.tl_viewport_update(
            self._handle, ops, len(steps), _pointer(all_keys, ctypes.c_uint64),
            None if kinds is None else _pointer(kinds, ctypes.c_uint32), len(all_keys)))

    def measure(self, heights: Mapping[int, int]) -> bool:
        """Takes heights by key. False when none of the rows is in the list."""
        count = len(heights)
        return check(c.library.tl_viewport_measure(
            self._handle, (ctypes.c_uint64 * count)(*heights),
            (ctypes.c_int64 * count)(*heights.values()), count)) == Status.OK

    def resize(self, extent: int, *, measure: bool = False) -> None:
        """The view has another height; with ``measure`` all rows are to be measured again."""
        check(c.library.tl_viewport_resize(self._handle, extent, int(measure)))

    def layout(self) -> Layout:
        """One round: rows to place, and rows to measure before the next one."""
        out = ctypes.POINTER(c.Layout)()
        check(c.library.tl_viewport_layout(self._handle, ctypes.byref(out)))
        try:
            value = out.contents
            return Layout(
                tuple(map(_placed, value.rows[:value.row_count])),
                tuple(map(_placed, value.missing[:value.missing_count])), value.layouts)
        finally:
            c.library.tl_layout_free(out)

    def place(self, height: Callable[[Placed], int]) -> tuple[Placed, ...]:
        """Lays out until it is complete; ``height`` measures a row."""
        layout = self.layout()
        while layout.missing:
            self.measure({row.key: height(row) for row in layout.missing})
            layout = self.layout()
        return layout.rows

    def scroll(self, delta: int, *, finger: bool = False) -> None:
        """Scrolls down, or up for less than 0. A finger may pull beyond an end."""
        check(c.library.tl_viewport_scroll(self._handle, delta, int(finger)))

    def scroll_to(self, key: int = 0, edge: Edge = Edge.TOP, inset: int = 0) -> bool:
        """Scrolls to a row or an end at once. False when no row has the key."""
        target = _target(key, edge, inset)
        return check(c.library.tl_viewport_scroll_to(
            self._handle, ctypes.byref(target))) == Status.OK

    def animate_to(
        self, time_ms: int, key: int = 0, edge: Edge = Edge.TOP, inset: int = 0, *, speed: int = 0,
    ) -> bool:
        """Scrolls to a row or an end in frames, which ``tick`` makes."""
        target = _target(key, edge, inset)
        return check(c.library.tl_viewport_animate_to(
            self._handle, ctypes.byref(target), speed, time_ms)) == Status.OK

    def tick(self, time_ms: int) -> bool:
        """Goes to the frame of a time. False when nothing moves any more."""
        return check(c.library.tl_viewport_tick(self._handle, time_ms)) == Status.OK

    def release(self, time_ms: int) -> bool:
        """The finger has left: what is pulled springs back. False when nothing is."""
        return check(c.library.tl_viewport_release(self._handle, time_ms)) == Status.OK

    def stop(self) -> bool:
        """Ends an animation where it is. False when there is none."""
        return check(c.library.tl_viewport_stop(self._handle)) == Status.OK

    def find(self, key: int) -> Placed | None:
        """Where a row stands, in the view or not; None when it is not in the list."""
        out = c.Placed()
        status = check(c.library.tl_viewport_find(self._handle, key, ctypes.byref(out)))
        return _placed(out) if status == Status.OK else None

    def at(self, place: int) -> Placed | None:
        """The row that is drawn at a place of the view."""
        out = c.Placed()
        status = check(c.library.tl_viewport_at(self._handle, place, ctypes.byref(out)))
        return _placed(out) if status == Status.OK else None

    def state(self) -> ViewportState:
        """How it stands."""
        out = c.ViewportStatus(struct_size=ctypes.sizeof(c.ViewportStatus))
        check(c.library.tl_viewport_state(self._handle, ctypes.byref(out)))
        return ViewportState(
            bool(out.flags & 1), bool(out.flags & 2), bool(out.flags & 4), bool(out.flags & 8),
            bool(out.flags & 16), out.row_count,
            range(out.visible_first, out.visible_first + out.visible_count),
            range(out.placed_first, out.placed_first + out.placed_count),
            out.anchor_key if out.row_count else None, out.anchor_row, out.anchor_top,
            out.checksum, out.layouts, out.total, out.above, out.below, out.overscroll,
            (out.bar_start / 1_000_000, out.bar_size / 1_000_000))


def _target(key: int, edge: Edge, inset: int) -> c.Target:
    return c.Target(struct_size=ctypes.sizeof(c.Target), edge=edge, key=key, inset=inset)


def _placed(row: c.Placed) -> Placed:
    return Placed(
        row.key, row.row, row.top, row.height, bool(row.flags & 1), bool(row.flags & 2))


def _array(code: str, values: Iterable[int]) -> array.array[int]:
    if isinstance(values, array.array) and values.typecode == code:
        return values
    return array.array(code, values)


def _pointer(values: array.array[int], kind: Any) -> Any:
    """The numbers where they lie; NULL for none."""
    return (kind * len(values)).from_buffer(values) if values else None
