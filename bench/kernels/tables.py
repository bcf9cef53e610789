"""The kernels as SQL statements, over either kind of connection, and their data as tables."""

import numpy
import pyarrow
from worker import slow
from workloads import CENTRES, DIMENSIONS, EDGES, ITERATIONS, Workload, digest, start_centres

CALLS = 200


class Tables:
    def __init__(self, con, data, scale):
        self.con, self.data, self.scale = con, data, scale

    def prepare(self, kernel, size):
        if kernel == "call":
            return {"SELECT 1": self.call}
        workload = Workload(kernel, self.scale)
        self.fill(workload, size)
        return getattr(self, kernel)(workload)

    def fill(self, workload, size):
        """One table of values or points, with a segment for each object; matrices of blocks."""
        for name, array in workload.load(self.data, mapped=True).items():
            if workload.is_of_matrices:
                self.con.write_matrix(name, array, block=workload.block(size), mode="replace")
                continue
            for number, rows in enumerate(workload.objects(size)):
                values = pyarrow.array(numpy.ascontiguousarray(array[rows]).reshape(-1))
                if workload.kernel == "kmeans":
                    values = pyarrow.FixedSizeListArray.from_arrays(values, DIMENSIONS)
                self.con.write(name, {"v": values}, mode="append" if number else "replace")

    def call(self, clock, sql="SELECT 1"):
        with clock:
            for _ in range(CALLS):
                self.con.sql(sql).fetchall()
        clock.seconds /= CALLS

    def histogram(self, workload):
        return self.placed(lambda table: self.query(f"SELECT histogram(v, {listed(EDGES)}) FROM {table}", lambda rows: rows[0][0]))

    def kmeans(self, workload):
        centres = f"[{', '.join(map(listed, start_centres()))}]"
        arguments = f"k => {CENTRES}, iterations => {ITERATIONS}, init => {centres}"
        ways = {}
        for setting in ("auto", "on"):

            def made(table, setting=setting):
                sql = f"SELECT centroid FROM kmeans('{table}', 'v', {arguments}) ORDER BY cluster"
                return self.query(sql, lambda rows: numpy.ravel([row[0] for row in rows]), f"SET precopy = {setting}")

            ways |= {f"{name}, precopy = {setting}": way for name, way in self.placed(made).items()}
        return ways

    def placed(self, made):
        """Of the table in the store, and of one in memory."""
        self.con.sql("DROP TABLE IF EXISTS in_memory")
        self.con.sql("CREATE VOLATILE TABLE in_memory AS SELECT * FROM x")
        return {"stored": made("x"), "volatile": made("temp.in_memory")}

    def query(self, sql, answer, before=None):
        def run(clock):
            if before:
                self.con.sql(before)
            with clock:
                rows = self.con.sql(sql).fetchall()
            return lambda: answer(rows)

        return run

    def add(self, workload):
        return self.results("matrix_add('A', 'B')")

    def multiply(self, workload):
        joined = '(SELECT a.i, b.j, sum_product(a.block, b.block) AS block FROM "A" a JOIN "B" b ON a.j = b.i GROUP BY a.i, b.j)'
        ways = self.results("matrix_multiply('A', 'B')")
        ways["a join with sum_product, result volatile"] = self.result_in(joined, "VOLATILE")
        return {name: slow(way) for name, way in ways.items()}

    def results(self, source):
        def returned(clock):
            with clock:
                table = self.con.sql(f"SELECT i, j, block FROM {source}").arrow()
            return lambda: digest(assembled(table))

        ways = {f"result {name.lower()}": self.result_in(source, name) for name in ("VOLATILE", "TABLE")}
        return {"result returned": returned} | {name.replace("result table", "result stored"): way for name, way in ways.items()}

    def result_in(self, source, place):
        name = f"result_{place.lower()}"

        def run(clock):
            self.con.sql(f"DROP TABLE IF EXISTS {name}")
            with clock:
                self.con.sql(f"SELECT i, j, block INTO {place} {name} FROM {source}")
            return lambda: digest(numpy.asarray(self.con.read_matrix(name)))

        return run


def listed(numbers) -> str:
    return f"[{', '.join(map(double, numbers))}]"


def double(number) -> str:
    """Not a decimal."""
    text = repr(float(number))
    return f"CAST('{text}' AS DOUBLE)" if text == "inf" else text if "e" in text else f"{text}e0"


def assembled(table) -> numpy.ndarray:
    """The matrix of a result that came as rows."""
    height, width = table.schema.field("block").type.shape
    rows, columns = (table[name].to_numpy() for name in ("i", "j"))
    matrix = numpy.zeros(((rows.max() + 1) * height, (columns.max() + 1) * width))
    blocks = (block for chunk in table["block"].chunks for block in chunk.to_numpy_ndarray())
    for i, j, block in zip(rows, columns, blocks):
        matrix[i * height : (i + 1) * height, j * width : (j + 1) * width] = block
    return matrix
