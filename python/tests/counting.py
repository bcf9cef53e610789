"""Runs the tests of a folder, and prints the numbers of passed and failed tests in a parsable line. For `scripts/tests` too."""

import signal
import sys
import unittest
from pathlib import Path


class CountingResult(unittest.TextTestResult):
    """unittest itself does not count a test class whose preparation failed."""

    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def main(folder: Path, name: str) -> int:
    """Returns the exit status; `name` begins the line."""
    # A shell lets background processes ignore Ctrl-C, but some tests need it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    suite = unittest.defaultTestLoader.discover(str(folder))
    result = unittest.TextTestRunner(resultclass=CountingResult, verbosity=2, stream=sys.stdout).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    for test, reason in result.skipped:
        print(f"SKIPPED: {test}: {reason}")
    print(f"{name}: {result.passed} passed, {failed} failed")
    return 1 if failed else 0
