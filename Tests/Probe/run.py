"""Runs the tests of the probe: against the reference server in many configurations, and against an
adapter with planted faults. The last line sums what ran."""

import pathlib
import sys
import unittest

if __name__ == "__main__":
    tests = unittest.defaultTestLoader.discover(pathlib.Path(__file__).resolve().parent)
    result = unittest.TextTestRunner(verbosity=0).run(tests)
    failed = len(result.failures) + len(result.errors)
    print(f"probe: {result.testsRun - failed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed or not result.testsRun else 0)
