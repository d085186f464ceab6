"""What the calls that hold the writer longest take, beside a page of as many bytes.

    worst.py [--count] [--library FILE] [KIND...]

Runs `worst.c` for each kind and prints its bytes, what became of it, the time of the processor, and
how many times that of an answer to `get_messages` of as many bytes it is. With `--count` both are
counted in instructions under callgrind, which takes minutes for each kind. Exits with 1 where a
frame takes more than 20 times as much.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
OUT = ROOT / "out" / "bench"
MOST = 20
KINDS = ["page", "escapes", "ids", "long_ids", "deletions", "long_deletions", "long_rooms",
         "long_nothing", "tiny", "back_dated", "rooms", "two_rooms", "copies", "one_receipt",
         "receipts", "reactions", "pins", "typing", "conversations", "readers", "sets", "members",
         "nested", "log_page", "log_holes", "log_push_holes", "log_reactions", "log_reads",
         "log_reaction", "log_island", "too_large", "import_lines", "search_deletion",
         "search_deletions", "search_edits", "search_advance", "search_waiting", "search_hits"]
# An answer to `get_messages` is at most so long.
PAGE_MOST = (16 << 20) - 64


def build(library, counts):
    folder = OUT / "worst"
    folder.mkdir(parents=True, exist_ok=True)
    own = folder / "libtideline.so.1"
    shutil.copy(library, own)
    if counts:
        subprocess.run(["strip", "-g", str(own)], check=True)
    subprocess.run(
        ["gcc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2",
         *(["-DBENCH_COUNT"] if counts else []), f"-I{ROOT / 'Include'}", str(HERE / "worst.c"),
         str(own), f"-Wl,-rpath,{folder}", "-o", str(folder / "worst")], check=True)
    return folder / "worst"


def measure(program, counts, *given):
    tool = (["valgrind", "--tool=callgrind", "--collect-atstart=no",
             "--callgrind-out-file=/dev/null"] if counts else [])
    done = subprocess.run([*tool, str(program), *map(str, given)], capture_output=True, text=True,
                          check=True)
    found = json.loads(done.stdout)
    if counts:
        found["cost"] = int(re.search(r"Collected : (\d+)", done.stderr).group(1)) / 1e6
    else:
        found["cost"] = found["ms"]
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--library", default=ROOT / "out" / "lib" / "libtideline.so.1")
    parser.add_argument("kinds", nargs="*")
    given = parser.parse_args()
    program = build(given.library, given.count)
    unit = "million instructions" if given.count else "ms"
    print(f"| frame | bytes | gives | {unit} | a page | times |\n|---|---|---|---|---|---|")
    worse = []
    for kind in given.kinds or KINDS:
        found = measure(program, given.count, kind)
        page = measure(
            program, given.count, "search_page" if kind.startswith("search_") else "page",
            min(found["bytes"], PAGE_MOST))
        times = found["cost"] / page["cost"]
        print(f"| {kind} | {found['bytes']:,} | {found['status']} | {found['cost']:,.1f} "
              f"| {page['cost']:,.1f} | {times:.1f} |", flush=True)
        if times > MOST:
            worse.append(kind)
    if worse:
        sys.exit(f"more than {MOST} times a page: {', '.join(worse)}")


if __name__ == "__main__":
    main()
