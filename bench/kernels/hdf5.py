"""h5py and numpy: one thread reads (HDF5 has one lock), the others compute. The files are in the page cache."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy
import workloads
from in_memory import products, whole
from worker import slow
from workloads import Workload, digest

LAYOUTS = {"contiguous": None, "chunks of 1 MiB": {1: (131072,), 50: (2621, 50), 2: (256, 512)}}


class Ways:
    def __init__(self, directory, options):
        self.directory, self.data = directory, Path(options["data"])
        self.scale, self.threads = options["scale"], options["threads"]
        self.pool = ThreadPoolExecutor(self.threads)
        self.loaded, self.files = None, {}

    def prepare(self, kernel, size):
        workload = Workload(kernel, self.scale)
        if self.loaded != kernel:
            self.close()
            self.loaded, self.files = kernel, {layout: self.made(workload, layout) for layout in LAYOUTS}
        ways = {}
        for layout, file in self.files.items():
            ways |= {f"h5py {layout} + numpy, {name}": way for name, way in getattr(self, kernel)(workload, size, file).items()}
        return ways

    def made(self, workload, layout):
        file = h5py.File(self.directory / f"{workload.kernel}-{layout.split()[0]}.h5", "w")
        for name, array in (workload.load(self.data, mapped=True) | ({"C": None} if workload.is_of_matrices else {})).items():
            shape = (workload.side, workload.side) if array is None else array.shape
            width = 2 if workload.is_of_matrices else 1 if len(shape) == 1 else 50
            chunks = LAYOUTS[layout] and tuple(min(most, size) for most, size in zip(LAYOUTS[layout][width], shape))
            data = file.create_dataset(name, shape, "f8", chunks=chunks)
            step = max(1, shape[0] // 16)
            for start in range(0, shape[0], step):
                data[start : start + step] = 0 if array is None else array[start : start + step]
        file.flush()
        return file

    def histogram(self, workload, size, file):
        def run(clock):
            with clock:
                counts = sum(self.computed(workloads.histogram, (file["x"][rows] for rows in workload.objects(size))))
            return lambda: counts

        return {"read": run}

    def computed(self, work, arrays):
        """Read here, worked on in the pool; no more objects wait than it has threads."""
        waiting, done = [], []
        for array in arrays:
            waiting.append(self.pool.submit(work, array))
            if len(waiting) > self.threads:
                done.append(waiting.pop(0).result())
        return done + [one.result() for one in waiting]

    def kmeans(self, workload, size, file):
        def once(clock):
            with clock:
                objects = [file["x"][rows] for rows in workload.objects(size)]
                step = lambda now: list(self.pool.map(lambda points: workloads.kmeans_part(points, now), objects))  # noqa: E731
                centres = workloads.kmeans(step)
            return lambda: centres.ravel()

        def each(clock):
            with clock:
                read = lambda: (file["x"][rows] for rows in workload.objects(size))  # noqa: E731
                centres = workloads.kmeans(lambda now: self.computed(lambda points: workloads.kmeans_part(points, now), read()))
            return lambda: centres.ravel()

        return {"read once": slow(once), "read each iteration": slow(each)}

    def add(self, workload, size, file):
        read = lambda name: (file[name][block] for block in workload.blocks(size))  # noqa: E731

        def kept(clock):
            with clock:
                blocks = self.computed(lambda pair: numpy.add(*pair), zip(read("A"), read("B")))
            return lambda: digest(whole(workload, size, blocks))

        def written(clock):
            with clock:
                blocks = self.computed(lambda pair: numpy.add(*pair), zip(read("A"), read("B")))
                self.write(workload, size, file, blocks)
            return lambda: digest(file["C"])

        return {"result in memory": kept, "result written, not flushed to the disk": written}

    def multiply(self, workload, size, file):
        def product():
            a, b = ([file[name][block] for block in workload.blocks(size)] for name in "AB")
            blocks = [numpy.empty_like(block) for block in a]
            products(a, b, blocks)
            return blocks

        def kept(clock):
            with clock:
                blocks = product()
            return lambda: digest(whole(workload, size, blocks))

        def written(clock):
            with clock:
                self.write(workload, size, file, product())
            return lambda: digest(file["C"])

        return {"result in memory": slow(kept), "result written, not flushed to the disk": slow(written)}

    def write(self, workload, size, file, blocks):
        for place, block in zip(workload.blocks(size), blocks):
            file["C"][place] = block
        file.flush()

    def close(self):
        for file in self.files.values():
            file.close()

    def end(self):
        self.close()
        self.pool.shutdown()
