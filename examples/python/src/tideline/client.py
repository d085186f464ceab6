"""One account's encrypted copy and its sync state."""

from __future__ import annotations

import contextlib
import ctypes
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from . import _batch
from . import _library as c
from .act import Acts
from .conversations import ConversationList
from .errors import Status, check
from .find import Finds
from .handover import HandOver
from .keep import Keeps
from .policy import ChooseFunction, policy_hook
from .slots import KeyKind, Keys, Secret, secret_bytes
from .storage import Storage
from .storage import pointer as storage_pointer
from .values import (
    Basis,
    Changes,
    Entity,
    EntityKind,
    Events,
    Frame,
    From,
    Message,
    Page,
    Phase,
    Plain,
    Policy,
    Profile,
    Quarantined,
    SealedMessage,
    State,
    Stats,
    SyncKind,
    SyncPhase,
    SyncStatus,
    Unsealed,
)
from .views import At, Conversation
from .window import Window

OpenFunction = Callable[[SealedMessage], bytes | Plain | None]
SealFunction = Callable[[Unsealed], bytes | str | None]
LogFunction = Callable[[int, str], None]
ClockFunction = Callable[[], int]

_log = logging.getLogger("tideline")
_FROM_C = {1: logging.ERROR, 2: logging.WARNING, 3: logging.INFO, 4: logging.DEBUG}

KEY_BYTES = 32
#: In ``hold_ms``: every gap is drawn at once.
HOLD_NONE = c.HOLD_NONE
_QUERY_SIZE = ctypes.sizeof(c.Query)


def _bytes(view: c.View) -> bytes:
    return ctypes.string_at(view.data, view.size) if view.size else b""


