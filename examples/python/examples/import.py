"""Takes an older cache in, with a bar: JSON lines, or one JSON array of a conversation.

    python import.py old.jsonl --file live.tideline --user eva
    python import.py general.json --conversation general --array --file live.tideline --user eva
    python import.py --export general --file live.tideline --user eva > general.jsonl

Stop it whenever you like: it goes on where it was.
"""

import argparse
import pathlib
import sys

import tideline


def bar(progress: tideline.Progress, width: int = 40) -> str:
    part = progress.done / progress.total if progress.total else 1.0
    return f"[{'#' * int(part * width):{width}}] {part:4.0%}"


def follow(work: tideline.Work) -> None:
    """Works to the end, and draws how far it is where somebody looks."""
    while True:
        progress = work.step(50)
        if sys.stderr.isatty() or progress.is_done:
            print("\r" + bar(progress), end="\n" if progress.is_done else "", file=sys.stderr)
        if progress.is_done:
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source", nargs="?", type=pathlib.Path)
    parser.add_argument("--file", type=pathlib.Path, required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--conversation", default="", help="of messages that name none")
    parser.add_argument("--array", action="store_true", help="the source is one JSON array")
    parser.add_argument("--read", action="store_true", help="what others wrote is read already")
    parser.add_argument("--export", metavar="CONVERSATION")
    told = parser.parse_args()
    # The key beside the file, as live.py keeps it.
    secret = tideline.key_file(f"{told.file}.key")
    with tideline.Client(told.file, secret, user_id=told.user) as client:
        if told.export:
            follow(client.export(told.export, sys.stdout.buffer.write))
            return
        name = str(told.source.resolve())
        follow(client.import_messages(
            told.source, name, told.conversation, array=told.array, read=told.read))
        done = client.imported(name)
        assert done is not None
        print(f"{done.inserted} messages were new, {done.known} were here, {done.bad} of no use")
        for number, reason in client.import_bad(name).items():
            print(f"line {number}: {reason}")


if __name__ == "__main__":
    main()
