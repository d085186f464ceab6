"""Carries a session's frames over TCP, one JSON object a line, while the user is online."""

from __future__ import annotations

import asyncio
import json
from typing import Callable, Optional

import tideline

from .session import Session

LINE_MAX = 32 << 20
RETRY_SECONDS = 0.5
FRAME_SECONDS = 1 / 30


class Network:
    """The connection of a session. ``news`` is called whenever the session may have changed."""

    def __init__(self, session: Session, port: int, news: Callable[[], None]) -> None:
        self._session = session
        self._port = port
        self._news = news
        self._wake = asyncio.Event()
        self._switched = asyncio.Event()
        self._writer: Optional[asyncio.StreamWriter] = None
        self._ended = False

    @property
    def connected(self) -> bool:
        """Whether a connection stands."""
        return self._writer is not None

    def switch(self) -> None:
        """Goes offline, or online again."""
        self._session.wanted_online = not self._session.wanted_online
        self._switched.set()
        if not self._session.wanted_online and self._writer is not None:
            self._writer.close()
        self.wake()

    def wake(self) -> None:
        """Says that the user did something: there may be frames to send."""
        self._wake.set()

    async def run(self) -> None:
        """Runs until it is cancelled."""
        pump = asyncio.ensure_future(self._pump())
        try:
            while True:
                if self._session.wanted_online:
                    await self._connection()
                self._switched.clear()
                try:
                    await asyncio.wait_for(
                        self._switched.wait(),
                        RETRY_SECONDS if self._session.wanted_online else None)
                except asyncio.TimeoutError:
                    pass
        finally:
            # A cancel may be lost where the pump is woken at the same time.
            self._ended = True
            self.wake()
            await pump
            asyncio.get_running_loop().remove_reader(self._session.client.fileno())

    async def _connection(self) -> None:
        """One connection, from its beginning to its end."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=LINE_MAX)
        except OSError:
            return
        try:
            hello = json.dumps({"type": "hello", "user": self._session.user}, ensure_ascii=False)
            writer.write(hello.encode() + b"\n")
            if not await reader.readline():
                return
            self._session.client.connected()
            self._writer = writer
            self.wake()
            while line := await reader.readline():
                self._receive(line.rstrip(b"\n"))
        except (OSError, ValueError):
            pass
        finally:
            if self._writer is not None:
                self._writer = None
                self._session.client.disconnected()
            writer.close()
            self.wake()

    def _receive(self, line: bytes) -> None:
        try:
            self._session.client.receive(line)
        except tideline.FrameError:
            pass
        self.wake()

    async def _pump(self) -> None:
        """Sends frames, lets time act, and tells the screen."""
        client, loop = self._session.client, asyncio.get_running_loop()

        def news() -> None:
            # The descriptor stays readable until all was done, so it is watched until it speaks.
            loop.remove_reader(client.fileno())
            self._wake.set()

        while not self._ended:
            self._wake.clear()
            if (writer := self._writer) is not None:
                for frame in client.frames():
                    writer.write(frame.bytes + b"\n")
                    client.frame_sent(frame.id)
                if client.state().reconnect_wanted:
                    writer.close()
            self._news()
            wait = client.advance()
            loop.add_reader(client.fileno(), news)
            try:
                await asyncio.wait_for(self._wake.wait(), None if wait is None else wait / 1_000)
            except asyncio.TimeoutError:
                pass
            # Hundreds of messages a second make one frame at a time, and keys have their turn.
            await asyncio.sleep(FRAME_SECONDS)