class Client(Acts, Finds, HandOver, Keeps, Keys):
    """A client on an encrypted file, or in memory.

    Any method may be called from any thread. The client opens no socket and starts no thread: say
    what happened (``connected``, ``receive``, ``advance``), send what ``frames`` gives, and read.
    ``fileno`` is readable when there is news, so a client can be registered with ``selectors`` or
    an asyncio loop.

    A client belongs to the process that made it. In a forked child (``os.fork``,
    ``multiprocessing``) each call raises InvalidError, ``close`` does nothing, and so does letting
    the object go.

    Args:
        path: The file, or the name in ``storage``; None to keep everything in memory.
        key: What ``key_kind`` says; None in memory.
        key_kind: Exactly 32 random bytes, a passphrase or a recovery code.
        user_id: The user's id on the server; bound to the file.
        account: The name of the account; bound to the file.
        profile: What is known of the server.
        existing: Fail with NotFoundError instead of creating the file.
        strict: Refuse a file whose log has a rejected tail.
        fresh: Refuse a file that lacks commits, with DamagedError; else ``State.log_lost`` and
            ``State.older`` say so.
        commit_seq: The greatest ``State.commit_seq`` that was kept outside of the file.
        auto_mark_read: Messages of others that were on a screen for ``seen_ms`` are marked read:
            what ``Window.show`` says, and nothing else.
        catch_up_all: Each connection catches up with all conversations that are known here, with
            the newest page of each; a new file knows none.
        auto_mark_delivered: Messages of others that arrive are marked delivered.
        seal: Seals payloads: gives the JSON value that goes out, or None when the key has not come.
        open: Opens payloads: gives the plaintext, a Plain, or None when the key has not come.
        log: Takes a ``logging`` level and a line; the logger "tideline" does by default.
        clock: Gives a monotonic time in milliseconds, for tests and replay.
        storage: Keeps the sealed bytes in the place of a file.
        choose: Gives the policy of what is asked with ``Policy.HOST``.
        device: The server's name of this login; needed with ``IdempotencyScope.DEVICE``.
        trace: Keeps in the file what changed messages, for ``explain``; an opening without it
            drops that.
        trace_max: How many changes are kept; 0 is 10,000.

    Raises:
        TidelineError: one of its kinds; see ``tl_client_open`` in the header.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, key: Secret | None = None, *,
        user_id: str, key_kind: KeyKind = KeyKind.RAW, account: str = "",
        profile: Profile | None = None,
        existing: bool = False, strict: bool = False, auto_mark_read: bool = False,
        auto_mark_delivered: bool = False, cache_bytes: int = 0, request_timeout_ms: int = 0,
        requests_max: int = 0, seen_ms: int = 0, catch_up_all: bool = False,
        open: OpenFunction | None = None, seal: SealFunction | None = None,
        log: LogFunction | None = None, clock: ClockFunction | None = None,
        storage: Storage | None = None, choose: ChooseFunction | None = None,
        device: str = "", fresh: bool = False, commit_seq: int = 0, trace: bool = False,
        trace_max: int = 0,
    ) -> None:
        self._handle = ctypes.c_void_p()
        self._plain = threading.local()
        if key is not None and key_kind == KeyKind.RAW and not isinstance(key, bytes):
            raise TypeError(
                f"the key is {KEY_BYTES} random bytes, of type bytes, "
                f"and not {type(key).__name__}; tideline.key_file(path) makes and reads one")
        texts = [os.fsencode(path) if path is not None else b"", secret_bytes(key),
                 account.encode(), user_id.encode(), device.encode()]
        flags = ((path is None) | existing << 1 | strict << 2 | auto_mark_read << 3
                 | auto_mark_delivered << 4 | catch_up_all << 5 | fresh << 6 | trace << 7)
        config = c.ClientConfig(
            struct_size=ctypes.sizeof(c.ClientConfig), flags=flags, path=c.view(texts[0]),
            key=c.view(texts[1]), account=c.view(texts[2]), user_id=c.view(texts[3]),
            device=c.view(texts[4]),
            cache_bytes=cache_bytes, request_timeout_ms=request_timeout_ms,
            requests_max=requests_max, seen_ms=seen_ms, key_kind=key_kind,
            commit_seq=commit_seq, trace_max=trace_max)
        if profile is not None:
            texts.append(profile.search_members.encode())
            config.profile = ctypes.pointer(_profile(profile, texts[-1]))
        # The library calls these for as long as it lives, so they are kept here.
        self._hooks = [self._log_hook(log)]
        config.log = self._hooks[0]
        if open is not None:
            self._hooks.append(self._open_hook(open))
            config.open = self._hooks[-1]
        if seal is not None:
            self._hooks.append(self._seal_hook(seal))
            config.seal = self._hooks[-1]
        if clock is not None:
            self._hooks.append(c.ClockHook(lambda _: clock()))
            config.clock = self._hooks[-1]
        if choose is not None:
            self._hooks.append(policy_hook(choose))
            config.choose = self._hooks[-1]
        is_file = path is not None and storage is None
        self._path = os.path.abspath(texts[0]) if is_file else None
        self._storage, config.storage = storage_pointer(storage)
        check(c.library.tl_client_open(ctypes.byref(config), ctypes.byref(self._handle)))

    # Ends.

    def close(self) -> None:
        """Flushes, wipes the key and fails every later call. Safe twice and while others wait."""
        c.library.tl_client_close(self._handle)

    def wipe(self) -> None:
        """Destroys the data for good and closes the client: for log-out."""
        check(c.library.tl_client_wipe(self._handle))

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # No call can be running: each holds a reference to this object.
        handle, self._handle = getattr(self, "_handle", None), ctypes.c_void_p()
        if handle:
            c.library.tl_client_free(handle)

    # Turn.

    def connected(self) -> None:
        """Says that a connection to the server stands and is authenticated."""
        check(c.library.tl_client_connected(self._handle))

    def disconnected(self) -> None:
        """Says that the connection is gone."""
        check(c.library.tl_client_disconnected(self._handle))

    def connection_dead(self) -> None:
        """Says that nothing sent on an earlier connection reaches the server any more."""
        check(c.library.tl_client_connection_dead(self._handle))

    def receive(self, frame: bytes | str) -> Status:
        """Hands in one frame from the server. Gives OK, IGNORED or QUARANTINED, of which
        ``last_error`` says why."""
        data = frame.encode() if isinstance(frame, str) else bytes(frame)
        with self._kept():
            return check(c.library.tl_client_receive(self._handle, c.view(data)))

    def next_frame(self) -> Frame | None:
        """Takes the next frame to send, or None; then ``fileno`` is quiet again."""
        out = ctypes.POINTER(c.Frame)()
        status = check(c.library.tl_client_next_frame(self._handle, ctypes.byref(out)))
        if status == Status.NONE:
            return None
        try:
            return Frame(out.contents.id, _bytes(out.contents.bytes))
        finally:
            c.library.tl_frame_free(out)

    def frames(self) -> Iterator[Frame]:
        """Takes frames until there are none; tell ``frame_sent`` of each that was written."""
        while (frame := self.next_frame()) is not None:
            yield frame

    def frame_sent(self, id: int) -> bool:
        """Says that a frame was written. False for one that is not known."""
        return check(c.library.tl_client_frame_sent(self._handle, id)) == Status.OK

    def advance(self) -> int | None:
        """Runs timers that are due. Gives the milliseconds until the next call is due, or None."""
        wait = ctypes.c_int64()
        check(c.library.tl_client_advance(self._handle, ctypes.byref(wait)))
        return None if wait.value < 0 else wait.value

    def fileno(self) -> int:
        """The descriptor that is readable when there is news. Poll it, never read it."""
        out = ctypes.c_int32()
        check(c.library.tl_client_event_fd(self._handle, ctypes.byref(out)))
        return out.value

    def state(self) -> State:
        """The client's overall state."""
        out = c.State(struct_size=ctypes.sizeof(c.State))
        check(c.library.tl_client_state(self._handle, ctypes.byref(out)))
        return State(
            Phase(out.phase), out.syncs_left, out.requests_in_flight, out.frames_waiting,
            bool(out.reconnect_wanted), out.reads_pending, out.change_seq, out.as_of_us,
            out.replies_owed, out.operations_open, out.operations_stuck, out.commit_seq,
            bool(out.flags & c.TL_STATE_LOG_LOST), bool(out.flags & c.TL_STATE_OLDER))

    def sync(
        self, conversation: str = "", kind: SyncKind = SyncKind.LATEST,
        policy: Policy = Policy.CACHE_THEN_NETWORK, *, want: int = 0, pages_max: int = 0,
        mark_read: bool = False, limit_ms: int = 0, age_us: int = 0,
    ) -> int:
        """Asks for a conversation, or the list of them, to be synced; gives the sync's number.

        With ``mark_read`` messages of others on its pages are marked read. ``limit_ms`` and
        ``age_us`` are of the policy.
        """
        text = conversation.encode()
        request = c.SyncRequest(
            struct_size=ctypes.sizeof(c.SyncRequest), flags=int(mark_read),
            conversation=c.view(text), kind=kind, policy=policy, want=want, pages_max=pages_max,
            limit_ms=limit_ms, age_us=age_us)
        number = ctypes.c_uint64()
        check(c.library.tl_client_sync(
            self._handle, ctypes.byref(request), ctypes.byref(number)))
        return number.value

    def cancel(self, sync: int) -> bool:
        """Cancels a sync. False when it had ended."""
        return check(c.library.tl_client_cancel(self._handle, sync)) == Status.OK

    def sync_status(self, sync: int) -> SyncStatus:
        """How a sync went."""
        out = c.SyncStatus(struct_size=ctypes.sizeof(c.SyncStatus))
        check(c.library.tl_client_sync_status(self._handle, sync, ctypes.byref(out)))
        return SyncStatus(
            SyncPhase(out.phase), Status(out.result), out.requests, out.received, out.inserted,
            out.removed, out.done, out.total, Basis(out.basis), Status(out.reason), out.as_of_us,
            out.step_back_us)

    # Read.

    def messages(
        self, conversation: str, from_: From = From.LATEST, *, number: int = 0, time_us: int = 0,
        limit: int = 0, descending: bool = False, pinned: bool = False,
    ) -> Page:
        """Reads messages from the cache. Never waits for the network."""
        text = conversation.encode()
        query = c.Query(
            _QUERY_SIZE, pinned, c.view(text), from_, descending, number, time_us, limit)
        batch = ctypes.c_void_p()
        check(c.library.tl_client_messages(
            self._handle, ctypes.byref(query), ctypes.byref(batch)))
        try:
            return _batch.page(batch)
        finally:
            c.library.tl_batch_free(batch)

    def message(self, conversation: str, id: str) -> Message:
        """Reads one message by id; NotFoundError when there is none."""
        texts = conversation.encode(), id.encode()
        batch = ctypes.c_void_p()
        check(c.library.tl_client_message(
            self._handle, c.view(texts[0]), c.view(texts[1]), ctypes.byref(batch)))
        try:
            return _batch.messages(batch)[0]
        finally:
            c.library.tl_batch_free(batch)

    def explain(self, conversation: str, id: str, limit: int = 0) -> dict[str, Any]:
        """Explains to a person why a message is shown or is not: ``docs/howto/explain.md`` has the
        words. ``id`` may be the client id of a send."""
        texts = conversation.encode(), id.encode()
        out = ctypes.POINTER(c.Text)()
        check(c.library.tl_client_explain(
            self._handle, c.view(texts[0]), c.view(texts[1]), limit, ctypes.byref(out)))
        try:
            told: dict[str, Any] = json.loads(_bytes(out.contents.bytes))
            return told
        finally:
            c.library.tl_text_free(out)

    def numbered(
            self, conversation: str, first: int, last: int,
            limit: int = 0) -> tuple[Message, ...]:
        """Reads messages by their numbers, as a change names them, in the order of numbers.

        A full answer ends early: go on behind the number of its last message.
        """
        text, batch = conversation.encode(), ctypes.c_void_p()
        check(c.library.tl_client_numbered(
            self._handle, c.view(text), first, last, limit, ctypes.byref(batch)))
        try:
            return _batch.messages(batch)
        finally:
            c.library.tl_batch_free(batch)

    def changes(self, after: int = 0, limit: int = 0) -> Changes:
        """Pulls committed changes with a greater ``seq`` than ``after``."""
        batch = ctypes.c_void_p()
        status = check(c.library.tl_client_changes(
            self._handle, after, limit, ctypes.byref(batch)))
        if status != Status.OK:
            return Changes((), status == Status.RESYNC)
        try:
            return Changes(_batch.changes(batch))
        finally:
            c.library.tl_batch_free(batch)

    def events(self, after: int = 0, limit: int = 0) -> Events:
        """Pulls what the server told that is not a message, with a greater ``seq``."""
        batch = ctypes.c_void_p()
        status = check(c.library.tl_client_events(
            self._handle, after, limit, ctypes.byref(batch)))
        if status != Status.OK:
            return Events((), status == Status.RESYNC)
        try:
            return Events(_batch.events(batch))
        finally:
            c.library.tl_batch_free(batch)

    def quarantined(
            self, conversation: str = "", after: int = 0,
            limit: int = 0) -> tuple[Quarantined, ...]:
        """Reads items that could not be applied, with a greater ``seq``, oldest first."""
        text, batch = conversation.encode(), ctypes.c_void_p()
        status = check(c.library.tl_client_quarantined(
            self._handle, c.view(text), after, limit, ctypes.byref(batch)))
        if status == Status.NONE:
            return ()
        try:
            return _batch.quarantined(batch)
        finally:
            c.library.tl_batch_free(batch)

    def entities(
        self, kind: EntityKind, conversation: str = "", *, id: str = "",
        after: Entity | None = None, limit: int = 0,
    ) -> tuple[Entity, ...]:
        """Reads conversations, members or profiles from the cache, in pages: ``after`` is the
        last one of the page before."""
        texts = [conversation.encode(), id.encode(), b"", b""]
        if after is not None:
            texts[2:] = after.conversation.encode(), after.id.encode()
        query = c.EntityQuery(
            ctypes.sizeof(c.EntityQuery), kind, *map(c.view, texts), limit)
        batch = ctypes.c_void_p()
        status = check(c.library.tl_client_entities(
            self._handle, ctypes.byref(query), ctypes.byref(batch)))
        if status == Status.NONE:
            return ()
        try:
            return _batch.entities(batch)
        finally:
            c.library.tl_batch_free(batch)

    def conversations(self, offset: int = 0, limit: int = 0) -> tuple[Conversation, ...]:
        """Reads conversations from the cache, the last active first."""
        batch = ctypes.c_void_p()
        status = check(c.library.tl_client_conversations(
            self._handle, offset, limit, ctypes.byref(batch)))
        if status == Status.NONE:
            return ()
        try:
            return _batch.conversations(batch)
        finally:
            c.library.tl_batch_free(batch)

    def conversation(self, id: str) -> Conversation:
        """Reads one conversation, by its id or its client id; NotFoundError when there is none."""
        text, batch = id.encode(), ctypes.c_void_p()
        check(c.library.tl_client_conversation(
            self._handle, c.view(text), ctypes.byref(batch)))
        try:
            return _batch.conversations(batch)[0]
        finally:
            c.library.tl_batch_free(batch)

    # Watch.

    def window(
        self, conversation: str, at: At = At.LATEST, count: int = 0, *, id: str = "",
        time_us: int = 0, rows_max: int = 0, cache_only: bool = False, refresh: bool = True,
        hold_ms: int = 0, preload: bool = False,
        policy: Policy = Policy.CACHE_THEN_NETWORK, limit_ms: int = 0, age_us: int = 0,
    ) -> Window:
        """Opens a window on a conversation; its first ``poll`` brings what is cached.

        A gap that a catch-up under way will close is not drawn for ``hold_ms`` milliseconds, at
        most 60,000; 0 is 1,000, and ``HOLD_NONE`` draws each gap at once.
        With ``preload`` the next page is loaded when ``show`` comes near an end.
        """
        texts = conversation.encode(), id.encode()
        config = c.WindowConfig(
            struct_size=ctypes.sizeof(c.WindowConfig),
            flags=cache_only | (not refresh) << 1 | preload << 2,
            conversation=c.view(texts[0]), at=at, count=count, id=c.view(texts[1]),
            time_us=time_us, rows_max=rows_max, hold_ms=hold_ms,
            policy=policy, limit_ms=limit_ms, age_us=age_us)
        return Window(self, config)

    def conversation_list(
        self, *, rows_max: int = 0, cache_only: bool = False,
        policy: Policy = Policy.CACHE_THEN_NETWORK, limit_ms: int = 0, age_us: int = 0,
    ) -> ConversationList:
        """Opens the list of conversations; its first ``poll`` brings what is cached, as far as
        ``policy`` allows that."""
        return ConversationList(self, c.ListConfig(
            struct_size=ctypes.sizeof(c.ListConfig), flags=int(cache_only), rows_max=rows_max,
            policy=policy, limit_ms=limit_ms, age_us=age_us))

    # Keep.

    def clear(self) -> None:
        """Empties the cache. Operations, drafts, read markers and what was forgotten stay."""
        check(c.library.tl_client_clear(self._handle))

    def drop(self, conversation: str, id: str = "") -> None:
        """Takes a message, or all of a conversation, out of the cache, so that it may come anew."""
        texts = conversation.encode(), id.encode()
        check(c.library.tl_client_drop(self._handle, c.view(texts[0]), c.view(texts[1])))

    def stats(self) -> Stats:
        """Counters."""
        out = c.Stats(struct_size=ctypes.sizeof(c.Stats))
        check(c.library.tl_client_stats(self._handle, ctypes.byref(out)))
        return Stats(**{name: getattr(out, name) for name, *_ in c.Stats._fields_[1:]})

    # Hooks. An exception may not cross the library: it is logged and counts as a failure.

    @contextlib.contextmanager
    def _kept(self) -> Iterator[None]:
        """What the hooks answer on this thread stays until the call that ran them has returned."""
        self._plain.kept = []
        try:
            yield
        finally:
            self._plain.kept = []

    def _open_hook(self, function: OpenFunction) -> Any:
        plain = self._plain

        def hook(_: object, sealed: ctypes._Pointer[c.Sealed],
                 out: ctypes._Pointer[c.Opened]) -> int:
            try:
                view = sealed.contents
                answer = function(SealedMessage(
                    _bytes(view.conversation).decode(), _bytes(view.id).decode(),
                    _bytes(view.sender).decode(), _bytes(view.payload), _bytes(view.message)))
                if answer is None:
                    return int(Status.NONE)
                if not isinstance(answer, Plain):
                    answer = Plain(bytes(answer))
                plain.kept += [answer.payload, answer.searchable]
                out.contents.payload = c.view(answer.payload)
                out.contents.flags = answer.control | answer.event << 1
                out.contents.searchable = c.view(answer.searchable)
                return int(Status.OK)
            except Exception:  # noqa: BLE001
                _log.exception("the open hook failed")
                return int(Status.INVALID)

        return c.OpenHook(hook)

    def _seal_hook(self, function: SealFunction) -> Any:
        plain = self._plain

        def hook(_: object, unsealed: ctypes._Pointer[c.Unsealed],
                 out: ctypes._Pointer[c.Opened]) -> int:
            try:
                view = unsealed.contents
                answer = function(Unsealed(
                    _bytes(view.conversation).decode(), _bytes(view.client_id).decode(),
                    _bytes(view.message).decode(), _bytes(view.payload)))
                if answer is None:
                    return int(Status.NONE)
                answer = answer.encode() if isinstance(answer, str) else bytes(answer)
                plain.kept.append(answer)
                out.contents.payload = c.view(answer)
                return int(Status.OK)
            except Exception:  # noqa: BLE001
                _log.exception("the seal hook failed")
                return int(Status.INVALID)

        return c.SealHook(hook)

    def _log_hook(self, function: LogFunction | None) -> Any:
        def hook(_: object, level: int, text: ctypes._Pointer[c.View]) -> None:
            try:
                line = _bytes(text.contents).decode()
                (function or _log.log)(_FROM_C.get(level, logging.INFO), line)
            except Exception:  # noqa: BLE001
                _log.exception("the log hook failed")

        return c.LogHook(hook)


