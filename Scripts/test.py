#!/usr/bin/env python3
"""What has to pass before a commit lands: `make test`. docs/design/proof.md says what each stage
proves and what waits for `make nightly`."""

import argparse
import re
import subprocess
import sys

import stages
from stages import ROOT, Stage, make, simulator

# Where AddressSanitizer can find something: what handles the host's and SQLite's memory.
POINTERS = ["Sources/ABI", "Sources/Vault", "Sources/BaseC", "Sources/Support", "Include",
            "Tests/Boundary"]
NIGHT = re.compile(r"^\| *\d{4}-\d\d-\d\d *\| *`?([0-9a-f]{7,40})`? *\|", re.M)


def needs_address_sanitizer():
    """Whether code that handles pointers changed since the last night in docs/design/proof.md."""
    nights = NIGHT.findall((ROOT / "docs" / "design" / "proof.md").read_text(encoding="utf-8"))
    if not nights:
        return True
    done = subprocess.run(["git", "diff", "--quiet", nights[-1], "--", *POINTERS], cwd=ROOT,
                          capture_output=True, check=False)
    return done.returncode != 0


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

    def rotating(name, *arguments):
        return Stage(name, simulator(*arguments, "--from", base, jobs=jobs), stages.count_last,
                     tests, rotating=True)

    def fixed(name, *arguments):
        return Stage(name, simulator(*arguments, jobs=jobs), stages.count_last, tests)

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
        Stage("Swift tests", [stages.TESTS, "--testing-library", "swift-testing"],
              stages.count_swift, tests, environment=stages.swift_tests()),
        fixed("planted faults", "faults", "--recorded", "Simulator/faults.txt"),
        fixed("seeds that failed once", "known", "Simulator/seeds.txt"),
        # It has to lose: its counts say nothing, its exit code does.
        Stage("control of a log", simulator("control", "--seeds", 100, "--worlds", "log",
                                            jobs=jobs), after=tests),
        fixed("worlds 1 to 400", "run", "--seeds", 400, "--worlds", "mix"),
        fixed("failing commits 1 to 100", "commits", "--seeds", 100, "--worlds", "mix"),
        fixed("worlds of retention 1 to 60", "run", "--seeds", 60, "--worlds", "retention"),
        fixed("worlds of a log 1 to 60", "run", "--seeds", 60, "--worlds", "log"),
        rotating("worlds, rotating", "run", "--seeds", 1000, "--worlds", "mix", "--twice", 19),
        rotating("failing commits, rotating", "commits", "--seeds", 200, "--worlds", "mix"),
        rotating("worlds of retention, rotating", "run", "--seeds", 90, "--worlds", "retention"),
        rotating("worlds of a log, rotating", "run", "--seeds", 90, "--worlds", "log"),
        rotating("a tenth of the planted faults, searched anew", "faults", "--tenth",
                 "--seeds", 300),
        *pointers,
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", default="2")
    return stages.run(gate(parser.parse_args().jobs))


if __name__ == "__main__":
    sys.exit(main())
