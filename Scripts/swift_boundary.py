#!/usr/bin/env python3
"""Builds and runs the Swift tests of the boundary, and shows that they drive all of it.

  swift_boundary.py FOLDER [--jobs N] [--filter NAME]

FOLDER holds the built library. The tests are a program that sees the header and the library alone.
A function is bound at its first call, and the dynamic linker tells of each binding: so a function
of the header that no test calls is found, and so is one that comes from anywhere but the library.
With --filter only the tests of that name run, and nothing is said about functions. The last line
sums what ran.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import header
import symbols

ROOT = header.ROOT
PACKAGE = ROOT / "Tests" / "SwiftBoundary"
SCRATCH = ROOT / ".build-boundary"
PROGRAM = SCRATCH / "debug" / "SwiftBoundaryPackageTests.xctest"
SONAME = "libtideline.so.1"
# Long after the tests of a healthy library have ended.
SECONDS = 300
RUN = re.compile(r"Test run with (\d+) tests?.*? (passed|failed)")
FAILED = re.compile(r"^\S+ Test (?!run |case )(.+) failed after", re.M)
BINDING = re.compile(r"binding file (\S+) \[\d+\] to (\S+) \[\d+\]: normal symbol `(tl_\w+)'")


def environment(folder, **more):
    """Without what breaks SwiftPM, and without what would bind every function at the start."""
    kept = {key: value for key, value in os.environ.items()
            if key not in ("CC", "CXX", "LD_BIND_NOW", "LD_LIBRARY_PATH")}
    return kept | {"TIDELINE_FOLDER": str(folder)} | more


def build(folder, jobs):
    subprocess.run(
        ["swift", "build", "--build-tests", "--package-path", PACKAGE, "--scratch-path", SCRATCH,
         "-j", jobs], check=True, env=environment(folder))


def run(folder, name):
    """Runs the tests; gives their counts and, by function, the files it was bound to."""
    command = [PROGRAM, "--testing-library", "swift-testing"]
    command += ["--filter", name] if name else []
    with tempfile.TemporaryDirectory() as logs:
        try:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                errors="replace", timeout=SECONDS,
                env=environment(folder, LD_DEBUG="bindings", LD_DEBUG_OUTPUT=f"{logs}/log"))
            output, code = done.stdout, done.returncode
        except subprocess.TimeoutExpired as error:
            output, code = (error.stdout or b"").decode(errors="replace"), 1
            output += f"\nnot over after {SECONDS} s\n"
        bound = {}
        for log in pathlib.Path(logs).iterdir():
            for user, file, function in BINDING.findall(log.read_text(errors="replace")):
                if pathlib.Path(user).name == PROGRAM.name:
                    bound.setdefault(function, set()).add(pathlib.Path(file).resolve())
    total = sum(int(count) for count, _ in RUN.findall(output))
    failed = len(FAILED.findall(output))
    if code != 0:
        print(output)
        failed = max(failed, 1)
    return max(total - failed, 0), failed, bound


def foreign():
    """What the program has of the library but a need for it."""
    text = subprocess.run(["nm", "--defined-only", PROGRAM], check=True, capture_output=True,
                          text=True).stdout
    for name in re.findall(r" (tl_\w+)$", text, re.M):
        yield f"the test program has a {name} of its own"
    if SONAME not in symbols.dynamic(PROGRAM)["needed"]:
        yield f"the test program does not need {SONAME}"


def undriven(bound, folder):
    """Functions of the header that no test called, or that came from elsewhere."""
    library = (folder / SONAME).resolve()
    for function in sorted(header.functions()):
        if function not in bound:
            yield f"{function} is called by no test"
        elif bound[function] != {library}:
            files = ", ".join(sorted(map(str, bound[function])))
            yield f"{function} comes from {files}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--filter")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    build(folder, arguments.jobs)
    passed, failed, bound = run(folder, arguments.filter)
    checks = [list(foreign())]
    if not arguments.filter:
        checks.append(list(undriven(bound, folder)))
    for trouble in checks:
        for line in trouble:
            print(f"swift boundary: {line}")
        passed, failed = (passed, failed + 1) if trouble else (passed + 1, failed)
    print(f"swift boundary: {passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
