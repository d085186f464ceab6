#!/usr/bin/env python3
"""A live client over WebSocket with asyncio: catches a conversation up, then shows what changes.

    python live.py ws://127.0.0.1:7401 eva CONVERSATION --file eva.tideline --seconds 10

A lost connection is made again; what was missed meanwhile is caught up. Needs the package
``websockets``.
"""

import argparse
import asyncio
import contextlib
import os
import pathlib

import tideline
import tideline.aio


def load_key(file):
    """The key of the file. It lies beside it only because this is an example: a real host keeps it
    in the system's key store."""
    path = pathlib.Path(f"{file}.key")
    if not path.exists():
        # Nobody else can read it, not for a moment.
        with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as new:
            new.write(os.urandom(tideline.KEY_BYTES))
    return path.read_bytes()


async def show(client, conversation):
    """Prints what is committed, without end."""
    seen = 0
    await client.sync(conversation)
    while True:
        try:
            async for change in client.changes(seen):
                seen = change.seq
                print(f"change {seen}: {change.kind.name.lower()}", flush=True)
        except tideline.ResyncError as error:
            seen = error.change_seq


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("user")
    parser.add_argument("conversation")
    parser.add_argument("--file", help="the encrypted file; in memory without it")
    parser.add_argument("--seconds", type=float, default=10)
    arguments = parser.parse_args()
    async with tideline.aio.open(
            arguments.file, load_key(arguments.file) if arguments.file else None,
            user_id=arguments.user, catch_up_all=True,
            connect=tideline.aio.websocket(f"{arguments.url}/?user={arguments.user}")) as client:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(show(client, arguments.conversation), arguments.seconds)
        page = await client.messages(arguments.conversation, limit=5)
        for row in page.messages:
            print(row.stamp, row.sender, row.payload.decode())
        coverage = page.coverage
        whole = "whole" if coverage.whole else "with holes"
        print(f"page: {len(page.messages)} messages, {whole}, "
              f"ends at {coverage.stop.name.lower()}; {coverage.known_count} stored here")


if __name__ == "__main__":
    asyncio.run(main())
