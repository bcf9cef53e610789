"""The kernels as functions in Python that the store keeps: the numpy of `workloads.py`, in a process next to the engine, on tables in place."""

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import numpy
import quiver
import workloads
from tables import Tables, listed
from workloads import EDGES, Workload

# Each gets the objects of a kernel as tables, and as many threads as the other ways.
COUNTS = """
def counts(x, edges, threads):
    with ThreadPoolExecutor(threads) as pool:
        parts = pool.map(lambda chunk: numpy.histogram(chunk.to_numpy(), edges)[0], x["v"].chunks)
    return {"n": sum(parts)}
"""
CENTRES = """
def centres(x, threads):
    points = [chunk.flatten().to_numpy().reshape(-1, DIMENSIONS) for chunk in x["v"].chunks]
    with ThreadPoolExecutor(threads) as pool:
        found = kmeans(lambda now: list(pool.map(lambda part: kmeans_part(part, now), points)))
    return {"c": found}
"""
BLOCKS = """
def blocks(table):
    rows = [block for chunk in table["block"].chunks for block in chunk.to_numpy_ndarray()]
    return dict(zip(zip(table["i"].to_pylist(), table["j"].to_pylist()), rows))

def made(places, results):
    i, j = zip(*places)
    return {"i": i, "j": j, "block": results}
"""
SUMS = """
def sums(a, b, threads):
    a, b = blocks(a), blocks(b)
    results = numpy.empty((len(a), *next(iter(a.values())).shape))
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda at, place: numpy.add(a[place], b[place], out=results[at]), range(len(a)), a))
    return made(a, results)
"""
PRODUCTS = """
def products(a, b):
    a, b = blocks(a), blocks(b)
    results = numpy.zeros((len(a), *next(iter(a.values())).shape))
    for place, result in zip(a, results):
        for k in sorted({k for i, k in a if i == place[0]}):
            result += a[place[0], k] @ b[k, place[1]]
    return made(a, results)
"""


class Ways:
    def __init__(self, directory, options):
        self.con = quiver.open(directory / "store", threads=options["threads"])
        # The results of whole matrices are memory of the function.
        self.con.sql(f"SET function_memory_bytes = {4 << 30}")
        self.threads = options["threads"]
        self.tables = Tables(self.con, Path(options["data"]), options["scale"])

    def create(self, signature, source):
        """A function imports nothing that lies beside a program, so the numpy that all ways share is a part of its source."""
        shared = Path(workloads.__file__).read_text()
        text = f"{shared}\nfrom concurrent.futures import ThreadPoolExecutor\n{source}"
        self.con.sql(f"CREATE OR REPLACE FUNCTION {signature} LANGUAGE python AS $${text}$$")

    def prepare(self, kernel, size):
        if kernel == "call":
            self.create("nothing() RETURNS BIGINT", "def nothing():\n    return 0")
            return {"function in Python, an empty one": partial(self.tables.call, sql="SELECT nothing()")}
        workload = Workload(kernel, self.tables.scale)
        self.tables.fill(workload, size)
        ways = getattr(self, kernel)()
        return {f"function in Python, {name}": way for name, way in ways.items()}

    def histogram(self):
        self.create("counts(x TABLE, edges DOUBLE[], threads BIGINT) RETURNS TABLE (n BIGINT)", COUNTS)
        query = f"SELECT n FROM counts('x', {listed(EDGES)}, {self.threads})"
        return {f"{self.threads} threads": self.tables.query(query, numpy.ravel)}

    def kmeans(self):
        self.create(f"centres(x TABLE, threads BIGINT) RETURNS TABLE (c DOUBLE[{workloads.DIMENSIONS}])", CENTRES)
        query = f"SELECT c FROM centres('x', {self.threads})"
        return {f"{self.threads} threads": self.tables.query(query, numpy.ravel)}

    def add(self):
        columns = self.columns()
        self.create(f"sums(a TABLE, b TABLE, threads BIGINT) RETURNS TABLE ({columns})", BLOCKS + SUMS)
        return self.tables.results(f"sums('\"A\"', '\"B\"', {self.threads})")

    def multiply(self):
        self.create(f"products(a TABLE, b TABLE) RETURNS TABLE ({self.columns()})", BLOCKS + PRODUCTS)
        return self.tables.results("products('\"A\"', '\"B\"')")

    def columns(self):
        block = self.con.sql('SELECT block FROM "A" LIMIT 0').arrow().schema.field("block").type
        return f"i BIGINT, j BIGINT, block TENSOR(DOUBLE, {', '.join(map(str, block.shape))})"

    def end(self):
        self.con.close()
