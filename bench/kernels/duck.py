"""DuckDB's histogram, on a table of its file and on one in memory."""

from pathlib import Path

import duckdb
from workloads import EDGES, Workload

BINS = "[" + ", ".join(repr(float(edge)) for edge in EDGES[1:-1]) + ", 'inf'::DOUBLE]"


class Ways:
    def __init__(self, directory, options):
        self.directory, self.data = directory, Path(options["data"])
        self.scale, self.threads = options["scale"], options["threads"]
        self.open = {}

    def prepare(self, kernel, size):
        # It has no objects, so that one size is enough.
        if kernel != "histogram" or size != "big":
            return {}
        workload = Workload(kernel, self.scale)
        values = workload.load(self.data)["x"]
        for name, place in {"stored": self.directory / "bench.duckdb", "in memory": ":memory:"}.items():
            connection = duckdb.connect(str(place), config={"threads": self.threads})
            connection.execute("CREATE TABLE t (x DOUBLE)")
            for rows in workload.objects(size):
                part = values[rows]  # noqa: F841 - named in the statement
                connection.execute("INSERT INTO t SELECT column0 FROM part")
            if name == "stored":
                connection.execute("CHECKPOINT")
            self.open[name] = connection
        return {f"DuckDB {duckdb.__version__} histogram, {name}": self.way(connection) for name, connection in self.open.items()}

    def way(self, connection):
        def run(clock):
            with clock:
                (counts,) = connection.execute(f"SELECT histogram(x, {BINS}) FROM t").fetchone()
            return lambda: list(counts.values())[: len(EDGES) - 1]

        return run

    def end(self):
        for connection in self.open.values():
            connection.close()
