"""A connection to the server that is made again whenever it ends, for asyncio.

``Connection`` carries the frames of one client. It ends only where going on is of no use: the
client was closed, its file is damaged, or another holder has taken its storage over. All else, such
as a silent server, a full disk or a lost connection, is a pause and another try.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeVar

from .client import Client
from .errors import (
    FrameError,
    FullError,
    InvalidError,
    MismatchError,
    OfflineError,
    StorageError,
    TooLargeError,
)

_log = logging.getLogger("tideline")

FRAME_MAX = 16 << 20
_T = TypeVar("_T")


class Transport(Protocol):
    """What carries frames. Its methods raise OSError where the connection is lost."""

    async def send(self, frame: bytes) -> None:
        """Sends one frame, whole."""

    async def receive(self) -> bytes | None:
        """Waits for the next frame, whole; None when the server has closed the connection."""

    async def close(self) -> None:
        """Ends the connection. Safe twice."""


Connect = Callable[[], Awaitable[Transport]]
#: Runs a function of the client somewhere else than in the loop, and gives what it gives.
Call = Callable[..., Awaitable[Any]]


@dataclasses.dataclass
class Backoff:
    """How long to pause before the next try: twice as long after each failure, with jitter.

    The pause before try ``n`` is drawn between half of ``first_s * 2**n`` seconds and all of it,
    and is at most ``most_s`` seconds. ``random`` and ``sleep`` are replaced in tests.
    """

    first_s: float = 0.5
    most_s: float = 30.0
    random: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    failures: int = 0

    def next_s(self) -> float:
        """The seconds to pause now; the next pause is longer."""
        longest = min(self.most_s, self.first_s * 2.0 ** min(self.failures, 32))
        self.failures += 1
        return longest * (0.5 + 0.5 * self.random())

    def reset(self) -> None:
        """Says that a try was of use: the next pause is the shortest."""
        self.failures = 0


class _Stream:
    """Frames over a byte stream, one JSON object a line."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def send(self, frame: bytes) -> None:
        self._writer.write(frame + b"\n")
        await self._writer.drain()

    async def receive(self) -> bytes | None:
        try:
            line = await self._reader.readline()
        except ValueError as error:
            raise ConnectionError("the server sent a line that is too long") from error
        # A line without its end was cut off, so it is no frame.
        return line[:-1] if line.endswith(b"\n") else None

    async def close(self) -> None:
        self._writer.close()


def stream(
    host: str, port: int, *, hello: Mapping[str, Any] | None = None, timeout_s: float = 20.0,
    frame_max: int = FRAME_MAX, **options: Any,
) -> Connect:
    """Connects by TCP, one JSON object a line.

    Args:
        hello: The first line, which the server answers before anything else; None for no greeting.
        timeout_s: Seconds to wait for the connection and for the answer to ``hello``.
        frame_max: The longest line in bytes.
        options: More for ``asyncio.open_connection``, such as ``ssl``.
    """
    async def greeted() -> Transport:
        reader, writer = await asyncio.open_connection(
            host, port, limit=frame_max, **options)
        made = _Stream(reader, writer)
        if hello is None:
            return made
        try:
            await made.send(json.dumps(hello, ensure_ascii=False).encode())
            answer = await made.receive()
            if answer is None or _is_error(answer):
                raise ConnectionError("the server refused the greeting")
            return made
        except BaseException:
            await made.close()
            raise

    async def connect() -> Transport:
        return await _within(greeted(), timeout_s)

    return connect


def _is_error(answer: bytes) -> bool:
    try:
        value = json.loads(answer)
    except ValueError:
        return True
    return not isinstance(value, dict) or value.get("status") == "error"


class _WebSocket:
    """Frames over a WebSocket, one JSON object a message."""

    def __init__(self, socket: Any, lost: type[Exception]) -> None:
        self._socket, self._lost = socket, lost

    async def send(self, frame: bytes) -> None:
        try:
            await self._socket.send(frame.decode())
        except self._lost as error:
            raise ConnectionError(str(error)) from error

    async def receive(self) -> bytes | None:
        try:
            text = await self._socket.recv()
        except self._lost as error:
            raise ConnectionError(str(error)) from error
        return text.encode() if isinstance(text, str) else bytes(text)

    async def close(self) -> None:
        await self._socket.close()


def websocket(
    url: str, *, timeout_s: float = 20.0, frame_max: int = FRAME_MAX, **options: Any,
) -> Connect:
    """Connects by WebSocket, one JSON object a message. Needs the package ``websockets``.

    Args:
        url: Such as ``ws://127.0.0.1:7401/?user=eva``.
        timeout_s: Seconds to wait for the connection.
        frame_max: The longest message in bytes.
        options: More for ``websockets.connect``, such as ``additional_headers``.

    Raises:
        ImportError: The package is missing; ``pip install 'libtideline[websocket]'`` adds it.
    """
    try:
        import websockets
    except ImportError as error:
        raise ImportError(
            "websocket() needs the package websockets: "
            "pip install 'libtideline[websocket]'") from error

    async def connect() -> Transport:
        try:
            socket = await websockets.connect(
                url, max_size=frame_max, open_timeout=timeout_s, close_timeout=1, **options)
        except websockets.WebSocketException as error:
            raise ConnectionError(str(error)) from error
        return _WebSocket(socket, websockets.WebSocketException)

    return connect


