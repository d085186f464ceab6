#!/usr/bin/env python3
"""What has to pass before a commit lands: `make test`. docs/design/proof.md says what each stage
proves and what waits for `make nightly`."""

import argparse
import hashlib
import sys

import stages
from stages import ROOT, Stage, make, simulator

# Where AddressSanitizer can find something: what handles the host's and SQLite's memory.
POINTERS = ["Sources/ABI", "Sources/Vault", "Sources/BaseC", "Sources/Support", "Sources/Library",
            "Include", "Tests/Boundary"]
# The hash of these folders with which `make asan` passed last.
PASSED = ROOT / "Tests" / "Boundary" / "asan-passed.txt"


def hash_of_pointers():
    """Of the names and contents of all C and Swift files in these folders."""
    total = hashlib.sha256()
    for folder in POINTERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".swift", ".c", ".h"):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                total.update(f"{path.relative_to(ROOT)} {content}\n".encode())
    return total.hexdigest()


def needs_address_sanitizer():
    """Whether code that handles pointers differs from what AddressSanitizer passed."""
    return not PASSED.exists() or PASSED.read_text(encoding="ascii").strip() != hash_of_pointers()


def gate(jobs):
    base = stages.rotating_base()
    built = ("library", "server")
    tests = ("build of tests and simulator",)
    print(f"rotating seeds from {base}, of commit {stages.commit()}; the same ones again: "
          f"TL_FROM={base} make test", flush=True)
    pointers = []
    if needs_address_sanitizer():
        pointers = [Stage("boundary from C under AddressSanitizer", make("asan", jobs=jobs),
                          stages.count_boundary, built)]

    # Two stages run at a time, so one process each fills two cores (a seed that runs twice needs
    # two). The long ones go first.
    def rotating(name, *arguments):
        return Stage(name, simulator(*arguments, "--from", base, jobs=1), stages.count_last,
                     tests, rotating=True)

    def fixed(name, *arguments):
        return Stage(name, simulator(*arguments, jobs=1), stages.count_last, tests)

    return [
        Stage("build of tests and simulator", make("test-build", jobs=jobs)),
        Stage("library", make("lib", jobs=jobs)),
        Stage("server", make("server", jobs=jobs), after=("library",)),
        Stage("boundary from C", ["sh", "Scripts/boundary.sh", "release", "out/lib"],
              stages.count_boundary, built),
        Stage("boundary from Python", make("py-run", jobs=jobs), stages.count_last, built),
        Stage("probe of servers", make("probe-run", jobs=jobs), stages.count_last, built),
        Stage("boundary from Swift",
              [sys.executable, "Scripts/swift_boundary.py", "out/lib", "--jobs", jobs],
              stages.count_last, built),
        Stage("install and uninstall", ["sh", "Scripts/test_install.sh"], stages.count_last, built),
        *pointers,
        rotating("worlds, rotating", "run", "--seeds", 1000, "--worlds", "mix", "--twice", 19),
        *stages.swift_tests(after=tests),
        rotating("a tenth of the planted faults, searched anew", "faults", "--tenth",
                 "--seeds", 150),
        rotating("failing commits, rotating", "commits", "--seeds", 200, "--worlds", "mix"),
        fixed("worlds 1 to 400", "run", "--seeds", 400, "--worlds", "mix"),
        fixed("failing commits 1 to 100", "commits", "--seeds", 100, "--worlds", "mix"),
        fixed("seeds that failed once", "known", "Simulator/seeds.txt"),
        fixed("planted faults", "faults", "--recorded", "Simulator/faults.txt"),
        rotating("worlds of retention, rotating", "run", "--seeds", 90, "--worlds", "retention"),
        rotating("worlds of a log, rotating", "run", "--seeds", 90, "--worlds", "log"),
        fixed("worlds of retention 1 to 60", "run", "--seeds", 60, "--worlds", "retention"),
        fixed("worlds of a log 1 to 60", "run", "--seeds", 60, "--worlds", "log"),
        fixed("badges of worlds 1 to 1,000", "badges", "--seeds", 1000),
        # It has to lose: its counts say nothing, its exit code does.
        Stage("control of a log", simulator("control", "--seeds", 100, "--worlds", "log", jobs=1),
              after=tests),
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--hash-of-pointers", action="store_true",
                        help="print the hash of the files that AddressSanitizer is for")
    parser.add_argument("--passed-asan", metavar="HASH",
                        help="write down that it passed, where the files still have this hash")
    arguments = parser.parse_args()
    if arguments.hash_of_pointers:
        print(hash_of_pointers())
        return 0
    if arguments.passed_asan:
        if arguments.passed_asan == hash_of_pointers():
            PASSED.write_text(hash_of_pointers() + "\n", encoding="ascii")
        else:
            print("files changed meanwhile, so nothing is written down")
        return 0
    return stages.run(gate(arguments.jobs))


if __name__ == "__main__":
    sys.exit(main())
