"""What the user does: the part of a client that ``Client`` inherits."""

from __future__ import annotations

import contextlib
import ctypes
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _batch
from . import _library as c
from .errors import Status, check
from .operations import Operation, Performed, Typing

Request = Mapping[str, Any] | str | bytes


def _json(value: Any) -> bytes:
    """A JSON value as bytes; bytes are taken for JSON already."""
    if isinstance(value, bytes):
        return value
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _object(value: Request) -> bytes:
    """A JSON object as bytes; text is taken for JSON already."""
    return value.encode() if isinstance(value, str) else _json(value)


class Acts:
    """Operations, drafts, typing and marks. The names are those of the header."""

    _handle: ctypes.c_void_p
    _kept: Callable[[], contextlib.AbstractContextManager[None]]

    def perform(self, request: Request, *, upload: bool = False) -> Performed:
        """Does one thing for the user: at once here, on the server when it can.

        Args:
            request: A request of the protocol: ``{"type": "edit_message", ...}`` or its JSON.
            upload: The attachment is still to be uploaded; wait for ``operation_uploaded``.
        """
        text = _object(request)
        operation, number = ctypes.c_uint64(), ctypes.c_uint64()
        with self._kept():
            check(c.library.tl_client_perform(
                self._handle, c.view(text), int(upload), ctypes.byref(operation),
                ctypes.byref(number)))
        return Performed(operation.value, number.value or None)

    def send(
        self, conversation: str, payload: Any, *, reply_to: str = "", attachment: Any = None,
        metadata: Any = None, client_id: str = "", upload: bool = False,
    ) -> Performed:
        """Sends a message. ``payload`` is a JSON value; bytes are taken for JSON already."""
        texts = [conversation.encode(), _json(payload), reply_to.encode(),
                 b"" if attachment is None else _json(attachment),
                 b"" if metadata is None else _json(metadata), client_id.encode()]
        views = [c.view(text) for text in texts]
        request = c.Send(ctypes.sizeof(c.Send), int(upload), *views)
        operation, number = ctypes.c_uint64(), ctypes.c_uint64()
        with self._kept():
            check(c.library.tl_client_send(
                self._handle, ctypes.byref(request), ctypes.byref(operation),
                ctypes.byref(number)))
        return Performed(operation.value, number.value or None)

    def operations(
        self, conversation: str = "", *, open_only: bool = False, after: int = 0, limit: int = 0,
    ) -> tuple[Operation, ...]:
        """Reads operations, oldest first: of one conversation, or all. Marks are not among them."""
        text, batch = conversation.encode(), ctypes.c_void_p()
        query = c.OperationQuery(
            struct_size=ctypes.sizeof(c.OperationQuery), flags=int(open_only),
            conversation=c.view(text), after=after, limit=limit)
        status = check(c.library.tl_client_operations(
            self._handle, ctypes.byref(query), ctypes.byref(batch)))
        if status == Status.NONE:
            return ()
        try:
            return _batch.operations(batch)
        finally:
            c.library.tl_batch_free(batch)

    def operation(self, id: int) -> Operation:
        """Reads one operation; NotFoundError when there is none."""
        batch = ctypes.c_void_p()
        check(c.library.tl_client_operation(self._handle, id, ctypes.byref(batch)))
        try:
            return _batch.operations(batch)[0]
        finally:
            c.library.tl_batch_free(batch)

    def operation_retry(self, id: int) -> bool:
        """Tries a refused or unknown operation again, or a queued one at once. False when it is
        under way or sent."""
        return check(c.library.tl_operation_retry(self._handle, id)) == Status.OK

    def operation_cancel(self, id: int) -> bool:
        """Drops an operation with all that wait for it. False when it is in flight or sent."""
        return check(c.library.tl_operation_cancel(self._handle, id)) == Status.OK

    def operation_edit(self, id: int, members: Request) -> bool:
        """Puts members such as ``payload`` in the place of those of a queued or refused operation.
        False when it is in flight or sent."""
        text = _object(members)
        with self._kept():
            return check(c.library.tl_operation_edit(self._handle, id, c.view(text))) == Status.OK

    def operation_progress(self, id: int, permille: int) -> bool:
        """Says how far the upload of an attachment is. False when it waits for none."""
        return check(c.library.tl_operation_progress(self._handle, id, permille)) == Status.OK

    def operation_uploaded(self, id: int, attachment: Any = None) -> bool:
        """Says that an attachment is uploaded, and what it is now. False when it waits for none."""
        text = b"" if attachment is None else _json(attachment)
        return check(c.library.tl_operation_uploaded(self._handle, id, c.view(text))) == Status.OK

    def operation_upload_failed(self, id: int, reason: str = "") -> bool:
        """Says that an upload failed for good. False when it waits for none."""
        text = reason.encode()
        return check(
            c.library.tl_operation_upload_failed(self._handle, id, c.view(text))) == Status.OK

    def reopen_payloads(self, conversation: str = "") -> int:
        """Keys have come: offers what no key was there for to the hooks again. Gives how many
        payloads opened or were sealed."""
        text, count = conversation.encode(), ctypes.c_uint64()
        with self._kept():
            check(c.library.tl_client_reopen_payloads(
                self._handle, c.view(text), ctypes.byref(count)))
        return count.value

    def typing(self, conversation: str, event: Typing = Typing.BEGIN) -> bool:
        """Tells the others that this user types. False when not connected: then it is dropped."""
        text = conversation.encode()
        return check(c.library.tl_client_typing(self._handle, c.view(text), event)) == Status.OK

    def draft(self, conversation: str, draft: str | bytes, reply_to: str = "") -> None:
        """Keeps what the user has written and not sent; an empty one is removed."""
        texts = [conversation.encode(), draft.encode() if isinstance(draft, str) else bytes(draft),
                 reply_to.encode()]
        kept = c.Draft(ctypes.sizeof(c.Draft), 0, *map(c.view, texts))
        check(c.library.tl_client_draft(self._handle, ctypes.byref(kept)))

    def mark_delivered(self, conversation: str, ids: Iterable[str]) -> None:
        """Marks messages as delivered to this device; durable when it returns."""
        self._mark(c.library.tl_client_mark_delivered, conversation, ids)

    def mark_read(self, conversation: str, ids: Iterable[str]) -> None:
        """Marks messages as read by this user; durable when it returns."""
        self._mark(c.library.tl_client_mark_read, conversation, ids)

    def mark_listened(self, conversation: str, ids: Iterable[str]) -> None:
        """Marks messages as listened to by this user; durable when it returns."""
        self._mark(c.library.tl_client_mark_listened, conversation, ids)

    def _mark(self, function: Callable[..., int], conversation: str, ids: Iterable[str]) -> None:
        text, texts = conversation.encode(), [id.encode() for id in ids]
        views = (c.View * len(texts))(*map(c.view, texts))
        check(function(self._handle, c.view(text), views, len(texts)))

    def forget(self, conversation: str, id: str) -> None:
        """Removes one message from this device only, for good."""
        texts = conversation.encode(), id.encode()
        check(c.library.tl_client_forget(self._handle, *map(c.view, texts)))