async def _within(work: Awaitable[_T], seconds: float | None) -> _T:
    """What ``asyncio.wait_for`` does, but for its defect: before Python 3.12 it lost a cancel that
    came together with the result, and what was to end went on."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise asyncio.TimeoutError("no answer in time")
        return task.result()
    finally:
        task.cancel()


# The frame is of no use, and the client and the connection are as they were.
_BAD_FRAME = (FrameError, TooLargeError, MismatchError, InvalidError)
# What a pause may mend. A push that could not be kept is caught up on the next connection.
_PASSING = (FullError, StorageError, OfflineError)
_LOST = (OSError, EOFError, asyncio.TimeoutError)


class Connection:
    """Keeps a client connected: dials, carries frames both ways, runs timers, and dials again.

    Args:
        client: The client whose frames are carried.
        connect: Makes a transport whose connection is authenticated; None to stay offline.
        call: Runs a function of the client in a thread.
        news: Called in the loop after each turn, when there may be changes to read.
        backoff: How long to pause between two connections.
        send_s: Seconds that a frame may take to be sent before the connection is given up.
    """

    def __init__(
        self, client: Client, connect: Connect | None, call: Call, news: Callable[[], None],
        backoff: Backoff | None = None, send_s: float = 20.0,
    ) -> None:
        self._client, self._connect, self._call, self._news = client, connect, call, news
        self._backoff = backoff or Backoff()
        self._send_s = send_s
        self._transport: Transport | None = None
        self._is_sending = False
        self._wake, self._void, self._again = asyncio.Event(), asyncio.Event(), asyncio.Event()
        #: How many connections were made.
        self.made = 0
        #: Why the last connection ended, or could not be made; None while one is of use.
        self.trouble: Exception | None = None

    @property
    def is_connected(self) -> bool:
        """Whether a connection is there."""
        return self._transport is not None

    def wake(self) -> None:
        """Runs a turn now: frames are sent, and timers that are due run."""
        self._wake.set()

    def reconnect(self) -> None:
        """Ends the connection, the dial or the pause, and dials at once: the network has
        changed."""
        self._backoff.reset()
        self._again.set()
        self._void.set()

    async def run(self) -> None:
        """Runs until it is cancelled, or until going on is of no use: then it raises why."""
        tasks = [asyncio.ensure_future(part) for part in (self._turns(), self._dials())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            asyncio.get_running_loop().remove_reader(self._client.fileno())
        for error in ended:
            if isinstance(error, Exception):
                raise error

    # Frames to the server, and timers.

    async def _turns(self) -> None:
        loop, heard = asyncio.get_running_loop(), self._client.fileno()

        def news() -> None:
            # It stays readable until a turn was made, so it is watched until it speaks.
            loop.remove_reader(heard)
            self._wake.set()

        while True:
            self._wake.clear()
            try:
                wait = await self._turn()
                loop.add_reader(heard, news)
            except _PASSING as error:
                # The descriptor may stay readable until the disk can be written again.
                _log.warning("a turn failed, and is made again: %s", error)
                wait = 1_000
            try:
                await _within(self._wake.wait(), None if wait is None else wait / 1_000)
            except asyncio.TimeoutError:
                pass

    async def _turn(self) -> int | None:
        """One turn, in the order that keeps the descriptor honest: frames, changes, timers."""
        while (transport := self._transport) is not None and not self._void.is_set():
            frame = await self._call(self._client.next_frame)
            if frame is None:
                break
            self._is_sending = True
            try:
                await _within(transport.send(frame.bytes), self._send_s)
            except _LOST as error:
                self.trouble = error
                self._void.set()
                break
            finally:
                self._is_sending = False
            await self._call(self._client.frame_sent, frame.id)
        self._news()
        wait: int | None = await self._call(self._client.advance)
        if (await self._call(self._client.state)).reconnect_wanted:
            self._void.set()
        return wait

    # Frames from the server.

    async def _dials(self) -> None:
        if self._connect is None:
            await asyncio.Event().wait()
            return
        while True:
            self._again.clear()
            try:
                transport = await self._dial(self._connect)
                if transport is None:
                    continue
                await self._connection(transport)
            except _LOST + _PASSING as error:
                self.trouble = error
            await self._pause()

    async def _dial(self, connect: Connect) -> Transport | None:
        """A new transport; None where `reconnect` was called meanwhile."""
        dial = asyncio.ensure_future(connect())
        again = asyncio.ensure_future(self._again.wait())
        try:
            await asyncio.wait({dial, again}, return_when=asyncio.FIRST_COMPLETED)
            if not self._again.is_set():
                return dial.result()
            if dial.done() and dial.exception() is None:
                await dial.result().close()
            return None
        finally:
            dial.cancel()
            again.cancel()

    async def _connection(self, transport: Transport) -> None:
        """One connection, from its beginning to its end."""
        self._void.clear()
        # Before the client makes frames: one that is taken without a transport would be lost.
        self._transport = transport
        try:
            await self._call(self._client.connected)
            self.trouble = None
            self.made += 1
            self.wake()
            tasks = [asyncio.ensure_future(part)
                     for part in (self._receive(transport), self._void.wait())]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                received, _ = await asyncio.gather(*tasks, return_exceptions=True)
            if isinstance(received, Exception):
                raise received
        finally:
            self._transport = None
            try:
                await transport.close()
            except _LOST:
                pass
            await self._call(self._client.disconnected)
            self.wake()

    async def _receive(self, transport: Transport) -> None:
        while (frame := await transport.receive()) is not None:
            try:
                await self._call(self._client.receive, frame)
                self._backoff.reset()
                if self._is_sending:
                    # The turn that tells of it waits until the frame is out.
                    self._news()
            except _BAD_FRAME as error:
                _log.info("a frame was left aside: %s", error)

    async def _pause(self) -> None:
        pause = self._backoff.next_s()
        _log.info("not connected (%s); the next try is in %.1f s", self.trouble, pause)
        tasks = [asyncio.ensure_future(self._backoff.sleep(pause)),
                 asyncio.ensure_future(self._again.wait())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()


__all__ = ["Backoff", "Connect", "Connection", "Transport", "stream", "websocket"]
