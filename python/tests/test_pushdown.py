"""Tables of a server in an engine of this process, and in the Python package `datafusion`."""

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import pyarrow as pa
import quiver
import quiver.testing
from both import PASSWORD, command
from quiver import pushdown

try:
    import datafusion
except ImportError:
    datafusion = None


class Served(unittest.TestCase):
    """With a user, and without TLS: the other tests use self-signed certificates, which rustls refuses for servers."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        store = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="quiver-test-"))) / "store"
        command("--store", store, "user", "add", "ann", "--admin", "--password-stdin", said=f"{PASSWORD}\n")
        cls.place = cls.enterClassContext(quiver.testing.serve(store)).uri
        with quiver.connect(cls.place, user="ann", password=PASSWORD) as con:
            con.sql("CREATE SCHEMA sales")
            con.sql("CREATE TABLE sales.orders (id BIGINT, customer VARCHAR, price DECIMAL(10, 2), ratio DOUBLE)")
            con.sql(
                "INSERT INTO sales.orders SELECT v, 'customer number ' || (v % 7), CAST(v AS DECIMAL(10, 2)) / 4, v * 0.5e0 "
                "FROM generate_series(1, 20000) AS s (v)"
            )
        cls.location = cls.place.replace("grpc", "quiver") + "/sales.orders"


class EmbeddedTest(Served):
    def setUp(self):
        with mock.patch.dict(os.environ, {"QUIVER_USER": "ann", "QUIVER_PASSWORD": PASSWORD}):
            self.con = quiver.open()
        self.addCleanup(self.con.close)
        self.con.sql(f"CREATE EXTERNAL TABLE orders STORED AS QUIVER LOCATION '{self.location}'")

    def rows(self, sql):
        return self.con.sql(sql).fetchall()

    def test_rows_are_the_same_at_every_level(self):
        self.con.sql("CREATE TABLE names (customer VARCHAR, name VARCHAR)")
        self.con.sql("INSERT INTO names VALUES ('customer number 3', 'carl'), ('customer number 4', 'dora')")
        queries = [
            # The last digits of a sum of doubles depend on the order in which partitions end.
            "SELECT count(*), sum(price), round(avg(ratio), 9), round(stddev(ratio), 9) FROM orders",
            "SELECT customer, sum(price) FROM orders WHERE id > 100 GROUP BY customer ORDER BY customer",
            "SELECT id, price FROM orders WHERE customer LIKE '%3' ORDER BY id DESC LIMIT 5 OFFSET 2",
            "SELECT name, count(*) FROM orders JOIN names USING (customer) GROUP BY name ORDER BY name",
        ]
        answers = {}
        for level in pushdown.LEVELS:
            self.con.sql(f"SET pushdown = {level}")
            self.assertEqual(self.rows("SHOW pushdown"), [("pushdown", level)])
            answers[level] = [self.rows(query) for query in queries]
        self.assertEqual(answers["off"], answers["filter"])
        self.assertEqual(answers["off"], answers["full"])
        self.assertEqual(answers["full"][0][0][0], 20000)

    def test_explain_shows_where_what_runs(self):
        def explained(sql):
            return "\n".join(row[1] for row in self.rows(f"EXPLAIN {sql}"))

        sql = "SELECT sum(price) FROM orders WHERE id > 100"
        full = explained(sql)
        self.assertIn("RemoteExec: node=quiver://", full)
        self.assertIn("level=full", full)
        self.assertNotIn("AggregateExec", full)
        self.con.sql("SET pushdown = filter")
        filtered = explained(sql)
        self.assertIn("AggregateExec", filtered)
        self.assertNotIn("FilterExec", filtered)
        self.con.sql("SET pushdown = off")
        whole = explained(sql)
        self.assertIn("the whole table sales.orders", whole)
        self.assertIn("FilterExec", whole)
        self.con.sql("RESET pushdown")
        self.assertIn("level=full", explained(sql))

    def test_a_level_that_there_is_not_is_an_error(self):
        with self.assertRaisesRegex(quiver.ProgrammingError, "there is no pushdown .most."):
            self.con.sql("SET pushdown = most")

    def test_what_cannot_be_reached_is_an_error(self):
        for location in ("quiver://127.0.0.1:1/t", "quiver://ann:secret@127.0.0.1:1/t", "grpc://db/t", "quiver://db"):
            with self.subTest(location=location), self.assertRaises(quiver.Error) as raised:
                self.con.sql(f"CREATE EXTERNAL TABLE x STORED AS QUIVER LOCATION '{location}'")
            self.assertNotIn("secret", str(raised.exception))
        with self.assertRaisesRegex(quiver.Error, "sales.*nothing|nothing.*exist"):
            self.con.sql(f"CREATE EXTERNAL TABLE x STORED AS QUIVER LOCATION '{self.location.replace('orders', 'nothing')}'")


@unittest.skipUnless(datafusion, "the package datafusion is not here")
class DataFusionTest(Served):
    def setUp(self):
        self.ctx = datafusion.SessionContext()
        self.table = pushdown.table(self.location, user="ann", password=PASSWORD)
        self.ctx.register_table("orders", self.table)

    def rows(self, sql):
        return pa.Table.from_batches(self.ctx.sql(sql).collect()).to_pylist()

    def test_its_columns_are_those_of_the_node(self):
        self.assertEqual(self.table.schema.names, ["id", "customer", "price", "ratio"])
        self.assertIn("sales.orders", repr(self.table))

    def test_filters_columns_and_limits_run_on_the_node(self):
        self.assertEqual(
            self.rows("SELECT id FROM orders WHERE id BETWEEN 5 AND 7 AND customer <> 'x' ORDER BY id"), [{"id": 5}, {"id": 6}, {"id": 7}]
        )
        self.assertEqual(len(self.rows("SELECT * FROM orders LIMIT 3")), 3)
        self.assertEqual(self.rows("SELECT count(*) AS n, sum(ratio) AS s FROM orders"), [{"n": 20000, "s": 100005000.0}])
        explained = "\n".join(row["plan"] for row in self.rows("EXPLAIN SELECT ratio FROM orders WHERE id = 7"))
        self.assertIn("RemoteExec: node=quiver://", explained)
        self.assertNotIn("FilterExec", explained)

    def test_the_table_outlives_its_object(self):
        del self.table
        self.assertEqual(self.rows("SELECT max(id) AS m FROM orders"), [{"m": 20000}])

    def test_what_is_wrong_is_an_error(self):
        with self.assertRaises(quiver.ProgrammingError):
            pushdown.table(self.location, level="most")
        with self.assertRaises(quiver.ProgrammingError):
            pushdown.table(self.location, password="x")
        with self.assertRaises(quiver.Error):
            pushdown.table(self.location, user="ann", password="wrong")
