"""Takes older caches in, with a bar: JSON lines, one JSON array of a conversation, or one JSON
object of it, message ids to payloads.

    python import.py old.jsonl --file live.tideline --user eva
    python import.py general.json --conversation general --array --file live.tideline --user eva
    python import.py --by-id cache/*.json --file live.tideline --user eva
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
    parser.add_argument("sources", nargs="*", type=pathlib.Path)
    parser.add_argument("--file", type=pathlib.Path, required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--conversation", default="", help="of messages that name none")
    parser.add_argument("--array", action="store_true", help="a source is one JSON array")
    parser.add_argument("--by-id", action="store_true",
                        help="a source is one JSON object of message ids to payloads, and its name "
                             "is that of the conversation")
    parser.add_argument("--read", action="store_true", help="what others wrote is read already")
    parser.add_argument("--export", metavar="CONVERSATION")
    told = parser.parse_args()
    # The key beside the file, as live.py keeps it.
    secret = tideline.key_file(f"{told.file}.key")
    with tideline.Client(told.file, secret, user_id=told.user) as client:
        if told.export:
            follow(client.export(told.export, sys.stdout.buffer.write))
            return
        for source in told.sources:
            name = str(source.resolve())
            room = told.conversation or (source.stem if told.by_id else "")
            follow(client.import_messages(
                source, name, room, array=told.array, by_id=told.by_id, read=told.read))
            done = client.imported(name)
            assert done is not None
            print(f"{done.inserted} messages were new, {done.known} were here, {done.bad} of no "
                  "use")
            for number, reason in client.import_bad(name).items():
                print(f"line {number}: {reason}")


if __name__ == "__main__":
    main()
