"""Runs the tests of the Python package."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import counting  # noqa: E402 - beside this file

if __name__ == "__main__":
    sys.exit(counting.main(HERE, "package quiver"))
