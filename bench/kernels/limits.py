"""The machine's limits for each kernel: reading the memory once, a triad of as many bytes, OpenBLAS with as many operations."""

import ctypes
import subprocess
from pathlib import Path

import numpy
from workloads import Workload

DOUBLES = ctypes.POINTER(ctypes.c_double)
# Rows of the matrices whose product gives the rate of OpenBLAS.
SIDE = 2048


class Ways:
    def __init__(self, directory, options):
        self.scale = options["scale"]
        library = directory / "stream.so"
        flags = ["-O3", "-march=native", "-fopenmp", "-shared", "-fPIC"]
        subprocess.run(["gcc", *flags, Path(__file__).with_name("stream.c"), "-o", library], check=True)
        self.stream = ctypes.CDLL(str(library))
        self.stream.total.restype = ctypes.c_double

    def prepare(self, kernel, size):
        workload = Workload(kernel, self.scale)
        if kernel == "histogram":
            return {"limit: memory read once": self.read(workload.count)}
        if kernel == "add":
            return {"limit: triad of as many bytes": self.triad(workload.side**2)}
        if kernel == "multiply":
            return {"limit: OpenBLAS, one product": self.product(workload.side, workload.flops)}
        return {"limit: OpenBLAS, as many operations": self.product(SIDE, workload.flops)}

    def read(self, count):
        values = numpy.ones(count)

        def run(clock):
            with clock:
                self.stream.total(pointer(values), ctypes.c_long(count))

        return run

    def triad(self, count):
        a, b, c = numpy.zeros(count), numpy.ones(count), numpy.ones(count)

        def run(clock):
            with clock:
                self.stream.triad(pointer(a), pointer(b), pointer(c), ctypes.c_long(count))

        return run

    def product(self, side, flops):
        a, b, c = numpy.random.default_rng(1).random((side, side)), numpy.ones((side, side)), numpy.zeros((side, side))

        def run(clock):
            with clock:
                numpy.matmul(a, b, out=c)
            clock.seconds *= flops / (2 * side**3)

        return run

    def end(self):
        pass


def pointer(array):
    return array.ctypes.data_as(DOUBLES)
