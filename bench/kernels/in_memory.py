"""numpy on arrays in memory. With `blas_threads` 1, two threads of Python compute; otherwise BLAS has the threads."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import workloads
from workloads import Workload, digest


class Ways:
    def __init__(self, directory, options):
        self.data = Path(options["data"])
        self.scale, self.threads = options["scale"], options["threads"]
        self.blas_threads = options["blas_threads"]
        self.pool = ThreadPoolExecutor(self.threads)
        self.loaded = None

    def prepare(self, kernel, size):
        workload = Workload(kernel, self.scale)
        if self.loaded is None or self.loaded[0] != kernel:
            self.loaded = kernel, workload.load(self.data)
        return getattr(self, kernel)(workload, size, self.loaded[1])

    def histogram(self, workload, size, arrays):
        objects = [arrays["x"][rows] for rows in workload.objects(size)]

        def run(clock):
            with clock:
                counts = sum(self.pool.map(workloads.histogram, objects))
            return lambda: counts

        return {f"numpy in memory, {self.threads} threads": run}

    def kmeans(self, workload, size, arrays):
        objects = [arrays["x"][rows] for rows in workload.objects(size)]
        mapped = self.pool.map if self.blas_threads == 1 else map

        def run(clock):
            with clock:
                centres = workloads.kmeans(lambda now: list(mapped(lambda points: workloads.kmeans_part(points, now), objects)))
            return lambda: centres.ravel()

        by = f"{self.threads} threads of Python" if self.blas_threads == 1 else f"BLAS with {self.blas_threads} threads"
        return {f"numpy in memory, {by}": run}

    def add(self, workload, size, arrays):
        a, b = self.cut(workload, size, arrays)
        results = [numpy.zeros_like(block) for block in a]

        def into(clock):
            with clock:
                list(self.pool.map(numpy.add, a, b, results))
            return lambda: digest(whole(workload, size, results))

        def fresh(clock):
            with clock:
                made = list(self.pool.map(numpy.add, a, b))
            return lambda: digest(whole(workload, size, made))

        return {f"numpy in memory, {self.threads} threads, into arrays that are there": into,
                f"numpy in memory, {self.threads} threads, new arrays": fresh}  # fmt: skip

    def multiply(self, workload, size, arrays):
        a, b = self.cut(workload, size, arrays)
        results = [numpy.zeros_like(block) for block in a]

        def run(clock):
            with clock:
                products(a, b, results)
            return lambda: digest(whole(workload, size, results))

        return {f"numpy in memory, BLAS with {self.blas_threads} threads": run}

    def cut(self, workload, size, arrays):
        return ([numpy.ascontiguousarray(arrays[name][block]) for block in workload.blocks(size)] for name in "AB")

    def end(self):
        self.pool.shutdown()


def products(a, b, results):
    """Of square blocks in order of their rows."""
    side = round(len(a) ** 0.5)
    for place, result in enumerate(results):
        i, j = divmod(place, side)
        numpy.matmul(a[i * side], b[j], out=result)
        for k in range(1, side):
            result += a[i * side + k] @ b[k * side + j]


def whole(workload, size, blocks):
    matrix = numpy.empty((workload.side, workload.side))
    for place, block in zip(workload.blocks(size), blocks):
        matrix[place] = block
    return matrix
