"""The two engines under measurement, each a long-lived process driven over pipes."""

import csv
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow

HERE = Path(__file__).resolve().parent
QUIVER = HERE.parent / "bin" / "quiver"
TIME_LINE = re.compile(r"^Time: ([\d.]+) ms")
WATCH_SECONDS = 0.005
SENTINEL = "DONE-7f3a"


class QueryFailed(Exception):
    pass


class Engine:
    name: str
    process: subprocess.Popen
    anonymous_peak_bytes = 0

    def watch_memory(self) -> None:
        """Looks at the anonymous memory every few milliseconds, as long as the bench runs: Linux keeps no high-water mark of it."""
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self) -> None:
        while True:
            self.anonymous_peak_bytes = max(self.anonymous_peak_bytes, self.memory().get("RssAnon", 0))
            time.sleep(WATCH_SECONDS)

    def memory(self) -> dict[str, int]:
        """Bytes by the names of /proc; empty when the process has ended."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return {}
        lines = [line.split() for line in status.splitlines() if line.endswith(" kB")]
        return {name.rstrip(":"): int(kib) * 1024 for name, kib, _ in lines}

    def peak_memory(self) -> dict[str, int] | None:
        """The high-water mark, which counts mapped file pages too (the page cache seen by the process), and that of anonymous memory."""
        peak_bytes = self.memory().get("VmHWM")
        return {"peak": peak_bytes, "anonymous": self.anonymous_peak_bytes} if peak_bytes else None

    def close(self) -> None:
        try:
            self.process.stdin.close()
            self.process.wait(timeout=60)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()


class Quiver(Engine):
    """The shell reading a pipe. Its time is its own `\\timing`, the CSV of the result included."""

    name = "Quiver"

    def __init__(self, store: Path, threads: int, scratch: Path, read_only: bool = False, settings: Sequence[str] = ()):
        """Several can be open at once if all are read-only. A setting is "quiver.zone_pruning = false"."""
        self.result = scratch / "quiver.csv"
        self.errors = (scratch / "quiver.stderr").open("a+")
        self.command = [QUIVER, "--store", store, "--threads", str(threads)]
        self.command += ["--read-only"] if read_only else []
        self.settings = settings
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        self.send("\\timing on\n\\format csv\n")
        for setting in self.settings:
            self.send(f"set {setting};\n")
        # Read to here, so that no Time: line of a setting is taken for that of a query.
        self.send(f"\\echo {SENTINEL}\n")
        if not any(line.strip() == SENTINEL for line in self.process.stdout):
            self.process.wait()
            raise QueryFailed(f"the shell did not start: {self.said()}")

    def said(self) -> str:
        self.errors.seek(0)
        return self.errors.read().strip()

    def send(self, text: str) -> None:
        try:
            self.process.stdin.write(text)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the shell ended: no answer will come, and `run` tells why

    def run(self, sql: str) -> float:
        """Milliseconds; the result is left for `rows`."""
        if self.process.poll() is not None:
            self.start()  # a failed query before this one ended the shell
        self.result.unlink(missing_ok=True)
        self.errors.truncate(0)
        # \o without a name closes the file, so that all of it is there when the sentinel comes.
        statement = sql.rstrip().rstrip(";")
        self.send(f"\\o {self.result}\n{statement};\n\\o\n\\echo {SENTINEL}\n")
        time_ms = None
        for line in self.process.stdout:
            if line.strip() == SENTINEL:
                break
            if match := TIME_LINE.match(line):
                time_ms = float(match[1])
        problem = self.said()
        written = self.result.exists() and self.result.stat().st_size > 0
        if time_ms is None or problem or not written:
            if time_ms is None:
                self.process.kill()
                self.process.wait()
            raise QueryFailed(problem or "no Time: line or no result; did the shell end?")
        return time_ms

    def rows(self) -> tuple[list[str], list[list[str | None]]]:
        with self.result.open(newline="") as file:
            lines = list(csv.reader(file))
        return lines[0], [[value or None for value in line] for line in lines[1:]]


class DuckDB(Engine):
    name = "DuckDB"

    def __init__(self, database: Path, threads: int, scratch: Path):
        self.result = scratch / "duckdb.arrow"
        self.process = subprocess.Popen(
            [sys.executable, HERE / "duckdb_worker.py", database, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, sql: str) -> float:
        request = {"sql": sql, "result": str(self.result)}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "the worker ended"}')
        if "error" in answer:
            raise QueryFailed(answer["error"])
        return answer["ms"]

    def rows(self) -> tuple[list[str], list[list]]:
        with pyarrow.ipc.open_file(self.result) as file:
            table = file.read_all()
        columns = [column.to_pylist() for column in table.columns]
        return table.column_names, [list(row) for row in zip(*columns)]
