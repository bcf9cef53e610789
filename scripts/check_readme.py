"""Runs the commands of README.md, docs/session.md and docs/tutorial.md as a reader would, in order, in a temporary directory
for each store.

Every sh or console block says on the line before it what happens to it:

    <!-- run -->                      it is run here and must succeed
    <!-- run in the background -->    its one command is run until the page ends
    <!-- not run: why not -->         it is not

A sql or python block may say `<!-- run -->` too: SQL is sent through a pipe to a shell on the store of the page, Python to python3. A text
block right behind one of them is what it prints. The directory holds bin/quiver and python/, and for README.md and docs/session.md a
demo-store with the tables of `make demo` (TPC-H at scale 0.01).

In a console block `$ ` begins a command and `> ` continues one; the lines after it are what it
prints and are compared, with times blanked out, sizes within a quarter of each other, and `...` standing for anything. What prints an error on the page must fail here.
A free port stands for the usual one of a server.

A command whose output has lines with the prompt `quiver> ` is a shell in a terminal of 100 columns, where these lines are typed. If it is not
left, the next block that begins with the prompt goes on in it.
"""

import os
import pty
import re
import select
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEMO_STORE = "demo-store"
# By the store that their SQL is about.
PAGES = {DEMO_STORE: ["README.md", "docs/session.md"], "weather": ["docs/tutorial.md"]}
USUAL_PORT = "31337"
SHELL_LANGUAGES = {"sh", "bash", "shell", "console"}
BACKGROUND = "run in the background"
MARKER = re.compile(rf"^\s*<!--\s*(run|{BACKGROUND}|not run:\s*\S.*?)\s*-->\s*$")
ERROR = re.compile(r"^error: ", re.MULTILINE)
TIME = re.compile(r"\d[\d.,]*\s?(?:ns|us|µs|ms|s|min)\b")
SIZE = re.compile(r"(\d[\d.,]*)\s?((?:[kKMGT]i?)?B)\b")
SIZE_TOLERANCE = 1.25
TIMEOUT_S = 300
CONTINUATION = "\n   ...> "
STATEMENT = re.compile(rf"^quiver> (.*(?:{re.escape(CONTINUATION)}.*)*)", re.MULTILINE)
# The page shows this directory in place of the temporary one.
HOME = "/data"


@dataclass
class Block:
    line: int
    language: str
    marker: str | None
    text: str
    output: str = ""


class Mismatch(Exception):
    pass


def main() -> int:
    passed = failed = 0
    for store, pages in PAGES.items():
        port = free_port()
        blocks = [
            (page, block) for page in pages for block in read_blocks(ROOT / page, port) if block.language in SHELL_LANGUAGES or block.marker
        ]
        with tempfile.TemporaryDirectory(prefix="quiver-page-") as directory:
            if any(block.marker == "run" for _, block in blocks):
                prepare(Path(directory), store)
            reader = Reader(directory, store, port)
            for page, block in blocks:
                if block.marker and block.marker.startswith("not run"):
                    print(f"{page}:{block.line} {block.marker}")
                    continue
                try:
                    reader.check(block)
                    passed += 1
                    print(f"{page}:{block.line} ok")
                except Mismatch as problem:
                    failed += 1
                    print(f"{page}:{block.line} FAILED: {problem}")
            reader.leave()
    print(f"readme: {passed} passed, {failed} failed")
    return 1 if failed else 0


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


def read_blocks(path: Path, port: str) -> list[Block]:
    blocks, lines = [], path.read_text().replace(USUAL_PORT, port).splitlines()
    at = end = 0
    while at < len(lines):
        fence = re.match(r"^(\s*)```(\w*)", lines[at])
        at += 1
        if not fence:
            continue
        start = at
        while at < len(lines) and lines[at].strip() != "```":
            at += 1
        before = next((line for line in reversed(lines[: start - 1]) if line.strip()), "")
        marker = MARKER.match(before)
        text = "\n".join(line.removeprefix(fence[1]) for line in lines[start:at])
        if fence[2] == "text" and blocks and not "".join(lines[end : start - 1]).strip():
            blocks[-1].output = text
        else:
            blocks.append(Block(start, fence[2], marker and marker[1], text))
        at += 1
        end = at
    return blocks


def prepare(directory: Path, store: str) -> None:
    for name in ("bin", "python"):
        (directory / name).symlink_to(ROOT / name)
    if store != DEMO_STORE:
        return
    command = [sys.executable, ROOT / "scripts" / "demo.py", "--store", store, "--scale", "0.01", "--only-import"]
    status = subprocess.run(command, cwd=directory).returncode
    if status != 0:
        sys.exit(f"readme: the demo store could not be made, status {status}")


