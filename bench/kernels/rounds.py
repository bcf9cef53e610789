"""Runs several implementations of the same task in turn, and measures them."""

import json
import math
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass
class Way:
    """One row of the report."""

    worker: "Worker"
    name: str
    slow: bool = False
    first: float | None = None
    seconds: list[float] = field(default_factory=list)
    problem: str | None = None
    note: str = ""

    def as_json(self) -> dict:
        taken = {"best": min(self.seconds), "median": statistics.median(self.seconds)} if self.seconds else {}
        return {"way": self.name, **taken, "first": self.first, "seconds": self.seconds, "problem": self.problem, "note": self.note}


class Failed(Exception):
    pass


class Worker:
    """A process for some implementations, because threads of BLAS and the packages of a venv belong to a process."""

    def __init__(self, module: str, python: str, directory: Path, options: dict, *, blas_threads: int):
        threads = {name: str(blas_threads) for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")}
        self.name = module
        self.process = subprocess.Popen(
            [python, HERE / "worker.py", module, directory, json.dumps(options)],
            env=os.environ | threads | {"PYTHONUNBUFFERED": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, **question) -> dict:
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
            answer = json.loads(self.process.stdout.readline() or '{"error": "its process ended"}')
        except (BrokenPipeError, json.JSONDecodeError) as error:
            answer = {"error": f"its process ended ({error})"}
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def prepare(self, kernel: str, size: str) -> list[Way]:
        ways = self.ask(do="prepare", kernel=kernel, size=size)["ways"]
        return [Way(self, way["name"], way["slow"]) for way in ways]

    def end(self) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()


def warm_up(ways: list[Way]) -> None:
    """Runs each once, and compares its answer with that of the first."""
    expected = None
    for way in ways:
        try:
            answer = way.worker.ask(do="run", way=way.name, check=True)
        except Failed as failure:
            way.problem = str(failure)
            print(f"    {way.name}: {failure}", file=sys.stderr)
            continue
        way.first, way.note = answer["seconds"], answer.get("note", "")
        if answer["answer"] is None:
            continue
        expected = expected or answer["answer"]
        if not equal(answer["answer"], expected):
            way.problem = f"WRONG: {answer['answer'][:4]} and not {expected[:4]}"
            print(f"    {way.name}: {way.problem}", file=sys.stderr)


def equal(one: list[float], other: list[float]) -> bool:
    return len(one) == len(other) and all(math.isclose(a, b, rel_tol=1e-7, abs_tol=1e-9) for a, b in zip(one, other))


def measure(ways: list[Way], rounds: int, slow_rounds: int) -> None:
    """Interleaves the runs, so that a slow minute of the machine affects all; each round begins with another one."""
    for number in range(max(rounds, slow_rounds)):
        turn = number % max(1, len(ways))
        for way in ways[turn:] + ways[:turn]:
            if way.problem or number >= (slow_rounds if way.slow else rounds):
                continue
            try:
                way.seconds.append(way.worker.ask(do="run", way=way.name, check=False)["seconds"])
            except Failed as failure:
                way.problem = str(failure)
