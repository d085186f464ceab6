"""Many accounts in one process: what one takes, open and at rest; and that an idle one is still.

    accounts.py [--accounts N]

Prints what `accounts.c` measures, in a folder of memory where there is one, so that times are those
of the library and not of a disk. Then it runs 200 accounts through ten minutes of a virtual clock
under strace, half of them at rest, and fails where one of them writes, or wants to be called.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import rows as bench

OWN = bench.ROOT / "out" / "lib"
STILL = 200
WRITES = re.compile(r"^(?:\d+\s+)?(p?write|pwritev|writev|fsync|fdatasync|sync_file_range|"
                    r"fallocate|ftruncate|rename|unlink|open|creat)")


def build():
    program = bench.OUT / "accounts"
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2",
                    f"-I{bench.ROOT / 'Include'}", str(bench.HERE / "accounts.c"),
                    str(OWN / "libtideline.so.1"), f"-Wl,-rpath,{OWN}", "-ldl", "-o",
                    str(program)], check=True)
    return str(program)


def figures(command):
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    told = map(json.loads, done.stdout.splitlines())
    return {one["figure"]: one.get("value", one.get("ns", 0) / one.get("count", 1))
            for one in told}


def folder():
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)


def virtual_minutes(program):
    """What the accounts want and call between the two marks."""
    with folder() as files, tempfile.NamedTemporaryFile("r") as trace:
        told = figures(["strace", "-f", "-qq", "-o", trace.name, program, files, str(STILL),
                        "virtual"])
        calls, marks = [], 0
        for line in trace:
            marks += "fadvise64(1," in line
            if marks == 1:
                calls.append(line.split(None, 1)[1])
    assert marks == 2, "the marks are missing"
    writes = [call for call in calls if WRITES.match(call)]
    print(f"ten virtual minutes of {STILL} accounts: {told['turns']:.0f} first turns, then "
          f"{told['wakes']:.0f} wake-ups, {told['frames']:.0f} frames, {len(writes)} writes, "
          f"{len(calls)} system calls")
    return not writes and not told["wakes"] and not told["frames"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accounts", type=int, default=1_000)
    program, count = build(), parser.parse_args().accounts
    with folder() as files:
        told = figures([program, files, str(count)])
    print(f"{count:,} accounts")
    for name, value in told.items():
        print(f"{name:24} {value / 1_000:10.2f} us" if name.endswith(("advance", "fill"))
              else f"{name:24} {value:10.2f}")
    return 0 if virtual_minutes(program) else 1


if __name__ == "__main__":
    sys.exit(main())
