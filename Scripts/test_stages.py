#!/usr/bin/env python3
"""That a test run never looks better than it was: the rules of Scripts/stages.py."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

import stages
from stages import Stage


def says(text, code=0):
    return [sys.executable, "-c", f"print({text!r}); raise SystemExit({code})"]


class Runs(unittest.TestCase):
    def run_stages(self, *run, lanes=2):
        """The exit code and the last line."""
        with tempfile.TemporaryDirectory() as logs:
            before, stages.LOGS, stages.ROOT = (stages.LOGS, stages.ROOT), pathlib.Path(logs), \
                pathlib.Path(logs)
            try:
                with contextlib.redirect_stdout(io.StringIO()) as output:
                    code = stages.run(list(run), lanes)
            finally:
                stages.LOGS, stages.ROOT = before
        return code, output.getvalue().splitlines()[-1]

    def counted(self, name, text, code=0, **more):
        return Stage(name, says(text, code), stages.count_last, **more)

    def test_sums(self):
        self.assertEqual(
            self.run_stages(self.counted("a", "5 passed, 0 failed"),
                            self.counted("b", "2 passed, 0 failed")), (0, "7 passed, 0 failed"))
        self.assertEqual(self.run_stages(self.counted("a", "5 passed, 1 failed", 1)),
                         (1, "5 passed, 1 failed"))

    def test_a_stage_that_fails_beside_its_counts(self):
        for text, code in (("5 passed, 0 failed", 1), ("nothing", 0), ("nothing", 3)):
            code, last = self.run_stages(self.counted("a", text, code, rotating=True))
            self.assertEqual((code, last.split(", ")[1]), (1, "1 failed"))

    def test_a_program_that_is_missing(self):
        for lanes in (1, 2):
            self.assertEqual(
                self.run_stages(Stage("a", ["/nonexistent"]),
                                Stage("b", says("x"), after=("a",)),
                                self.counted("c", "5 passed, 0 failed"), lanes=lanes),
                (1, "5 passed, 2 failed"))

    def test_rotating_seeds(self):
        self.assertEqual(
            self.run_stages(self.counted("a", "9 passed, 5 failed", 1, rotating=True)),
            (0, "9 passed, 0 failed"))
        self.assertEqual(
            self.run_stages(self.counted("a", "9 passed, 5 failed", 1, rotating=True),
                            self.counted("b", "9 passed, 1 failed", 1, rotating=True)),
            (1, "18 passed, 6 failed"))

    def test_swift_counts(self):
        lines = ["x Test a() failed after 1 seconds with 1 issue.",
                 "x Test run with 7 tests in 2 suites failed after 1 seconds with 1 issue."]
        self.assertEqual(stages.count_swift(lines), (6, 1))
        # It crashed before it summed up.
        self.assertEqual(stages.count_swift(lines[:1]), (0, 1))


if __name__ == "__main__":
    unittest.main()
