"""Runs the tests of the Python package and says how many passed and failed, on a line others can read."""

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))


class CountingResult(unittest.TextTestResult):
    """unittest itself does not count a test class whose preparation failed."""

    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def main() -> int:
    suite = unittest.defaultTestLoader.discover(str(HERE))
    result = unittest.TextTestRunner(resultclass=CountingResult, verbosity=2, stream=sys.stdout).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    for test, reason in result.skipped:
        print(f"SKIPPED: {test}: {reason}")
    print(f"package quiver: {result.passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
