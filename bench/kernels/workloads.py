"""The four kernels of the paper: their sizes, their data, and their implementations in numpy.

Everything that computes one of them in Python imports this, also inside of dataClay's backend: it needs numpy and nothing else.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy

KERNELS = ("histogram", "kmeans", "add", "multiply")
SIZES = ("big", "small")

# 140 bins, narrow where the values are many.
EDGES = numpy.concatenate([[0.0], numpy.geomspace(0.01, 50.0, 139), [numpy.inf]])
CENTRES, DIMENSIONS, ITERATIONS = 20, 50, 10
# How many objects the values of histogram and kmeans are: at full scale of 100 MB and of 12.5 MB each.
OBJECTS = {"big": 8, "small": 64}
# Rows of points that are worked on at once: their distances stay in the cache.
CHUNK = 8192


@dataclass(frozen=True)
class Workload:
    """`scale` 1 is what the paper measured: 800 MB, and matrices of 8192 and 4096 rows."""

    kernel: str
    scale: float

    @property
    def count(self) -> int:
        """Of values or points: 64 objects have as many each."""
        full = {"histogram": 100_000_000, "kmeans": 2_000_000}[self.kernel]
        return max(1, round(full * self.scale / 64)) * 64

    @property
    def side(self) -> int:
        """Rows and columns of a matrix."""
        full, power = {"add": (8192, 1 / 2), "multiply": (4096, 1 / 3)}[self.kernel]
        return max(1, round(full * self.scale**power / 64)) * 64

    @property
    def is_of_matrices(self) -> bool:
        return self.kernel in ("add", "multiply")

    def block(self, size: str) -> int:
        """Rows and columns of a block: 134 MB and 8.4 MB at full scale."""
        return self.side // {"add": {"big": 2, "small": 8}, "multiply": {"big": 1, "small": 4}}[self.kernel][size]

    @property
    def bytes(self) -> int:
        """Read and written, once."""
        if self.is_of_matrices:
            return 3 * 8 * self.side**2
        return self.count * 8 * (1 if self.kernel == "histogram" else DIMENSIONS * ITERATIONS)

    @property
    def flops(self) -> int:
        """Of what is a product of matrices; kmeans has the distances and the sums as such."""
        return {"multiply": 2 * self.side**3 if self.kernel == "multiply" else 0,
                "kmeans": 0 if self.is_of_matrices else self.count * 4 * CENTRES * DIMENSIONS * ITERATIONS}.get(self.kernel, 0)  # fmt: skip

    def files(self, directory: Path) -> dict[str, Path]:
        names = ("A", "B") if self.is_of_matrices else ("x",)
        return {name: directory / f"{self.kernel}-{name}.npy" for name in names}

    def make(self, directory: Path) -> None:
        """The data as numpy files, which every implementation loads into its own form."""
        for seed, path in enumerate(self.files(directory).values()):
            numpy.save(path, self.made(numpy.random.default_rng(20261122 + seed)))

    def made(self, random: numpy.random.Generator) -> numpy.ndarray:
        if self.kernel == "histogram":
            return random.f(5, 10, self.count)
        if self.kernel == "kmeans":
            return random.standard_normal((self.count, DIMENSIONS))
        return random.random((self.side, self.side))

    def load(self, directory: Path, *, mapped: bool = False) -> dict[str, numpy.ndarray]:
        return {name: numpy.load(path, mmap_mode="r" if mapped else None) for name, path in self.files(directory).items()}

    def objects(self, size: str) -> list[slice]:
        """The rows of each object."""
        rows = self.count // OBJECTS[size]
        return [slice(start, start + rows) for start in range(0, self.count, rows)]

    def blocks(self, size: str) -> list[tuple[slice, slice]]:
        """The rows and columns of each block."""
        cut = [slice(start, start + self.block(size)) for start in range(0, self.side, self.block(size))]
        return [(rows, columns) for rows in cut for columns in cut]


def histogram(values: numpy.ndarray) -> numpy.ndarray:
    return numpy.histogram(values, EDGES)[0]


def start_centres() -> numpy.ndarray:
    return numpy.random.default_rng(12345).standard_normal((CENTRES, DIMENSIONS))


def kmeans_part(points: numpy.ndarray, centres: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Sums and numbers of the points that are nearest to each centre."""
    sums, counts = numpy.zeros_like(centres), numpy.zeros(len(centres), numpy.int64)
    squares, factors, ones = (centres * centres).sum(1), -2 * centres.T, numpy.eye(len(centres))
    for start in range(0, len(points), CHUNK):
        chunk = points[start : start + CHUNK]
        nearest = (chunk @ factors + squares).argmin(1)
        sums += ones[nearest].T @ chunk
        counts += numpy.bincount(nearest, minlength=len(centres))
    return sums, counts


def kmeans_moved(parts: list, centres: numpy.ndarray) -> numpy.ndarray:
    sums, counts = sum(part[0] for part in parts), sum(part[1] for part in parts)
    moved = centres.copy()
    moved[counts > 0] = sums[counts > 0] / counts[counts > 0, None]
    return moved


def kmeans(step) -> numpy.ndarray:
    """`step` gives the parts of all points, for some centres."""
    centres = start_centres()
    for _ in range(ITERATIONS):
        centres = kmeans_moved(step(centres), centres)
    return centres


def digest(matrix) -> list[float]:
    """Of what has `[rows, columns]` and sums: enough to tell whether two results are the same."""
    places = [(0, slice(0, 8)), (len(matrix) // 2, slice(3, 11)), (len(matrix) - 1, slice(-8, None))]
    return [float(numpy.asarray(matrix).sum()), *(float(value) for place in places for value in numpy.ravel(matrix[place]))]
