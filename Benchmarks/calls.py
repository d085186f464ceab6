"""A screen of 50 messages from Python: the binding beside the Python modules of other stores, and
beside `json.loads` of the page that a server would send.

    calls.py MODULE FILE PRELUDE MESSAGES CONVERSATIONS CACHE-KIB

Tideline gives its objects; the others give tuples of what is in the columns, nothing decoded.
"""

import importlib
import json
import os
import pathlib
import sys

import peer

ROOT = pathlib.Path(__file__).resolve().parent.parent
COUNT = 2000
TURN = 50
QUERY = ("SELECT number, time, flags, lsn, id, sender, stamp, payload, reply_to, reactions,"
         " read_by, rest, sent_us, delivered_by, listened_by FROM message"
         " WHERE cid = 1 AND (time, id) < (9223372036854775807, x'') AND flags & 1408 = 0"
         " ORDER BY time DESC, id DESC LIMIT 50")


def by_tideline(path, cache_kib):
    """Opens the file and gives what reads a screen."""
    tideline = sys.modules["tideline"]
    profile = tideline.Profile(
        push_lossless=True, page_limit=peer.PAGE, truncates=tideline.Truncates.NEWEST,
        capabilities=tideline.Capabilities.BEFORE | tideline.Capabilities.ENVELOPE,
        time_resolution_us=1000)
    client = tideline.Client(path, bytes([7]) + bytes(31), user_id="me", account="bench",
                             profile=profile, existing=True, cache_bytes=cache_kib * 1024)
    return lambda: client.messages("room-00000", limit=peer.SCREEN).messages


def by_module(name, path, prelude, cache_kib):
    """The same over a Python module of some SQLite."""
    module = sys.modules[name]
    connection = (module.Connection if name == "apsw" else module.connect)(str(path))
    cursor = connection.cursor()
    for pragma in [*filter(None, prelude.split(";")), f"PRAGMA cache_size=-{cache_kib}"]:
        cursor.execute(pragma)
    return lambda: list(cursor.execute(QUERY))


def main():
    name, path, prelude, messages, conversations, cache_kib = sys.argv[1:7]
    path = pathlib.Path(path)
    if name == "tideline":
        os.environ["TIDELINE_LIBRARY"] = str(ROOT / "out" / "lib" / "libtideline.so.1")
        sys.path.insert(0, str(ROOT / "examples" / "python" / "src"))
    importlib.import_module(name)
    peer.drop_cache(path)
    watch = peer.Stopwatch()
    with watch:
        if name == "tideline":
            screen = by_tideline(path, int(cache_kib))
        else:
            screen = by_module(name, path, prelude, int(cache_kib))
        count = len(screen())
    if count != peer.SCREEN:
        sys.exit(f"{count} messages on the screen")
    peer.told("python_cold", 1, watch)
    what = {"python_warm": screen}
    if name == "tideline":
        data = peer.Data(int(messages), int(conversations))
        length = data.length(0)
        page = data.page(0, length - peer.SCREEN, length)
        what |= {"python_read": lambda: read(screen()), "json_loads": lambda: json.loads(page)}
    by_turns(what)


def read(messages):
    for message in messages:
        (message.number, message.time_us, message.flags, message.id, message.sender,
         message.payload, message.reactions_json, message.reply_to)


def by_turns(what):
    """Each of these so often, a few at a time: a machine is not as fast at all times."""
    watches = {figure: peer.Stopwatch() for figure in what}
    for _ in range(COUNT // TURN):
        for figure, work in what.items():
            for _ in range(TURN):
                with watches[figure]:
                    work()
    for figure, watch in watches.items():
        peer.told(figure, COUNT, watch)


if __name__ == "__main__":
    main()
