"""Batches as Python values: one copy of the block, then slices of it."""

from __future__ import annotations

import ctypes
import struct
from typing import Callable, Optional

from . import _library as c
from .errors import check
from .operations import Operation, OperationState, OperationWait
from .values import (
    Action, Change, ChangeKind, Coverage, Entity, EntityKind, Event, EventKind, Gap, Message,
    MessageFlags, MessageState, Page, Stop)
from .views import Conversation, ConversationFlags, Diff, Op, OpKind

# `tl_message` and its fellows, each view as an address and a size.
_MESSAGE = struct.Struct("=QqiI22QQQII")
_CHANGE = struct.Struct("=QiIQQQQ")
_EVENT = struct.Struct("=QiiII6Q")
_ENTITY = struct.Struct("=iI6Q")
_OPERATION = struct.Struct("=QQiiIIq16Q")
_CONVERSATION = struct.Struct("=QIIQq14QQ")

_SILENT = 1


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
    return tuple(
        _message(row, part)
        for row in _MESSAGE.iter_unpack(block[:count.value * _MESSAGE.size]))


def _message(row: tuple[int, ...], part: Callable[[int, int], bytes]) -> Message:
    number, time_us, state, flags = row[:4]
    (id_, conversation, sender, stamp, payload, reply_to, reactions, read_by,
     rest, delivered_by, listened_by) = map(part, row[4:26:2], row[5:26:2])
    return Message(
        number, time_us, MessageFlags(flags), id_.decode(), conversation.decode(),
        sender.decode(), stamp.decode(), payload, reply_to.decode() or None, reactions,
        read_by, rest, delivered_by, listened_by, row[26], MessageState(state), row[27] or None,
        row[28])


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
        coverage.content_as_of_us, None if total < 0 else total, coverage.known_count,
        coverage.marks_as_of_us, coverage.stale_count))


def changes(batch: ctypes.c_void_p) -> tuple[Change, ...]:
    """The changes of a batch."""
    count = ctypes.c_size_t()
    c.library.tl_batch_changes(batch, ctypes.byref(count))
    block, part = _block(batch)
    return tuple(
        Change(seq, ChangeKind(kind), first, last, part(address, size).decode(),
               bool(flags & _SILENT))
        for seq, kind, flags, first, last, address, size
        in _CHANGE.iter_unpack(block[:count.value * _CHANGE.size]))


def events(batch: ctypes.c_void_p) -> tuple[Event, ...]:
    """The events of a batch."""
    count = ctypes.c_size_t()
    c.library.tl_batch_events(batch, ctypes.byref(count))
    block, part = _block(batch)
    found = []
    for row in _EVENT.iter_unpack(block[:count.value * _EVENT.size]):
        seq, kind, action, flags = row[:4]
        conversation, entity, body = map(part, row[5::2], row[6::2])
        found.append(Event(
            seq, EventKind(kind), Action(action), conversation.decode(), entity.decode(), body,
            bool(flags & _SILENT)))
    return tuple(found)


def entities(batch: ctypes.c_void_p) -> tuple[Entity, ...]:
    """The entities of a batch."""
    count = ctypes.c_size_t()
    c.library.tl_batch_entities(batch, ctypes.byref(count))
    block, part = _block(batch)
    found = []
    for row in _ENTITY.iter_unpack(block[:count.value * _ENTITY.size]):
        conversation, id_, body = map(part, row[2::2], row[3::2])
        found.append(Entity(EntityKind(row[0]), conversation.decode(), id_.decode(), body))
    return tuple(found)


def operations(batch: ctypes.c_void_p) -> tuple[Operation, ...]:
    """The operations of a batch."""
    count = ctypes.c_size_t()
    c.library.tl_batch_operations(batch, ctypes.byref(count))
    block, part = _block(batch)
    found = []
    for row in _OPERATION.iter_unpack(block[:count.value * _OPERATION.size]):
        id_, number, state, waiting, attempts, permille, retry_ms = row[:7]
        (verb, conversation, message, client_id, request, result, code,
         text) = map(part, row[7::2], row[8::2])
        found.append(Operation(
            id_, number or None, OperationState(state), OperationWait(waiting), attempts,
            permille, None if retry_ms < 0 else retry_ms, verb.decode(), conversation.decode(),
            message.decode(), client_id.decode(), request, result, code.decode(),
            text.decode(errors="replace")))
    return tuple(found)


def conversations(batch: ctypes.c_void_p) -> tuple[Conversation, ...]:
    """The conversations of a batch, each with its last message."""
    count = ctypes.c_size_t()
    rows = c.library.tl_batch_conversations(batch, ctypes.byref(count))
    block, part = _block(batch)
    found = []
    for row in _CONVERSATION.iter_unpack(block[:count.value * _CONVERSATION.size]):
        number, flags, members, unread, activity_us = row[:5]
        (id_, title, body, last_read, draft, reply_to,
         typing) = map(part, row[5:19:2], row[6:19:2])
        # The records stand at the start of the block, and so tell its address.
        last: Optional[Message] = None
        if row[19]:
            last = _message(_MESSAGE.unpack_from(block, row[19] - rows), part)
        found.append(Conversation(
            number, ConversationFlags(flags), members, unread, activity_us, id_.decode(),
            title.decode(), body, last_read.decode() or None, draft, reply_to.decode() or None,
            typing, last))
    return tuple(found)


def diff(out: ctypes._Pointer[c.Diff]) -> Diff:
    """A difference, which is released."""
    try:
        value = out.contents
        return Diff(
            value.from_version, value.to_version, value.checksum, value.row_count,
            tuple(Op(OpKind(op.kind), op.row, op.from_, op.count)
                  for op in value.ops[:value.op_count]))
    finally:
        c.library.tl_diff_free(out)
