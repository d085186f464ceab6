"""The command: a client of a server that runs.

    python -m tideline_terminal --port 7400 --user eva --file eva.tideline
"""

from __future__ import annotations

import argparse
import pathlib

import tideline

from .app import ChatApp
from .session import Session

CAPABILITIES = (tideline.Capabilities.BEFORE | tideline.Capabilities.AROUND
                | tideline.Capabilities.IDEMPOTENT_SEND)


def main() -> None:
    parser = argparse.ArgumentParser(prog="tideline_terminal", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="the server's port for TCP")
    parser.add_argument("--user", default="eva")
    parser.add_argument("--file", type=pathlib.Path, help="the encrypted file; else in memory")
    parser.add_argument("--conversation", help="the id or title to open first")
    parser.add_argument("--hold-ms", type=int, default=1_000,
                        help="how long a gap that is being filled is not drawn")
    arguments = parser.parse_args()
    session = Session(arguments.user, arguments.file, hold_ms=arguments.hold_ms,
                      profile=tideline.Profile(capabilities=CAPABILITIES))
    ChatApp(session, arguments.port, conversation=arguments.conversation).run()


if __name__ == "__main__":
    main()
