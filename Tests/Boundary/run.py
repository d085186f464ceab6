"""Runs the tests of the boundary from Python. The last line sums what ran."""

import pathlib
import sys
import unittest

if __name__ == "__main__":
    tests = unittest.defaultTestLoader.discover(pathlib.Path(__file__).resolve().parent)
    result = unittest.TextTestRunner(verbosity=0).run(tests)
    failed = len(result.failures) + len(result.errors)
    print(f"python boundary: {result.testsRun - failed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed or not result.testsRun else 0)
