"""The shell as a test drives it: one process that stays, statements through a pipe, answers as rows of text."""

import os
import re
import signal
import subprocess
import tempfile
from pathlib import Path

QUIVER = Path(os.environ.get("QUIVER_BIN") or Path(__file__).resolve().parents[2] / "bin" / "quiver")
SENTINEL = "DONE-51c2"
FIELD = re.compile(r'(?:"((?:[^"]|"")*)"|([^,]*))(,|$)')


class Failed(Exception):
    """What the shell said on standard error before it ended."""


class Shell:
    """Ends with the first statement that fails, as scripts do; `open` begins another on the same store."""

    def __init__(self, store: Path, *switches: str, environment: dict[str, str] | None = None):
        self.store, self.switches, self.environment = store, switches, environment
        self.errors = tempfile.TemporaryFile("w+")
        self.process = None
        self.open()

    def open(self) -> None:
        self.errors.seek(0)
        self.errors.truncate()
        self.process = subprocess.Popen(
            [QUIVER, "--store", self.store, "--format", "csv", *self.switches],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=self.environment,
            text=True,
        )
        self.answer()

    def run(self, sql: str) -> list[list[str | None]]:
        """The rows of the answer without the header. When it returns, the statement was acknowledged."""
        self.send(f"{sql};\n")
        return self.answer()

    def answer(self) -> list[list[str | None]]:
        self.send(f"\\echo {SENTINEL}\n")
        lines = []
        for line in self.process.stdout:
            if line == f"{SENTINEL}\n":
                return [fields(line) for line in lines[1:]]
            lines.append(line.removesuffix("\n"))
        self.process.wait()
        raise Failed(self.said() or f"the shell ended with status {self.process.returncode} and said nothing")

    def send(self, text: str) -> None:
        try:
            self.process.stdin.write(text)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the shell ended: `answer` tells why

    def said(self) -> str:
        self.errors.seek(0)
        return self.errors.read().strip()

    def kill(self) -> None:
        """As a crash of the process: nothing is written that was not yet."""
        self.process.send_signal(signal.SIGKILL)
        self.end()

    def close(self) -> None:
        """As a user leaves; an open transaction is rolled back."""
        self.end()

    def end(self) -> None:
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.stdout.close()
        self.process.wait(timeout=120)


def fields(line: str) -> list[str | None]:
    """One line of CSV; Python's reader cannot tell an empty text from NULL."""
    found, at = [], 0
    while True:
        match = FIELD.match(line, at)
        quoted, bare, separator = match.groups()
        found.append(quoted.replace('""', '"') if quoted is not None else bare or None)
        at = match.end()
        if not separator:
            return found


def quiver(*arguments, check: bool = True) -> subprocess.CompletedProcess:
    done = subprocess.run([QUIVER, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    if check and done.returncode != 0:
        raise Failed(f"quiver {' '.join(map(str, arguments))}: {done.stderr}{done.stdout}")
    return done
