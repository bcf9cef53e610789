"""Runs the commands of README.md as a reader would, in order, in one temporary directory.

Every sh or console block says on the line before it what happens to it:

    <!-- run -->                      it is run here and must succeed
    <!-- not run: why not -->         it is not

A sql block may say `<!-- run -->` too; it is then sent through a pipe to `quiver --store demo-store`.
The directory holds bin/quiver, python/ and a demo-store with the tables of `make demo` (TPC-H at scale 0.01).

In a console block `$ ` begins a command and `> ` continues one; the lines after it are what it
prints and are compared, with times and sizes blanked out and `...` standing for anything.
"""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHELL_LANGUAGES = {"sh", "bash", "shell", "console"}
MARKER = re.compile(r"^\s*<!--\s*(run|not run:\s*\S.*?)\s*-->\s*$")
QUANTITY = re.compile(r"\d[\d.,]*\s?(?:ns|us|µs|ms|s|min|B|[KMGT]i?B)\b")
TIMEOUT_S = 300


@dataclass
class Block:
    line: int
    language: str
    marker: str | None
    text: str


class Mismatch(Exception):
    pass


def main() -> int:
    blocks = [block for block in read_blocks(ROOT / "README.md") if block.language in SHELL_LANGUAGES or block.marker]
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="quiver-readme-") as directory:
        if any(block.marker == "run" for block in blocks):
            prepare(Path(directory))
        for block in blocks:
            if block.marker and block.marker != "run":
                print(f"README.md:{block.line} {block.marker}")
                continue
            try:
                check(block, directory)
                passed += 1
                print(f"README.md:{block.line} ok")
            except Mismatch as problem:
                failed += 1
                print(f"README.md:{block.line} FAILED: {problem}")
    print(f"readme: {passed} passed, {failed} failed")
    return 1 if failed else 0


def read_blocks(path: Path) -> list[Block]:
    blocks, lines = [], path.read_text().splitlines()
    at = 0
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
        blocks.append(Block(start, fence[2], marker and marker[1], text))
        at += 1
    return blocks


def prepare(directory: Path) -> None:
    for name in ("bin", "python"):
        (directory / name).symlink_to(ROOT / name)
    command = [sys.executable, ROOT / "scripts" / "demo.py", "--store", "demo-store", "--scale", "0.01", "--only-import"]
    status = subprocess.run(command, cwd=directory).returncode
    if status != 0:
        sys.exit(f"readme: the demo store could not be made, status {status}")


def check(block: Block, directory: str) -> None:
    if block.marker is None:
        raise Mismatch("say <!-- run --> or <!-- not run: why not --> on the line before this block")
    if block.language == "sql":
        shell("bin/quiver --store demo-store", directory, block.text + "\n")
    elif block.language == "console":
        for command, expected in console_commands(block.text):
            compare(expected, shell(command, directory))
    elif block.language in SHELL_LANGUAGES:
        shell(block.text, directory)
    else:
        raise Mismatch(f"cannot run a block of {block.language or 'no language'}")


def shell(command: str, directory: str, stdin: str = "") -> str:
    environment = os.environ | {
        "HOME": directory,  # the shell's history must not land in the tester's
        # python3 is the one that runs this, with the packages of the tests.
        "PATH": os.pathsep.join([f"{directory}/bin", str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    try:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=directory, env=environment, input=stdin, text=True, errors="replace",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Mismatch(f"still running after {TIMEOUT_S} s: {command}") from None
    if done.returncode != 0:
        raise Mismatch(f"status {done.returncode} from: {command}\n{done.stdout}")
    return done.stdout


def console_commands(text: str) -> list[tuple[str, str]]:
    commands: list[tuple[list[str], list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append(([line[2:]], []))
        elif not commands:
            raise Mismatch("a console block begins with a line `$ command`")
        elif line.startswith("> ") and not commands[-1][1]:
            commands[-1][0].append(line[2:])
        else:
            commands[-1][1].append(line)
    return [("\n".join(command), "\n".join(output)) for command, output in commands]


def compare(expected: str, actual: str) -> None:
    """A command with no output in the README says nothing about its output."""
    if not expected.strip():
        return
    pattern = ".*".join(re.escape(part) for part in normalised(expected).split("..."))
    if not re.fullmatch(pattern, normalised(actual), re.DOTALL):
        raise Mismatch(f"the README shows\n{expected}\nbut the command printed\n{actual}")


def normalised(text: str) -> str:
    # Column widths may follow a blanked quantity, so runs of spaces and rules count as one.
    text = QUANTITY.sub("#", text.strip())
    return "\n".join(re.sub(r"([ ─━═-])\1+", r"\1", line).rstrip() for line in text.splitlines())


if __name__ == "__main__":
    sys.exit(main())
