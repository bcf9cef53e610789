"""Functions in WebAssembly: what C compiles to is called in SQL, and nothing that a module does harms the engine."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import quiver  # noqa: E402

INCLUDE = ROOT / "engine" / "wasm" / "include"
SOURCE = Path(__file__).resolve().parent / "wasm" / "functions.c"
# Of each type one value; the module gives it back.
VALUES = [
    ("BOOLEAN", "true"),
    ("TINYINT", "-5"),
    ("SMALLINT", "-500"),
    ("INTEGER", "70000"),
    ("BIGINT", "9000000000"),
    ("UBIGINT", "18446744073709551615"),
    ("REAL", "1.5"),
    ("DOUBLE", "-0.25"),
    ("DECIMAL(9,2)", "12.34"),
    ("DECIMAL(38,10)", "1234567890123456789.0123456789"),
    ("DECIMAL(60,5)", "123456789012345678901234567890123456789.12345"),
    ("VARCHAR", "'naïve text, longer than a view holds'"),
    ("BYTEA", "'\\xc3\\xa4'"),
    ("DATE", "DATE '2024-02-29'"),
    ("TIME", "TIME '12:34:56.789'"),
    ("TIMESTAMP", "TIMESTAMP '2024-02-29 12:34:56.789'"),
    ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP '2024-02-29 12:34:56Z'"),
    ("INTERVAL", "INTERVAL '1 month 2 days 3 seconds'"),
    ("BIGINT[]", "[1, NULL, 3]"),
    ("VARCHAR[]", "['a', NULL, 'a longer text than fits']"),
    ("BIGINT[][]", "[[1, 2], NULL, []]"),
    ("DOUBLE[3]", "[1, 2.5, 3]"),
    ("STRUCT(a BIGINT, b VARCHAR)", "struct(1 AS a, 'x' AS b)"),
    ("MAP(VARCHAR, BIGINT)", "MAP {'one': 1, 'two': NULL}"),
    ("TENSOR(DOUBLE, 2, 2)", "[[1, 2], [3, 4]]"),
]


def clang(source: str | Path, target: Path, *switches: str) -> None:
    command = ["clang", "--target=wasm32", "-O2", "-mbulk-memory", "-nostdlib", "-Wl,--no-entry", f"-I{INCLUDE}", *switches, "-o", target]
    text = source if isinstance(source, str) else source.read_text()
    subprocess.run([*command, "-x", "c", "-"], input=text, text=True, check=True, timeout=60, capture_output=True)


@unittest.skipUnless(shutil.which("clang") and shutil.which("wasm-ld"), "there is no clang with wasm-ld")
class WasmFunctions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="quiver-test-")
        cls.addClassCleanup(cls.directory.cleanup)
        cls.module = Path(cls.directory.name) / "functions.wasm"
        clang(SOURCE, cls.module, "-msimd128")

    def setUp(self):
        self.store = Path(tempfile.mkdtemp(prefix="quiver-test-", dir=self.directory.name)) / "store"
        self.con = quiver.open(self.store)
        self.addCleanup(lambda: self.con.close())
        self.run_sql(f"COPY BLOB boxes FROM '{self.module}'")

    def run_sql(self, sql: str):
        return self.con.sql(sql)

    def value(self, sql: str):
        return self.run_sql(sql).arrow().column(0)[0].as_py()

    def create(self, name: str, parameters: str, returns: str, clauses: str = "") -> None:
        self.run_sql(f"CREATE FUNCTION {name}({parameters}) RETURNS {returns} LANGUAGE wasm {clauses} AS BLOB boxes")

    def error(self, sql: str) -> str:
        with self.assertRaises(quiver.Error) as caught:
            self.run_sql(sql).arrow()
        return str(caught.exception)

    def test_a_function_is_computed_on_all_rows(self):
        self.create("area", "w DOUBLE, h DOUBLE", "DOUBLE", "IMMUTABLE")
        self.run_sql("CREATE TABLE t AS SELECT a::DOUBLE AS w, CASE WHEN a % 7 > 0 THEN 2.5 END AS h FROM range(100000) AS r(a)")
        self.assertEqual(self.value("SELECT area(3, 4)"), 12.0)
        self.assertEqual(self.value("SELECT sum(area(w, 2)) = sum(w * 2) FROM t"), True)
        self.assertEqual(self.value("SELECT count(*) FROM t WHERE area(w, 3) > 1000 AND w < 500"), 166)
        self.assertEqual(self.value("SELECT count(*) FROM t WHERE area(w, w) = w * w"), 100000)
        self.assertEqual(self.value("SELECT max(area(w, w)) FROM t GROUP BY area(w, w) > 10 ORDER BY 1 LIMIT 1"), 9.0)

    def test_the_example_of_the_page_works(self):
        page = (ROOT / "docs" / "user-functions.md").read_text()
        (source,) = re.findall(r"^```c\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        (commands,) = re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        directory = Path(tempfile.mkdtemp(prefix="quiver-test-", dir=self.directory.name))
        (directory / "numbers.c").write_text(source)
        (directory / "engine").symlink_to(ROOT / "engine")
        environment = os.environ | {"PATH": f"{ROOT / 'bin'}:{os.environ['PATH']}"}
        done = subprocess.run(["sh", "-ec", commands], cwd=directory, env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("6", done.stdout)

    def test_null_reaches_the_function_unless_it_is_strict(self):
        self.create("seven", "a BIGINT", "BIGINT")
        self.assertEqual(self.value("SELECT seven(NULL)"), 7)
        self.run_sql("CREATE OR REPLACE FUNCTION seven(a BIGINT) RETURNS BIGINT LANGUAGE wasm STRICT AS BLOB boxes")
        self.assertEqual(self.run_sql("SELECT seven(a) AS s FROM (VALUES (1), (NULL)) AS v(a)").arrow()["s"].to_pylist(), [7, None])

    def test_values_of_every_type_pass(self):
        for at, (name, value) in enumerate(VALUES):
            with self.subTest(type=name):
                self.run_sql(f"CREATE FUNCTION same{at}(a {name}) RETURNS {name} LANGUAGE wasm AS BLOB boxes SYMBOL 'same'")
                rows = f"(SELECT CAST({value} AS {name}) AS a UNION ALL SELECT NULL UNION ALL SELECT CAST({value} AS {name}))"
                table = self.run_sql(f"SELECT a, same{at}(a) AS b FROM {rows} AS r").arrow()
                self.assertEqual(table["a"].to_pylist(), table["b"].to_pylist())
                self.assertEqual(table["a"].type, table["b"].type)

    def test_texts_and_lists_are_read_and_made(self):
        self.create("shout", "a VARCHAR", "VARCHAR")
        self.create("count_valid", "a BIGINT[]", "BIGINT")
        self.run_sql("CREATE TABLE t AS SELECT 'text number ' || a AS s, a % 3 AS k FROM range(20000) AS r(a)")
        self.assertEqual(self.value("SELECT count(*) FROM t WHERE shout(s) = upper(s)"), 20000)
        self.assertEqual(self.value("SELECT min(shout(s)) FROM t WHERE k = 1"), "TEXT NUMBER 1")
        self.assertEqual(self.value("SELECT count_valid([1, NULL, 3]) + count_valid(NULL::BIGINT[])"), None)
        self.assertEqual(self.value("SELECT count_valid([1, NULL, 3]) * 10 + count_valid([])"), 20)

    def test_an_aggregate_is_what_its_states_say(self):
        for name, parameter, returns in [
            ("average", "x DOUBLE", "DOUBLE"),
            ("longest", "a VARCHAR", "VARCHAR"),
            ("failing", "a BIGINT", "BIGINT"),
        ]:
            self.run_sql(f"CREATE AGGREGATE {name}({parameter}) RETURNS {returns} LANGUAGE wasm AS BLOB boxes")
        self.run_sql(
            "CREATE TABLE t AS SELECT a % 30000 AS k, CASE WHEN a % 5 > 0 THEN (a * 7919 % 1000)::DOUBLE END AS x, "
            "left(md5(a::VARCHAR), (a % 17)::INT) AS s FROM range(300000) AS r(a)"
        )
        self.run_sql("SET threads = 4")
        self.assertEqual(self.value("SELECT average(x) = avg(x) FROM t"), True)
        self.assertEqual(self.value("SELECT average(x) FROM t WHERE false"), None)
        self.assertEqual(self.value("SELECT average(2) + average(x) * 0 FROM t"), 2.0)
        groups = "SELECT k, average(x) AS m, avg(x) AS a FROM t GROUP BY k"
        self.assertEqual(self.value(f"SELECT count(*) FROM ({groups}) AS g WHERE m IS NOT DISTINCT FROM a"), 30000)
        self.assertEqual(self.value(f"SELECT count(*) FROM ({groups} HAVING average(x) > 500) AS g WHERE a <= 500"), 0)
        texts = "SELECT k, length(longest(s)) AS l, max(length(s)) AS m FROM t GROUP BY k"
        self.assertEqual(self.value(f"SELECT count(*) FROM ({texts}) AS g WHERE l = m"), 30000)
        self.assertEqual(self.value("SELECT average(x) FILTER (WHERE k < 10) = avg(x) FILTER (WHERE k < 10) FROM t"), True)
        self.assertIn("failing: it takes no rows", self.error("SELECT failing(k) FROM t"))
        self.assertIn("returns values", self.error("SELECT * FROM average(1)"))
        self.assertIn("aggregate", self.error("CREATE FUNCTION average(x DOUBLE) RETURNS DOUBLE RETURN x"))
        self.assertEqual(self.value("SELECT kind FROM system.functions WHERE name = 'average'"), "aggregate")
        self.run_sql("DROP AGGREGATE failing")
        self.assertIn("STRICT", self.error("CREATE AGGREGATE m(x DOUBLE) RETURNS DOUBLE LANGUAGE wasm STRICT AS BLOB boxes"))
        self.assertIn("in SQL", self.error("CREATE AGGREGATE m(x DOUBLE) RETURNS DOUBLE RETURN x"))
        self.assertIn(
            'exports no "seven_state_bytes"', self.error("CREATE AGGREGATE seven(x DOUBLE) RETURNS DOUBLE LANGUAGE wasm AS BLOB boxes")
        )

    def test_a_function_of_tables_gets_their_rows_and_returns_a_table(self):
        self.run_sql("CREATE TABLE t AS SELECT CASE WHEN a % 7 > 0 THEN a::DOUBLE END AS x, 'row ' || a AS name FROM range(30000) AS r(a)")
        signature = "(t TABLE, least DOUBLE) RETURNS TABLE (number BIGINT, name VARCHAR)"
        self.run_sql(f"CREATE FUNCTION at_least{signature} LANGUAGE wasm AS BLOB boxes")
        self.run_sql("CREATE FUNCTION below(n BIGINT) RETURNS TABLE (number BIGINT) LANGUAGE wasm AS BLOB boxes")
        found = self.run_sql("SELECT name FROM at_least('t', 29995) ORDER BY name").fetchall()
        self.assertEqual(found, [(f"row {a}",) for a in range(29995, 30000) if a % 7])
        ordered = "at_least((SELECT x, name FROM t WHERE x < 9 ORDER BY x DESC), least => 2)"
        self.assertEqual(
            self.run_sql(f"SELECT number, name FROM {ordered}").fetchall(), [(0, "row 8"), *((7 - a, f"row {a}") for a in [6, 5, 4, 3, 2])]
        )
        self.assertEqual(self.run_sql("SELECT * FROM at_least((SELECT x, name FROM t WHERE x < 0), 0)").fetchall(), [])
        self.assertEqual(
            self.value(
                "SELECT count(*) FROM below(20000) AS b JOIN at_least((SELECT x, name FROM t ORDER BY x NULLS LAST), 19990) AS l USING (number)"
            ),
            20000 - sum(a % 7 > 0 for a in range(19990)),
        )
        self.assertEqual(self.value("SELECT count(*) FROM below(0)"), 0)
        self.assertEqual(self.value("SELECT kind || ' ' || language FROM system.functions WHERE name = 'below'"), "table wasm")
        self.run_sql("CREATE FUNCTION uneven(n BIGINT) RETURNS TABLE (number BIGINT) LANGUAGE wasm AS BLOB boxes")
        self.assertIn("function uneven", self.error("SELECT * FROM uneven(1)"))
        self.assertIn("there is no memory", self.error("SELECT * FROM below(1000000000)"))
        self.run_sql("CREATE FUNCTION loops(n BIGINT) RETURNS TABLE (number BIGINT) LANGUAGE wasm AS BLOB boxes")
        self.run_sql("SET function_timeout_ms = 300")
        self.assertIn("took longer than 300 ms", self.error("SELECT * FROM loops(1)"))
        self.assertIn("STRICT for a function of tables", self.error(f"CREATE FUNCTION f{signature} LANGUAGE wasm STRICT AS BLOB boxes"))
        self.assertIn("without columns", self.error("CREATE FUNCTION f(n BIGINT) RETURNS TABLE LANGUAGE wasm AS BLOB boxes"))
        self.assertIn('exports no "f"', self.error(f"CREATE FUNCTION f{signature} LANGUAGE wasm AS BLOB boxes"))

    def test_what_a_function_does_wrong_is_an_error_of_its_statement(self):
        self.run_sql("SET function_timeout_ms = 300")
        self.run_sql("SET function_memory_bytes = 20000000")
        for name, message in [
            ("complains", "function complains: the value is no box"),
            ("loops", "took longer than 300 ms"),
            ("allocates", "needs more than 20000000 bytes of memory"),
            ("recurses", "the module crashed"),
            ("traps", "unreachable"),
            ("reads_elsewhere", "out of bounds"),
            ("says_elsewhere", "not in the module's memory"),
            ("too_few", "it returned 2 values for 3 rows"),
            ("no_buffers", "buffers"),
        ]:
            with self.subTest(function=name):
                self.create(name, "a BIGINT", "BIGINT")
                error = self.error(f"SELECT {name}(a) FROM range(3) AS r(a)")
                self.assertIn(message, error)
                self.assertIn(name, error)
        for name, message in [("bad_text", "UTF"), ("bad_offsets", "ffset")]:
            self.create(name, "a BIGINT", "VARCHAR")
            self.assertIn(message, self.error(f"SELECT {name}(a) FROM range(3) AS r(a)"))
        self.create("seven", "a BIGINT", "BIGINT")
        self.assertEqual(self.value("SELECT sum(seven(a)) FROM range(3) AS r(a)"), 21)

    def test_no_array_that_a_module_leaves_ends_the_process(self):
        self.create("wild", "a BIGINT", "VARCHAR")
        failed = 0
        for seed in range(400):
            try:
                self.run_sql(f"SELECT wild(a) FROM (SELECT {seed} + a * 0 AS a FROM range(5) AS r(a)) AS t").arrow()
            except quiver.Error as error:
                self.assertIn("function wild", str(error))
                failed += 1
        self.assertTrue(50 < failed < 400, failed)

    def test_a_statement_that_is_stopped_stops_its_functions(self):
        self.create("loops", "a BIGINT", "BIGINT")
        self.run_sql("CREATE AGGREGATE endless(a BIGINT) RETURNS BIGINT LANGUAGE wasm AS BLOB boxes")
        self.run_sql("CREATE TABLE t AS SELECT a FROM range(10) AS r(a)")
        # The texts of a view and of a function are planned apart from the statement, and their aggregates did not know when it was stopped.
        self.run_sql("CREATE VIEW w AS SELECT endless(a) AS e FROM t")
        self.run_sql("CREATE FUNCTION ends() RETURNS TABLE RETURN SELECT endless(a) AS e FROM t")
        for query in ["SELECT loops(a) FROM t", "SELECT endless(a) FROM t", "SELECT e FROM w", "SELECT e FROM ends()"]:
            with self.subTest(query=query):
                self.run_sql("SET statement_timeout = '300ms'")
                begin = time.monotonic()
                self.assertIn("limit of 300 ms", self.error(query))
                self.assertLess(time.monotonic() - begin, 10)
                self.run_sql("SET statement_timeout = 0")
                # The thread is free again: the call has ended, and not only the wait for it.
                deadline = time.monotonic() + 10
                while cpu_of_process() > 0.5 and time.monotonic() < deadline:
                    pass
                self.assertLess(cpu_of_process(), 0.5)

    def test_nothing_of_a_failed_statement_is_committed(self):
        self.create("complains", "a BIGINT", "BIGINT")
        self.run_sql("CREATE TABLE t (a BIGINT)")
        self.error("INSERT INTO t SELECT CASE WHEN a < 50000 THEN a ELSE complains(a) END FROM range(100000) AS r(a)")
        self.assertEqual(self.value("SELECT count(*) FROM t"), 0)

    def test_no_memory_outlives_a_statement(self):
        self.create("kept", "a BIGINT", "BIGINT")
        for _ in range(3):
            self.assertEqual(self.value("SELECT kept(1)"), 0)

    def test_modules_that_are_none_are_refused_when_they_are_created(self):
        directory = Path(self.directory.name)
        clang(
            'extern int now(void); __attribute__((export_name("f"))) int f(void) { return now(); }',
            directory / "import.wasm",
            "-Wl,--allow-undefined",
        )
        clang('__attribute__((export_name("f"))) int f(void) { return 1; }', directory / "plain.wasm")
        (directory / "text.wasm").write_text("no module")
        for name, message in [("import", "imports env.now"), ("plain", 'exports no "quiver_alloc"'), ("text", "no WebAssembly module")]:
            self.run_sql(f"COPY BLOB {name} FROM '{directory / name}.wasm'")
            self.assertIn(message, self.error(f"CREATE FUNCTION f() RETURNS INT LANGUAGE wasm AS BLOB {name}"))
        self.assertIn('exports no "nothing"', self.error("CREATE FUNCTION nothing() RETURNS INT LANGUAGE wasm AS BLOB boxes"))
        self.assertIn("does not exist", self.error("CREATE FUNCTION area() RETURNS INT LANGUAGE wasm AS BLOB missing"))

    def test_a_module_that_changes_later_does_not_change_the_function(self):
        self.create("seven", "a BIGINT", "BIGINT")
        self.assertIn("is the module of function seven", self.error("DROP BLOB boxes"))
        other = Path(self.directory.name) / "other.wasm"
        clang(SOURCE.read_text().replace("values[i] = 7", "values[i] = 8"), other)
        self.run_sql(f"COPY BLOB boxes FROM '{other}'")
        self.assertIn("has another content", self.error("SELECT seven(1)"))
        self.run_sql("CREATE OR REPLACE FUNCTION seven(a BIGINT) RETURNS BIGINT LANGUAGE wasm AS BLOB boxes")
        self.assertEqual(self.value("SELECT seven(1)"), 8)
        self.run_sql("DROP FUNCTION seven")
        self.run_sql("DROP BLOB boxes")

    def test_compiled_code_is_kept_and_a_damaged_file_of_it_is_not_run(self):
        self.create("seven", "a BIGINT", "BIGINT")
        self.assertEqual(self.value("SELECT seven(1)"), 7)
        (file,) = (self.store / "compiled").iterdir()
        code = file.read_bytes()
        self.con.close()
        for content in [code, code[:-1], code[:5000] + b"\x90" * 64 + code[5064:], b""]:
            file.write_bytes(content)
            self.con = quiver.open(self.store)
            self.assertEqual(self.value("SELECT seven(1)"), 7)
            self.con.close()
            self.assertEqual(file.read_bytes(), code)


def cpu_of_process() -> float:
    """Processors that the threads of this process keep busy, over a tenth of a second."""
    begin, since = time.process_time(), time.monotonic()
    time.sleep(0.1)
    return (time.process_time() - begin) / (time.monotonic() - since)


if __name__ == "__main__":
    unittest.main()
