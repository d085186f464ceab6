"""How each figure grows with the number of messages: measured at 1,000, 10,000 and 100,000 of them,
with `--million` at 1,000,000 too, and an exponent fitted by least squares to the logarithms. 0 is a
figure that does not care, 1 one that doubles with the messages.

    growth.py [--million] [--count] [--rounds N] [--cache-kib N] [--rows A,B]

Two series: all messages in one conversation, whose length grows, and 1,000 messages for each
conversation, whose number grows. With `--count` a third is in instructions under callgrind: times
of a machine that others use fit an exponent of 0.1 to nothing at all, instructions do not. Prints a
table for each and writes `out/bench/growth.json`.
"""

import argparse
import json
import math
import shutil
import statistics

import count
import rows as bench
import run

COUNTS = [1_000, 10_000, 100_000]
MILLION = 1_000_000
COUNTED = ["live_normal", "warm", "window", "jump", "cold", "deletes"]
SERIES = {"one conversation": lambda count: 1,
          "conversations of 1,000": lambda count: count // 1000}


def exponent(points):
    """The slope of a line through the logarithms of (x, y); None where that is no line."""
    points = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len({x for x, _ in points}) < 2:
        return None
    middle = [statistics.fmean(values) for values in zip(*points, strict=True)]
    above = sum((x - middle[0]) * (y - middle[1]) for x, y in points)
    return above / sum((x - middle[0]) ** 2 for x, _ in points)


def measured(rows, counts, conversations, given):
    """Medians by row, figure and count. The sizes take turns, so that a slow hour is no growth."""
    found = {row.name: {} for row in rows}
    for _ in range(given.rounds):
        for messages in counts:
            size = bench.Size(messages, conversations(messages))
            for name, figures in run.rounds(rows, size, 1, given.cache_kib).items():
                for figure, values in figures.items():
                    found[name].setdefault(figure, {}).setdefault(messages, []).extend(values)
    return {name: {figure: {messages: statistics.median(values)
                            for messages, values in sizes.items()}
                   for figure, sizes in figures.items()} for name, figures in found.items()}


def instructions(counts):
    """The same in instructions, which no noise moves, of Tideline on one conversation."""
    found = {}
    folder = count.build()
    for messages in counts:
        count.SIZE = bench.Size(messages, 1)
        for old in folder.glob("*.db*"):
            old.unlink()
        for figure in COUNTED:
            value = count.count(folder, "tide", figure)
            found.setdefault(figure, {})[messages] = value
    return {"Tideline, instructions": found}


def table(found, counts):
    """Markdown: a line for each figure with the values of the first row, and all exponents."""
    first, *others = found
    lines = ["| figure | " + " | ".join(f"{count:,}" for count in counts) + " | exponent |"
             + "".join(f" {name}'s |" for name in others),
             "|---" * (len(counts) + 2 + len(others)) + "|"]
    for figure, values in found[first].items():
        cells = [figure]
        for size in counts:
            value = values.get(size)
            cells.append("–" if value is None else f"{value:,.0f}" if "instructions" in first
                         else run.shown(value, figure))
        for name in found:
            slope = exponent(found[name].get(figure, {}).items())
            cells.append("–" if slope is None else f"{slope:.2f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cache-kib", type=int, default=16_384)
    parser.add_argument("--rows", default="Tideline", help="beside plain SQLite")
    given = parser.parse_args()
    counts = COUNTS + [MILLION] * given.million
    rows = run.chosen(given.rows)
    before = run.machine()
    result = {"machine": before, "rounds": given.rounds, "cache_kib": given.cache_kib,
              "series": {}}
    for name, conversations in SERIES.items():
        found = measured(rows, counts, conversations, given)
        result["series"][name] = found
        print(f"\n{name}, medians of {given.rounds} rounds; {before}\n")
        print(table(found, counts), flush=True)
    if given.count:
        found = instructions(counts)
        result["series"]["instructions"] = found
        print(f"\none conversation, instructions of one; {before}\n")
        print(table(found, counts), flush=True)
    (bench.OUT / "growth.json").write_text(json.dumps(result, indent=1) + "\n")
    shutil.rmtree(bench.OUT / "files")


if __name__ == "__main__":
    main()
