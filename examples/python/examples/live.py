#!/usr/bin/env python3
"""A live client over WebSocket with asyncio: catches a conversation up, then shows what changes.

    python live.py ws://127.0.0.1:7401 eva CONVERSATION --file eva.tideline --seconds 10

A lost connection is made again; what was missed meanwhile is caught up. Needs the package
``websockets``.
"""

import argparse
import asyncio
import os
import pathlib

import tideline
import websockets


def load_key(file):
    """The key of the file. It lies beside it only because this is an example: a real host keeps it
    in the system's key store."""
    path = pathlib.Path(f"{file}.key")
    if not path.exists():
        path.write_bytes(os.urandom(tideline.KEY_BYTES))
        path.chmod(0o600)
    return path.read_bytes()


class Live:
    """One client with its connection. `wake` is set whenever the library has news."""

    def __init__(self, client, conversation):
        self.client = client
        self.conversation = conversation
        self.wake = asyncio.Event()
        self.seen = client.state().change_seq
        # The descriptor stays readable until the last frame was taken, so it is watched only until
        # it speaks and again once everything was done.
        self.watch()

    def watch(self):
        asyncio.get_running_loop().add_reader(self.client.fileno(), self.news)

    def news(self):
        asyncio.get_running_loop().remove_reader(self.client.fileno())
        self.wake.set()

    def show(self):
        """Prints what was committed since the last time."""
        while True:
            changes = self.client.changes(self.seen)
            if changes.resync:
                self.seen = self.client.state().change_seq
                return
            if not changes.entries:
                return
            for change in changes.entries:
                self.seen = change.seq
                print(f"change {change.seq}: {change.kind.name.lower()}", flush=True)

    async def send(self, socket):
        """Sends frames and lets time act, until the connection is gone."""
        while True:
            self.wake.clear()
            for frame in self.client.frames():
                await socket.send(frame.bytes.decode())
                self.client.frame_sent(frame.id)
            self.show()
            self.watch()
            wait = self.client.advance()
            if self.client.state().reconnect_wanted:
                await socket.close()
                return
            try:
                await asyncio.wait_for(self.wake.wait(), None if wait is None else wait / 1000)
            except asyncio.TimeoutError:
                pass

    async def receive(self, socket):
        """Hands in what arrives."""
        async for text in socket:
            try:
                self.client.receive(text)
            except tideline.FrameError as error:
                print(f"a frame was refused: {error}", flush=True)

    async def run(self, url, user):
        """Connects, again and again."""
        while True:
            try:
                async with websockets.connect(f"{url}/?user={user}", max_size=None) as socket:
                    self.client.connected()
                    self.client.sync(self.conversation)
                    sender = asyncio.ensure_future(self.send(socket))
                    try:
                        await self.receive(socket)
                    finally:
                        sender.cancel()
                        self.client.disconnected()
            except (OSError, websockets.WebSocketException) as error:
                print(f"offline: {type(error).__name__}", flush=True)
            await asyncio.sleep(1)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("user")
    parser.add_argument("conversation")
    parser.add_argument("--file", help="the encrypted file; in memory without it")
    parser.add_argument("--seconds", type=float, default=10)
    arguments = parser.parse_args()
    key = load_key(arguments.file) if arguments.file else None
    with tideline.Client(arguments.file, key, user_id=arguments.user) as client:
        live = Live(client, arguments.conversation)
        try:
            await asyncio.wait_for(live.run(arguments.url, arguments.user), arguments.seconds)
        except asyncio.TimeoutError:
            pass
        page = client.messages(arguments.conversation, limit=5)
        for row in page.messages:
            print(row.stamp, row.sender, row.payload.decode())
        coverage = page.coverage
        whole = "whole" if coverage.whole else "with holes"
        print(f"page: {len(page.messages)} messages, {whole}, "
              f"ends at {coverage.stop.name.lower()}; {coverage.known_count} stored here")


if __name__ == "__main__":
    asyncio.run(main())
