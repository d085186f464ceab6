#!/usr/bin/env python3
"""Compares the traces of seeds 1 to 2,000 with those that were kept.

    traces.py SIMULATOR [--jobs J] [--accept]

A trace holds times, frames, ids of messages and versions, and no names of types or functions. So
a change that only moves or renames leaves each hash as it is. `--accept` writes a new list; the
commit that carries it says why.
"""

import argparse
import pathlib
import re
import subprocess
import sys

KEPT = pathlib.Path(__file__).resolve().parent / "traces.txt"
SEEDS = 2000
LINE = re.compile(r"(\d+) ([0-9a-f]+)\n?$")


def kept():
    return [tuple(line.split()) for line in KEPT.read_text(encoding="ascii").splitlines()]


def found(simulator, jobs):
    """(seed, hash) of each seed, ordered by seed."""
    run = subprocess.run(
        [simulator, "run", "--traces", "--worlds", "mix", "--seeds", str(SEEDS), "--jobs", jobs],
        capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.stdout.write(run.stdout[-10_000:] + run.stderr[-10_000:])
        sys.exit("traces: the simulator failed")
    pairs = [match.groups() for match in map(LINE.match, run.stdout.splitlines()) if match]
    return sorted(pairs, key=lambda pair: int(pair[0]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("simulator")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--accept", action="store_true")
    arguments = parser.parse_args()
    pairs = found(arguments.simulator, arguments.jobs)
    if len(pairs) != SEEDS:
        sys.exit(f"traces: {len(pairs)} of {SEEDS} seeds told their trace")
    if arguments.accept:
        KEPT.write_text("".join(f"{seed} {trace}\n" for seed, trace in pairs), encoding="ascii")
        return
    differing = [new[0] for old, new in zip(kept(), pairs, strict=True) if old != new]
    print(f"{SEEDS - len(differing)} passed, {len(differing)} failed")
    if differing:
        sys.exit("traces: these seeds differ: " + " ".join(differing[:20]))


if __name__ == "__main__":
    main()
