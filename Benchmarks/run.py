"""Measures Tideline beside what people would use instead, on the same data in the same run.

    run.py [--messages N] [--conversations N] [--rounds N] [--cache-kib N] [--rows A,B]

The rows take turns, each measurement is a process of its own, and what counts is the median, with
that of the rounds' ratios to plain SQLite. Prints a table and writes `out/bench/results.json`.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys

import rows as bench

# In this order: each takes the file as the one before has left it.
COMMANDS = ["ingest", "cold", "read", "small", "python", "live_normal", "live_full", "deletes",
            "live_facts", "cold_facts"]
# What is over at once is measured so often in each round, whose value is the median.
TURNS = {"cold": 5, "cold_facts": 5}
SMALL_KIB = 2048


def measure(row, what, size, cache_kib):
    """One process; gives its figures by name, times in ns for one. `small` reads with a small page
    cache, where only windows in many conversations are of interest."""
    if what == "small":
        return {"spread_2mib": measure(row, "read", size, SMALL_KIB)["spread"]}
    done = subprocess.run(row.command(what, size, cache_kib), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{row.name}: {what}: {done.stderr.strip()}")
    figures = {}
    for line in done.stdout.splitlines():
        told = json.loads(line)
        figures[told["figure"]] = told["ns"] / told["count"] if "ns" in told else told["value"]
    return figures


def chosen(names):
    """The rows whose names contain one of these; plain SQLite always."""
    return [row for row in bench.prepare() if row.name == "plain SQLite"
            or any(part in row.name for part in names.split(","))]


def taken(rows, what, number, size, cache_kib):
    """The figures of one command in one round, by row, a value for each turn."""
    found = {row.name: {} for row in rows}
    for turn in range(number, number + TURNS.get(what, 1)):
        first = turn % len(rows)
        for row in rows[first:] + rows[:first]:
            if what in row.lacks:
                continue
            figures = measure(row, what, size, cache_kib)
            if what == "ingest":
                figures["file_mib"] = row.bytes() / 2**20
            for name, value in figures.items():
                found[row.name].setdefault(name, []).append(value)
            print(f"round {number + 1}: {row.name}: {what}", file=sys.stderr)
    return found


def rounds(rows, size, count, cache_kib, after=lambda found: None):
    """All figures of all rows, a list of `count` values each. `after` is called with those of the
    rounds that are done: a long run may be ended early."""
    found = {row.name: {} for row in rows}
    for number in range(count):
        for row in rows:
            row.forget()
        for what in COMMANDS:
            for name, figures in taken(rows, what, number, size, cache_kib).items():
                for figure, values in figures.items():
                    found[name].setdefault(figure, []).append(statistics.median(values))
        after(found)
    return found


def ratio(values, beside):
    """The median of the rounds' ratios: from round to round a shared machine is another one."""
    return statistics.median(value / other for value, other in zip(values, beside, strict=True))


def shown(value, name):
    if name.endswith("_mib") or name.endswith("_kib"):
        return f"{value:,.{name.endswith('_mib'):d}f} {name[-3].upper()}iB"
    return f"{value / 1000:,.1f} µs" if value < 1e7 else f"{value / 1e6:,.1f} ms"


def table(found, names):
    """Markdown: a line for each figure, medians of times and of ratios to plain SQLite."""
    figures = list(dict.fromkeys(figure for row in found.values() for figure in row))
    lines = ["| figure | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for figure in figures:
        plain = found["plain SQLite"].get(figure)
        cells = []
        for name in names:
            values = found[name].get(figure)
            if not values:
                cells.append("–")
                continue
            beside = f" ({ratio(values, plain):.2f})" if plain else ""
            cells.append(shown(statistics.median(values), figure) + beside)
        lines.append(f"| {figure} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def machine():
    return (f"{bench.processor()}, {os.cpu_count()} cores, "
            f"{platform.system()} {platform.release().split('-')[0]}, "
            f"load {os.getloadavg()[0]:.1f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--conversations", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cache-kib", type=int, default=16_384)
    parser.add_argument("--rows", default="", help="only those whose names contain one of these")
    given = parser.parse_args()
    rows = chosen(given.rows)
    size = bench.Size(given.messages, given.conversations)
    result = {"machine": machine(), "messages": size.messages,
              "conversations": size.conversations, "cache_kib": given.cache_kib}

    def keep(found):
        done = len(found["plain SQLite"]["ingest"])
        (bench.OUT / "results.json").write_text(
            json.dumps(result | {"rounds": done, "figures": found}, indent=1) + "\n")

    found = rounds(rows, size, given.rounds, given.cache_kib, keep)
    shutil.rmtree(bench.OUT / "files")
    print(f"{size.messages:,} messages in {size.conversations:,} conversations, medians of "
          f"{given.rounds} rounds, ratio to plain SQLite; {result['machine']}\n")
    print(table(found, [row.name for row in rows]))


if __name__ == "__main__":
    main()
