"""Runs the tests in this folder."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Last: what it has beside it are tests of the package.
sys.path.append(str(HERE.parents[1] / "python" / "tests"))

import counting  # noqa: E402 - of the tests of the package

if __name__ == "__main__":
    sys.exit(counting.main(HERE, "python"))
