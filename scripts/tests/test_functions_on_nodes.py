"""Functions of an engine run on the server that has the table: they are sent there with the plan, once, and give the same rows as here."""

import os
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import quiver  # noqa: E402
from quiver_server import Server, add_user  # noqa: E402
from test_wasm_functions import SOURCE, clang  # noqa: E402

PASSWORD = "correct horse battery"
SCORE = "import pyarrow.compute as pc\ndef score(w, h):\n    return pc.add(pc.multiply(w, 3.0), h)"
SPREAD = "import pyarrow.compute as pc\ndef spread(x):\n    return pc.max(x).as_py() - pc.min(x).as_py() if len(x) else None"
COUNT = 'def columns(t):\n    return {"name": t.column_names, "id": range(t.num_columns)}'
HOUR = "import pyarrow.compute as pc\ndef hour_of(t):\n    return pc.hour(t)"
FIT = """
import numpy as np

def fit(t, degree):
    w, h = (np.asarray(t[name]) for name in ("w", "h"))
    keep = ~(np.isnan(w) | np.isnan(h))
    factors = np.polyfit(w[keep], h[keep], degree)
    return {"power": range(degree, -1, -1), "factor": factors, "names": [",".join(t.column_names)] * (degree + 1)}
"""


class FunctionsOnNodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="quiver-test-")))
        add_user(directory / "store", "ann", PASSWORD, "--admin")
        cls.server = Server(directory / "store", "--python", sys.executable)
        cls.addClassCleanup(lambda: cls.server.end())
        with cls.connect("ann") as con:
            con.sql(
                "CREATE TABLE boxes AS SELECT a AS id, 'k' || (a % 3) AS kind, a::DOUBLE AS w, CASE WHEN a % 7 > 0 THEN a % 11 + 0.5e0 END AS h "
                "FROM range(100000) AS r(a)"
            )
            con.sql(f"CREATE USER bob PASSWORD '{PASSWORD}'")
            con.sql("GRANT SELECT ON boxes TO bob")
            con.sql(f"CREATE USER cho PASSWORD '{PASSWORD}'")
            con.sql("GRANT SELECT ON boxes TO cho")
            con.sql("GRANT CREATE ON SCHEMA main TO cho")

    @classmethod
    def connect(cls, user: str):
        return quiver.connect(cls.server.uri, user=user, password=PASSWORD)

    def setUp(self):
        """One engine serves the tests that neither change its functions nor restart the server."""
        cls = type(self)
        if cls.con is None:
            cls.con = self.open(cleanup=cls.addClassCleanup)
        self.con = cls.con
        self.con.sql("SET pushdown = full")

    con = None

    def open(self, user: str = "ann", cleanup=None):
        with mock.patch.dict(os.environ, {"QUIVER_USER": user, "QUIVER_PASSWORD": PASSWORD}):
            con = quiver.open()
        (cleanup or self.addCleanup)(con.close)
        location = self.server.uri.replace("grpc", "quiver") + "/main.boxes"
        con.sql(f"CREATE EXTERNAL TABLE boxes STORED AS QUIVER LOCATION '{location}'")
        for signature, source in [
            ("FUNCTION score(w DOUBLE, h DOUBLE) RETURNS DOUBLE LANGUAGE python IMMUTABLE", SCORE),
            ("AGGREGATE spread(x DOUBLE) RETURNS DOUBLE LANGUAGE python", SPREAD),
            ("FUNCTION columns(t TABLE) RETURNS TABLE (name VARCHAR, id BIGINT) LANGUAGE python", COUNT),
            ("FUNCTION fit(t TABLE, degree BIGINT) RETURNS TABLE (power BIGINT, factor DOUBLE, names VARCHAR) LANGUAGE python", FIT),
        ]:
            con.sql(f"CREATE {signature} AS $${source}$$")
        return con

    def explained(self, con, sql: str) -> str:
        return "\n".join(row[1] for row in con.sql(f"EXPLAIN {sql}").fetchall())

    def runs_there(self, con, sql: str, function: str) -> None:
        """The rows are those that are computed here, and the function is called on the node."""
        con.sql("SET pushdown = off")
        here = con.sql(sql).fetchall()
        con.sql("SET pushdown = full")
        self.assertRegex(self.explained(con, sql), rf"runs there \(\d+ bytes, with the functions {function}\)")
        self.assertEqual(con.sql(sql).fetchall(), here)
        self.assertEqual(con.sql(sql).fetchall(), here)

    def test_functions_in_python_run_on_the_node(self):
        con = self.con
        self.runs_there(con, "SELECT sum(score(w, h)), count(score(w, h)) FROM boxes WHERE score(w, 1) > 1000", "score")
        self.runs_there(con, "SELECT kind, spread(h) FROM boxes WHERE id > 5 GROUP BY kind ORDER BY kind", "spread")
        self.runs_there(con, "SELECT score(w, h) AS s FROM boxes ORDER BY s DESC NULLS LAST LIMIT 3", "score")

    def test_a_function_of_a_table_runs_on_the_node_with_its_columns(self):
        con = self.con
        self.runs_there(con, "SELECT power, round(factor, 6), names FROM fit('boxes', 1) ORDER BY power", "fit")
        self.runs_there(con, "SELECT names FROM fit((SELECT h, w AS x, h AS w FROM boxes WHERE id < 90 ORDER BY x), 0)", "fit")
        self.runs_there(con, "SELECT count(*) FROM fit('boxes', degree => 2) WHERE power > 0", "fit")
        self.runs_there(con, "SELECT * FROM columns('boxes') ORDER BY id", "columns")
        self.runs_there(con, 'SELECT name FROM columns((SELECT w AS "A b", h AS "a@b:c" FROM boxes)) ORDER BY name', "columns")

    def test_calls_of_functions_of_tables_are_joined(self):
        con = self.con
        self.runs_there(con, "SELECT boxes.kind, c.name FROM boxes JOIN columns('boxes') AS c USING (id) ORDER BY c.name", "columns")
        self.runs_there(con, "SELECT count(*) FROM fit('boxes', 1) AS a JOIN fit('boxes', 2) AS b USING (power)", "fit")
        self.runs_there(con, "SELECT id FROM columns('boxes') UNION ALL SELECT id + 10 FROM columns('boxes') ORDER BY id", "columns")
        self.runs_there(con, "SELECT count(*) FROM boxes WHERE id IN (SELECT id FROM columns('boxes'))", "columns")
        twice = "SELECT * FROM columns((SELECT a.w, b.w FROM boxes AS a JOIN boxes AS b USING (id) LIMIT 5)) ORDER BY id"
        self.assertNotIn("with the functions", self.explained(con, twice))
        self.assertEqual(con.sql(twice).fetchall(), [("w", 0), ("w", 1)])

    def test_functions_run_there_wherever_an_expression_may_stand(self):
        con = self.con
        for sql in [
            "SELECT score(w, 1) > 100 AS large, count(*) FROM boxes GROUP BY score(w, 1) > 100 ORDER BY large",
            "SELECT kind FROM boxes GROUP BY kind HAVING score(max(w), 1) > 299000 ORDER BY kind",
            "SELECT score(score(w, 1), h) FROM boxes WHERE id < 4 ORDER BY id",
            "SELECT count(*) FROM boxes AS a JOIN boxes AS b ON a.id = b.id AND score(a.w, b.w) > 100",
            "SELECT sum(w) FROM boxes WHERE w > (SELECT max(score(w, 0)) - 250000 FROM boxes)",
            "SELECT kind, row_number() OVER (ORDER BY score(w, h)) FROM boxes WHERE id < 5 ORDER BY id",
        ]:
            with self.subTest(sql=sql):
                self.runs_there(con, sql, "score")
        con.sql("SET pushdown = filter")
        sql = "SELECT count(*) FROM boxes WHERE score(w, 1) > 1000"
        self.assertIn("with the functions score", self.explained(con, sql))
        self.assertEqual(con.sql(sql).fetchall(), [(99666,)])

    def test_overloads_and_odd_names_are_told_apart(self):
        con = self.con
        con.sql("CREATE SCHEMA s")
        for name, parameters, factor in [("f", "x DOUBLE", 2), ("f", "x VARCHAR", 0), ("s.f", "x DOUBLE", 5), ('"a@b:c"', "x DOUBLE", 7)]:
            symbol = "f" if name != '"a@b:c"' else "g"
            source = f"import pyarrow.compute as pc\ndef {symbol}(x):\n    return pc.multiply(pc.cast(pc.utf8_length(pc.cast(x, 'string')), 'float64'), {factor}.0)"
            con.sql(f"CREATE FUNCTION {name}({parameters}) RETURNS DOUBLE LANGUAGE python STRICT AS $${source}$$ SYMBOL '{symbol}'")
        sql = """SELECT sum(f(w)), sum(f(kind)), sum(s.f(w)), sum("a@b:c"(w)), sum(f(h)) FROM boxes"""
        self.runs_there(con, sql, r"[^)]*f, [^)]*f[^)]*")

    def test_times_of_another_zone_are_computed_here(self):
        con = self.open()
        con.sql(f"CREATE FUNCTION hour_of(t TIMESTAMP WITH TIME ZONE) RETURNS BIGINT LANGUAGE python AS $${HOUR}$$")
        sql = "SELECT max(hour_of(CAST('2024-06-01 12:00:0' || id || 'Z' AS TIMESTAMP WITH TIME ZONE))) FROM boxes WHERE id < 10"
        self.runs_there(con, sql, "hour_of")
        self.assertEqual(con.sql(sql).fetchall(), [(12,)])
        con.sql("SET TIME ZONE 'Europe/Berlin'")
        self.assertNotIn("with the functions", self.explained(con, sql))
        self.assertEqual(con.sql(sql).fetchall(), [(14,)])

    def test_definitions_that_are_too_large_are_not_sent(self):
        con = self.con
        for name in ["one", "two"]:
            con.sql(
                f"CREATE FUNCTION {name}(x DOUBLE) RETURNS DOUBLE LANGUAGE python AS $$\ndef {name}(x):\n    return x\n#{'x' * (3 << 20)}\n$$"
            )
        self.assertIn("with the functions one)", self.explained(con, "SELECT sum(one(w)) FROM boxes"))
        sql = "SELECT sum(one(w)), sum(two(h)) FROM boxes WHERE id < 100"
        self.assertNotIn("with the functions", self.explained(con, sql))
        self.assertEqual(con.sql(sql).fetchall(), con.sql("SELECT sum(w), sum(h) FROM boxes WHERE id < 100").fetchall())

    def test_what_a_function_gets_from_here_is_fetched(self):
        con = self.con
        con.sql("CREATE TABLE here AS SELECT * FROM boxes WHERE id < 1000")
        self.assertNotIn("with the functions", self.explained(con, "SELECT * FROM fit('here', 1)"))
        both = "SELECT count(*) FROM fit((SELECT boxes.w, here.h FROM boxes JOIN here USING (id)), 1)"
        self.assertNotIn("with the functions", self.explained(con, both))
        self.assertEqual(con.sql(both).fetchall(), [(2,)])

    def test_functions_in_webassembly_run_on_the_node(self):
        if not (shutil.which("clang") and shutil.which("wasm-ld")):
            self.skipTest("there is no clang with wasm-ld")
        con = self.con
        with tempfile.TemporaryDirectory(prefix="quiver-test-") as directory:
            clang(SOURCE, Path(directory) / "functions.wasm", "-msimd128")
            con.sql(f"COPY BLOB functions FROM '{directory}/functions.wasm'")
        con.sql("CREATE FUNCTION area(w DOUBLE, h DOUBLE) RETURNS DOUBLE LANGUAGE wasm IMMUTABLE STRICT AS BLOB functions")
        con.sql("CREATE AGGREGATE average(x DOUBLE) RETURNS DOUBLE LANGUAGE wasm AS BLOB functions")
        self.runs_there(con, "SELECT kind, sum(area(w, h)) FROM boxes GROUP BY kind ORDER BY kind", "area")
        self.runs_there(con, "SELECT average(w) FROM boxes", "average")
        con.sql("CREATE FUNCTION at_least(t TABLE, least DOUBLE) RETURNS TABLE (n BIGINT, name VARCHAR) LANGUAGE wasm AS BLOB functions")
        self.runs_there(con, "SELECT n, name FROM at_least((SELECT w, kind FROM boxes ORDER BY w), 99995) ORDER BY n", "at_least")
        self.runs_there(con, "SELECT sum(area(w, h)), count(area(w, h)) FROM boxes WHERE h IS NULL OR id < 50", "area")
        self.assertFalse((self.server.store / "compiled").exists(), "a module of a plan is not kept")
        self.runs_there(con, "SELECT average(w), max(area(w, h)) FROM boxes", r"(area, average|average, area)")

    def test_the_definition_is_sent_once(self):
        con = self.open()
        sql = "SELECT sum(score(w, h)) FROM boxes"

        def sent() -> int:
            plan = "\n".join(row[1] for row in con.sql(f"EXPLAIN ANALYZE {sql}").fetchall())
            return int(re.search(r"bytes_sent=([\d.]+)", plan)[1])

        first, second = sent(), sent()
        self.assertGreater(first, second + len(SCORE))
        rows = con.sql(sql).fetchall()
        # A server that begins at the same address does not have it.
        self.server_restarts()
        self.assertEqual(con.sql(sql).fetchall(), rows)
        self.assertEqual(sent(), second)

    def server_restarts(self) -> None:
        """The node forgets the functions that it was sent."""
        cls, address = type(self), self.server.uri.split("//")[1]
        cls.server.end()
        cls.server = Server(cls.server.store, "--python", sys.executable, listen=address)

    def test_a_new_definition_takes_the_place_of_the_old_one(self):
        con = self.open()
        sql = "SELECT score(w, 1) FROM boxes WHERE id = 2"
        self.assertEqual(con.sql(sql).fetchall(), [(7.0,)])
        con.sql(
            "CREATE OR REPLACE FUNCTION score(w DOUBLE, h DOUBLE) RETURNS DOUBLE LANGUAGE python AS $$\ndef score(w, h):\n    return w\n$$"
        )
        self.assertEqual(con.sql(sql).fetchall(), [(2.0,)])

    def test_who_may_not_create_a_function_there_computes_here(self):
        for user in ["bob", "cho"]:
            with self.subTest(user=user):
                con = self.open(user)
                sql = "SELECT sum(score(w, h)) FROM boxes WHERE id < 1000"
                self.assertNotIn("with the functions", self.explained(con, sql))
                self.assertEqual(con.sql(sql).fetchall(), self.con.sql(sql).fetchall())

    def test_who_may_no_longer_send_functions_is_told_so(self):
        sql = "SELECT sum(score(w, h)) FROM boxes"
        with self.connect("ann") as admin:
            admin.sql("GRANT CREATE FUNCTION (python) TO cho")
            con = self.open("cho")
            rows = con.sql(sql).fetchall()
            self.assertIn("with the functions score", self.explained(con, sql))
            admin.sql("REVOKE CREATE FUNCTION (python) FROM cho")
        with self.assertRaisesRegex(quiver.Error, "says: you may not create a function in Python"):
            con.sql(sql).arrow()
        # The refusal has made it ask again what the node takes.
        self.assertEqual(con.sql(sql).fetchall(), rows)

    def test_an_error_of_the_function_has_its_lines(self):
        con = self.con
        con.sql("CREATE FUNCTION fails(x DOUBLE) RETURNS DOUBLE LANGUAGE python AS $$\ndef fails(x):\n    raise ValueError('no luck')\n$$")
        with self.assertRaises(quiver.Error) as caught:
            con.sql("SELECT fails(w) FROM boxes").arrow()
        self.assertRegex(str(caught.exception), r"says: .*fails.*no luck")
        self.assertIn("line 3", str(caught.exception))

    def test_the_audit_has_the_functions_of_a_plan(self):
        con = self.con
        con.sql("SELECT sum(score(w, h)) FROM boxes").arrow()
        with self.connect("ann") as admin:
            rows = admin.sql("SELECT DISTINCT statement FROM system.audit WHERE statement LIKE 'substrait plan%score%'").fetchall()
        self.assertTrue(
            any(re.fullmatch("substrait plan over main.boxes with the functions score@[0-9a-f]{12}", row[0]) for row in rows), rows
        )


if __name__ == "__main__":
    unittest.main()
