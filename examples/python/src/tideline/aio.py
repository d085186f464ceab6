"""asyncio: a client that keeps itself connected, and lists that are iterated.

>>> connect = tideline.aio.websocket("wss://chat.example/?user=eva")
>>> async with tideline.aio.open("eva.tideline", key, user_id="eva", connect=connect) as client:
...     await client.sync("general")
...     async with client.window("general") as window:
...         async for step in window:
...             draw(window.messages)

Calls may wait for the disk, so they run in a worker thread, one after the other, in the order in
which they were made. The loop does not wait. Hooks such as ``open`` run in that thread.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from types import TracebackType
from typing import (
    Any,
    Concatenate,
    ParamSpec,
    TypeVar,
)

from . import client as _client
from . import connection as _connection
from . import conversations as _conversations
from . import handover as _handover
from . import items as _items
from . import window as _window
from .connection import Backoff, Connect, Connection, Transport, stream, websocket
from .errors import ClosedError, LockedError, NotFoundError, ResyncError, Status
from .values import (
    Change,
    From,
    Message,
    MessageState,
    Page,
    Policy,
    Stop,
    SyncKind,
    SyncPhase,
    SyncStatus,
)
from .views import Conversation, Diff, Item

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Entered = TypeVar("_Entered", bound="_Watched")
#: How often `since` asks for what is in a gap where each answer has only known messages.
_TRIES = 64


class _Worker:
    """The thread in which all calls of a client run, one after the other."""

    def __init__(self) -> None:
        self.pool = concurrent.futures.ThreadPoolExecutor(1, "tideline")
        #: Whether the client was closed.
        self.is_closed = False


class _Called:
    """What runs the methods of a plain object in the worker thread of its client."""

    plain: Any

    def __init__(self, worker: _Worker) -> None:
        self._worker = worker

    def _begin(
            self, function: Callable[_P, _T], *arguments: _P.args, **named: _P.kwargs,
    ) -> concurrent.futures.Future[_T]:
        """Gives a function to the worker thread."""
        if self._worker.is_closed:
            raise ClosedError(Status.CLOSED, "the client was closed")
        return self._worker.pool.submit(function, *arguments, **named)

    async def call(
            self, function: Callable[_P, _T], *arguments: _P.args, **named: _P.kwargs) -> _T:
        """Runs a function in the client's worker thread and gives what it gives. Where the caller
        is cancelled a call that has begun goes on to its end."""
        return await asyncio.wrap_future(self._begin(function, *arguments, **named))


def _in_worker(
    method: Callable[Concatenate[Any, _P], _T],
) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]]:
    """The same method, awaited: it runs in the worker thread."""
    async def call(self: Any, /, *arguments: _P.args, **named: _P.kwargs) -> _T:
        result: _T = await self.call(method, self.plain, *arguments, **named)
        return result

    functools.update_wrapper(call, method)
    return call


class Client(_Called):
    """A ``tideline.Client`` for asyncio; made by ``open``. Use it in one loop. A task that is
    cancelled as it leaves waits until the file is closed.

    The methods without a text here are those of ``tideline.Client``, awaited. ``call`` runs any
    other one, as in ``await client.call(client.plain.stats)``.
    """

    plain: _client.Client

    def __init__(
        self, make: Callable[[], _client.Client], connect: Connect | None,
        backoff: Backoff | None,
    ) -> None:
        super().__init__(_Worker())
        self._make, self._connect, self._backoff = make, connect, backoff
        self._news = asyncio.Event()
        #: How often there was news.
        self.turns = 0
        self._running: asyncio.Task[None] | None = None
        self._is_released = False
        #: Whoever gives the file up or takes it has this.
        self._handing = asyncio.Lock()
        #: How often ``release`` was called.
        self._releases = 0

    async def __aenter__(self) -> Client:
        try:
            self.plain = await self.call(self._make)
        except BaseException:
            self._worker.pool.shutdown(wait=False)
            raise
        self.connection = Connection(
            self.plain, self._connect, self.call, self._tell, self._backoff)
        self._run()
        return self

    def _run(self) -> None:
        self._running = asyncio.ensure_future(self.connection.run())
        self._running.add_done_callback(lambda _: self._tell())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._running is not None
        closing = asyncio.ensure_future(self._close(self._running))
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            # Another program may open the file once this has ended.
            await asyncio.wait({closing})
            raise
        if kind is None and not self._running.cancelled():
            # Why the connection ended for good, where no iterator has said so.
            self._running.result()

    async def _close(self, running: asyncio.Task[None]) -> None:
        """Ends the connection and closes the file, also where the loop ends meanwhile."""
        try:
            running.cancel()
            await asyncio.wait({running})
            # A hand-over that ended just now has begun another one.
            while self._running is not running and self._running is not None:
                running = self._running
                running.cancel()
                await asyncio.wait({running})
        finally:
            closed = self._begin(self.plain.close)
            self._worker.is_closed = True
            self._tell()
            self._worker.pool.shutdown(wait=False)
        await asyncio.wrap_future(closed)

    # Hand-over.

    async def rest(self) -> bool:
        """Closes the files until a call needs them; see ``Client.rest``."""
        return await self.call(self.plain.rest)

    async def release(self) -> bool:
        """Ends the connection and gives the file up for another process. Until ``reacquire`` each
        call that needs the file raises ReleasedError; iterators, and syncs that are waited for,
        pause. Where the caller is cancelled it goes on to its end, and the next call waits for it.
        A ``reacquire`` that waits gives up. False where that was done before."""
        self._releases += 1
        self._tell()
        await self._handing.acquire()
        giving = asyncio.ensure_future(self._give_up())
        giving.add_done_callback(lambda _: self._handing.release())
        return await asyncio.shield(giving)

    async def _give_up(self) -> bool:
        if self._is_released:
            # Behind a `reacquire` that was cancelled.
            return await self.call(self.plain.release)
        assert self._running is not None
        self._is_released = True
        self._running.cancel()
        await asyncio.wait({self._running})
        try:
            return await self.call(self.plain.release)
        except BaseException:
            self._go_on()
            raise

    async def reacquire(self, timeout: float = 0.0) -> bool:
        """Opens the file again and connects; waits up to ``timeout`` seconds while another process
        has it. Where the caller is cancelled the file stays given up. False where it was not."""
        releases = self._releases
        async with self._handing:
            if not self._is_released:
                return await self.call(self.plain.reacquire)
            path = self.plain._path
            if timeout <= 0 or path is None:
                return await self._take(0.0, releases)
            with _handover.watched(path, self._tell):
                return await self._take(timeout, releases)

    async def _take(self, timeout: float, releases: int) -> bool:
        """Tries until it has the file, the time is over, or ``release`` was called once more."""
        ends = time.monotonic() + timeout
        while True:
            news = self._news
            try:
                is_done = await self.call(self.plain.reacquire)
            except LockedError:
                left = min(_handover.LOOK_S, ends - time.monotonic())
                if left <= 0 or self._releases > releases:
                    raise
                with contextlib.suppress(asyncio.TimeoutError):
                    await _connection._within(news.wait(), left)
            except asyncio.CancelledError:
                # The try goes on; what it takes is given up behind it.
                if not self._worker.is_closed:
                    self._worker.pool.submit(self.plain.release)
                raise
            else:
                self._go_on()
                return is_done

    def _go_on(self) -> None:
        self._is_released = False
        if not self._worker.is_closed:
            self._run()
        self._tell()

    async def _held(self) -> None:
        """Waits while the file is given up."""
        while self._is_released and not self._worker.is_closed:
            await self._news.wait()

    # News. Whoever waits takes the count before it reads, so nothing is missed in between.

    def _tell(self) -> None:
        self.turns += 1
        told, self._news = self._news, asyncio.Event()
        told.set()

    async def news(self, seen: int) -> None:
        """Waits until ``turns`` is over ``seen``: there may be something new to read.

        >>> while True:
        ...     seen = client.turns
        ...     await draw(client)
        ...     await client.news(seen)

        Raises:
            ClosedError: The client was closed.
            TidelineError: The connection ended for good, and why.
        """
        await self._held()
        running = self._running
        if running is None or running.cancelled() or self._worker.is_closed:
            raise ClosedError(Status.CLOSED, "the client was closed")
        if running.done():
            running.result()
        if self.turns <= seen:
            await self._news.wait()

    @property
    def is_connected(self) -> bool:
        """Whether a connection to the server is there."""
        return self.connection.is_connected

    @property
    def trouble(self) -> Exception | None:
        """Why the last connection ended, or could not be made; None while one is of use."""
        return self.connection.trouble

    def reconnect(self) -> None:
        """Dials at once, such as when the device has another network."""
        self.connection.reconnect()

    async def connections(self) -> AsyncIterator[int]:
        """How many connections there were, at each new one, without end. Those that were made while
        the caller did something else are told as one. For what has to be asked of the server each
        time, such as the list of conversations."""
        seen = 0
        while True:
            turns = self.turns
            if self.connection.made > seen:
                seen = self.connection.made
                yield seen
            else:
                await self.news(turns)

    async def changes(
            self, after: int | None = None, limit: int = 0) -> AsyncIterator[Change]:
        """Changes with a greater ``seq`` than ``after``, and then each as it is committed, without
        end.

        Args:
            after: The ``seq`` of the last change that was seen; None for those from the first step
                of the iterator on.
            limit: How many are read at a time at most; 0 for the library's choice.

        Raises:
            ResyncError: Changes behind ``after`` are not kept any more. Read anew what is needed,
                then go on from the ``change_seq`` of the error.
        """
        await self._held()
        seen = (await self.state()).change_seq if after is None else after
        while True:
            turns = self.turns
            await self._held()
            # Before the feed is read: what is committed after it is in the feed.
            now = (await self.state()).change_seq
            await self._held()
            found = await self.call(self.plain.changes, seen, limit)
            if found.resync:
                raise ResyncError(
                    Status.RESYNC, f"changes behind {seen} are not kept; read anew, go on from "
                    f"{now}", now)
            for change in found.entries:
                seen = change.seq
                yield change
            if not found.entries:
                await self.news(turns)

    async def sync(
        self, conversation: str = "", kind: SyncKind = SyncKind.LATEST,
        policy: Policy = Policy.CACHE_THEN_NETWORK, **more: Any,
    ) -> SyncStatus:
        """Asks for a conversation, or the list of them, to be synced, and waits for the end of it,
        also for a connection. It raises nothing where the server refuses: look at ``result`` of
        what it gives. Where the caller is cancelled the sync is, too. ``more`` is as in
        ``tideline.Client.sync``."""
        begun = self._begin(self.plain.sync, conversation, kind, policy, **more)
        try:
            number = await asyncio.wrap_future(begun)
            self.connection.wake()
            while True:
                turns = self.turns
                await self._held()
                status = await self.call(self.plain.sync_status, number)
                if status.phase is SyncPhase.ENDED:
                    return status
                await self.news(turns)
        except asyncio.CancelledError:
            # It runs after the call that began the sync, which may be under way.
            if not begun.cancelled() and not self._worker.is_closed:
                self._begin(lambda: self.plain.cancel(begun.result()))
            raise

    async def since(
            self, conversation: str, time_us: int, page: int = 1_000) -> AsyncIterator[Message]:
        """All messages of a conversation after a time, the newest first; asks the server for those
        that are missing, and waits for a connection where it has to. It passes over messages that
        the server refuses to give, so one answer of ``forbidden`` ends it.

        The user's own messages that wait to be sent come first: their ``time_us`` is 0. Each
        message is given once. Where the last one is deleted meanwhile, messages that arrived
        since may come between older ones.

        Args:
            time_us: The server's time in microseconds since 1970; 0 for the whole conversation.
                The first message that is not after it is the end. Where a server puts an earlier
                time after a later one, as a bridge may, take 0 to miss none.
            page: How many are read at a time, at most 10,000.
        """
        passed: list[tuple[int, bool]] = []
        given: set[int | str] = set()
        asked: tuple[int, int, int] | None = None
        given_up: set[tuple[int, int, int]] = set()
        tries = _TRIES
        while (await self.sync(conversation)).result.is_transient:
            pass
        while True:
            found = await self._page_before(conversation, passed, page)
            # The row behind a gap tells it from one with the same times.
            behind = [row.number for row in found.messages]
            behind.append(passed[-1][0] if passed else 0)
            gaps = {gap.before_row: (gap.low_us, gap.high_us, behind[gap.before_row])
                    for gap in found.coverage.gaps if not gap.poisoned}
            gaps = {row: gap for row, gap in gaps.items() if gap not in given_up}
            # Rows after the newest gap: nothing is missing between them and those before.
            first = max(gaps, default=0)
            for message in reversed(found.messages[first:]):
                waits = message.state is not MessageState.CONFIRMED
                if not waits and message.time_us <= time_us:
                    return
                passed.append((message.number, waits))
                if message.number not in given and message.id not in given:
                    given |= {message.number, message.id}
                    yield message
            if not gaps:
                if found.coverage.stop is not Stop.LIMIT:
                    return
            elif gaps[first] == asked and not tries:
                given_up.add(asked)
            else:
                asked = gaps[first]
                status = await self.sync(conversation, SyncKind.OLDER, want=page)
                if status.result.is_transient or status.inserted:
                    tries = _TRIES
                else:
                    # Messages that were known may have filled a newer gap; this one is next.
                    tries = max(0, tries - 1) if status.received else 0

    async def _page_before(
            self, conversation: str, passed: list[tuple[int, bool]], limit: int) -> Page:
        """The page before the last of these rows that is still in its place, else the newest one.
        A row is its number, and whether it waited to be sent; those behind it are taken out."""
        back = 1
        while passed:
            number, waited = passed[-1]
            try:
                found = await self.messages(conversation, From.BEFORE, number=number, limit=limit)
                if not waited:
                    return found
                # Once it is sent it is before others that still wait. It was not when it was read
                # if it is not now.
                now = await self.numbered(conversation, number, number)
                if now and now[0].state is not MessageState.CONFIRMED:
                    return found
            except NotFoundError:
                pass
            # Many may have been deleted together.
            del passed[-back:]
            back *= 2
        return await self.messages(conversation, limit=limit)

    def window(self, conversation: str, *arguments: Any, **named: Any) -> Window:
        """A window on a conversation, to be entered by ``async with``; the arguments are those of
        ``tideline.Client.window``."""
        return Window(self, lambda: self.plain.window(conversation, *arguments, **named))

    def conversation_list(self, **named: Any) -> ConversationList:
        """The list of conversations, to be entered by ``async with``; the arguments are those of
        ``tideline.Client.conversation_list``."""
        return ConversationList(self, lambda: self.plain.conversation_list(**named))

    # The rest of ``tideline.Client``, awaited.

    state = _in_worker(_client.Client.state)
    stats = _in_worker(_client.Client.stats)
    messages = _in_worker(_client.Client.messages)
    message = _in_worker(_client.Client.message)
    explain = _in_worker(_client.Client.explain)
    numbered = _in_worker(_client.Client.numbered)
    events = _in_worker(_client.Client.events)
    quarantined = _in_worker(_client.Client.quarantined)
    entities = _in_worker(_client.Client.entities)
    conversations = _in_worker(_client.Client.conversations)
    conversation = _in_worker(_client.Client.conversation)
    search = _in_worker(_client.Client.search)
    send = _in_worker(_client.Client.send)
    perform = _in_worker(_client.Client.perform)
    operation = _in_worker(_client.Client.operation)
    operations = _in_worker(_client.Client.operations)
    operation_retry = _in_worker(_client.Client.operation_retry)
    operation_cancel = _in_worker(_client.Client.operation_cancel)
    operation_edit = _in_worker(_client.Client.operation_edit)
    operation_progress = _in_worker(_client.Client.operation_progress)
    operation_uploaded = _in_worker(_client.Client.operation_uploaded)
    operation_upload_failed = _in_worker(_client.Client.operation_upload_failed)
    reopen_payloads = _in_worker(_client.Client.reopen_payloads)
    typing = _in_worker(_client.Client.typing)
    draft = _in_worker(_client.Client.draft)
    mark_delivered = _in_worker(_client.Client.mark_delivered)
    mark_read = _in_worker(_client.Client.mark_read)
    mark_listened = _in_worker(_client.Client.mark_listened)
    forget = _in_worker(_client.Client.forget)
    retain = _in_worker(_client.Client.retain)
    room = _in_worker(_client.Client.room)
    keys = _in_worker(_client.Client.keys)
    key_add = _in_worker(_client.Client.key_add)
    key_change = _in_worker(_client.Client.key_change)
    key_remove = _in_worker(_client.Client.key_remove)
    clear = _in_worker(_client.Client.clear)
    drop = _in_worker(_client.Client.drop)
    wipe = _in_worker(_client.Client.wipe)


class _Watched(_Called):
    """What is polled: entered by ``async with``, and iterated for its differences."""

    def __init__(self, client: Client, make: Callable[[], Any]) -> None:
        super().__init__(client._worker)
        self._client, self._make = client, make

    def _open(self) -> None:
        """Opens it; in the worker thread."""
        self.plain = self._make()

    async def __aenter__(self: _Entered) -> _Entered:
        await self.call(self._open)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.call(self.plain.close)

    def _update(self) -> Diff | None:
        """Polls, and brings the list along; in the worker thread."""
        raise NotImplementedError

    async def poll(self) -> Diff | None:
        """Brings the list to the newest committed state; None when nothing changed."""
        return await self.call(self._update)

    async def __aiter__(self) -> AsyncIterator[Diff]:
        """Each difference, without end; the list is brought along before it is given. Two
        iterators over one list share its differences: each is given by one of them."""
        while True:
            seen = self._client.turns
            await self._client._held()
            diff = await self.poll()
            if diff is not None:
                yield diff
            else:
                await self._client.news(seen)


class _Listed(_Watched):
    """What is polled into a list of rows."""

    def _open(self) -> None:
        super()._open()
        self._rows = _window.Rows(self.plain)

    def _update(self) -> Diff | None:
        return self._rows.poll()


class Window(_Listed):
    """A ``tideline.Window``; made by ``Client.window``.

    ``async for step in window`` gives each difference; ``messages`` is the list as of the last one.
    The methods without a text here are those of ``tideline.Window``, awaited.
    """

    plain: _window.Window

    @property
    def messages(self) -> list[Message]:
        """The messages as of the last step."""
        return self._rows.messages

    load = _in_worker(_window.Window.load)
    before = _in_worker(_window.Window.before)
    after = _in_worker(_window.Window.after)
    page = _in_worker(_window.Window.page)
    find = _in_worker(_window.Window.find)
    fill = _in_worker(_window.Window.fill)
    show = _in_worker(_window.Window.show)
    trim = _in_worker(_window.Window.trim)
    state = _in_worker(_window.Window.state)

    def items(self, **named: Any) -> Items:
        """The items over this window, to be entered by ``async with``; the arguments are those of
        ``tideline.Items``. Iterate them in place of the window."""
        return Items(self._client, lambda: _items.Items(self.plain, **named))


class Items(_Watched):
    """``tideline.Items``; made by ``Window.items``.

    ``async for step in items`` gives each difference; ``current`` is the list as of the last one.
    """

    plain: _items.Items

    def _update(self) -> Diff | None:
        return self.plain.update()

    @property
    def current(self) -> list[Item]:
        """The items as of the last step."""
        return self.plain.current

    read = _in_worker(_items.Items.read)
    messages = _in_worker(_items.Items.messages)
    find = _in_worker(_items.Items.find)
    set_open = _in_worker(_items.Items.set_open)
    unread = _in_worker(_items.Items.unread)
    show = _in_worker(_items.Items.show)
    state = _in_worker(_items.Items.state)


class ConversationList(_Listed):
    """A ``tideline.ConversationList``; made by ``Client.conversation_list``.

    ``async for step in list`` gives each difference; ``conversations`` is the list as of the last
    one.
    """

    plain: _conversations.ConversationList

    @property
    def conversations(self) -> list[Conversation]:
        """The conversations as of the last step."""
        return self._rows.conversations

    find = _in_worker(_conversations.ConversationList.find)
    state = _in_worker(_conversations.ConversationList.state)


def open(
    path: str | os.PathLike[str] | None = None, key: bytes | str | None = None, *,
    user_id: str, connect: Connect | None = None, backoff: Backoff | None = None,
    **options: Any,
) -> Client:
    """A client, to be entered by ``async with``: then its file is opened, and it connects.

    All but ``connect`` and ``backoff`` is as in ``tideline.Client``, which takes ``options`` too.

    Args:
        connect: Makes connections: ``stream(...)``, ``websocket(...)`` or a function of one's own
            that gives a ``Transport``. None to stay offline.
        backoff: How long to pause between two connections.

    Raises:
        TidelineError: On entering, as ``tideline.Client`` does. On leaving, or by an iterator,
            where the connection ended for good, such as by DamagedError.
    """
    return Client(
        lambda: _client.Client(path, key, user_id=user_id, **options), connect, backoff)


__all__ = ["Backoff", "Client", "Connect", "Connection", "ConversationList", "Items", "Transport",
           "Window", "open", "stream", "websocket"]
