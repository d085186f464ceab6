"""The command: ``python -m tideline.probe``."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys

from ..values import Profile
from .findings import Level, Report
from .fitting import c_literal, declared, differences, fit, python_literal
from .link import Closed, dialer
from .run import Setup, probe

_TITLES = {
    Level.FAULT: "Breaks the protocol", Level.TRAP: "To know",
    Level.SEEN: "As it should be", Level.UNKNOWN: "Not found out"}


def _print(report: Report, profile: Profile | None) -> None:
    for level, title in _TITLES.items():
        found = report.of(level)
        if found:
            print(f"{title}:")
            for one in found:
                print(f"  {one.name}: {one.text}")
    print("Profile that fits:")
    print(f"  C:      {c_literal(fit(report))}")
    print(f"  Python: {python_literal(fit(report))}")
    if profile is not None:
        print("Declared otherwise:")
        for line in differences(report, profile) or ["nothing"]:
            print(f"  {line}")


def _json(report: Report, profile: Profile | None) -> None:
    fitting = fit(report)
    print(json.dumps({
        "findings": [{"level": one.level.value, "name": one.name, "text": one.text}
                     for one in report.findings],
        "profile": dataclasses.asdict(fitting),
        "c": c_literal(fitting), "python": python_literal(fitting),
        "differences": differences(report, profile) if profile is not None else None},
        ensure_ascii=False))


def main() -> int:
    """0 where nothing breaks the protocol and the declared profile fits, 1 where something does, 2
    where the adapter could not be reached."""
    parser = argparse.ArgumentParser(
        prog="python -m tideline.probe",
        description="Finds out what kind of server an adapter speaks for. It sends, edits and "
        "deletes in the conversation that it is given: use one of your own.")
    parser.add_argument("adapter", help="tcp://host:port, ws://…, or module:Adapter")
    parser.add_argument("conversation", help="a scratch conversation, with --read-only any")
    parser.add_argument("--read-only", action="store_true", help="only read")
    parser.add_argument("--declare", default=None, metavar="PROFILE",
                        help="the declared profile: module:NAME, or words such as "
                        "'before around truncates=newest page_limit=100'")
    parser.add_argument("--hello", action="append", default=[], metavar="FRAME",
                        help="a frame that each connection begins with")
    parser.add_argument("--other", action="append", default=[], metavar="FRAME",
                        help="a frame that a connection of another user begins with")
    parser.add_argument("--device", action="append", default=[], metavar="FRAME",
                        help="a frame that a connection of another login of this user begins with")
    parser.add_argument("--patient", action="store_true",
                        help="wait two minutes to see whether a repeated send is still known")
    parser.add_argument("--account", default="", help="send requests as commands of this account")
    parser.add_argument("--messages", type=int, default=60, help="how many messages to send")
    parser.add_argument("--payload", default='"probe %"',
                        help="JSON of what to send; %% becomes a number")
    parser.add_argument("--timeout", type=float, default=10.0, metavar="SECONDS")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    sys.path.insert(0, os.getcwd())
    try:
        profile = declared(arguments.declare) if arguments.declare is not None else None
    except (ImportError, AttributeError, OSError, TypeError, ValueError) as error:
        print(f"--declare cannot be read: {error}", file=sys.stderr)
        return 2
    try:
        dial = dialer(arguments.adapter)
    except (ImportError, AttributeError, OSError) as error:
        print(f"the adapter cannot be loaded: {error}", file=sys.stderr)
        return 2
    try:
        report = probe(Setup(
            dial=dial, conversation=arguments.conversation,
            read_only=arguments.read_only, messages=arguments.messages,
            payload=arguments.payload, hello=tuple(arguments.hello),
            other=tuple(arguments.other), device=tuple(arguments.device),
            patient=arguments.patient, account=arguments.account,
            timeout_s=arguments.timeout))
    except (Closed, OSError) as error:
        print(f"the adapter cannot be reached: {error}", file=sys.stderr)
        return 2
    (_json if arguments.json else _print)(report, profile)
    wrong = report.of(Level.FAULT) or profile is not None and differences(report, profile)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
