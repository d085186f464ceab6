"""The same days on a server that keeps a log: what a person sees does not tell the scheme."""

import unittest

import test_acts
import test_life
import test_search

LOG = ("--log",)


class LogScreens(test_life.Screens):
    KIND = LOG
    # A log tells no count.
    COUNTED = "1 gap"


class LogActs(test_acts.Acts):
    KIND = LOG


class LogFinding(test_search.Finding):
    KIND = LOG


if __name__ == "__main__":
    unittest.main()
