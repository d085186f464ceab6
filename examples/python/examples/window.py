#!/usr/bin/env python3
"""Draws a window on a conversation as text, with its gaps, live over WebSocket.

    python window.py ws://127.0.0.1:7401 eva CONVERSATION [--keys uujflq]

Keys: u older, d newer, j jump far back, l to the newest, f fill the first gap, q quit. With --keys
each is pressed once the window waits for nothing; without, lines are read from the terminal. Needs
the package ``websockets``.
"""

import argparse
import asyncio
import sys

import tideline
import tideline.aio

DAY_US = 24 * 3600 * 1_000_000
GAP = "       ~~~ gap ~~~"
FILLING = "       ~~~ filling a gap ~~~"


class Screen:
    """A window with its list of messages, drawn whenever a difference came."""

    def __init__(self, window):
        self.window = window

    async def draw(self):
        state = await self.window.state()
        ends = ", at the start" * state.at_start + ", at the end" * state.at_end
        print(f"-- version {state.version}: {state.row_count} rows, {state.split_count} splits, "
              f"waits for {state.waiting.name.lower()}{ends}", flush=True)
        if state.gap_before:
            print(GAP)
        stretch = []
        for index, row in enumerate(self.window.messages):
            # Splits move without their rows' content, so flags are read with them.
            if index and tideline.MessageFlags.GAP_BEFORE in row.flags:
                self.draw_stretch(stretch)
                heals = tideline.MessageFlags.GAP_HEALING in row.flags
                print(FILLING if heals else GAP)
                stretch = []
            stretch.append((index, row))
        self.draw_stretch(stretch)
        if state.gap_after:
            print(GAP, flush=True)

    @staticmethod
    def draw_stretch(stretch):
        shown = stretch if len(stretch) <= 5 else stretch[:2] + [None] + stretch[-2:]
        for entry in shown:
            if entry is None:
                print(f"       ... {len(stretch) - 4} more")
            else:
                index, row = entry
                text = row.payload.decode(errors="replace")[:40]
                print(f"{index:5}  {row.stamp[:19]}  {row.sender[:8]:8} {text}")

    async def press(self, key):
        """What a key does; False is the end."""
        window, rows = self.window, self.window.messages
        if key == "q":
            return False
        if key == "u":
            await window.before(20)
        elif key == "d":
            await window.after(20)
        elif key == "l":
            await window.load(tideline.LoadKind.LAST, 20)
        elif key == "j" and rows:
            await window.load(tideline.LoadKind.AROUND, 20, at=tideline.At.TIME,
                              time_us=rows[0].time_us - 5 * DAY_US)
        elif key == "f":
            gaps = [index for index, row in enumerate(rows)
                    if index and tideline.MessageFlags.GAP_BEFORE in row.flags]
            print("fill:", bool(gaps) and await window.fill(gaps[0]), flush=True)
        return True


async def run(client, screen, keys):
    """One turn after the other until the keys are used up."""
    typed = list(keys or "")
    if keys is None:
        def read():
            typed.extend(sys.stdin.readline().strip())
            client.connection.wake()
        asyncio.get_running_loop().add_reader(sys.stdin, read)
    while True:
        seen = client.turns
        while await screen.window.poll():
            await screen.draw()
        state = await screen.window.state()
        ready = keys is None or (
            state.row_count and state.waiting == tideline.Waiting.NOTHING)
        if ready and (typed or keys is not None):
            if not typed or not await screen.press(typed.pop(0)):
                return
        else:
            await client.news(seen)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("user")
    parser.add_argument("conversation")
    parser.add_argument("--keys")
    arguments = parser.parse_args()
    connect = tideline.aio.websocket(f"{arguments.url}/?user={arguments.user}")
    async with (
            tideline.aio.open(user_id=arguments.user, connect=connect) as client,
            client.window(arguments.conversation, count=20) as window):
        await run(client, Screen(window), arguments.keys)
        print(f"end: {len(window.messages)} rows in the list")


if __name__ == "__main__":
    asyncio.run(main())
