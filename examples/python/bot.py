#!/usr/bin/env python3
"""A bot that answers each message once: over a kill -9, in conversations that began while it was
away, and where more happened than the feed of changes keeps.

    python bot.py 7400 eva eva.tideline

What was written before its first start is not answered. FILE.bot keeps that time, and the change up
to which all is answered. Where that is behind, messages are answered again under the same client
id: library and server take that as one message.
"""

import asyncio
import json
import os
import pathlib
import sys

import tideline.aio
from tideline import Capabilities, ChangeKind, MessageFlags, ResyncError, SyncKind

NOT_FOR_US = MessageFlags.MINE | MessageFlags.DELETED | MessageFlags.EVENT


async def answer(client, row, born):
    if row.time_us > born and not row.flags & NOT_FOR_US:
        await client.send(row.conversation, {"text": "I have read it"}, reply_to=row.id,
                          client_id=f"answer-{row.id}")


async def fetch(client, born, each):
    """Fetches all messages since the first start, in conversations that are new to us too."""
    await client.sync(kind=SyncKind.CONVERSATIONS)
    for place in await client.conversations(limit=10_000):
        async for row in client.since(place.id, born):
            await each(client, row, born)


async def fetch_on_each_connection(client, born):
    async def told_by_the_feed(*_):
        pass
    async for _ in client.connections():
        await fetch(client, born, told_by_the_feed)


async def answer_by_the_feed(client, born, seen, save):
    while True:
        try:
            async for change in client.changes(seen):
                if change.kind is ChangeKind.INSERTED:
                    for row in await client.numbered(
                            change.conversation, change.first, change.last, 10_000):
                        await answer(client, row, born)
                seen = change.seq
                save(seen)
        except ResyncError as error:
            await fetch(client, born, answer)
            seen = error.change_seq


async def main(port, user, file):
    kept = pathlib.Path(f"{file}.bot")
    async with tideline.aio.open(
            file, tideline.key_file(f"{file}.key"), user_id=user,
            profile=tideline.Profile(capabilities=Capabilities.IDEMPOTENT_SEND),
            connect=tideline.aio.stream(
                "127.0.0.1", int(port), hello={"type": "hello", "user": user})) as client:
        await client.sync(kind=SyncKind.CONVERSATIONS)
        newest = max([place.activity_us for place in await client.conversations(limit=10_000)],
                     default=0)
        born, seen = json.loads(kept.read_text()) if kept.exists() else (newest, 0)

        def save(seen):
            kept.with_suffix(".new").write_text(json.dumps([born, seen]))
            os.replace(kept.with_suffix(".new"), kept)

        save(seen)
        await asyncio.gather(fetch_on_each_connection(client, born),
                             answer_by_the_feed(client, born, seen, save))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