def _profile(profile: Profile, members: bytes) -> c.Profile:
    flags = (profile.page_size_varies << 1
             | profile.absence_is_deletion << 2 | profile.push_lossless << 3
             | profile.counts_hidden << 4 | profile.unknown_frames << 5
             | profile.deletions_later << 6 | profile.order_not_time << 7
             | profile.others_edit << 8)
    return c.Profile(
        struct_size=ctypes.sizeof(c.Profile), flags=flags, page_limit=profile.page_limit,
        truncates=profile.truncates, ties=profile.ties, capabilities=profile.capabilities,
        time_resolution_us=profile.time_resolution_us, overlap_ms=profile.overlap_ms,
        deletion_horizon_s=profile.deletion_horizon_s, zone_offset_min=profile.zone_offset_min,
        ref_days=profile.ref_days, refs_max=profile.refs_max,
        pages_max=profile.pages_max, search_members=c.view(members),
        idempotency_scope=profile.idempotency_scope, idempotency_s=profile.idempotency_s)


def key_file(path: str | os.PathLike[str]) -> bytes:
    """The key in a file, which is made of random bytes where it is not there: nobody but this user
    can read it. For programs without a key store of the system, which is the better place.

    Raises:
        ValueError: The file is there and does not hold ``KEY_BYTES`` bytes.
    """
    name = os.fspath(path)
    if not os.path.exists(name):
        # Written under another name, so that a program that dies leaves no part of a key.
        made = f"{name}.{os.getpid()}"
        with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as new:
            new.write(os.urandom(KEY_BYTES))
            new.flush()
            os.fsync(new.fileno())
        with contextlib.suppress(FileExistsError):
            # Where another program was faster its key counts.
            os.link(made, name)
        os.unlink(made)
    with open(name, "rb") as file:
        key = file.read()
    if len(key) != KEY_BYTES:
        raise ValueError(f"{name} holds {len(key)} bytes, and a key has {KEY_BYTES}")
    return key


