"""The demonstration: a server with two years of conversations, and the client on it.

    python -m tideline_terminal.demo --server out/tideline-server --folder out/terminal

The folder keeps the world of the server and the client's file: the second start shows what the
cache is worth. With `--log` each conversation is a log, in files of its own.
"""

from __future__ import annotations

import argparse
import pathlib

from .__main__ import profile
from .app import ChatApp
from .scene import TITLE, Chatter, play
from .server import Server
from .session import Session

WORLD = ["--seed", "3", "--messages", "9000", "--conversations", "16"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="tideline_terminal.demo", description=__doc__)
    parser.add_argument("--server", type=pathlib.Path, required=True, help="the server's program")
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="where the files are")
    parser.add_argument("--latency-ms", type=int, default=40)
    parser.add_argument("--log", action="store_true", help="the server keeps a log")
    parser.add_argument("--quiet", action="store_true", help="nobody writes by himself")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    kind = "-log" if arguments.log else ""
    world = arguments.folder / f"server{kind}.db"
    is_new = not world.exists()
    server = Server(arguments.server, [
        *WORLD, "--db", str(world), "--latency-ms", str(arguments.latency_ms),
        *(["--log"] if arguments.log else [])])
    chatter = Chatter(server.port, 8)
    try:
        if is_new:
            play(server.port)
        if not arguments.quiet:
            chatter.start()
        session = Session("eva", arguments.folder / f"eva{kind}.tideline",
                          profile=profile(arguments.log))
        ChatApp(session, server.port, conversation=TITLE).run()
    finally:
        chatter.end()
        server.stop()


if __name__ == "__main__":
    main()
