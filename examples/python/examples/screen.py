#!/usr/bin/env python3
"""A chat screen as text: a window, the items over it, and a viewport, over TCP.

    python screen.py 7400 eva CONVERSATION [--file eva.tideline] [--keys "u u l"]

Commands, one a line: u and d scroll, l goes to the newest, o opens or closes the first group, f
fills the first gap, q quits; all else is sent. With --keys each is done once nothing is awaited.
"""

import argparse
import asyncio
import pathlib
import sys
import textwrap

import tideline
import tideline.aio
from tideline import Edge, ItemFlags, LoadKind, Waiting

LINES, COLUMNS = 20, 72


class Screen:
    """What one conversation looks like."""

    def __init__(self, client, conversation):
        self.client, self.conversation = client, conversation
        self.window = client.window(conversation, count=40, preload=True)
        self.items = tideline.Items(self.window, deleted=True, moderated=True, events=True,
                                    mixed=True, unread_line=True, gap_min=5)
        self.viewport = tideline.Viewport(LINES, bottom_up=True, hold_bottom=True, estimate=2)

    def poll(self):
        """Brings all three to the newest state; False when nothing changed."""
        diff = self.items.update()
        if diff is not None:
            self.viewport.update(diff.ops, [item.key for item in self.items.current])
        return diff is not None

    def draw(self):
        """The lines of the screen; what is on it is told, so that it is read and loaded."""
        rows = [row for row in self.viewport.place(lambda row: len(self.lines(row.row)))
                if row.visible]
        lines = [""] * LINES
        for row in rows:
            for line, text in enumerate(self.lines(row.row), row.top):
                if 0 <= line < LINES:
                    lines[line] = text
        self.items.show(rows[0].row if rows else 0, len(rows))
        return lines

    def lines(self, place):
        """One item: what lies between it and the one before, then the item itself."""
        item = self.items.current[place]
        lines = []
        if ItemFlags.SPLIT_BEFORE in item.flags:
            heals = ItemFlags.SPLIT_HEALING in item.flags
            lines.append("~~~ loading ~~~" if heals else "~~~ messages may be missing ~~~")
        if ItemFlags.UNREAD_BEFORE in item.flags:
            lines.append("--- new ---")
        messages = self.items.messages(place)
        if ItemFlags.NEW_DAY in item.flags:
            lines.append(f"--- {messages[0].stamp[:10]} ---")
        if ItemFlags.GROUP in item.flags:
            return [*lines, f"> {item.row_count} events"]
        if ItemFlags.RUN_FIRST in item.flags:
            lines.append(f"{messages[0].sender}:")
        state = messages[0].state.name.lower()
        text = messages[0].json.get("text", "an event")
        text += f" ({state})" * (state != "confirmed")
        return lines + ["    " + part for part in textwrap.wrap(text, COLUMNS - 4) or [""]]

    def press(self, command):
        """What a command does; False is the end."""
        items = [(at, self.items.current[at].flags) for at in self.viewport.state().visible]
        if command == "q":
            return False
        if command in ("u", "d"):
            self.viewport.scroll({"u": -LINES // 2, "d": LINES // 2}[command])
        elif command == "l":
            self.window.load(LoadKind.LAST, 40)
            self.poll()
            self.viewport.scroll_to(edge=Edge.BOTTOM_END)
        elif command == "o":
            groups = [at for at in items if at[1] & (ItemFlags.GROUP | ItemFlags.OPENED)]
            for place, flags in groups[:1]:
                self.items.set_open(place, ItemFlags.GROUP in flags)
        elif command == "f":
            gaps = [place for place, flags in items if ItemFlags.SPLIT_BEFORE in flags]
            for place in gaps[:1]:
                self.window.fill(self.items.read(place, 1)[0].row)
        else:
            self.client.send(self.conversation, {"text": command})
        return True


async def run(client, screen, commands):
    """Draws whenever there is news, and does what the user says."""
    drawn, typed, is_person = None, list(commands), not commands

    def read():
        typed.append(sys.stdin.readline().strip() or "q")
        client.connection.wake()

    if is_person:
        asyncio.get_running_loop().add_reader(sys.stdin, read)
    while True:
        seen = client.turns
        await client.call(screen.poll)
        if (lines := await client.call(screen.draw)) != drawn:
            print("=" * COLUMNS, *lines, sep="\n", flush=True)
            drawn = lines
            continue
        state = await client.call(screen.window.state)
        ready = is_person or (state.row_count and state.waiting == Waiting.NOTHING)
        if not typed or not ready:
            await client.news(seen)
        elif not await client.call(screen.press, typed.pop(0)):
            return


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("user")
    parser.add_argument("conversation")
    parser.add_argument("--file", type=pathlib.Path)
    parser.add_argument("--keys", default="")
    arguments = parser.parse_args()
    # A real host takes random bytes and keeps them in the system's key store.
    key = b"an example; take random bytes..." if arguments.file else None
    connect = tideline.aio.stream(
        "127.0.0.1", arguments.port, hello={"type": "hello", "user": arguments.user})
    async with tideline.aio.open(
            arguments.file, key, user_id=arguments.user, connect=connect) as client:
        screen = await client.call(Screen, client.plain, arguments.conversation)
        await run(client, screen, arguments.keys.split())


if __name__ == "__main__":
    asyncio.run(main())
