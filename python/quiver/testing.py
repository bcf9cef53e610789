"""A server for tests: `with quiver.testing.serve("store") as server: quiver.connect(server.uri)`."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from .errors import OperationalError

LEAVING_S = 60


@dataclass(frozen=True)
class Server:
    uri: str
    store: Path
    process_id: int


@contextmanager
def serve(store: str | PathLike[str] | None = None, *, switches: Sequence[str] = ()) -> Iterator[Server]:
    """Runs `quiver serve` for a store, or for an empty temporary one, on a free port of this machine. It ends with the
    `with` block. `switches` are further options of `quiver serve`."""
    with tempfile.TemporaryDirectory(prefix="quiver-serve-") as directory, tempfile.TemporaryFile("w+") as stderr:
        path = Path(store) if store is not None else Path(directory) / "store"
        command = [str(binary()), "serve", "--store", str(path), "--listen", "127.0.0.1:0", *switches]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True) as process:
            try:
                yield Server(_address(process, stderr), path, process.pid)
            finally:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(LEAVING_S)
                except subprocess.TimeoutExpired:
                    process.kill()


def binary() -> Path:
    """The program `quiver`: the one in QUIVER_BIN, else the one in PATH, else the one that was installed with this package, or that of the
    clone that contains it."""
    if named := os.environ.get("QUIVER_BIN"):
        if not (program := shutil.which(named)):
            raise OperationalError(f'QUIVER_BIN names "{named}", which is no program', hint="name the program quiver, or unset it")
        return Path(program)
    if found := shutil.which("quiver"):
        return Path(found)
    for directory in (Path(sysconfig.get_path("scripts")), Path(__file__).resolve().parents[2] / "bin"):
        if (found_there := directory / "quiver").exists():
            return found_there
    raise OperationalError("the program quiver is not found", hint="put it into PATH, or name it in QUIVER_BIN")


def _address(process: subprocess.Popen[str], stderr: object) -> str:
    line = process.stdout.readline() if process.stdout else ""
    if found := re.match(r"listening on (grpc\S*://\S+) ", line):
        return found[1]
    process.wait(LEAVING_S)
    stderr.seek(0)  # type: ignore[attr-defined]
    raise OperationalError(f"the server did not start: {line}{stderr.read()}".strip())  # type: ignore[attr-defined]
