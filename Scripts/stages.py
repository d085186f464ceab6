"""Runs stages of a test run, at most two at a time, and sums them up.

A stage is one command. It starts when the stages that it comes after have passed and a lane is
free; its output goes to a file and is shown when it fails. A stage that cannot start counts as one
failure, so that the last line never looks better than the run was.
"""

import dataclasses
import fcntl
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "out" / "test"
SIMULATOR = ".build-test/debug/tideline-sim"
TESTS = ".build-test/debug/tidelinePackageTests.xctest"
LANES = 2
# How many rotating seeds may fail before the run does. A commit that breaks something breaks many;
# a rare old failure is to be written down, not to stop other work. One in 900 fails today, so that
# one run of 200 has more than these by chance.
ROTATING_FAILURES_MAX = 5
# The lines of a failed stage that are shown at each end: the first story, and the sums.
LINES_SHOWN = 200

SUM = re.compile(r"(\d+) passed, (\d+) failed$")
RUN = re.compile(r"Test run with (\d+) tests?.*? (passed|failed)")
FAILED = re.compile(r"^\S+ Test (?!run |case )(.+) failed after")


@dataclasses.dataclass
class Stage:
    name: str
    command: list
    count: object = None            # gives (passed, failed) of the output's lines
    after: tuple = ()               # names of stages that have to pass first
    environment: dict = dataclasses.field(default_factory=dict)
    rotating: bool = False          # its seeds differ from commit to commit
    drawn: bool = False             # its worlds are counted in the table of nights
    passed: int = 0
    failed: int = 0
    broken: bool = False            # it failed otherwise than by its counts
    seconds: float = 0
    state: str = "waiting"          # then running, done or skipped

    @property
    def log(self):
        return LOGS / (re.sub(r"[^a-z0-9]+", "-", self.name.lower()) + ".log")


def count_swift(lines):
    """Counts of a run of Swift tests: its summaries, and each test named as failed."""
    total = failed = 0
    for line in lines:
        if match := RUN.search(line):
            total += int(match.group(1))
        elif FAILED.search(line):
            failed += 1
    return max(total - failed, 0), failed


def count_last(lines):
    """Counts of a stage whose last matching line sums it up."""
    for line in reversed(lines):
        if match := SUM.search(line):
            return int(match.group(1)), int(match.group(2))
    return 0, 0


def count_boundary(lines):
    """Counts of the C tests."""
    found = [SUM.search(line) for line in lines if line.startswith("boundary ")]
    found = [match for match in found if match]
    return sum(int(m.group(1)) for m in found), sum(int(m.group(2)) for m in found)


def version():
    """The version that is built."""
    return re.search(r"^VERSION := (\S+)$", (ROOT / "Makefile").read_text(), re.M)[1]


