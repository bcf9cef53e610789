"""Arrays beside h5py, Zarr and a memory map of numpy: writing, regions, and what is computed with cells, in one process and one run.

An array of REAL in three dimensions, in chunks of 64 x 64 x 64 without compression. Each operation runs on each system in turn, several
times over; the fastest time counts. The answers are compared. The files stay in the cache of the operating system.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import zarr

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))

import quiver  # noqa: E402

CHUNK = (64, 64, 64)


class Quiver:
    name = "Quiver"

    def __init__(self, directory: Path, shape: tuple[int, ...]):
        self.con = quiver.open(directory / "store")
        self.array = self.con.create_array("cube", shape, "float32", dims=("z", "y", "x"), chunks=CHUNK)
        self.log = self.con.create_array("log", (None, 256, 256), "float32", dims=("t", "y", "x"), chunks=(1, 256, 256))

    def write(self, key: Any, values: np.ndarray) -> None:
        self.array[key] = values

    def read(self, key: Any) -> np.ndarray:
        return self.array[key]

    def mean(self) -> float:
        return float(self.array.mean())

    def above(self, limit: float) -> int:
        return self.array.where(f"value > {limit}").count()

    def append(self, values: np.ndarray) -> None:
        self.log.append(values)

    def close(self) -> None:
        self.con.close()


class Sliced:
    """What can be sliced as an array of numpy."""

    name = ""
    array: Any

    def write(self, key: Any, values: np.ndarray) -> None:
        self.array[key] = values

    def read(self, key: Any) -> np.ndarray:
        return self.array[key]

    def mean(self) -> float:
        return float(self.array[:].mean(dtype=np.float64))

    def above(self, limit: float) -> int:
        return int((self.array[:] > limit).sum())


class Hdf5(Sliced):
    name = "h5py"

    def __init__(self, directory: Path, shape: tuple[int, ...]):
        self.file = h5py.File(directory / "cube.h5", "w")
        self.array = self.file.create_dataset("cube", shape, "float32", chunks=CHUNK)
        self.log = self.file.create_dataset("log", (0, 256, 256), "float32", chunks=(1, 256, 256), maxshape=(None, 256, 256))

    def append(self, values: np.ndarray) -> None:
        self.log.resize(len(self.log) + len(values), 0)
        self.log[-len(values) :] = values
        self.file.flush()

    def close(self) -> None:
        self.file.close()


class Zarr(Sliced):
    name = "Zarr"

    def __init__(self, directory: Path, shape: tuple[int, ...]):
        root = zarr.create_group(directory / "cube.zarr")
        self.array = root.create_array("cube", shape=shape, dtype="float32", chunks=CHUNK, compressors=None)
        self.log = root.create_array("log", shape=(0, 256, 256), dtype="float32", chunks=(1, 256, 256), compressors=None)

    def append(self, values: np.ndarray) -> None:
        self.log.append(values)

    def close(self) -> None:
        pass


class Mapped(Sliced):
    """Without chunks: a cell's neighbours along the first dimension are far away."""

    name = "numpy.memmap"

    def __init__(self, directory: Path, shape: tuple[int, ...]):
        self.array = np.memmap(directory / "cube.bin", "float32", "w+", shape=shape)
        self.log = open(directory / "log.bin", "ab")

    def append(self, values: np.ndarray) -> None:
        self.log.write(values)
        self.log.flush()

    def close(self) -> None:
        self.log.close()


def keys_of(size: int, kind: str, number: int) -> list[Any]:
    random = np.random.default_rng(11)

    def box(side: int, step: int = 1) -> tuple[slice, ...]:
        starts = random.integers(0, max(1, (size - side) // step), 3) * step
        return tuple(slice(int(start), int(start) + side) for start in starts)

    return [
        {
            "one chunk": lambda: box(64, 64),
            "in one chunk": lambda: tuple(slice(part.start + 8, part.start + 40) for part in box(64, 64)),
            "across chunks": lambda: box(50),
            "one cell": lambda: tuple(int(at) for at in random.integers(0, size, 3)),
            "plane": lambda: (int(random.integers(size)),),
            "column": lambda: (slice(None), int(random.integers(size)), int(random.integers(size))),
            "every 8th": lambda: (slice(None, None, 8),) * 3,
        }[kind]()
        for _ in range(number)
    ]


def measured(systems: list[Any], rounds: int, work: Callable[[Any, int], Any], compared: bool = True) -> list[float]:
    """Seconds of each system, the fastest of some rounds in turn."""
    best, answers = [float("inf")] * len(systems), [None] * len(systems)
    for at in range(rounds):
        for place, system in enumerate(systems):
            began = time.perf_counter()
            answers[place] = work(system, at)
            best[place] = min(best[place], time.perf_counter() - began)
        if compared:
            for answer in answers[1:]:
                np.testing.assert_allclose(np.asarray(answer), np.asarray(answers[0]), rtol=1e-6)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=512, help="cells along each dimension")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--regions", type=int, default=40, help="regions of each kind")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="quiver-arrays-"))
    shape = (options.size,) * 3
    values = np.random.default_rng(3).normal(280, 5, shape).astype("float32")
    # Only one place is warm: statistics of chunks rule out the others.
    values[:64, :64, :64] += 100
    systems = [kind(directory, shape) for kind in (Quiver, Hdf5, Zarr, Mapped)]
    size_mb = values.nbytes / 1e6
    lines: list[tuple[str, list[float]]] = []

    def line(name: str, seconds: list[float]) -> None:
        lines.append((name, seconds))
        print(f"{name:34}" + "".join(f"{second * 1e3:14.3f}" for second in seconds), flush=True)

    try:
        print(f"ms; {size_mb:.0f} MB of REAL")
        print(f"{'':34}" + "".join(f"{system.name:>14}" for system in systems))
        line("write all", measured(systems, 1, lambda system, _: system.write(slice(None), values), False))
        line("write all again", measured(systems, 2, lambda system, _: system.write(slice(None), values), False))
        line("read all", measured(systems, options.rounds, lambda system, _: system.read(slice(None))[::97, ::97, ::97]))
        for kind in ("one chunk", "in one chunk", "across chunks", "one cell", "plane", "column", "every 8th"):
            number = 3 if kind == "every 8th" else options.regions
            keys = keys_of(options.size, kind, number)

            def regions(system: Any, _: int, keys: list[Any] = keys) -> float:
                return sum(float(np.asarray(system.read(key), np.float64).sum()) for key in keys)

            line(f"read {kind}", [second / number for second in measured(systems, options.rounds, regions)])
        line("mean of all", measured(systems, options.rounds, lambda system, _: system.mean()))
        line("count above 370", measured(systems, options.rounds, lambda system, _: system.above(370)))
        for kind in ("one chunk", "across chunks", "one cell"):
            keys = keys_of(options.size, kind, 10)

            def writes(system: Any, _: int, keys: list[Any] = keys) -> None:
                for key in keys:
                    system.write(key, np.float32(1.5))

            line(f"write {kind}", [second / 10 for second in measured(systems, options.rounds, writes, False)])
        step = np.ascontiguousarray(values[:1, :256, :256]) if options.size >= 256 else np.zeros((1, 256, 256), "float32")

        def appends(system: Any, _: int) -> None:
            for _ in range(20):
                system.append(step)

        line("append 256 KiB", [second / 20 for second in measured(systems, options.rounds, appends, False)])
        for system in systems:
            system.close()
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
