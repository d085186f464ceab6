#!/usr/bin/env python3
"""After a change: builds it, runs the tests of the modules that changed, and 100 seeds.

    quick.py [--jobs N] [--since COMMIT]

What changed is what differs from COMMIT: the last one without it, so that what is not yet committed
counts, and where all is committed the last commit does. `make test` runs everything.
"""

import argparse
import re
import subprocess
import sys

import stages
from stages import ROOT, Stage, make, simulator

# The tests of a folder's code. What is in none of them (Python, examples, the server's program) is
# left to `make test`.
TESTS = [
    (r"Sources/Base(C?)/", ["BaseTests"]),
    (r"Sources/(Timeline|Viewport|Wire|Text|Vault|Store|Engine)/", ["{0}Tests"]),
    (r"Sources/(ABI|Library)/|Include/|Tests/Boundary/.*\.[ch]$", ["C"]),
    (r"Sources/Viewport/", ["C"]),
    (r"Sources/Support/", ["VaultTests", "StoreTests"]),
    (r"Tests/(\w+Tests)/", ["{0}"]),
    (r"Tests/LogSupport/", ["TimelineTests", "StoreTests", "EngineTests"]),
    (r"TestSupport/", ["VaultTests", "TextTests", "StoreTests", "EngineTests", "SimulatorTests"]),
    (r"Simulator/Book/|Tests/BookSupport/", ["BookTests"]),
    (r"Simulator/", ["SimulatorTests"]),
    (r"examples/server/Sources/ReferenceServer/", ["ServerTests"]),
]


def changed(since):
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True,
                              check=True).stdout.split("\n")

    paths = git("diff", "--name-only", since) + git("ls-files", "-o", "--exclude-standard")
    paths = sorted({path for path in paths if path})
    return paths or [path for path in git("show", "--name-only", "--format=", "HEAD") if path]


def tests_of(paths):
    found = set()
    for path in paths:
        for pattern, names in TESTS:
            if match := re.match(pattern, path):
                found.update(name.format(*match.groups()) for name in names)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--since", default="HEAD")
    arguments = parser.parse_args()
    paths = changed(arguments.since)
    tests = tests_of(paths)
    print(f"changed: {', '.join(paths[:6])}{' …' if len(paths) > 6 else ''}", flush=True)
    print(f"tests: {', '.join(sorted(tests)) or 'none of their own'}", flush=True)
    built = ("build",)
    swift = sorted(tests - {"C"})
    # Only what is run is built.
    needed = {"TL_TESTS": ",".join([*swift, "SIM", *(["LIB"] if "C" in tests else [])])}
    run = [Stage("build", make("test-build", jobs=arguments.jobs), environment=needed),
           Stage("100 seeds", simulator("run", "--seeds", 100, "--worlds", "mix",
                                        jobs=1), stages.count_last, built)]
    if swift:
        run[1:1] = stages.swift_tests(swift, after=built)
    if "C" in tests:
        # The library of the same build: it is not the one that is shipped.
        run.append(Stage("staged library", ["sh", "Scripts/stage.sh",
                                            ".build-test/debug/libtideline.so", "out/quick",
                                            stages.version()], after=built))
        run.append(Stage("boundary from C", ["sh", "Scripts/boundary.sh", "release", "out/quick"],
                         stages.count_boundary, ("staged library",)))
    return stages.run(run)


if __name__ == "__main__":
    sys.exit(main())
