"""Counts the system calls of each figure of each row: what a slower kernel or disk would show.

    syscalls.py [--messages N] [--conversations N] [--cache-kib N] [--rows A,B]

Runs the commands of `run.py` under strace. What belongs to a figure is all that the process and its
children call between the figure before it, or the first use of the file, and its own line of
output; the cold figures begin where the file has been dropped from the system's cache, Tideline's
live ones where all is prepared (`mark` of `bench.h`). What the stopwatch leaves out later is in
here: Tideline's `live_normal` has the syncs that its replies wait for, 64 of them one.
Prints, for one of what the figure counts, all calls, syncs of files and bytes written, and writes
`out/bench/syscalls.json`.
"""

import argparse
import json
import re
import subprocess
import sys

import rows as bench
import run

# Starting a write-out (`sync_file_range`) waits for nothing and makes nothing durable.
SYNCS = {"fsync", "fdatasync", "msync", "sync", "syncfs"}
WRITES = {"write", "pwrite64", "writev", "pwritev", "pwritev2"}
READS = {"read", "pread64", "readv", "preadv", "preadv2"}
# A figure of its own is not worth the trace where one process shows but its beginning.
SKIPPED = {"first", "json_loads"}
CALL = re.compile(r"^\d+\s+(\w+)\((.*)$")
RESULT = re.compile(r"= (\d+)$")
FIGURE = re.compile(r'^1, "\{\\"figure\\":\\"(\w+)\\",\\"count\\":(\d+)')


class Counts:
    """Calls of one figure so far."""

    def __init__(self):
        self.calls = self.syncs = self.reads = self.writes = self.bytes = 0

    def add(self, name, rest):
        self.calls += 1
        self.syncs += name in SYNCS
        self.reads += name in READS
        self.writes += name in WRITES
        done = RESULT.search(rest)
        if name in WRITES and done:
            self.bytes += int(done.group(1))

    def per(self, count):
        return {name: value / count for name, value in vars(self).items()}


def figures(trace, path):
    """Counts by figure from a trace."""
    found, counts, begun = {}, Counts(), False
    for line in trace:
        begun = begun or path in line
        call = CALL.match(line)
        if not call or not begun:
            continue
        name, rest = call.groups()
        told = FIGURE.match(rest) if name == "write" else None
        if told:
            found[told.group(1)] = counts.per(int(told.group(2)))
        # A cold window is counted from the opening on.
        if name == "fadvise64" or (told and told.group(1) != "open"):
            counts = Counts()
        elif not told:
            counts.add(name, rest)
    return {name: value for name, value in found.items() if name not in SKIPPED}


def traced(row, what, size, cache_kib):
    """One command of one row."""
    out = bench.OUT / "trace"
    done = subprocess.run(
        ["strace", "-f", "-qq", "-s", "96", "-e", "signal=none", "-o", str(out),
         *row.command(what, size, cache_kib)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{row.name}: {what}: {done.stderr.strip()}")
    with open(out, encoding="utf-8", errors="replace") as file:
        found = figures(file, str(row.path))
    out.unlink()
    return found


def cell(value):
    if value is None:
        return "–"
    written = f", {value['bytes'] / 1024:,.1f} KiB" if value["bytes"] >= 1 else ""
    return f"{value['calls']:,.2f} ({value['syncs']:.3g}{written})"


def table(found, names):
    """Markdown: a line for each figure."""
    lines = ["| figure | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for figure in dict.fromkeys(figure for row in found.values() for figure in row):
        cells = [cell(found[name].get(figure)) for name in names]
        lines.append(f"| {figure} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--conversations", type=int, default=10)
    parser.add_argument("--cache-kib", type=int, default=16_384)
    parser.add_argument("--rows", default="")
    given = parser.parse_args()
    size = bench.Size(given.messages, given.conversations)
    rows = run.chosen(given.rows)
    found = {}
    for row in rows:
        row.forget()
        found[row.name] = {}
        for what in run.COMMANDS:
            if what != "small" and what not in row.lacks:
                found[row.name] |= traced(row, what, size, given.cache_kib)
                print(f"{row.name}: {what}", file=sys.stderr)
        row.forget()
    (bench.OUT / "syscalls.json").write_text(json.dumps(
        {"machine": run.machine(), "messages": size.messages, "conversations": size.conversations,
         "figures": found}, indent=1) + "\n")
    print(f"{size.messages:,} messages in {size.conversations:,} conversations, calls of one"
          f" (syncs, written); {run.machine()}\n")
    print(table(found, [row.name for row in rows]))


if __name__ == "__main__":
    main()
