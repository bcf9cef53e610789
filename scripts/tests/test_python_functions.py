"""Functions in Python: they are called in SQL, their processes can only compute, and nothing that they do harms the engine."""

import os
import signal
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import quiver  # noqa: E402
from quiver_server import Server, add_user  # noqa: E402
from test_wasm_functions import VALUES  # noqa: E402

FACTOR = 3


class PythonFunctions(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="quiver-test-")
        self.addCleanup(directory.cleanup)
        self.store = Path(directory.name) / "store"
        self.con = quiver.open(self.store)
        self.addCleanup(lambda: self.con.close())

    def run_sql(self, sql: str):
        return self.con.sql(sql)

    def value(self, sql: str):
        return self.run_sql(sql).arrow().column(0)[0].as_py()

    def error(self, sql: str) -> str:
        with self.assertRaises(quiver.Error) as caught:
            self.run_sql(sql).arrow()
        return str(caught.exception)

    def create(self, signature: str, source: str, clauses: str = "") -> None:
        self.run_sql(f"CREATE OR REPLACE FUNCTION {signature} LANGUAGE python {clauses} AS $$\n{source}\n$$")

    def test_a_function_is_computed_on_all_rows(self):
        self.create(
            "area(w DOUBLE, h DOUBLE) RETURNS DOUBLE", "import pyarrow.compute as pc\ndef area(w, h):\n    return pc.multiply(w, h)"
        )
        self.run_sql("CREATE TABLE t AS SELECT a::DOUBLE AS w, CASE WHEN a % 7 > 0 THEN 2.5 END AS h FROM range(100000) AS r(a)")
        self.assertEqual(self.value("SELECT area(3, 4)"), 12.0)
        self.assertEqual(self.value("SELECT sum(area(w, 2)) = sum(w * 2) FROM t"), True)
        self.assertEqual(self.value("SELECT count(*) FROM t WHERE area(w, 3) > 1000 AND w < 500"), 166)
        self.assertEqual(self.value("SELECT count(*) FROM t WHERE area(w, h) IS NULL"), 14286)

    def test_values_of_every_type_pass(self):
        columns = ", ".join(["n BIGINT", *(f"c{at} {name}" for at, (name, _) in enumerate(VALUES))])
        self.create(f"same(t TABLE) RETURNS TABLE ({columns})", "def same(t):\n    return t")
        one = ", ".join(f"CAST({value} AS {name}) AS c{at}" for at, (name, value) in enumerate(VALUES))
        none = ", ".join(f"CAST(NULL AS {name})" for name, _ in VALUES)
        rows = f"SELECT 1 AS n, {one} UNION ALL SELECT 2, {none} UNION ALL SELECT 3, {one}"
        expected, found = (self.run_sql(f"SELECT * FROM {source} ORDER BY n").arrow() for source in [f"({rows})", f"same(({rows}))"])
        for at, (name, _) in enumerate(VALUES):
            with self.subTest(type=name):
                self.assertEqual(expected[f"c{at}"].to_pylist(), found[f"c{at}"].to_pylist())
                self.assertEqual(expected[f"c{at}"].type, found[f"c{at}"].type)

    def test_a_table_is_ordered_by_its_columns_alone(self):
        """An order by anything else was silently none."""
        self.create("first_row(t TABLE) RETURNS TABLE (a BIGINT)", "def first_row(t):\n    return t.slice(0, 1)")
        self.run_sql("CREATE TABLE t AS SELECT a, -a AS b FROM range(100000) AS r(a)")
        self.assertEqual(self.value("SELECT a FROM first_row((SELECT a FROM t ORDER BY a DESC))"), 99999)
        error = self.error("SELECT a FROM first_row((SELECT a FROM t ORDER BY b))")
        self.assertIn("is ordered by what is no column of it; select what it is ordered by", error)

    def test_parts_of_arrays_pass(self):
        self.run_sql(
            "CREATE TABLE t AS SELECT a, a % 3 = 0 AS b, [a, a + 1] AS l, CASE WHEN a % 5 > 0 THEN a::VARCHAR END AS s FROM range(30000) AS r(a)"
        )
        for column, kind in [("b", "BOOLEAN"), ("l", "BIGINT[]"), ("s", "VARCHAR")]:
            self.create(f"same_{column}(x {kind}) RETURNS {kind}", f"def same_{column}(x):\n    return x.slice(0)")
            query = f"SELECT count(*) FROM (SELECT {column} AS x FROM t WHERE a > 17 LIMIT 20000 OFFSET 1001) WHERE same_{column}(x) IS DISTINCT FROM x"
            self.assertEqual(self.value(query), 0)
        self.create(
            "tails(x BIGINT[]) RETURNS BIGINT[]",
            "import pyarrow as pa\ndef tails(x):\n    return pa.concat_arrays([x.slice(0, 1), x]).slice(1)",
        )
        self.assertEqual(self.value("SELECT count(*) FROM t WHERE tails(l) <> l"), 0)

    def test_null_reaches_the_function_unless_it_is_strict(self):
        self.create("seven(a BIGINT) RETURNS BIGINT", "def seven(a):\n    return [7] * len(a)")
        self.assertEqual(self.value("SELECT seven(NULL)"), 7)
        self.create("seven(a BIGINT) RETURNS BIGINT", "def seven(a):\n    return [7] * len(a)", "STRICT")
        self.assertEqual(self.run_sql("SELECT seven(a) AS s FROM (VALUES (1), (NULL)) AS v(a)").arrow()["s"].to_pylist(), [7, None])

    def test_a_function_without_parameters_returns_one_value(self):
        self.create("answer() RETURNS BIGINT", "def answer():\n    return 42")
        self.assertEqual(self.run_sql("SELECT answer() AS a FROM range(3)").arrow()["a"].to_pylist(), [42] * 3)

    def test_an_aggregate_gets_the_rows_of_each_group(self):
        self.run_sql("CREATE TABLE t AS SELECT a % 10 AS k, a::DOUBLE AS x FROM range(100000) AS r(a)")
        self.run_sql("""CREATE AGGREGATE middle(x DOUBLE) RETURNS DOUBLE LANGUAGE python AS $$
import numpy as np
def middle(x):
    return float(np.median(x)) if len(x) else None
$$""")
        table = self.run_sql("SELECT k, middle(x) AS m, median(x) AS e FROM t GROUP BY k ORDER BY k").arrow()
        self.assertEqual(table["m"].to_pylist(), table["e"].to_pylist())
        self.assertEqual(self.value("SELECT middle(x) = median(x) FROM t"), True)
        self.assertEqual(self.value("SELECT middle(x) FROM t WHERE x < 0"), None)
        self.assertEqual(self.value("SELECT middle(x) FILTER (WHERE k = 3) = median(x) FILTER (WHERE k = 3) FROM t"), True)

    def test_an_aggregate_in_a_window_gets_the_rows_of_each_frame(self):
        self.run_sql("""CREATE AGGREGATE number(x BIGINT) RETURNS BIGINT LANGUAGE python AS 'def number(x): return len(x)'""")
        rows = "(VALUES (1), (2), (2), (3)) AS v(a)"
        for frame in ["", "ORDER BY a", "ORDER BY a ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"]:
            with self.subTest(frame=frame):
                query = f"SELECT number(a) OVER ({frame}) AS n, count(a) OVER ({frame}) AS c FROM {rows}"
                self.assertEqual(self.value(f"SELECT count(*) FROM ({query}) WHERE n <> c"), 0)

    def test_the_order_of_a_query_is_that_of_the_rows(self):
        self.run_sql("CREATE TABLE t AS SELECT (a * 7919) % 100000 AS v FROM range(100000) AS r(a)")
        source = "import numpy as np\ndef is_sorted(t):\n    return {'yes': [bool((np.diff(t['v']) >= 0).all())]}"
        self.create("is_sorted(t TABLE) RETURNS TABLE (yes BOOLEAN)", source)
        self.assertEqual(self.value("SELECT yes FROM is_sorted((SELECT v FROM t))"), False)
        self.assertEqual(self.value("SELECT yes FROM is_sorted((SELECT v FROM t ORDER BY v))"), True)
        self.assertEqual(self.value("SELECT yes FROM is_sorted((SELECT v FROM t ORDER BY v LIMIT 50000))"), True)

    def test_definitions_with_and_without_tables_are_told_apart(self):
        self.create("f(x BIGINT) RETURNS TABLE (a BIGINT)", "def f(x):\n    return {'a': [1]}")
        self.create("f(t TABLE, x BIGINT) RETURNS TABLE (a BIGINT)", "def f(t, x):\n    return {'a': [2]}")
        self.run_sql("DROP FUNCTION f(BIGINT)")
        self.assertEqual(self.value("SELECT a FROM f((SELECT 1 AS b), 1)"), 2)
        self.assertIn(
            "takes as many arguments",
            self.error("CREATE FUNCTION f(x BIGINT, t TABLE) RETURNS TABLE (a BIGINT) LANGUAGE python AS 'def f(x, t): return 1'"),
        )

    def test_a_process_that_was_killed_meanwhile_is_replaced(self):
        self.create("pid(x BIGINT) RETURNS BIGINT", "import os\ndef pid(x):\n    return [os.getpid()] * len(x)")
        first = self.value("SELECT pid(1)")
        self.assertEqual(self.value("SELECT pid(1)"), first)
        os.kill(first, signal.SIGKILL)
        time.sleep(0.1)
        self.assertNotEqual(self.value("SELECT pid(1)"), first)

    def test_what_an_aggregate_would_ignore_is_refused(self):
        self.run_sql("""CREATE AGGREGATE number(x BIGINT) RETURNS BIGINT LANGUAGE python AS 'def number(x): return len(x)'""")
        rows = "(VALUES (1), (2), (2), (3)) AS v(a)"
        self.assertEqual(self.value(f"SELECT number(DISTINCT a) FROM {rows}"), 3)
        self.assertIn("DISTINCT in the aggregate number", self.error(f"SELECT number(DISTINCT a), number(a) FROM {rows}"))
        self.assertIn("ORDER BY in the aggregate number", self.error(f"SELECT number(a ORDER BY a) FROM {rows}"))
        self.assertIn(
            "an aggregate without parameters", self.error("CREATE AGGREGATE g() RETURNS BIGINT LANGUAGE python AS 'def g(): return 1'")
        )

    def test_a_function_is_given_tables_and_returns_rows(self):
        self.run_sql("CREATE TABLE points AS SELECT a::DOUBLE AS x, (a * 2)::DOUBLE AS y FROM range(50000) AS r(a)")
        self.create(
            "line(points TABLE, scale DOUBLE) RETURNS TABLE (name VARCHAR, value DOUBLE)",
            """
import numpy as np
def line(points, scale):
    slope, start = np.polyfit(points['x'], points['y'], 1)
    return {'name': ['slope', 'start'], 'value': [slope * scale, start]}
""",
        )
        rows = self.run_sql("SELECT name, round(value, 6) AS v FROM line('points', 10) ORDER BY name").fetchall()
        self.assertEqual(rows, [("slope", 20.0), ("start", 0.0)])
        query = "SELECT round(value, 6) FROM line((SELECT x, x * 3 AS y FROM points WHERE x < 100), scale => 1) WHERE name = 'slope'"
        self.assertEqual(self.value(query), 3.0)
        self.assertIn("UserTableExec: line", str(self.run_sql("EXPLAIN SELECT * FROM line('points', 1)").arrow()["plan"].to_pylist()))
        self.assertIn("the argument points of line", self.error("SELECT * FROM line(3, 1)"))
        self.assertIn("nothing", self.error("SELECT * FROM line('nothing', 1)"))

    def test_a_table_is_read_where_it_lies(self):
        self.con.close()
        # It has no memory for a copy.
        self.con = quiver.open(self.store, query_memory_limit="24MiB")
        self.run_sql("CREATE TABLE t AS SELECT a::DOUBLE AS x, [a::DOUBLE, 1.0]::DOUBLE[2] AS v FROM range(3000000) AS r(a)")
        self.create(
            "total(t TABLE) RETURNS TABLE (x DOUBLE, y DOUBLE, longest BIGINT)",
            """
import numpy as np
def total(t):
    y = sum(np.sum(chunk.flatten().to_numpy()) for chunk in t['v'].chunks)
    return {'x': [sum(np.sum(chunk.to_numpy()) for chunk in t['x'].chunks)], 'y': [y], 'longest': [max(map(len, t['x'].chunks))]}
""",
        )
        total = sum(range(3000000))
        # The batches of the engine are shorter.
        self.assertEqual(self.run_sql("SELECT * FROM total('t')").fetchall(), [(total, total + 3000000, 65536)])

    def test_the_class_of_an_object_has_methods(self):
        class Series:
            def __init__(self, table):
                self.values = np.asarray(table["x"])

            def moment(self, k: int) -> "DOUBLE":  # noqa: F821
                return float(np.mean(self.values**k))

            def peaks(self, least: float) -> {"at": "BIGINT", "x": "DOUBLE"}:  # noqa: F821
                at = np.flatnonzero(self.values > least)
                return {"at": at, "x": self.values[at]}

        self.con.register(Series)
        self.run_sql("CREATE TABLE s AS SELECT a::DOUBLE AS x FROM range(4) AS r(a)")
        self.assertEqual(self.value("SELECT result FROM series_moment('s', 2)"), 3.5)
        self.assertEqual(self.run_sql("SELECT * FROM series_peaks('s', 1.5) ORDER BY at").fetchall(), [(2, 2.0), (3, 3.0)])

    def test_a_function_of_the_client_is_shipped_by_its_source(self):
        @self.con.function(returns="DOUBLE")
        def scaled(x: pa.Array) -> pa.Array:
            return pc.multiply(x, FACTOR)

        self.assertEqual(scaled(pa.array([1.0])).to_pylist(), [3.0])
        self.con.close()
        self.con = quiver.open(self.store)
        self.assertEqual(self.value("SELECT scaled(2)"), 6.0)
        self.assertIn("FACTOR = 3", self.value("SELECT definition FROM system.functions WHERE name = 'scaled'"))

        def shout(text: str) -> str:
            return pc.utf8_upper(text)

        self.con.register(shout)
        self.assertEqual(self.value("SELECT shout('quiet')"), "QUIET")
        other = 7

        def adds(x: int) -> int:
            return pc.add(x, other)

        with self.assertRaisesRegex(quiver.Error, "uses other of the function around it"):
            self.con.register(adds)

    def test_an_error_has_the_lines_of_the_function(self):
        self.create("fails(x BIGINT) RETURNS BIGINT", "def fails(x):\n    return inner(x)\ndef inner(x):\n    raise ValueError('no good')")
        text = self.error("SELECT fails(1)")
        for expected in ["function fails: ValueError: no good", "line 5, in inner", "raise ValueError('no good')"]:
            self.assertIn(expected, text)
        self.assertNotIn("worker", text)
        # The next call finds a process that works.
        self.assertIn("no good", self.error("SELECT fails(2)"))

    def test_what_cannot_be_loaded_is_refused_when_it_is_created(self):
        for source, expected in [
            ("def f(x)\n    return x", "SyntaxError"),
            ("def g(x):\n    return x", "defines no function f"),
            ("import os\ndef f(x):\n    return x", None),
            ("import nonsense\ndef f(x):\n    return x", "nonsense cannot be imported"),
            ("raise ValueError('at once')", "at once"),
        ]:
            with self.subTest(source=source):
                sql = f"CREATE OR REPLACE FUNCTION f(x BIGINT) RETURNS BIGINT LANGUAGE python AS $$\n{source}\n$$"
                if expected is None:
                    self.run_sql(sql)
                else:
                    self.assertIn(expected, self.error(sql))

    def test_a_result_that_does_not_fit_is_an_error(self):
        self.create("f(x VARCHAR) RETURNS BIGINT", "def f(x):\n    return eval(x[0].as_py())")
        for result, expected in [
            ("[1]", "it returned 1 values for 2 rows"),
            ("['a', 'b']", "its result is no int64"),
            ("5", "its result is int, and not an array"),
            ("None", "its result is NoneType"),
            ("[1.5, 2]", "its result is no int64"),
            ("'a'", "its result is str, and not an array"),
        ]:
            with self.subTest(result=result):
                self.assertIn(expected, self.error(f"""SELECT f(x) FROM (VALUES ($${result}$$), ($${result}$$)) AS v(x)"""))
        self.create("pairs(x VARCHAR) RETURNS BIGINT[2]", "import numpy as np\ndef pairs(x):\n    return eval(x[0].as_py())")
        for result, expected in [("[[1.5, 2], [3, 4]]", "is no fixed_size_list"), ("np.ones((3, 4))", "has 4 values in each row")]:
            with self.subTest(result=result):
                self.assertIn(expected, self.error(f"SELECT pairs(x) FROM (VALUES ($${result}$$), ($${result}$$), ($${result}$$)) AS v(x)"))
        self.create("rows() RETURNS TABLE (a BIGINT)", "def rows():\n    return {'b': [1]}")
        self.assertIn("no column a: it has b", self.error("SELECT * FROM rows()"))

    def test_a_function_can_do_nothing_but_compute(self):
        secret = Path(self.store).parent / "secret"
        secret.write_text("secret")
        written = secret.with_name("written")
        attempts = {
            "reads a file": f"open({str(secret)!r}).read()",
            "reads the catalog": f"__import__('os').listdir({str(self.store)!r})",
            "reads passwords": "open('/etc/passwd').read()",
            "writes a file": f"open({str(written)!r}, 'w')",
            "opens a socket": "__import__('socket').socket()",
            "starts a process": "__import__('os').fork()",
            "runs a program": "__import__('os').execv('/bin/true', ['true'])",
            "kills the engine": f"__import__('os').kill({os.getpid()}, 9)",
            "looks into the engine": f"open('/proc/{os.getpid()}/mem', 'rb')",
            "reads its environment": "open('/proc/self/environ').read()",
            "has the kernel signal the engine": f"import fcntl; fcntl.fcntl(3, fcntl.F_SETOWN, {os.getpid()})",
            "shares memory that no limit counts": "import mmap; mmap.mmap(-1, 1 << 20)",
        }
        source = """
def f(code):
    try:
        exec(code[0].as_py())
    except OSError as error:
        return [type(error).__name__]
    return ['done']
"""
        self.create("f(code VARCHAR) RETURNS VARCHAR", source)
        for what, code in attempts.items():
            with self.subTest(what=what):
                self.assertIn(self.value(f"SELECT f($${code}$$)"), ["PermissionError", "BlockingIOError"])
        self.assertFalse(written.exists())

    def test_a_call_that_does_not_end_is_ended(self):
        self.create("loops(x BIGINT) RETURNS BIGINT", "def loops(x):\n    while True:\n        pass")
        self.run_sql("SET function_timeout_ms = 300")
        begin = time.monotonic()
        self.assertIn("longer than 300 ms", self.error("SELECT loops(1)"))
        self.assertLess(time.monotonic() - begin, 10)
        self.run_sql("SET function_timeout_ms = 30000")
        self.run_sql("SET statement_timeout = '300ms'")
        begin = time.monotonic()
        self.assertIn("limit of 300 ms", self.error("SELECT loops(1)"))
        self.assertLess(time.monotonic() - begin, 10)
        self.run_sql("SET statement_timeout = 0")
        deadline = time.monotonic() + 10
        while self.running() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(self.running(), [])

    def running(self) -> list[int]:
        """The processes that are children of this one and compute."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                if int(stat[1]) == os.getpid() and stat[0] == "R":
                    found.append(int(entry.name))
            except (OSError, IndexError, ValueError):
                continue
        return found

    def test_a_process_that_ends_is_an_error_of_its_statement(self):
        self.create("f(code VARCHAR) RETURNS BIGINT", "def f(code):\n    return exec(code[0].as_py(), {'f': f})")
        for code, expected in [
            ("import os; os._exit(3)", "exit status: 3"),
            ("import ctypes; ctypes.string_at(8)", "signal: 11"),
            ("import sys; sys.exit(4)", "SystemExit: 4"),
            ("def g(): g()\ng()", "RecursionError"),
            ("import os; os.abort()", "signal: 6"),
        ]:
            with self.subTest(code=code):
                text = self.error(f"SELECT f($${code}$$)")
                self.assertIn("function f: ", text)
                self.assertIn(expected, text)
        self.assertEqual(self.value("SELECT 1"), 1)

    def test_memory_is_limited(self):
        self.create("f(x BIGINT) RETURNS BIGINT", "import numpy as np\ndef f(x):\n    return [int(np.ones(1 << 30).sum())] * len(x)")
        self.assertIn("MemoryError", self.error("SELECT f(1)"))
        self.create("g(x BIGINT) RETURNS VARCHAR", "def g(x):\n    return ['a' * (400 << 20)] * len(x)")
        self.assertIn("function g: ", self.error("SELECT g(1)"))
        self.assertEqual(self.value("SELECT 1"), 1)

    def test_nothing_of_a_failed_statement_is_committed(self):
        self.create("fails(x BIGINT) RETURNS BIGINT", "def fails(x):\n    raise ValueError('no good')")
        self.run_sql("CREATE TABLE t (a BIGINT)")
        self.error("INSERT INTO t SELECT fails(a) FROM range(10) AS r(a)")
        self.assertEqual(self.value("SELECT count(*) FROM t"), 0)

    def test_a_function_keeps_nothing_of_another_user_or_function(self):
        self.create("counts(x BIGINT) RETURNS BIGINT", "seen = []\ndef counts(x):\n    seen.append(1)\n    return [len(seen)] * len(x)")
        self.create("other(x BIGINT) RETURNS BIGINT", "seen = []\ndef other(x):\n    seen.append(1)\n    return [len(seen)] * len(x)")
        self.value("SELECT counts(1)")
        self.assertEqual(self.value("SELECT other(1)"), 1)

    def served(self, *switches: str) -> Server:
        server = Server(self.store, *switches)
        self.addCleanup(server.end)
        return server

    def test_a_server_has_functions_in_python_only_if_it_is_told_so(self):
        self.create("same(x BIGINT) RETURNS BIGINT", "def same(x):\n    return x")
        self.con.close()
        server = Server(self.store)
        with (
            quiver.connect(server.uri) as con,
            self.assertRaisesRegex(quiver.Error, "a function in Python on this server is not supported"),
        ):
            con.sql("SELECT same(1)").arrow()
        server.end()
        with quiver.connect(self.served("--python", sys.executable).uri) as con:
            self.assertEqual(con.sql("SELECT same(1)").fetchall(), [(1,)])

            @con.function(returns="BIGINT")
            def counted(x: int):
                return [len(x)] * len(x)

            self.assertEqual(con.sql("SELECT counted(a) FROM range(2) AS r(a)").fetchall(), [(2,), (2,)])
            with self.assertRaisesRegex(quiver.Error, "it imports os, and functions may import"):
                con.sql("CREATE FUNCTION f(x BIGINT) RETURNS BIGINT LANGUAGE python AS 'import os'")

    def test_who_creates_one_needs_the_privilege(self):
        self.con.close()
        add_user(self.store, "root", "secret", "--admin")
        server = self.served("--python", sys.executable, "--python-imports", "os")
        create = "CREATE FUNCTION f(x BIGINT) RETURNS BIGINT LANGUAGE python AS 'import os\ndef f(x):\n    return [os.getpid()] * len(x)'"
        with quiver.connect(server.uri, user="root", password="secret") as root:
            root.sql("CREATE USER ann PASSWORD 'ann'")
            root.sql("CREATE USER bob PASSWORD 'bob'")
            root.sql("GRANT CREATE ON SCHEMA main TO ann")
            with (
                quiver.connect(server.uri, user="ann", password="ann") as ann,
                quiver.connect(server.uri, user="bob", password="bob") as bob,
            ):
                with self.assertRaisesRegex(quiver.Error, r"needs the privilege CREATE FUNCTION \(PYTHON\)"):
                    ann.sql(create)
                root.sql("GRANT CREATE FUNCTION (python) TO ann")
                ann.sql(create)
                self.assertIn("CREATE FUNCTION (PYTHON)", str(root.sql("SHOW GRANTS FOR ann").fetchall()))
                with self.assertRaisesRegex(quiver.Error, "f"):
                    bob.sql("SELECT f(1)").arrow()
                ann.sql("GRANT EXECUTE ON FUNCTION f TO bob")
                ((of_ann,),), ((of_bob,),) = ann.sql("SELECT f(1)").fetchall(), bob.sql("SELECT f(1)").fetchall()
                self.assertNotEqual(of_ann, of_bob)
                root.sql("REVOKE CREATE FUNCTION (python) FROM ann")
                with self.assertRaisesRegex(quiver.Error, "needs the privilege"):
                    ann.sql(create.replace("CREATE", "CREATE OR REPLACE", 1))
                # Who may call it still may.
                self.assertEqual(bob.sql("SELECT f(1)").fetchall(), [(of_bob,)])


if __name__ == "__main__":
    unittest.main()
