"""Batches as Python values: one copy of the block, then slices of it."""

from __future__ import annotations

import ctypes
import struct
from typing import Callable

from . import _library as c
from .errors import check
from .values import Change, ChangeKind, Coverage, Gap, Message, MessageFlags, Page, Stop

# `tl_message` and `tl_change`, each view as an address and a size.
_MESSAGE = struct.Struct("=QqiI18Q")
_CHANGE = struct.Struct("=QiIQQQQ")


def _block(batch: ctypes.c_void_p) -> tuple[bytes, Callable[[int, int], bytes]]:
    """The block's bytes, and a function that gives a view's part of them."""
    view = c.View()
    check(c.library.tl_batch_block(batch, ctypes.byref(view)))
    base = view.data or 0
    block = ctypes.string_at(base, view.size) if view.size else b""

    def part(address: int, size: int) -> bytes:
        start = address - base
        return block[start:start + size] if size else b""

    return block, part


def messages(batch: ctypes.c_void_p) -> tuple[Message, ...]:
    """The messages of a batch."""
    count = ctypes.c_size_t()
    c.library.tl_batch_rows(batch, ctypes.byref(count))
    block, part = _block(batch)
    rows = []
    for row in _MESSAGE.iter_unpack(block[:count.value * _MESSAGE.size]):
        number, time_us, _, flags = row[:4]
        (id_, conversation, sender, stamp, payload, reply_to, reactions, read_by,
         rest) = map(part, row[4::2], row[5::2])
        rows.append(Message(
            number, time_us, MessageFlags(flags), id_.decode(), conversation.decode(),
            sender.decode(), stamp.decode(), payload, reply_to.decode() or None, reactions,
            read_by, rest))
    return tuple(rows)


def page(batch: ctypes.c_void_p) -> Page:
    """The messages of a batch with their coverage."""
    coverage = c.Coverage(struct_size=ctypes.sizeof(c.Coverage))
    check(c.library.tl_batch_coverage(batch, ctypes.byref(coverage)))
    gaps = tuple(
        Gap(gap.before_row, bool(gap.poisoned), gap.low_us, gap.high_us)
        for gap in coverage.gaps[:coverage.gap_count])
    total = coverage.total_count
    return Page(messages(batch), Coverage(
        bool(coverage.whole), Stop(coverage.stop), gaps, coverage.deletions_as_of_us,
        coverage.content_as_of_us, None if total < 0 else total, coverage.known_count))


def changes(batch: ctypes.c_void_p) -> tuple[Change, ...]:
    """The changes of a batch."""
    count = ctypes.c_size_t()
    c.library.tl_batch_changes(batch, ctypes.byref(count))
    block, part = _block(batch)
    return tuple(
        Change(seq, ChangeKind(kind), first, last, part(address, size).decode())
        for seq, kind, _, first, last, address, size
        in _CHANGE.iter_unpack(block[:count.value * _CHANGE.size]))
