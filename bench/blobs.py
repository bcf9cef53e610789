"""Many blobs beside SQLite, files in a directory and h5py: putting and getting, in one process and one run.

Sizes are 256 B to 512 KB, each twice the one before and half as frequent: a million of them are about 1.5 GB. They are put by 10,000 in a
commit, got by 1,000 in random order, and one at a time. The bytes that are got are compared. Quiver and SQLite make each commit durable.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))

import quiver  # noqa: E402

PUT_AT_ONCE = 10_000
GOT_AT_ONCE = 1_000
SIZES = 256 * 2 ** np.arange(12)


class Quiver:
    name = "Quiver"

    def __init__(self, directory: Path):
        self.con = quiver.open(directory / "store")

    def put(self, blobs: dict[str, memoryview]) -> None:
        self.con.write_blobs(blobs)

    def get(self, names: list[str]) -> list[Any]:
        found = self.con.read_blobs(names)
        return [found[name] for name in names]

    def get_one(self, name: str) -> Any:
        return self.con.blob(name).buffer()

    def close(self) -> None:
        self.con.close()


class Sqlite:
    name = "SQLite"

    def __init__(self, directory: Path):
        self.con = sqlite3.connect(directory / "blobs.db")
        self.con.execute("PRAGMA journal_mode = WAL")
        self.con.execute("PRAGMA synchronous = FULL")
        self.con.execute("CREATE TABLE blobs (name TEXT PRIMARY KEY, content BLOB)")

    def put(self, blobs: dict[str, memoryview]) -> None:
        with self.con:
            self.con.executemany("INSERT INTO blobs VALUES (?, ?)", blobs.items())

    def get(self, names: list[str]) -> list[Any]:
        marks = ", ".join("?" * len(names))
        found = dict(self.con.execute(f"SELECT name, content FROM blobs WHERE name IN ({marks})", names))
        return [found[name] for name in names]

    def get_one(self, name: str) -> Any:
        return self.con.execute("SELECT content FROM blobs WHERE name = ?", [name]).fetchone()[0]

    def close(self) -> None:
        self.con.close()


class Files:
    """A thousand directories; nothing is made durable."""

    name = "files"

    def __init__(self, directory: Path):
        self.directory = directory / "files"
        for at in range(1000):
            (self.directory / f"{at:03}").mkdir(parents=True)

    def path(self, name: str) -> Path:
        return self.directory / name[-3:] / name

    def put(self, blobs: dict[str, memoryview]) -> None:
        for name, content in blobs.items():
            self.path(name).write_bytes(content)

    def get(self, names: list[str]) -> list[Any]:
        return [self.path(name).read_bytes() for name in names]

    def get_one(self, name: str) -> Any:
        return self.path(name).read_bytes()

    def close(self) -> None:
        pass


class Hdf5:
    """A data set of bytes for each; nothing is made durable."""

    name = "h5py"

    def __init__(self, directory: Path):
        self.file = h5py.File(directory / "blobs.h5", "w", libver="latest")

    def put(self, blobs: dict[str, memoryview]) -> None:
        for name, content in blobs.items():
            self.file.create_dataset(f"{name[-3:]}/{name}", data=np.frombuffer(content, np.uint8))

    def get(self, names: list[str]) -> list[Any]:
        return [self.get_one(name) for name in names]

    def get_one(self, name: str) -> Any:
        return self.file[f"{name[-3:]}/{name}"][()].tobytes()

    def close(self) -> None:
        self.file.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blobs", type=int, default=1_000_000)
    parser.add_argument("--single", type=int, default=2_000, help="blobs that are got one at a time")
    options = parser.parse_args()
    random = np.random.default_rng(5)
    weights = 0.5 ** np.arange(len(SIZES))
    sizes = random.choice(SIZES, options.blobs, p=weights / weights.sum())
    source = memoryview(random.integers(0, 256, int(SIZES[-1]) + 4096, dtype=np.uint8)).cast("B")
    starts = random.integers(0, 4096, options.blobs)

    def content(at: int) -> memoryview:
        return source[int(starts[at]) : int(starts[at]) + int(sizes[at])]

    directory = Path(tempfile.mkdtemp(prefix="quiver-blobs-"))
    systems = [kind(directory) for kind in (Quiver, Sqlite, Files, Hdf5)]
    seconds = {system.name: [0.0, 0.0, 0.0] for system in systems}

    def timed(system: Any, column: int, work: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        result = work()
        seconds[system.name][column] += time.perf_counter() - began
        return result

    try:
        for first in range(0, options.blobs, PUT_AT_ONCE):
            blobs = {f"b{at:07}": content(at) for at in range(first, min(options.blobs, first + PUT_AT_ONCE))}
            for system in systems:
                timed(system, 0, lambda system=system, blobs=blobs: system.put(blobs))
        wanted = random.permutation(options.blobs)[: min(options.blobs, 100 * GOT_AT_ONCE)]
        for first in range(0, len(wanted), GOT_AT_ONCE):
            part = [int(at) for at in wanted[first : first + GOT_AT_ONCE]]
            for system in systems:
                names = [f"b{at:07}" for at in part]
                # What is in the mapping is read, too.
                found = timed(system, 1, lambda system=system, names=names: [bytes(memoryview(got)) for got in system.get(names)])
                assert all(got == content(at) for got, at in zip(found, part)), system.name
        for at in map(int, wanted[: options.single]):
            for system in systems:
                got = timed(system, 2, lambda system=system, at=at: bytes(memoryview(system.get_one(f"b{at:07}"))))
                assert got == content(at), system.name
        print(f"{options.blobs:,} blobs, {sizes.sum() / 1e9:.2f} GB")
        print(f"{'':10}{'put / s':>12}{'MB / s':>10}{'got / s':>12}{'one / s':>12}{'MB on disk':>12}")
        for system in systems:
            system.close()
            put, got, one = seconds[system.name]
            at = {"Quiver": "store", "SQLite": "blobs.db", "files": "files", "h5py": "blobs.h5"}[system.name]
            below = [directory / at, *(directory / at).rglob("*")]
            size_mb = sum(path.stat().st_blocks * 512 for path in below if path.is_file()) / 1e6
            print(
                f"{system.name:10}{options.blobs / put:12,.0f}{sizes.sum() / 1e6 / put:10,.0f}{len(wanted) / got:12,.0f}"
                f"{min(options.single, len(wanted)) / one:12,.0f}{size_mb:12,.0f}"
            )
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
