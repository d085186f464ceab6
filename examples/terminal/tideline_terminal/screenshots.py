"""Takes the pictures of the README: the client on a server of its own, without a terminal.

    python -m tideline_terminal.screenshots --server out/tideline-server --folder docs/images
"""

from __future__ import annotations

import argparse
import asyncio
import html
import os
import pathlib
import re
import tempfile
import time
from datetime import datetime, timezone
from typing import Any, Callable

from rich.cells import cell_len
from textual.pilot import Pilot
from tideline import Phase
from tideline.spans import read_spans, svg

from .__main__ import profile
from .app import ChatApp
from .scene import TITLE, Speaker, play
from .server import Server
from .session import Session

SIZE = (116, 36)
TURNS_MAX = 600
FONTS = ("ui-monospace, 'Cascadia Mono', 'JetBrains Mono', Menlo, 'DejaVu Sans Mono', "
         "'Noto Sans Mono CJK SC', monospace")


SPACE = "\N{NO-BREAK SPACE}"


def placed(text: re.Match[str]) -> str:
    """A piece of text in its columns: Textual counts each character as one. It begins with what is
    seen, since librsvg draws no space at the beginning."""
    words = html.unescape(text["words"])
    column = float(text["length"]) / len(words)
    seen = words.lstrip(SPACE) or words
    x = float(text["x"]) + column * (len(words) - len(seen))
    return (f'{text["before"]}x="{x:g}"{text["between"]}'
            f'textLength="{column * cell_len(seen):g}"{text["after"]}>'
            f'{html.escape(seen, quote=False).replace(SPACE, "&#160;")}</text>')


def plain(picture: str) -> str:
    """Textual's picture with the fonts that a reader has, and names that do not change by run."""
    picture = re.sub(
        r'(?P<before><text[^>]* )x="(?P<x>[\d.]+)"(?P<between>[^>]* )'
        r'textLength="(?P<length>[\d.]+)"(?P<after>[^>]*)>(?P<words>[^<]+)</text>',
        placed, picture)
    picture = re.sub(r"\s*@font-face \{.*?\}\n", "", picture, flags=re.DOTALL)
    picture = re.sub(r"font-family: ?Fira Code, ?monospace", f"font-family: {FONTS}", picture)
    picture = re.sub(r"terminal-\d+", "terminal", picture)
    return "\n".join(line.rstrip() for line in picture.splitlines()) + "\n"


class Camera:
    """The client, driven by its keys, and where its pictures go."""

    def __init__(self, app: ChatApp, pilot: Pilot[Any], folder: pathlib.Path) -> None:
        self.app, self._pilot, self._folder = app, pilot, folder

    async def until(self, what: str, condition: Callable[[], bool]) -> None:
        """Waits for a condition, for so many turns."""
        for _ in range(TURNS_MAX):
            await self._pilot.pause(0.02)
            if condition():
                return
        raise RuntimeError(f"never came: {what}")

    async def press(self, *keys: str) -> None:
        """Presses keys."""
        await self._pilot.press(*keys)
        await self._pilot.pause()

    def shows(self, text: str) -> bool:
        """Whether a text is among the messages on the screen."""
        pane = self.app.messages
        return any(text in pane.render_line(y).text for y in range(pane.size.height))

    async def newest(self) -> None:
        """Goes to the newest messages, once all is fetched."""
        session = self.app.session
        await self.until("all messages", lambda: (
            session.client.state().phase == Phase.UP_TO_DATE and session.thread is not None
            and len(session.thread) > 0))
        await self.press("ctrl+l")
        await self.until("the newest message", lambda: self.shows("Deal."))

    async def select(self, text: str) -> None:
        """Moves up to the message that says a text."""
        for _ in range(60):
            thread = self.app.session.thread
            message = thread.message() if thread is not None else None
            if message is not None and text.encode() in message.payload:
                return
            await self.press("up")
        raise RuntimeError(f"no such message: {text}")

    async def take(self, name: str) -> None:
        """Takes a picture."""
        self.app.draw_spans()
        await self._pilot.pause()
        picture = plain(self.app.export_screenshot(title="Tideline"))
        (self._folder / f"{name}.svg").write_text(picture)
        print(f"{name}.svg: {len(picture.encode()):,} bytes")


async def _life(camera: Camera, admin: Speaker, conversation: str) -> None:
    """The newest messages, somebody who types, a draft elsewhere; then a jump; then offline."""
    app = camera.app
    others = [row for row in app.session.list.conversations if row.id != conversation]
    app.session.client.draft(others[1].id, "I would rather take the bike")
    for room, user in ((conversation, "wei"), (others[2].id, "jan")):
        admin.ask({"type": "admin_typing", "conversation_id": room, "user": user})
    await camera.until("typing", lambda: sum(
        bool(row.typing) for row in app.session.list.conversations) == 2)
    await camera.press(*"See you on the pier")
    await camera.take("terminal")
    await camera.press("escape")
    await camera.select("This was the pier")
    await camera.press("enter")
    await camera.until("the message that is quoted", lambda: (
        not camera.shows("Deal.") and app.session.thread is not None
        and not app.session.thread.looking))
    await camera.press("pagedown", "pagedown", "pagedown")
    await camera.until("the gap", lambda: camera.shows("messages may be missing"))
    await camera.take("terminal-gap")
    await camera.press("b")
    await camera.until("back", lambda: camera.shows("This was the pier"))
    await camera.press("ctrl+l", "tab", "ctrl+o")
    await camera.until("offline", lambda: app.network is not None and not app.network.connected)
    app.composer.focus()
    app.composer.value = "The tunnel. I bring the map, and two lamps."
    await camera.press("enter")
    await camera.until("the message", lambda: camera.shows("waits to be sent"))
    await camera.take("terminal-offline")


async def _pictures(server: Server, folder: pathlib.Path, today: datetime) -> None:
    conversation = play(server.port, time_passes=True)
    admin = Speaker(server.port, "eva")
    with tempfile.TemporaryDirectory() as place:
        file = pathlib.Path(place, "eva.tideline")
        # The first run fetches; the second one shows what the cache is worth.
        for is_second in (False, True):
            session = Session("eva", file, profile=profile(keeps_log=False))
            app = ChatApp(session, server.port, conversation=TITLE, today=today.date)
            async with app.run_test(size=SIZE) as pilot:
                camera = Camera(app, pilot, folder)
                await camera.newest()
                if is_second:
                    await _life(camera, admin, conversation)
                    spans = read_spans(session.client, conversation)
                    (folder / "terminal-spans.svg").write_text(svg(spans, TITLE))
    admin.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="tideline_terminal.screenshots", description=__doc__)
    parser.add_argument("--server", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    os.environ["TZ"] = "UTC"
    time.tzset()
    # The day of this machine's clock, which dates what waits to be sent.
    today = datetime.now(timezone.utc)
    server = Server(arguments.server, [
        "--seed", "3", "--messages", "9000", "--conversations", "16",
        "--until", today.strftime("%Y-%m-%dT%H:%M:%S")])
    try:
        asyncio.run(_pictures(server, arguments.folder, today))
    finally:
        server.stop()


if __name__ == "__main__":
    main()
