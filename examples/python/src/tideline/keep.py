"""How much is kept: budgets, purges, what is stored; and ways in and out."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import io
import json
import logging
import os
from collections.abc import Callable
from typing import Any, BinaryIO

from . import _library as c
from .errors import NotFoundError, Status, check
from .find import Work

_log = logging.getLogger("tideline")


@dataclasses.dataclass(frozen=True)
class Budget:
    """How much is kept; 0 is no bound. With ``untold`` a message stays until who follows the feed
    has asked for what comes behind the entry that tells of it."""

    messages: int = 0
    bytes: int = 0
    messages_each: int = 0
    bytes_each: int = 0
    age_us: int = 0
    young_us: int = 0
    untold: bool = False


@dataclasses.dataclass(frozen=True)
class Room:
    """What is stored, and what was purged. ``over``: what has to stay takes more than the budget;
    ``counted``: all that is stored is in these numbers."""

    messages: int
    bytes: int
    purged_messages: int
    purged_bytes: int
    free_bytes: int
    counted: bool
    over: bool


@dataclasses.dataclass(frozen=True)
class Imported:
    """How far an import is: lines that were passed, messages that were new, and that were here or
    deleted, lines of no use, and where its source goes on."""

    lines: int
    inserted: int
    known: int
    bad: int
    offset: int
    done: bool


#: Members of a message that are not of its payload, in the form of ``lines_by_id``.
_OF_A_MESSAGE = frozenset({
    "sender_id", "created_at", "edited_at", "version", "client_id", "reply_to", "reactions",
    "pinned", "deleted", "moderated", "kind", "read_by", "delivered_by", "listened_by", "seq",
    "prev_id", "attachment", "metadata"})


def lines_by_id(source: bytes) -> bytes:
    """JSON lines of messages for a cache that keeps one JSON object a conversation: message ids to
    payloads.

    Members of a payload that the protocol has in the message, such as ``sender_id``, ``created_at``
    and ``reactions``, go there; the rest is the payload, or its member ``payload`` where it has
    one. A message without sender or time is left to the import, which says that it is of no use.

    Raises:
        ValueError: The source is no JSON object.
    """
    try:
        messages = json.loads(source)
    except ValueError as error:
        raise ValueError(f"the source is not JSON: {error}") from None
    if not isinstance(messages, dict):
        raise ValueError(  # noqa: TRY004
            "the source is not one JSON object of message ids to payloads")
    return b"".join([_line(id, value) for id, value in messages.items()])


def _line(id: str, value: Any) -> bytes:
    message: dict[str, Any] = {"message_id": id, "payload": value}
    if isinstance(value, dict):
        rest = {name: one for name, one in value.items() if name not in _OF_A_MESSAGE}
        message["payload"] = rest.get("payload", rest)
        message |= {name: one for name, one in value.items() if name in _OF_A_MESSAGE}
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class Keeps:
    """How much a client keeps, and what it takes in and gives away."""

    _handle: ctypes.c_void_p

    def retain(self, budget: Budget | None) -> None:
        """Sets how much is kept until the client is closed; ``None`` keeps all."""
        if budget is None:
            check(c.library.tl_client_retain(self._handle, None))
            return
        told = c.Budget(
            ctypes.sizeof(c.Budget), int(budget.untold), budget.messages, budget.bytes,
            budget.messages_each, budget.bytes_each, budget.age_us, budget.young_us)
        check(c.library.tl_client_retain(self._handle, ctypes.byref(told)))

    def purge(self) -> Work:
        """Gives the work that keeps the budget now."""
        handle = ctypes.c_void_p()
        check(c.library.tl_client_purge(self._handle, ctypes.byref(handle)))
        return Work(self, handle)

    def room(self, conversation: str = "") -> Room:
        """What is stored of a conversation, or of all of them."""
        name = conversation.encode()
        out = c.Room(struct_size=ctypes.sizeof(c.Room))
        check(c.library.tl_client_room(self._handle, c.view(name), ctypes.byref(out)))
        return Room(
            out.messages, out.bytes, out.purged_messages, out.purged_bytes, out.free_bytes,
            bool(out.flags & 1), bool(out.flags & 2))

    def import_messages(
        self, source: str | os.PathLike[str] | bytes | BinaryIO, name: str,
        conversation: str = "", *, array: bool = False, by_id: bool = False, read: bool = False,
        again: bool = False,
    ) -> Work:
        """Gives the work that takes in messages of an older cache. Another work of the same name
        goes on where this one ends.

        Args:
            source: A path, the bytes themselves, or a binary file that can seek: JSON lines.
            name: By which the import is known after a restart.
            conversation: Of messages that name none.
            array: The source is one JSON array.
            by_id: The source is one JSON object of a conversation, message ids to payloads, as
                ``lines_by_id`` describes; it is read whole. Where it has changed meanwhile, say
                ``again``.
            read: What others wrote is taken as read.
            again: Begins anew, however far the import is.

        Raises:
            ValueError: With ``by_id``, where the source is no JSON object.
        """
        file: Any = source
        if isinstance(source, bytes):
            file = io.BytesIO(source)
        elif isinstance(source, (str, os.PathLike)):
            # Open as long as the work reads from it.
            file = open(source, "rb")  # noqa: SIM115
        if by_id:
            with contextlib.closing(file):
                file = io.BytesIO(lines_by_id(file.read()))
        texts = name.encode(), conversation.encode()
        function = _reader(file)
        told = c.Import(
            ctypes.sizeof(c.Import), array | read << 1 | again << 2, c.view(texts[0]),
            c.view(texts[1]), file.seek(0, io.SEEK_END), function)
        handle = ctypes.c_void_p()
        check(c.library.tl_client_import(
            self._handle, ctypes.byref(told), ctypes.byref(handle)))
        return Work(self, handle, function)

    def imported(self, name: str) -> Imported | None:
        """How far an import is; None where nothing is known of it."""
        text = name.encode()
        out = c.Imported(struct_size=ctypes.sizeof(c.Imported))
        try:
            check(c.library.tl_client_imported(self._handle, c.view(text), ctypes.byref(out)))
        except NotFoundError:
            return None
        return Imported(
            out.lines, out.inserted, out.known, out.bad, out.offset, bool(out.flags & 1))

    def import_bad(self, name: str) -> dict[int, str]:
        """Lines of an import that are of no use, by number, and why."""
        text = name.encode()
        found: dict[int, str] = {}
        last = 0
        while True:
            batch = ctypes.c_void_p()
            status = check(c.library.tl_client_import_bad(
                self._handle, c.view(text), last, 1_000, ctypes.byref(batch)))
            if status == Status.NONE:
                return found
            try:
                count = ctypes.c_size_t()
                place = c.library.tl_batch_bad_lines(batch, ctypes.byref(count))
                for line in (c.BadLine * count.value).from_address(place):
                    reason = ctypes.string_at(line.reason.data, line.reason.size).decode()
                    last = line.number
                    found[last] = reason
            finally:
                c.library.tl_batch_free(batch)

    def export(self, conversation: str, write: Callable[[bytes], object]) -> Work:
        """Gives the work that writes the stored messages of a conversation as JSON lines; ``write``
        is handed whole lines."""
        def hook(_: object, lines: c.View) -> int:
            try:
                write(ctypes.string_at(lines.data, lines.size))
                return int(Status.OK)
            except Exception:  # noqa: BLE001
                _log.exception("the function of an export failed")
                return int(Status.STORAGE)

        text = conversation.encode()
        function = c.ExportWrite(hook)
        told = c.Export(ctypes.sizeof(c.Export), 0, c.view(text), function)
        handle = ctypes.c_void_p()
        check(c.library.tl_client_export(
            self._handle, ctypes.byref(told), ctypes.byref(handle)))
        return Work(self, handle, function)

    def backup(self, path: str | os.PathLike[str]) -> Work:
        """Gives the work that copies the file, as it is now, to ``path``: beside all other calls,
        and never over another file. The copy opens with the same keys."""
        text = os.fsencode(path)
        handle = ctypes.c_void_p()
        check(c.library.tl_client_backup(self._handle, c.view(text), ctypes.byref(handle)))
        return Work(self, handle)

    def check(self, heal: bool = False) -> Work:
        """Gives the work that decrypts each page of the file; ``work.checked()`` says what it has
        found. With ``heal`` its last step writes what can be read over a damaged file."""
        handle = ctypes.c_void_p()
        check(c.library.tl_client_check(self._handle, heal, ctypes.byref(handle)))
        return Work(self, handle)

    def rekey(self, erase: str = "") -> Work:
        """Erases a conversation, and gives the work that seals the file anew under a new data key.
        The same keys open it. When it is done, none opens what was erased; ``work.receipt()`` says
        what that was."""
        text = erase.encode()
        handle = ctypes.c_void_p()
        check(c.library.tl_client_rekey(self._handle, c.view(text), ctypes.byref(handle)))
        return Work(self, handle)


def _reader(file: BinaryIO) -> Any:
    def hook(_: object, offset: int, out: int, size: int,
             got: ctypes._Pointer[ctypes.c_size_t]) -> int:
        try:
            file.seek(offset)
            part = file.read(size)
            ctypes.memmove(out, part, len(part))
            got[0] = ctypes.c_size_t(len(part))
            return int(Status.OK)
        except Exception:  # noqa: BLE001
            _log.exception("the source of an import failed")
            return int(Status.STORAGE)

    return c.ImportRead(hook)
