"""The command: a client of a server that runs.

    python -m tideline_terminal --port 7400 --user eva --file eva.tideline
"""

from __future__ import annotations

import argparse
import pathlib

import tideline

from .app import ChatApp
from .session import Session

Can = tideline.Capabilities


def profile(keeps_log: bool) -> tideline.Profile:
    """What is known of the reference server. A file is bound to the kind."""
    if keeps_log:
        return tideline.Profile(capabilities=(
            Can.LOG | Can.LOG_REFUSES | Can.LOG_EPOCH | Can.IDEMPOTENT_SEND))
    return tideline.Profile(capabilities=Can.BEFORE | Can.AROUND | Can.IDEMPOTENT_SEND)


def main() -> None:
    parser = argparse.ArgumentParser(prog="tideline_terminal", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="the server's port for TCP")
    parser.add_argument("--user", default="eva")
    parser.add_argument("--file", type=pathlib.Path, help="the encrypted file; else in memory")
    parser.add_argument("--conversation", help="the id or title to open first")
    parser.add_argument("--hold-ms", type=int, default=1_000,
                        help="how long a gap that is being filled is not drawn")
    parser.add_argument("--log", action="store_true", help="the server keeps a log")
    arguments = parser.parse_args()
    session = Session(
        arguments.user, arguments.file, hold_ms=arguments.hold_ms or tideline.HOLD_NONE,
        profile=profile(arguments.log))
    ChatApp(session, arguments.port, conversation=arguments.conversation).run()


if __name__ == "__main__":
    main()
