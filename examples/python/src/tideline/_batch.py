"""Batches as Python values: one copy of the block, then slices of it."""

from __future__ import annotations

import collections
import ctypes
import dataclasses
import itertools
import struct
from collections.abc import Callable
from typing import Any, TypeVar

from . import _library as c
from .errors import check
from .operations import Operation, OperationState, OperationWait
from .values import (
    Action,
    Change,
    ChangeKind,
    Coverage,
    Entity,
    EntityKind,
    Event,
    EventKind,
    Gap,
    Message,
    MessageFlags,
    MessageState,
    Origin,
    Page,
    Quarantined,
    Stop,
)
from .views import Conversation, ConversationFlags, Diff, Item, ItemFlags, Op, OpKind

# `tl_message` and its fellows, each view as an address and a size.
_MESSAGE = struct.Struct(c.RECORDS["tl_message"])
_CHANGE = struct.Struct(c.RECORDS["tl_change"])
_EVENT = struct.Struct(c.RECORDS["tl_event"])
_QUARANTINED = struct.Struct(c.RECORDS["tl_quarantined"])
_ENTITY = struct.Struct(c.RECORDS["tl_entity"])
_OPERATION = struct.Struct(c.RECORDS["tl_operation"])
_CONVERSATION = struct.Struct(c.RECORDS["tl_conversation"])


class _Block:
    """The bytes of a batch, and the address at which the library had them."""

    __slots__ = ("base", "bytes")

    def __init__(self, content: bytes, base: int) -> None:
        self.bytes = content
        self.base = base


class _Members(dict[int, Any]):
    """The members of an enumeration: asking it for one takes longer than all else of a field."""

    def __init__(self, kind: Callable[[int], Any]) -> None:
        self._kind = kind

    def __missing__(self, value: int) -> Any:
        member = self[value] = self._kind(value)
        return member


_FLAGS = _Members(MessageFlags)
_STATES = _Members(MessageState)
_STOPS = _Members(Stop)