class Reader:
    """Types what the page says, in the directory of the page."""

    def __init__(self, directory: str, store: str, port: str):
        self.directory = directory
        # Compaction in the background would change the number of zones.
        self.sql_shell = f"quiver --store {store} --format box --footer --no-maintenance"
        self.environment = os.environ | {
            # The shell's history must not land in the tester's.
            "HOME": directory,
            "XDG_STATE_HOME": directory,
            # python3 is the one that runs this, with the packages of the tests.
            "PATH": os.pathsep.join([f"{directory}/bin", str(Path(sys.executable).parent), os.environ["PATH"]]),
            "PYTHONPATH": f"{directory}/python",
            "QUIVER_LISTEN": f"127.0.0.1:{port}",
        }
        self.background: list[subprocess.Popen] = []
        self.shells: list[Terminal] = []

    def check(self, block: Block) -> None:
        if block.marker is None:
            raise Mismatch("say <!-- run --> or <!-- not run: why not --> on the line before this block")
        if block.language == "sql":
            self.run(self.sql_shell, block.output, block.text + "\n")
        elif block.language == "python":
            self.run("python3 -", block.output, block.text)
        elif block.language == "console":
            run = self.run if block.marker == "run" else self.run_in_background
            for command, expected in console_commands(block.text):
                (self.type if STATEMENT.search(expected) else run)(command, expected)
        elif block.language in SHELL_LANGUAGES:
            self.run(block.text)
        else:
            raise Mismatch(f"cannot run a block of {block.language or 'no language'}")

    def run(self, command: str, expected: str = "", stdin: str = "") -> None:
        try:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", command],
                cwd=self.directory, env=self.environment, input=stdin, text=True, errors="replace",
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Mismatch(f"still running after {TIMEOUT_S} s: {command}") from None
        if (done.returncode != 0) != bool(ERROR.search(expected)):
            raise Mismatch(f"status {done.returncode} from: {command}\n{done.stdout}")
        compare(expected, done.stdout)

    def run_in_background(self, command: str, expected: str) -> None:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.directory, env=self.environment, text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.background.append(process)
        compare(expected, "".join(process.stdout.readline() for _ in expected.splitlines()))

    def type(self, command: str, expected: str) -> None:
        if command:
            self.shells.append(Terminal(command, self.directory, self.environment))
            self.background.append(self.shells[-1].process)
        if not self.shells:
            raise Mismatch("no shell is open at the prompt that the block begins with")
        shell = self.shells[-1]
        shown = shell.read() if command else ""
        for statement in STATEMENT.findall(expected):
            shown += shell.type(statement)
        if shell.has_ended:
            self.shells.pop()
        compare(expected, shown.replace(self.directory, HOME))

    def leave(self) -> None:
        for process in self.background:
            with process:
                process.terminate()


class Terminal:
    """A shell in a pseudo terminal."""

    # The editor asks for the position of the cursor at each prompt, and goes back to it before it paints what is typed.
    CURSOR_REQUEST, CURSOR_ANSWER, CURSOR_HOME = b"\x1b[6n", b"\x1b[1;1R", "\x1b[1;1H"
    ESCAPE = re.compile(r"\x1b(?:\[[?;\d]*[A-Za-z]|[78])")

    def __init__(self, command: str, directory: str, environment: dict[str, str]):
        self.keyboard, shell_end = pty.openpty()
        self.process = subprocess.Popen(
            ["bash", "-c", f"stty rows 40 cols 100; exec {command}"],
            cwd=directory, env=environment | {"NO_COLOR": "1", "TERM": "xterm"}, start_new_session=True,
            stdin=shell_end, stdout=shell_end, stderr=shell_end,
        )  # fmt: skip
        os.close(shell_end)
        self.has_ended = False

    def type(self, statement: str) -> str:
        if self.has_ended:
            return ""
        os.write(self.keyboard, statement.replace(CONTINUATION, "\r").encode() + b"\r")
        return self.read()

    def read(self) -> str:
        """The screen until the next prompt, without what was painted over."""
        received = b""
        while not received.endswith(self.CURSOR_REQUEST):
            if not select.select([self.keyboard], [], [], TIMEOUT_S)[0]:
                raise Mismatch(f"no prompt after {TIMEOUT_S} s, but {received!r}")
            try:
                received += os.read(self.keyboard, 4096)
            except OSError:  # the other end is closed
                self.has_ended = True
                os.close(self.keyboard)
                break
        else:
            os.write(self.keyboard, self.CURSOR_ANSWER)
        text = received.decode().rpartition(self.CURSOR_HOME)[2].replace("\r\n", "\n")
        return re.sub(r".*\r", "", self.ESCAPE.sub("", text))


def console_commands(text: str) -> list[tuple[str, str]]:
    commands: list[tuple[list[str], list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append(([line[2:]], []))
        elif not commands and STATEMENT.match(line):
            commands.append(([], [line]))
        elif not commands:
            raise Mismatch("a console block begins with a line `$ command` or with the prompt of a shell that is open")
        elif line.startswith("> ") and not commands[-1][1]:
            commands[-1][0].append(line[2:])
        else:
            commands[-1][1].append(line)
    return [("\n".join(command), "\n".join(output)) for command, output in commands]


def compare(expected: str, actual: str) -> None:
    """A command with no output on the page says nothing about its output."""
    if not expected.strip():
        return
    pattern = ""
    for part in re.split(r"(\.\.\.(?!> )|\d[\d.,]*\s?(?:[kKMGT]i?)?B\b)", normalised(expected)):
        is_size = SIZE.fullmatch(part)
        pattern += ".*" if part == "..." else SIZE.pattern if is_size else re.escape(part)
    found = re.fullmatch(pattern, normalised(actual), re.DOTALL)
    if not found:
        raise Mismatch(f"the page shows\n{expected}\nbut the command printed\n{actual}")
    numbers = iter(found.groups())
    for shown, printed in zip(SIZE.findall(normalised(expected)), zip(numbers, numbers, strict=True), strict=True):
        low, high = sorted([size_bytes(shown), size_bytes(printed)])
        if high > low * SIZE_TOLERANCE:
            raise Mismatch(f"the page shows {' '.join(shown)}\nbut the command printed {' '.join(printed)}:\n{actual}")


def size_bytes(size: tuple[str, str]) -> float:
    number, unit = size
    step = 1024 if "i" in unit else 1000
    return float(number.replace(",", "")) * step ** "BKMGT".index(unit[0].upper())


def normalised(text: str) -> str:
    # Column widths may follow a blanked time, so runs of spaces and rules count as one.
    text = TIME.sub("#", text.strip())
    return "\n".join(re.sub(r"([ ─━═-])\1+", r"\1", line).rstrip() for line in text.splitlines())


if __name__ == "__main__":
    sys.exit(main())
