"""`make test`: runs every test of the project, and prints one line with the totals.

A step that ends badly, or lacks a report which it must give, counts as a failure: silence is not
success. What a step says that it skips is said again at the end.
"""

import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO_TEST = "cargo test --release --locked --workspace --no-fail-fast".split()


def main() -> int:
    totals: Counter = Counter()
    skipped: list[str] = []
    for name, command, reports in STEPS:
        start = time.monotonic()
        print(f"=== {name}", flush=True)
        counts = run_step(command, reports, skipped)
        totals += counts
        seconds = time.monotonic() - start
        print(f"=== {name}: {counts['passed']} passed, {counts['failed']} failed, {seconds:.0f} s\n", flush=True)
    print("".join(skipped), end="")
    print(f"{totals['passed']} passed, {totals['failed']} failed", flush=True)
    return 1 if totals["failed"] or not totals["passed"] else 0


def run_step(command: list[str], reports: dict, skipped: list[str]) -> Counter:
    """Runs a step, streams its output, and adds up the lines that report tests. A skipped step needs no report."""
    counts: Counter = Counter()
    silent = set(reports)
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            if line.startswith("SKIPPED"):
                skipped.append(line)
                silent.clear()
            for report, count in reports.items():
                if found := count(line):
                    counts.update(found)
                    if found["passed"] + found["failed"] > 0:
                        silent.discard(report)
    problems = [f"no test was reported by: {report}" for report in sorted(silent)]
    if process.returncode != 0 and not counts["failed"] and not problems:
        problems.append(f"ended with status {process.returncode}")
    for problem in problems:
        print(f"FAILED: {problem}")
    counts["failed"] += len(problems)
    return counts


def reported(pattern: str):
    """A counter of lines whose two groups are the numbers of passed and failed tests."""

    def count(line: str) -> dict[str, int] | None:
        match = re.match(pattern, line)
        return {"passed": int(match[1]), "failed": int(match[2])} if match else None

    return count


# Name, command, and the required reports. All of cargo runs in one step, because another choice of packages
# would mean other features of the dependencies, and so a second build of them.
STEPS = [
    (
        "cargo test",
        ["scripts/with_target.sh", *CARGO_TEST],
        {
            "cargo": reported(r"test result: \w+\. (\d+) passed; (\d+) failed;"),
            "sqllogictests": reported(r"sqllogictests: (\d+) passed, (\d+) failed"),
        },
    ),
    (
        "engine for python",
        ["scripts/with_target.sh", *"cargo build --release --locked --workspace --bins --lib".split()],
        {},
    ),
    (
        "python package",
        [sys.executable, "python/tests"],
        {"python/tests": reported(r"package quiver: (\d+) passed, (\d+) failed")},
    ),
    (
        "python tests",
        [sys.executable, "scripts/tests"],
        {"scripts/tests": reported(r"python: (\d+) passed, (\d+) failed")},
    ),
    (
        "DuckDB's answers",
        [sys.executable, "sqllogictests/make_expected.py"],
        {"make_expected.py": reported(r"\d+ files, (\d+) records, .* (\d+) problems")},
    ),
    (
        "JDBC client",
        [sys.executable, "scripts/tests/jdbc"],
        {"scripts/tests/jdbc": reported(r"jdbc: (\d+) passed, (\d+) failed")},
    ),
    (
        "Go clients",
        [sys.executable, "scripts/tests/go"],
        {"scripts/tests/go": reported(r"go: (\d+) passed, (\d+) failed")},
    ),
    (
        "commands of README.md, the tutorial and the session",
        [sys.executable, "scripts/check_readme.py"],
        {"check_readme.py": reported(r"readme: (\d+) passed, (\d+) failed")},
    ),
]

if __name__ == "__main__":
    sys.exit(main())