def frame_account(frame: bytes | str) -> str | None:
    """Tells which account a frame is for, as raw JSON string contents, or None."""
    data = frame.encode() if isinstance(frame, str) else bytes(frame)
    out = c.View()
    status = check(c.library.tl_frame_account(c.view(data), ctypes.byref(out)))
    return None if status == Status.NONE else _bytes(out).decode()


def _merged(
    function: Callable[..., int], base: bytes | str, more: bytes | str,
) -> bytes:
    texts = [text.encode() if isinstance(text, str) else bytes(text) for text in (base, more)]
    out = ctypes.POINTER(c.Text)()
    check(function(c.view(texts[0]), c.view(texts[1]), ctypes.byref(out)))
    try:
        return _bytes(out.contents.bytes)
    finally:
        c.library.tl_text_free(out)


def merge_messages(base: bytes | str, more: bytes | str) -> bytes:
    """Merges two JSON arrays of messages, the later copies second, into one. No client is needed;
    what cannot be read is left out."""
    return _merged(c.library.tl_merge_messages, base, more)


def merge_deltas(base: bytes | str, deltas: bytes | str) -> bytes:
    """Merges a JSON array of pushed frames, in order, into a JSON array of messages."""
    return _merged(c.library.tl_merge_deltas, base, deltas)


def version() -> str:
    """The version of the loaded library."""
    number = c.library.tl_version()
    return f"{number >> 16}.{number >> 8 & 255}.{number & 255}"