class _Field:
    """A field of a message that was not read yet: the first that is read makes all of them."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, message: _Row | None, owner: type) -> Any:
        if message is None:
            return self
        values = message.__dict__
        _fill(values, *message._source)
        return values[self.name]


def _fill(values: dict[str, Any], block: _Block, place: int) -> None:
    content, base = block.bytes, block.base
    (number, time_us, state, flags, id_, id_size, conversation, conversation_size, sender,
     sender_size, stamp, stamp_size, payload, payload_size, reply_to, reply_to_size, reactions,
     reactions_size, read_by, read_by_size, rest, rest_size, delivered_by, delivered_by_size,
     listened_by, listened_by_size, sequence, operation, upload_permille, _, edited_us, client_id,
     client_id_size) = _MESSAGE.unpack_from(content, place)
    id_ -= base
    conversation -= base
    sender -= base
    stamp -= base
    payload -= base
    values["number"] = number
    values["time_us"] = time_us
    values["flags"] = _FLAGS[flags]
    values["id"] = str(content[id_:id_ + id_size], "utf-8")
    values["conversation"] = str(content[conversation:conversation + conversation_size], "utf-8")
    values["sender"] = str(content[sender:sender + sender_size], "utf-8")
    values["stamp"] = str(content[stamp:stamp + stamp_size], "utf-8")
    values["payload"] = content[payload:payload + payload_size]
    values["reply_to"] = (
        str(content[reply_to - base:reply_to - base + reply_to_size], "utf-8")
        if reply_to_size else None)
    values["reactions_json"] = (
        content[reactions - base:reactions - base + reactions_size] if reactions_size else b"")
    values["read_by_json"] = (
        content[read_by - base:read_by - base + read_by_size] if read_by_size else b"")
    values["rest"] = content[rest - base:rest - base + rest_size] if rest_size else b""
    values["delivered_by_json"] = (
        content[delivered_by - base:delivered_by - base + delivered_by_size]
        if delivered_by_size else b"")
    values["listened_by_json"] = (
        content[listened_by - base:listened_by - base + listened_by_size]
        if listened_by_size else b"")
    values["sequence"] = sequence
    values["state"] = _STATES[state]
    values["operation"] = operation or None
    values["upload_permille"] = upload_permille
    values["edited_us"] = edited_us or None
    values["client_id"] = (
        str(content[client_id - base:client_id - base + client_id_size], "utf-8")
        if client_id_size else None)


class _Row(Message):
    """A message as it lies in a batch; one that nobody looks at is not made."""

    __slots__ = ("_source",)
    _source: tuple[_Block, int]

    number = _Field()
    time_us = _Field()
    flags = _Field()
    id = _Field()
    conversation = _Field()
    sender = _Field()
    stamp = _Field()
    payload = _Field()
    reply_to = _Field()
    reactions_json = _Field()
    read_by_json = _Field()
    rest = _Field()
    delivered_by_json = _Field()
    listened_by_json = _Field()
    sequence = _Field()
    state = _Field()
    operation = _Field()
    upload_permille = _Field()
    edited_us = _Field()
    client_id = _Field()

    # It is made of nothing but its place in the block; to all others it is a message, so what is
    # made of its fields, as by `dataclasses.replace`, is one.
    __init__ = object.__init__
    __class__ = Message  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return _fields(self) == _fields(other)

    def __hash__(self) -> int:
        return hash(_fields(self))

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return Message, _fields(self)


def _fields(message: Message) -> tuple[Any, ...]:
    return tuple([getattr(message, field.name) for field in dataclasses.fields(Message)])


_Row.__qualname__ = _Row.__name__ = "Message"
# A message is frozen, so what it is made of goes by its class.
_set_source: Callable[[Any, Any], None] = _Row._source.__set__


def _message(block: _Block, place: int) -> Message:
    message: Message = _Row()
    _set_source(message, (block, place))
    return message


def _messages(block: _Block, count: int) -> tuple[Message, ...]:
    """As many as `_message` would make one after another, without a step in Python for each."""
    made = tuple(itertools.starmap(_Row, itertools.repeat((), count)))
    sources = zip(itertools.repeat(block), range(0, count * _MESSAGE.size, _MESSAGE.size))
    collections.deque(map(_set_source, made, sources), maxlen=0)
    return made


def spaced(batch: ctypes.c_void_p, stride: int, count: int) -> tuple[Message, ...]:
    """The messages that begin the records of a batch."""
    content = _content(batch)
    return tuple([_message(content, place * stride) for place in range(count)])


def _block(batch: ctypes.c_void_p) -> tuple[bytes, Callable[[int, int], bytes]]:
    """The block's bytes, and a function that gives a view's part of them."""
    content = _content(batch)
    block, base = content.bytes, content.base

    def part(address: int, size: int) -> bytes:
        start = address - base
        return block[start:start + size] if size else b""

    return block, part


def _content(batch: ctypes.c_void_p) -> _Block:
    view = c.View()
    check(c.library.tl_batch_block(batch, ctypes.byref(view)))
    base = view.data or 0
    return _Block(ctypes.string_at(base, view.size) if view.size else b"", base)


def messages(batch: ctypes.c_void_p) -> tuple[Message, ...]:
    """The messages of a batch."""
    count = ctypes.c_size_t()
    c.library.tl_batch_rows(batch, ctypes.byref(count))
    return _messages(_content(batch), count.value)


def message_at(address: int) -> Message:
    """One message that is lent for a call, as a hook is handed it: nothing of it is kept."""
    record = ctypes.string_at(address, _MESSAGE.size)
    values = _MESSAGE.unpack(record)
    # The texts lie apart from one another: each is copied, and put behind the record.
    content, moved = bytearray(record), list(values)
    for index in [*range(4, 26, 2), len(values) - 2]:
        start, size = values[index:index + 2]
        moved[index] = len(content)
        content += ctypes.string_at(start, size) if size else b""
    content[:len(record)] = _MESSAGE.pack(*moved)
    made: dict[str, Any] = {}
    _fill(made, _Block(bytes(content), 0), 0)
    return Message(**made)


def items(batch: ctypes.c_void_p) -> tuple[Item, ...]:
    """The items of a batch."""
    count = ctypes.c_size_t()
    found = c.library.tl_batch_items(batch, ctypes.byref(count))
    if not found:
        return ()
    rows = ctypes.cast(found, ctypes.POINTER(c.Item))[:count.value]
    return tuple([
        Item(
            row.key, ItemFlags(row.flags), row.row, row.row_count,
            None if row.range == c.ITEM_NONE else row.range, row.place, row.group_count,
            None if row.day == c.NO_DAY else row.day, row.gap_us, row.number, row.bits)
        for row in rows])


def page(batch: ctypes.c_void_p) -> Page:
    """The messages of a batch with their coverage."""
    told = c.Coverage(_COVERAGE_SIZE)
    check(c.library.tl_batch_coverage(batch, ctypes.byref(told)))
    gaps = tuple([
        Gap(gap.before_row, bool(gap.poisoned), gap.low_us, gap.high_us)
        for gap in told.gaps[:told.gap_count]]) if told.gap_count else ()
    total = told.total_count
    return _made(Page, messages=messages(batch), coverage=_made(
        Coverage, whole=told.whole != 0, stop=_STOPS[told.stop], gaps=gaps,
        deletions_as_of_us=told.deletions_as_of_us, content_as_of_us=told.content_as_of_us,
        total_count=None if total < 0 else total, known_count=told.known_count,
        marks_as_of_us=told.marks_as_of_us, stale_count=told.stale_count,
        as_of_entry=ctypes.string_at(told.as_of_entry.data, told.as_of_entry.size).decode()
        if told.as_of_entry.size else ""))


_COVERAGE_SIZE = ctypes.sizeof(c.Coverage)
_Value = TypeVar("_Value")


def _made(kind: type[_Value], **fields: Any) -> _Value:
    """A frozen value with all its fields: its own constructor sets each of them by a call."""
    value = object.__new__(kind)
    value.__dict__.update(fields)
    return value


def changes(batch: ctypes.c_void_p) -> tuple[Change, ...]:
    """The changes of a batch."""
    count = ctypes.c_size_t()
    c.library.tl_batch_changes(batch, ctypes.byref(count))
    block, part = _block(batch)
    return tuple(
        Change(seq, ChangeKind(kind), first, last, part(address, size).decode(),
               bool(flags & c.TL_CHANGE_SILENT), bool(flags & c.TL_CHANGE_NOTIFY), Origin(origin))
        for seq, kind, flags, first, last, address, size, origin, _
        in _CHANGE.iter_unpack(block[:count.value * _CHANGE.size]))


def events(batch: ctypes.c_void_p) -> tuple[Event, ...]:
    """The events of a batch."""
    count = ctypes.c_size_t()
    c.library.tl_batch_events(batch, ctypes.byref(count))
    block, part = _block(batch)
    found = []
    for row in _EVENT.iter_unpack(block[:count.value * _EVENT.size]):
        seq, kind, action, flags = row[:4]
        conversation, entity, body, id_ = map(part, row[5::2], row[6::2])
        found.append(Event(
            seq, EventKind(kind), Action(action), conversation.decode(), entity.decode(), body,
            bool(flags & c.TL_CHANGE_SILENT), id_.decode()))
    return tuple(found)


def quarantined(batch: ctypes.c_void_p) -> tuple[Quarantined, ...]:
    """The quarantined items of a batch."""
    count = ctypes.c_size_t()
    c.library.tl_batch_quarantined(batch, ctypes.byref(count))
    block, part = _block(batch)
    found = []
    for row in _QUARANTINED.iter_unpack(block[:count.value * _QUARANTINED.size]):
        seq, flags, _, low, high, size = row[:6]
        conversation, reason, item = map(part, row[6:12:2], row[7:12:2])
        found.append(Quarantined(
            seq, conversation.decode(), reason.decode(), item, size, low, high,
            bool(flags & c.TL_QUARANTINED_CUT)))
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
    c.library.tl_batch_conversations(batch, ctypes.byref(count))
    block, part = _block(batch)
    content = _content(batch)
    found = []
    for row in _CONVERSATION.iter_unpack(block[:count.value * _CONVERSATION.size]):
        number, flags, members, unread, activity_us = row[:5]
        (id_, title, body, last_read, draft, reply_to,
         typing) = map(part, row[5:19:2], row[6:19:2])
        last = _message(content, row[19] - content.base) if row[19] else None
        client_id = part(row[20], row[21]).decode()
        found.append(Conversation(
            number, ConversationFlags(flags), members, unread, activity_us, id_.decode(),
            title.decode(), body, last_read.decode() or None, draft, reply_to.decode() or None,
            typing, last, client_id or None))
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
