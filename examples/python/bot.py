#!/usr/bin/env python3
"""A bot that answers each message once: over a kill -9, in conversations that began while it was
away, and where more happened than the feed of changes keeps.

    python bot.py 7400 eva eva.tideline

What was written before its first start is not answered. FILE.bot keeps the time of the newest
message then, the ids of those with this time, and the change up to which all is answered. Where
that is behind, messages are answered again under the same client id: library and server take that
as one message.

It needs a server that gives its list of conversations (`get_conversations`) and knows a repeated
send. Where the server refuses the list for now, the bot asks again; otherwise it ends with the
reason.
"""

import asyncio
import json
import os
import pathlib
import sys

import tideline.aio
from tideline import (
    Capabilities,
    ChangeKind,
    MessageFlags,
    ResyncError,
    Status,
    SyncKind,
    TidelineError,
)

NOT_FOR_US = MessageFlags.MINE | MessageFlags.DELETED | MessageFlags.EVENT


class Start:
    """The time of the newest message at the first start, and the ids of those with this time."""

    def __init__(self, time_us, ids):
        self.time_us, self.ids = time_us, ids

    def since(self, client, place):
        return client.since(place.id, self.time_us - 1)

    def is_before(self, row):
        return row.time_us < self.time_us or row.id in self.ids


async def listed(client):
    """All conversations, as the server lists them now."""
    while (result := (await client.sync(kind=SyncKind.CONVERSATIONS)).result) is not Status.OK:
        if not result.is_transient:
            raise TidelineError(result, "the server does not give its list of conversations")
    return await client.conversations(limit=10_000)


async def first_start(client):
    places = await listed(client)
    start = Start(max([place.activity_us for place in places], default=0), [])
    for place in places:
        if place.activity_us == start.time_us:
            async for row in start.since(client, place):
                if row.time_us == start.time_us:
                    start.ids.append(row.id)
    return start


async def answer(client, row, start):
    if not start.is_before(row) and not row.flags & NOT_FOR_US:
        await client.send(row.conversation, {"text": "I have read it"}, reply_to=row.id,
                          client_id=f"answer-{row.id}")


async def fetch(client, start, each):
    """Fetches all messages since the first start, in conversations that are new to us too."""
    for place in await listed(client):
        async for row in start.since(client, place):
            await each(client, row, start)


async def fetch_on_each_connection(client, start):
    async def told_by_the_feed(*_):
        pass
    async for _ in client.connections():
        await fetch(client, start, told_by_the_feed)


async def answer_by_the_feed(client, start, seen, save):
    while True:
        try:
            async for change in client.changes(seen):
                if change.kind is ChangeKind.INSERTED:
                    for row in await client.numbered(
                            change.conversation, change.first, change.last, 10_000):
                        await answer(client, row, start)
                seen = change.seq
                save(seen)
        except ResyncError as error:
            await fetch(client, start, answer)
            seen = error.change_seq


async def main(port, user, file):
    kept = pathlib.Path(f"{file}.bot")
    async with tideline.aio.open(
            file, tideline.key_file(f"{file}.key"), user_id=user,
            profile=tideline.Profile(capabilities=Capabilities.IDEMPOTENT_SEND),
            connect=tideline.aio.stream(
                "127.0.0.1", int(port), hello={"type": "hello", "user": user})) as client:
        if kept.exists():
            time_us, ids, seen = json.loads(kept.read_text())
            start = Start(time_us, ids)
        else:
            start, seen = await first_start(client), 0

        def save(seen):
            kept.with_suffix(".new").write_text(json.dumps([start.time_us, start.ids, seen]))
            os.replace(kept.with_suffix(".new"), kept)

        save(seen)
        await asyncio.gather(fetch_on_each_connection(client, start),
                             answer_by_the_feed(client, start, seen, save))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
