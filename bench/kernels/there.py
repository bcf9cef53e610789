"""Quiver as a server: it runs the kernels, or numpy computes on tables that are fetched over Flight."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import pyarrow.flight

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import quiver
import quiver.testing
import workloads
from in_memory import products, whole
from quiver.remote import messages
from tables import CALLS, Tables
from worker import slow
from workloads import Workload, digest


class Ways:
    def __init__(self, directory, options):
        self.scale, self.threads, self.repeated = options["scale"], options["threads"], options["repeated"]
        self.is_fetching = options["fetch"]
        self.pool = ThreadPoolExecutor(self.threads)
        self.served = quiver.testing.serve(directory / "served", switches=["--threads", str(self.threads)])
        self.uri = self.served.__enter__().uri
        self.con = quiver.connect(self.uri)
        self.tables = Tables(self.con, Path(options["data"]), self.scale)

    def prepare(self, kernel, size):
        ways = {f"Quiver over Flight, {name}": way for name, way in self.tables.prepare(kernel, size).items()}
        if kernel == "call":
            return ways | {"Quiver over Flight, a plan in one call of pyarrow.flight": self.planned()}
        if not self.is_fetching:
            return ways
        fetched = getattr(self, kernel)(Workload(kernel, self.scale), size)
        return ways | {f"fetched over Flight + numpy, {name}": slow(way) for name, way in fetched.items()}

    def planned(self):
        """A plan is its own ticket, so that one DoGet is all there is."""
        self.con.sql("CREATE TABLE IF NOT EXISTS one AS SELECT 1 AS n")
        command = [quiver.testing.binary(), "plan", "--connect", self.uri, "-c", "SELECT n FROM one", "--format", "binary"]
        ticket = pyarrow.flight.Ticket(messages.substrait(subprocess.run(command, capture_output=True, check=True).stdout, None))
        client = pyarrow.flight.connect(self.uri)

        def run(clock):
            with clock:
                for _ in range(CALLS):
                    client.do_get(ticket).read_all()
            clock.seconds /= CALLS

        return run

    def objects(self, workload, size):
        """The rows as they come, in arrays of the size of an object."""
        rows = workload.objects(size)[0].stop
        shape = (rows,) if workload.kernel == "histogram" else (rows, workloads.DIMENSIONS)
        array, filled = numpy.empty(shape), 0
        for batch in self.con.sql("SELECT v FROM x"):
            values = batch.column(0)
            values = values.to_numpy() if len(shape) == 1 else values.flatten().to_numpy().reshape(-1, shape[1])
            while len(values):
                part = values[: rows - filled]
                array[filled : filled + len(part)] = part
                filled, values = filled + len(part), values[len(part) :]
                if filled == rows:
                    yield array
                    array, filled = numpy.empty(shape), 0

    def histogram(self, workload, size):
        def run(clock):
            with clock:
                counts = sum(self.pool.map(workloads.histogram, self.objects(workload, size)))
            return lambda: counts

        return {"counted as it comes": run}

    def kmeans(self, workload, size):
        def step(objects):
            return lambda now: list(self.pool.map(lambda points: workloads.kmeans_part(points, now), objects()))

        def once(clock):
            with clock:
                objects = list(self.objects(workload, size))
                centres = workloads.kmeans(step(lambda: objects))
            return lambda: centres.ravel()

        def each(clock):
            with clock:
                centres = workloads.kmeans(step(lambda: self.objects(workload, size)))
            return lambda: centres.ravel()

        return {"once": once} | ({"each iteration": each} if self.repeated else {})

    def blocks(self, workload):
        """Both matrices, as the blocks that they are stored in, in the order of their rows."""
        for name in "AB":
            found = {}
            for batch in self.con.sql(f'SELECT i, j, block FROM "{name}"'):
                places = zip(batch["i"].to_pylist(), batch["j"].to_pylist())
                found |= zip(places, batch["block"].to_numpy_ndarray())
            yield [found[place] for place in sorted(found)]

    def add(self, workload, size):
        def summed():
            return list(self.pool.map(numpy.add, *self.blocks(workload)))

        return self.kept_and_stored(workload, size, summed)

    def multiply(self, workload, size):
        def product():
            a, b = self.blocks(workload)
            made = [numpy.empty_like(block) for block in a]
            products(a, b, made)
            return made

        return self.kept_and_stored(workload, size, product)

    def kept_and_stored(self, workload, size, made):
        def kept(clock):
            with clock:
                blocks = made()
            return lambda: digest(whole(workload, size, blocks))

        def stored(clock):
            with clock:
                self.con.write_matrix("fetched", whole(workload, size, made()), block=workload.block(size), mode="replace")
            return lambda: digest(numpy.asarray(self.con.read_matrix("fetched")))

        return {"result in the client": kept, "result stored": stored}

    def end(self):
        self.pool.shutdown()
        self.con.close()
        self.served.__exit__(None, None, None)
