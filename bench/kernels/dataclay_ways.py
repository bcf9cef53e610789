"""dataClay 4.3: its active methods, and computing on fetched objects in the client. It starts its own services."""

import contextvars
import logging
import os
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import workloads
from dataclay_services import Services
from in_memory import products, whole
from worker import slow
from workloads import EDGES, Workload, digest

warnings.simplefilter("ignore")
logging.disable(logging.INFO)
os.environ["DATACLAY_LOGLEVEL"] = "WARNING"


class Ways:
    def __init__(self, directory, options):
        self.directory, self.data = directory, Path(options["data"])
        self.scale, self.threads = options["scale"], options["threads"]
        self.blas_threads, self.repeated = options["blas_threads"], options["repeated"]
        self.pool = ThreadPoolExecutor(self.threads)
        self.services = Services(directory, self.blas_threads)
        try:
            self.client = self.connected()
        except BaseException:
            self.services.end()
            raise
        self.known = []

    def connected(self):
        from dataclay import Client

        client = Client(host="127.0.0.1", port=self.services.port, username="admin", password="admin", dataset="admin")
        until = time.monotonic() + 60
        while True:
            try:
                client.start()
                self.made()
                return client
            except Exception:
                # The backend registers itself some time after it listens.
                if time.monotonic() > until:
                    raise
                time.sleep(0.5)

    def made(self):
        from dataclay_model import Block

        block = Block()
        block.make_persistent()
        return block

    def filled(self, workload, name, parts):
        block = self.made()
        block.fill(str(workload.files(self.data)[name]), [(part.start, part.stop) for part in parts])
        self.known.append(block)
        return block

    def prepare(self, kernel, size):
        for block in self.known:
            block.zeros(1, 1)
        self.known = []
        return getattr(self, kernel)(Workload(kernel, self.scale) if kernel != "call" else None, size)

    def call(self, workload, size):
        block = self.made()

        def run(clock):
            with clock:
                for _ in range(200):
                    block.nothing()
            clock.seconds /= 200
            return None

        return {"dataClay active": run}

    def at_once(self, count):
        """Runs a function on objects: one after the other, or several at once."""
        if count == 1:
            return lambda work, things: [work(thing) for thing in things]

        def run(work, things):
            waiting = [self.pool.submit(contextvars.copy_context().run, work, thing) for thing in things]
            return [one.result() for one in waiting]

        return run

    def both(self, ways):
        """`ways` of a number of calls at once."""
        found = {}
        for count in sorted({1, self.threads}):
            calls = "one call at a time" if count == 1 else f"{count} calls at once"
            for name, way in ways(self.at_once(count)).items():
                found[f"dataClay {name}, {calls}, BLAS with {self.blas_threads}"] = way
        return found

    def histogram(self, workload, size):
        objects = [self.filled(workload, "x", [rows]) for rows in workload.objects(size)]
        edges = EDGES.tobytes()

        def ways(mapped):
            def active(clock):
                with clock:
                    counts = sum(mapped(lambda block: block.histogram(edges), objects))
                return lambda: counts

            def fetched(clock):
                with clock:
                    counts = sum(mapped(lambda block: workloads.histogram(block.data), objects))
                return lambda: counts

            return {"active": active, "non-active": slow(fetched)}

        return self.both(ways)

    def kmeans(self, workload, size):
        objects = [self.filled(workload, "x", [rows]) for rows in workload.objects(size)]

        def ways(mapped):
            def measured(steps):
                def run(clock):
                    with clock:
                        centres = workloads.kmeans(steps())
                    return lambda: centres.ravel()

                return slow(run)

            def active():
                return lambda now: mapped(lambda block: block.kmeans(now.tobytes()), objects)

            def once():
                arrays = mapped(lambda block: block.data, objects)
                return lambda now: mapped(lambda points: workloads.kmeans_part(points, now), arrays)

            def each():
                return lambda now: mapped(lambda block: workloads.kmeans_part(block.data, now), objects)

            found = {"active": measured(active), "non-active, fetched once": measured(once)}
            return found | ({"non-active, fetched each iteration": measured(each)} if self.repeated else {})

        return self.both(ways)

    def matrices(self, workload, size):
        blocks = workload.blocks(size)
        self.of = {name: [self.filled(workload, name, block) for block in blocks] for name in "AB"}
        results = [self.made() for _ in blocks]
        self.known += results
        return self.of["A"], self.of["B"], results

    def add(self, workload, size):
        a, b, results = self.matrices(workload, size)

        def ways(mapped):
            def active(clock):
                with clock:
                    mapped(lambda three: three[0].add(three[1], three[2]), list(zip(results, a, b)))
                return lambda: digest(whole(workload, size, [block.data for block in results]))

            def kept(clock):
                with clock:
                    sums = mapped(lambda two: two[0].data + two[1].data, list(zip(a, b)))
                return lambda: digest(whole(workload, size, sums))

            def back(three):
                three[0].data = three[1].data + three[2].data

            def stored(clock):
                with clock:
                    mapped(back, list(zip(results, a, b)))
                return lambda: digest(whole(workload, size, [block.data for block in results]))

            return {"active": active, "non-active, result in the client": slow(kept), "non-active, result stored": slow(stored)}

        return self.both(ways)

    def multiply(self, workload, size):
        a, b, results = self.matrices(workload, size)
        side = round(len(a) ** 0.5)

        def active_of(place):
            i, j = divmod(place, side)
            for k in range(side):
                results[place].multiply_add(a[i * side + k], b[k * side + j])

        def ways(mapped):
            def active(clock):
                for block in results:
                    block.zeros(workload.block(size), workload.block(size))
                with clock:
                    mapped(active_of, range(len(results)))
                return lambda: digest(whole(workload, size, [block.data for block in results]))

            def kept(clock):
                with clock:
                    arrays = [mapped(lambda block: block.data, blocks) for blocks in (a, b)]
                    made = [numpy.empty_like(block) for block in arrays[0]]
                    products(*arrays, made)
                return lambda: digest(whole(workload, size, made))

            return {"active": slow(active), "non-active, result in the client": slow(kept)}

        return self.both(ways)

    def end(self):
        self.pool.shutdown()
        try:
            self.client.stop()
        finally:
            self.services.end()
