#!/usr/bin/env python3
"""The long proofs, one after the other: `make nightly`.

    nightly.py [--jobs N] [--only NAME] [--share PERCENT]

A whole run appends its row to docs/design/proof.md. Its seeds are drawn from the commit and the
day, so that each night tries others. --only runs the stages whose name has NAME in it. --share
shortens the stages whose length is free, new worlds and fuzzers, to that part.
"""

import argparse
import datetime
import sys
import zlib

import stages
from stages import ROOT, Stage, make, simulator

PAGE = ROOT / "docs" / "design" / "proof.md"
# Numbers of worlds that nobody has tried: 20,000 of the mix, and fewer of the slower ones.
MIX, COMMITS, RETENTION, LOG = 20_000, 1_000, 1_000, 1_000
FUZZ_SECONDS = 600


def base():
    """Above all numbers that `make test` uses."""
    day = datetime.date.today().isoformat()
    return (1 << 29) + (zlib.crc32(f"{stages.commit()} {day}".encode()) >> 4)


def all_stages(jobs, start, share=100):
    mix, commits, retention, log, seconds = (
        max(whole * share // 100, 1) for whole in (MIX, COMMITS, RETENTION, LOG, FUZZ_SECONDS))
    tests, library = ("build of tests and simulator",), ("library",)
    built = ("library", "server")

    def sim(name, *arguments, count=stages.count_last, drawn=False):
        return Stage(name, simulator(*arguments, jobs=jobs), count, tests, drawn=drawn)

    def target(name, *words, count=None, after=()):
        return Stage(name, make(*words, jobs=jobs), count, after)

    fuzz = [target(f"fuzzer of {kind}s, {seconds} s", "fuzz", f"TARGET={kind}",
                   f"SECONDS={seconds}")
            for kind in ("frame", "stamp")]
    return [
        target("build of tests and simulator", "test-build"),
        target("library", "lib"),
        target("server", "server"),
        target("static checks", "tidy", "format", "header", "symbols", "size", "abi", "types",
               "docs-lint", after=library),
        *stages.swift_tests(environment={"TL_ROUNDS": "20"}, after=tests),
        Stage("boundary from C", ["sh", "Scripts/boundary.sh", "release", "out/lib"],
              stages.count_boundary, library),
        target("boundary from Python", "py-run", count=stages.count_last, after=built),
        target("probe of servers", "probe-run", count=stages.count_last, after=built),
        target("boundary from Swift", "swift-boundary", count=stages.count_last, after=library),
        target("install and uninstall", "test-install", count=stages.count_last, after=library),
        target("examples", "examples", after=built),
        target("traces 1 to 2,000", "sim-traces", count=stages.count_last, after=tests),
        sim("worlds 1 to 5,000, each twice", "run", "--seeds", 5_000, "--worlds", "mix",
            "--twice", 1),
        sim("failing commits 1 to 2,000", "commits", "--seeds", 2_000, "--worlds", "mix"),
        sim("worlds of retention 1 to 400", "run", "--seeds", 400, "--worlds", "retention"),
        sim("control of a log", "control", "--seeds", 100, "--worlds", "log", count=None),
        sim("worlds of a log 1 to 400", "run", "--seeds", 400, "--worlds", "log", "--twice", 19),
        sim("badges of worlds 1 to 20,000", "badges", "--seeds", 20_000),
        sim("seeds that failed once", "known", "Simulator/seeds.txt"),
        sim("planted faults", "faults", "--recorded", "Simulator/faults.txt"),
        sim("planted faults, searched", "faults", "--seeds", 300),
        sim(f"worlds from {start}, {mix:,}", "run", "--seeds", mix, "--from", start, "--worlds",
            "mix", "--twice", 19, drawn=True),
        sim(f"failing commits from {start}, {commits:,}", "commits", "--seeds", commits, "--from",
            start, "--worlds", "mix", drawn=True),
        sim(f"worlds of retention from {start}, {retention:,}", "run", "--seeds", retention,
            "--from", start, "--worlds", "retention", drawn=True),
        sim(f"worlds of a log from {start}, {log:,}", "run", "--seeds", log, "--from", start,
            "--worlds", "log", drawn=True),
        sim("hostile servers, 320,000 frames", "hostile", "--seeds", 800, "--frames", 400),
        target("each commit of 100 worlds", "sim-each-commit", count=stages.count_last,
               after=tests),
        target("worlds on a storage, 1,000", "sim-storage", "SEEDS=1000", count=stages.count_last,
               after=tests),
        target("boundary from C under AddressSanitizer", "asan", count=stages.count_boundary),
        target("boundary from C under ThreadSanitizer", "tsan", count=stages.count_boundary),
        target("Swift tests under AddressSanitizer", "asan-swift", count=stages.count_swift),
        *fuzz,
        target("search beside a scan, 100,000 operations", "search-model",
               count=stages.count_swift, after=tests),
        target("a million steps of a screen", "screens", count=stages.count_swift, after=tests),
        target("import killed at 50 points", "import-kill", after=library),
        target("client in the terminal", "terminal-test", after=built),
        target("storages, with kills", "storage", after=library),
        target("real servers, with kills", "interop", after=library),
    ]


def with_needs(run, name):
    """The stages whose name has this in it, and those that they come after."""
    wanted = {stage.name for stage in run if name in stage.name}
    needed = {need for stage in run if stage.name in wanted for need in stage.after}
    return [stage for stage in run if stage.name in wanted | needed]


def table(run, minutes):
    """The stages of this night, in place of those of the night before."""
    rows = "".join(
        f"| {stage.name} | {stage.passed:,} | {stage.failed:,} | {stage.seconds:.0f} s |\n"
        for stage in run)
    head = "| stage | passed | failed | time |\n|---|---|---|---|\n"
    return f"{head}{rows}\nIn all {minutes:.0f} minutes on two cores.\n"


def append(run, start, minutes):
    worlds = sum(stage.passed + stage.failed for stage in run if stage.drawn)
    failed = [f"{stage.name}: {stage.failed}" for stage in run if stage.failed]
    row = (f"| {datetime.date.today()} | `{(stages.commit() or 'unknown')[:8]}` | {start} "
           f"| {worlds:,} | {sum(stage.passed for stage in run):,} | {'; '.join(failed) or 'none'} "
           f"| {minutes:.0f} |\n")
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split("<!-- the stages of the last night -->\n")
    _, after = rest.split("<!-- the end of the stages -->\n")
    text = (before + "<!-- the stages of the last night -->\n" + table(run, minutes)
            + "<!-- the end of the stages -->\n" + after)
    PAGE.write_text(text.rstrip("\n") + "\n" + row, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--only")
    parser.add_argument("--share", type=int, choices=range(1, 101), default=100, metavar="PERCENT")
    arguments = parser.parse_args()
    start = stages.rotating_base() if "TL_FROM" in stages.os.environ else base()
    run = all_stages(arguments.jobs, start, arguments.share)
    if arguments.only:
        run = with_needs(run, arguments.only)
    print(f"seeds from {start}, of commit {stages.commit()}", flush=True)
    code = stages.run(run, lanes=1)
    if not arguments.only and all(stage.state in ("done", "skipped") for stage in run):
        append(run, start, sum(stage.seconds for stage in run) / 60)
    return code


if __name__ == "__main__":
    sys.exit(main())
