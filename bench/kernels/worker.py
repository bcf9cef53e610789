"""A process of the benchmark: `worker.py MODULE DIRECTORY OPTIONS` answers questions, a line of JSON each.

MODULE has `Ways(directory, options)`, with `prepare(kernel, size)` that gives functions by their names, and `end()`. A function
is called as `run(clock)`: it does the work inside of `with clock:`, and returns what gives its answer, for when somebody wants it.
"""

import importlib
import json
import os
import sys
import time
import traceback
from pathlib import Path


class Clock:
    """The time of a run, without making room for it before and checking the answer after."""

    seconds = 0.0
    note = ""

    def __enter__(self):
        self.started = time.perf_counter()

    def __exit__(self, *_):
        self.seconds += time.perf_counter() - self.started


def main() -> None:
    # Whatever a library prints goes to the errors.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    module, directory, options = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    known, ways = None, {}
    try:
        for line in sys.stdin:
            try:
                question = json.loads(line)
                if question["do"] == "prepare":
                    known = known or importlib.import_module(module).Ways(directory, options)
                    ways = known.prepare(question["kernel"], question["size"])
                    answer = {"ways": [{"name": name, "slow": getattr(way, "slow", False)} for name, way in ways.items()]}
                else:
                    answer = run(ways[question["way"]], question["check"])
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
                if os.environ.get("BENCH_TRACEBACK"):
                    traceback.print_exc()
            answers.write(json.dumps(answer) + "\n")
            answers.flush()
    finally:
        if known is not None:
            known.end()


def run(way, check: bool) -> dict:
    clock = Clock()
    result = way(clock)
    answer = [float(value) for value in result()] if check and result is not None else None
    return {"seconds": clock.seconds, "answer": answer, "note": clock.note}


def slow(way):
    """Marks an implementation that runs for fewer rounds."""
    way.slow = True
    return way


if __name__ == "__main__":
    sys.modules["worker"] = sys.modules["__main__"]
    main()
