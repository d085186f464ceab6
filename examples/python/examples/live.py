#!/usr/bin/env python3
"""A live client over WebSocket with asyncio: catches a conversation up, then shows what changes.

    python live.py ws://127.0.0.1:7401 eva CONVERSATION --file eva.tideline --seconds 10

A lost connection is made again; what was missed meanwhile is caught up. Needs the package
``websockets``.
"""

import argparse
import asyncio
import contextlib

import tideline
import tideline.aio


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
    # The key lies beside the file only because this is an example: a real host keeps it in the
    # system's key store.
    key = tideline.key_file(f"{arguments.file}.key") if arguments.file else None
    async with tideline.aio.open(
            arguments.file, key,
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
