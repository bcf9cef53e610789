"""The kernels as functions in WebAssembly, compiled from C: an aggregate, functions of tables, and one of values."""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import numpy
import quiver
from tables import Tables, listed
from worker import slow
from workloads import CENTRES, DIMENSIONS, EDGES, ITERATIONS, Workload, start_centres

HERE = Path(__file__).resolve().parent
# A module has 32-bit addresses.
MEMORY_BYTES = (4 << 30) - (64 << 10)


class Ways:
    def __init__(self, directory, options):
        self.con = quiver.open(directory / "store", threads=options["threads"])
        self.con.sql(f"SET function_memory_bytes = {MEMORY_BYTES}")
        self.con.sql("SET function_timeout_ms = 600000")
        self.tables = Tables(self.con, Path(options["data"]), options["scale"])
        module = directory / "kernels.wasm"
        compile_to(module)
        self.con.sql(f"COPY BLOB kernels FROM '{module}'")

    def create(self, signature, kind="FUNCTION"):
        self.con.sql(f"CREATE OR REPLACE {kind} {signature} LANGUAGE wasm IMMUTABLE AS BLOB kernels")

    def prepare(self, kernel, size):
        workload = Workload(kernel, self.tables.scale)
        self.tables.fill(workload, size)
        ways = getattr(self, kernel)(workload.block(size) if workload.is_of_matrices else None)
        return {f"function in WebAssembly, {name}": way for name, way in ways.items()}

    def histogram(self, _):
        self.create("counts(v DOUBLE) RETURNS BYTEA", "AGGREGATE")
        return {"an aggregate": self.tables.query("SELECT counts(v) FROM x", lambda rows: numpy.frombuffer(rows[0][0], numpy.int64))}

    def kmeans(self, _):
        self.create("centres(x TABLE, start DOUBLE[]) RETURNS TABLE (c DOUBLE)")
        query = f"SELECT c FROM centres('x', {listed(numpy.ravel(start_centres()))})"
        return {"1 thread": slow(self.tables.query(query, numpy.ravel))}

    def add(self, side):
        block = f"TENSOR(DOUBLE, {side}, {side})"
        self.create(f"added(a {block}, b {block}) RETURNS {block}")
        joined = '(SELECT a.i, a.j, added(a.block, b.block) AS block FROM "A" a JOIN "B" b ON a.i = b.i AND a.j = b.j)'
        return self.tables.results(joined)

    def multiply(self, side):
        columns = f"i BIGINT, j BIGINT, block TENSOR(DOUBLE, {side}, {side})"
        self.create(f"products(a TABLE, b TABLE, side BIGINT) RETURNS TABLE ({columns})")
        matrices = ", ".join(f'(SELECT i, j, block FROM "{name}")' for name in "AB")
        ways = self.tables.results(f"products({matrices}, {side})")
        return {"result returned": slow(ways["result returned"])}

    def end(self):
        self.con.close()


def compile_to(module):
    edges = ", ".join("__builtin_inf()" if edge == numpy.inf else repr(float(edge)) for edge in EDGES)
    sizes = {"BINS": len(EDGES) - 1, "CENTRES": CENTRES, "DIMENSIONS": DIMENSIONS, "ITERATIONS": ITERATIONS}
    source = f"static const double EDGES[] = {{{edges}}};\n{(HERE / 'kernels.c').read_text()}"
    command = ["clang", "--target=wasm32", "-O3", "-msimd128", "-mbulk-memory", "-nostdlib", "-Wl,--no-entry"]
    command += [f"-D{name}={value}" for name, value in sizes.items()]
    include = HERE.parents[1] / "engine" / "wasm" / "include"
    subprocess.run([*command, f"-I{include}", "-o", module, "-x", "c", "-"], input=source, text=True, check=True)