def commit():
    """The commit that is tested; None where this is no git checkout."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True,
                              text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def rotating_base():
    """Where the rotating seeds begin: a number of the commit, or the one in TL_FROM."""
    if given := os.environ.get("TL_FROM"):
        return int(given)
    if commit() is None:
        show("no commit is known here: the rotating seeds are those of no commit")
    return 1_000_000 + int((commit() or "0")[:7], 16)


# Swift Testing walks the stack at each error that is thrown, caught or not. In tests of error paths
# that took up to nine tenths of the time (259 s in place of 35 s for one of them).
SWIFT_TESTING = {"SWT_SWIFT_ERROR_BACKTRACING_ENABLED": "0"}


# The suites whose names begin with these letters take half of the time.
FIRST_HALF = r"^\w+\.[A-R]"


def swift_tests(modules=(), **more):
    """The stages of the Swift tests, all or those of the modules that are named, in two halves.

    In each half one test runs at a time: side by side in one process they wait for each other's
    reference counts, and take twice the CPU.
    """
    environment = SWIFT_TESTING | more.pop("environment", {})
    command = [TESTS, "--testing-library", "swift-testing", "--no-parallel"]
    of_modules = f"^({'|'.join(modules)})\\." if modules else r"^\w+\."
    if modules and "EngineTests" not in modules:
        # Few tests, and not each module has suites in both halves.
        return [Stage("Swift tests", [*command, "--filter", of_modules], count_swift,
                      environment=environment, **more)]
    first = of_modules + "[A-R]"
    return [Stage("Swift tests, suites A to R", [*command, "--filter", first], count_swift,
                  environment=environment, **more),
            Stage("Swift tests, suites S to Z",
                  [*command, "--filter", of_modules, "--skip", FIRST_HALF], count_swift,
                  environment=environment, **more)]


def show(text):
    print(text, flush=True)


class Running:
    """The processes that run, so that an interrupted run leaves none behind."""

    def __init__(self):
        self.lock = threading.Lock()
        self.processes = set()
        self.is_over = False

    def start(self, stage, log):
        environment = {key: value for key, value in os.environ.items() if key not in ("CC", "CXX")}
        with self.lock:
            if self.is_over:
                raise InterruptedError("the run was interrupted")
            process = subprocess.Popen(
                stage.command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL, env=environment | stage.environment,
                start_new_session=True)
            self.processes.add(process)
        return process

    def wait(self, process):
        code = process.wait()
        with self.lock:
            self.processes.discard(process)
        return code

    def end(self):
        with self.lock:
            self.is_over = True
            for process in self.processes:
                os.killpg(process.pid, signal.SIGTERM)


def run_one(stage, running):
    began = time.monotonic()
    try:
        with open(stage.log, "w", encoding="utf-8") as log:
            code = running.wait(running.start(stage, log))
        lines = stage.log.read_text(encoding="utf-8", errors="replace").splitlines()
        if stage.count:
            stage.passed, stage.failed = stage.count(lines)
        trouble = f"ended with {code}" if code != 0 and stage.failed == 0 else ""
        if code == 0 and stage.count and stage.passed == 0:
            trouble = "nothing ran"
    except Exception:  # pylint: disable=broad-except
        lines, trouble = traceback.format_exc().splitlines(), "it could not be run"
    if trouble:
        stage.broken, stage.failed = True, max(stage.failed, 1)
    stage.seconds = time.monotonic() - began
    if stage.failed:
        cut = len(lines) - 2 * LINES_SHOWN
        if cut > 0:
            lines[LINES_SHOWN:-LINES_SHOWN] = [f"… {cut} lines left out …"]
        show("\n".join(lines))
    counts = f"{stage.passed} passed, {stage.failed} failed, " if stage.count else ""
    show(f"=== {stage.name}: {counts}{stage.seconds:.0f} s"
         + (f", FAILED: {trouble or 'see above'}" if stage.failed else "")
         + (f", {stage.log.relative_to(ROOT)}" if stage.failed else ""))


def next_stage(stages, by_name):
    """The next stage whose predecessors are done; marks those as skipped that cannot run."""
    for stage in stages:
        if stage.state != "waiting":
            continue
        before = [by_name[name] for name in stage.after]
        if any(one.state == "skipped" or one.broken for one in before):
            stage.state, stage.broken, stage.failed = "skipped", True, 1
            show(f"=== {stage.name}: FAILED: not run, what it needs was not built")
        elif all(one.state == "done" for one in before):
            return stage
    return None


def run(stages, lanes=LANES):
    """Runs all stages; gives the exit code."""
    LOGS.mkdir(parents=True, exist_ok=True)
    with open(LOGS / "lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            show("another test run works in this tree: they would share builds and logs")
            return 1
        return run_locked(stages, lanes)


def run_locked(stages, lanes):
    turn = threading.Condition()
    by_name = {stage.name: stage for stage in stages}
    running = Running()

    def lane():
        while True:
            with turn:
                while (stage := next_stage(stages, by_name)) is None:
                    if all(one.state in ("done", "skipped") for one in stages) or running.is_over:
                        turn.notify_all()
                        return
                    turn.wait(1)
                stage.state = "running"
            show(f"--- {stage.name}")
            run_one(stage, running)
            with turn:
                stage.state = "done"
                turn.notify_all()

    def interrupted(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupted)
    workers = [threading.Thread(target=lane, daemon=True) for _ in range(lanes)]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            worker.join()
    except KeyboardInterrupt:
        running.end()
        show("interrupted")
        return 130
    return summary(stages)


def summary(stages):
    """Prints the sums, the plain one last; gives the exit code."""
    for stage in stages:
        if stage.state != "done" and not stage.failed:
            stage.broken, stage.failed = True, 1
    # A stage that failed otherwise than by its counts is broken, whatever its seeds are.
    lost = sum(stage.failed for stage in stages if stage.rotating and not stage.broken)
    show("")
    for stage in stages:
        show(f"{stage.seconds:6.0f} s  {stage.passed:6} passed  {stage.failed:3} failed"
             f"  {stage.name}")
    passed = sum(stage.passed for stage in stages)
    failed = sum(stage.failed for stage in stages)
    if lost:
        show(f"{lost} rotating seeds failed; {ROTATING_FAILURES_MAX} are let through. Replay each "
             "as its story above says, and add it to Simulator/seeds.txt as `open`. A planted "
             "fault that was not found has its seed in Simulator/faults.txt all the same.")
    if lost <= ROTATING_FAILURES_MAX:
        failed -= lost
    show(f"{passed} passed, {failed} failed")
    return 1 if failed or not stages else 0


def simulator(*arguments, jobs="2"):
    return [SIMULATOR, *map(str, arguments), "--jobs", str(jobs)]


def make(*targets, jobs="2"):
    return ["make", "--no-print-directory", f"JOBS={jobs}", *targets]


if __name__ == "__main__":
    sys.exit("stages: this is no program; see `make test`")
