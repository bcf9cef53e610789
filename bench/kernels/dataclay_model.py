"""The class that dataClay stores: its active methods run in the backend, which imports this by its name."""

import numpy
import workloads
from dataclay import DataClayObject, activemethod


class Block(DataClayObject):
    data: numpy.ndarray

    def __init__(self, data=None):
        self.data = data

    @activemethod
    def fill(self, path, parts):
        """Loads a part of a file. This time is not measured."""
        place = tuple(slice(*part) for part in parts)
        self.data = numpy.ascontiguousarray(numpy.load(path, mmap_mode="r")[place])

    @activemethod
    def zeros(self, rows, columns):
        self.data = numpy.zeros((rows, columns))

    @activemethod
    def nothing(self):
        return 0

    # Arrays among the arguments of an active method are written out as text by dataClay 4.3's traces: bytes are not.

    @activemethod
    def histogram(self, edges):
        return numpy.histogram(self.data, numpy.frombuffer(edges))[0]

    @activemethod
    def kmeans(self, centres):
        return workloads.kmeans_part(self.data, numpy.frombuffer(centres).reshape(-1, workloads.DIMENSIONS))

    @activemethod
    def add(self, one, other):
        self.data = one.data + other.data

    @activemethod
    def multiply_add(self, one, other):
        self.data += one.data @ other.data
