#!/usr/bin/env python3
"""Runs everything that must pass and sums it up in one last line.

Each step prints as it runs. A step that cannot be built counts as one failure, so that the last
line never looks better than the run was.
"""

import argparse
import os
import re
import subprocess
import sys
import time

SUM = re.compile(r"(\d+) passed, (\d+) failed")
RUN = re.compile(r"Test run with (\d+) tests?.*? (passed|failed)")
FAILED = re.compile(r"^\S+ Test (?!run |case )(.+) failed after")


def count_swift(lines):
    """Counts of `swift test`: its last summary, and each test named as failed."""
    total = None
    failed = 0
    for line in lines:
        if match := RUN.search(line):
            total = (total or 0) + int(match.group(1))
        elif FAILED.search(line):
            failed += 1
    return None if total is None else (total - failed, failed)


def count_sum(lines):
    """Counts of a step whose last matching line sums it up."""
    for line in reversed(lines):
        if match := SUM.search(line):
            return int(match.group(1)), int(match.group(2))
    return None


def count_sums(lines):
    """Counts of a step of several parts, each of which ends with a line that sums it up."""
    found = [match for line in lines if (match := SUM.fullmatch(line))]
    if not found:
        return None
    return sum(int(m.group(1)) for m in found), sum(int(m.group(2)) for m in found)


def run(name, command, count):
    """Runs one step, echoing its output; gives (passed, failed)."""
    print(f"=== {name}", flush=True)
    began = time.monotonic()
    environment = {key: value for key, value in os.environ.items() if key not in ("CC", "CXX")}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        env=environment)
    lines = []
    for line in process.stdout:
        sys.stdout.write(line)
        sys.stdout.flush()
        lines.append(line.rstrip("\n"))
    code = process.wait()
    passed, failed = (count(lines) if count else None) or (0, 0)
    if code != 0 and failed == 0:
        failed = 1
    if code == 0 and count and passed == 0:
        print(f"=== {name}: nothing ran")
        failed += 1
    print(f"=== {name}: {passed} passed, {failed} failed, {time.monotonic() - began:.0f} s",
          flush=True)
    return passed, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--seeds", default="5000")
    arguments = parser.parse_args()
    make = ["make", "--no-print-directory", f"JOBS={arguments.jobs}", f"SEEDS={arguments.seeds}"]
    steps = [
        ("swift test", ["swift", "test", "-j", arguments.jobs], count_swift),
        ("release library", make + ["lib"], None),
        ("boundary from C", make + ["c"], count_boundary),
        ("boundary from Python", make + ["py"], count_sum),
        ("probe of servers", make + ["probe-test"], count_sum),
        ("boundary from Swift", make + ["swift-boundary"], count_sum),
        ("simulator", make + ["sim-test"], count_sum),
        ("commits that fail", make + ["sim-commits"], count_sum),
        ("worlds of retention", make + ["sim-retention"], count_sum),
        ("worlds of a log", make + ["sim-log"], count_sum),
        ("seeds that failed once", make + ["sim-known"], count_sum),
        ("planted faults", make + ["sim-faults"], count_sums),
    ]
    results = [run(*step) for step in steps]
    passed = sum(result[0] for result in results)
    failed = sum(result[1] for result in results)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def count_boundary(lines):
    """Counts of the C tests, which run once for each way the library is built."""
    sums = [SUM.search(line) for line in lines if line.startswith("boundary ")]
    found = [match for match in sums if match]
    if not found:
        return None
    return sum(int(m.group(1)) for m in found), sum(int(m.group(2)) for m in found)


if __name__ == "__main__":
    sys.exit(main())
