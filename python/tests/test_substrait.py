"""Substrait plans, as bytes and from Ibis."""

import unittest

import pyarrow as pa
import quiver
from both import in_both_ways

try:
    import ibis
    import ibis_substrait  # noqa: F401 - what makes plans of its expressions
except ImportError:
    ibis = None

# Written by ibis-substrait 4.0.1: SELECT b, sum(a) AS n FROM t WHERE a > 1 GROUP BY b, for t (a BIGINT, b VARCHAR).
PLAN = bytes.fromhex(
    "0a5c0801125868747470733a2f2f6769746875622e636f6d2f7375627374726169742d696f2f7375627374726169742f626c6f622f6d61696e2f6578"
    "74656e73696f6e732f66756e6374696f6e735f636f6d70617269736f6e2e79616d6c0a5c0802125868747470733a2f2f6769746875622e636f6d2f73"
    "75627374726169742d696f2f7375627374726169742f626c6f622f6d61696e2f657874656e73696f6e732f66756e6374696f6e735f61726974686d65"
    "7469632e79616d6c12121a10080110011a0a67743a616e795f616e79120f1a0d080210021a0773756d3a6936341a7d127b0a7322711247124512230a"
    "210a020a0012160a01610a0162120e0a043a0210010a046202100118023a030a01741a1e1a1c08011a040a021001220a1a0812060a02120022002206"
    "1a040a0210011a0c0a0a12080a0412020801220022180a16080220032a043a0210013a0a1a0812060a021200220012016212016e321210382a0e6962"
    "69732d737562737472616974"
)


class Plans:
    def setUp(self):
        super().setUp()
        self.con.sql("CREATE OR REPLACE TABLE t (a BIGINT, b VARCHAR)")
        self.con.sql("INSERT INTO t VALUES (1, 'x'), (2, 'x'), (3, 'y'), (4, 'x'), (5, NULL)")

    def test_a_plan_gives_a_result_as_sql_does(self):
        expected = [("x", 6), ("y", 3), (None, 5)]
        for plan in (PLAN, bytearray(PLAN), memoryview(PLAN), pa.py_buffer(PLAN)):
            result = self.con.run_substrait(plan)
            self.assertEqual(result.columns, ["b", "n"])
            self.assertTrue(result.is_query)
            self.assertCountEqual(result.fetchall(), expected)
        table = self.con.run_substrait(PLAN).arrow()
        self.assertEqual((table.num_rows, table.schema.names), (3, ["b", "n"]))
        self.assertEqual(sum(batch.num_rows for batch in self.con.run_substrait(PLAN)), 3)
        self.assertEqual(result.stats.rows_returned, 3)
        self.assertIn("| y    | 3 |", repr(result))
        result = self.con.run_substrait(PLAN)
        result.fetchone()
        self.assertIn("a Substrait plan", repr(result))
        with self.assertRaises(quiver.NotSupportedError):
            result.explain()

    def test_a_message_is_a_plan_too(self):
        class Message:
            def SerializeToString(self):  # noqa: N802 - as protobuf calls it
                return PLAN

        self.assertEqual(len(self.con.run_substrait(Message()).fetchall()), 3)

    def test_a_plan_is_in_the_transaction(self):
        for begin in (self.con.begin, lambda: self.con.sql("BEGIN")):
            begin()
            self.con.sql("DELETE FROM t WHERE b = 'x'")
            self.assertCountEqual(self.con.run_substrait(PLAN).fetchall(), [("y", 3), (None, 5)])
            self.con.rollback()
        self.assertEqual(len(self.con.run_substrait(PLAN).fetchall()), 3)

    def test_what_is_no_plan_is_an_error_and_the_connection_stays(self):
        for wrong in (b"", b"SELECT 1", PLAN[:-30], "SELECT 1", 7, None):
            with self.subTest(wrong=wrong), self.assertRaises(quiver.ProgrammingError):
                self.con.run_substrait(wrong)
        self.con.sql("DROP TABLE t")
        with self.assertRaises(quiver.ProgrammingError) as raised:
            self.con.run_substrait(PLAN)
        self.assertIn('t"', str(raised.exception))
        self.assertEqual(self.rows("SELECT 1"), [(1,)])

    def test_a_plan_that_fails_takes_its_transaction_with_it(self):
        self.con.begin()
        with self.assertRaises(quiver.ProgrammingError):
            self.con.run_substrait(b"nothing")
        with self.assertRaises(quiver.Error):
            self.con.sql("SELECT 1").fetchall()
        self.con.rollback()
        self.assertEqual(self.rows("SELECT 1"), [(1,)])

    @unittest.skipIf(ibis is None, "ibis-framework and ibis-substrait are not installed: `make` installs them")
    def test_an_expression_of_ibis_runs_here(self):
        t = ibis.table({"a": "int64", "b": "string"}, name="t")
        expression = t.filter(t.a > 1).group_by("b").agg(n=t.a.sum())
        self.assertCountEqual(self.con.run_substrait(expression).fetchall(), [("x", 6), ("y", 3), (None, 5)])
        ordered = t.filter(t.b.notnull()).order_by(ibis.desc("a")).limit(2)[["b", "a"]]
        self.assertEqual(self.con.run_substrait(ordered).fetchall(), [("x", 4), ("y", 3)])
        # ibis-substrait picks wrong columns in joins of tables with columns of the same name (substrait_plans/fixtures/README.md).
        renamed = t.filter(t.a > 3).select("a", twice=t.a * 2)
        self.assertCountEqual(self.con.run_substrait(renamed).fetchall(), [(4, 8), (5, 10)])


globals().update(in_both_ways(Plans))


class WithoutIbis(unittest.TestCase):
    def test_what_is_missing_is_named(self):
        """An expression of Ibis without `ibis-substrait`."""
        import sys
        from unittest import mock

        from quiver import substrait

        expression = type("Table", (), {"__module__": "ibis.expr.types.relations"})()
        hidden = {"ibis_substrait": None, "ibis_substrait.compiler": None, "ibis_substrait.compiler.core": None}
        with mock.patch.dict(sys.modules, hidden), self.assertRaisesRegex(ImportError, "ibis-substrait makes a plan"):
            substrait.as_bytes(expression)


if __name__ == "__main__":
    unittest.main()
