"""Runs the tests of the terminal client: run.py [WORD...], those whose names hold a word. The last
line sums what ran."""

import pathlib
import sys
import unittest

if __name__ == "__main__":
    loader = unittest.defaultTestLoader
    loader.testNamePatterns = [f"*{word}*" for word in sys.argv[1:]] or None
    tests = loader.discover(str(pathlib.Path(__file__).resolve().parent))
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    failed = len(result.failures) + len(result.errors)
    print(f"terminal: {result.testsRun - failed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed or not result.testsRun else 0)
