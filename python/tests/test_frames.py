"""Data of Python as tables in statements, by the names of variables and by `register`."""

import multiprocessing
import threading
import unittest
from unittest import mock

import numpy
import pandas
import polars
import pyarrow as pa
import pyarrow.dataset
import quiver
import quiver.dbapi
from both import Connected, InProcess, in_both_ways, in_threads

of_this_module = pa.table({"a": [7]})


class Frames:
    def test_a_variable_is_a_table_by_its_name(self):
        of_pandas = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
        of_polars = polars.DataFrame({"a": [2, 3], "c": [0.5, None]})  # noqa: F841
        of_pyarrow = pa.table({"a": [2], "d": pa.array([["z"]], pa.list_(pa.string()))})
        dataset = pyarrow.dataset.dataset(of_pyarrow)  # noqa: F841
        result = self.con.sql("SELECT a, b, c, d FROM of_pandas JOIN of_polars USING (a) JOIN of_pyarrow USING (a)")
        self.assertEqual(result.fetchall(), [(2, "y", 0.5, ["z"])])
        self.assertEqual(self.con.sql("SELECT * FROM dataset").fetchall(), [(2, ["z"])])
        self.assertEqual(self.con.sql('SELECT * FROM "of_this_module"').fetchall(), [(7,)])
        self.assertEqual([self.con.sql("SELECT a FROM of_this_module").fetchall() for _ in range(2)], [[(7,)], [(7,)]])
        both_spellings = 'SELECT count(*) FROM of_pandas JOIN "of_pandas" AS other USING (a)'
        self.assertEqual(self.con.sql(both_spellings).fetchall(), [(2,)])
        self.assertEqual(self.con.sql("DESCRIBE of_pandas").fetchall()[0][0], "a")
        Upper = of_pandas  # noqa: F841
        self.assertEqual(self.con.sql("SELECT count(*) FROM Upper").fetchall(), [(2,)])

    def test_rows_are_those_of_the_time_of_the_statement(self):
        frame = pandas.DataFrame({"a": [1, 2]})
        column = numpy.array([3, 4])
        self.con.register("of_numpy", {"a": column})
        before, of_numpy = self.con.sql("SELECT a FROM frame ORDER BY a"), self.con.sql("SELECT a FROM of_numpy ORDER BY a")
        frame.loc[0, "a"] = 9
        column[0] = 9
        self.assertEqual(of_numpy.fetchall(), [(3,), (4,)])
        self.assertEqual(self.con.sql("SELECT a FROM frame ORDER BY a").fetchall(), [(2,), (9,)])
        self.assertEqual(before.fetchall(), [(1,), (2,)])
        frame = pandas.DataFrame({"b": ["new"]})
        self.assertEqual(self.con.sql("SELECT * FROM frame").fetchall(), [("new",)])
        del frame
        with self.assertRaisesRegex(quiver.ProgrammingError, 'table "frame" does not exist'):
            self.con.sql("SELECT * FROM frame")
        self.assertEqual(self.con.tables("temp"), [])

    def test_a_table_of_the_store_comes_before_a_variable(self):
        hidden = pa.table({"a": ["variable"]})  # noqa: F841
        self.assertEqual(self.con.sql("SELECT * FROM hidden").fetchall(), [("variable",)])
        self.con.write("hidden", {"a": ["stored"]}, mode="replace")
        self.assertEqual(self.con.sql("SELECT * FROM hidden").fetchall(), [("stored",)])
        self.con.sql("DROP TABLE hidden")
        self.con.sql("CREATE VOLATILE TABLE hidden AS SELECT 'volatile' AS a")
        self.assertEqual(self.con.sql("SELECT * FROM hidden").fetchall(), [("volatile",)])
        self.con.sql("DROP TABLE hidden")
        self.assertEqual(self.con.sql("WITH hidden AS (SELECT 'with' AS a) SELECT * FROM hidden").fetchall(), [("with",)])

    def test_statements_that_write_read_a_variable(self):
        frame = pa.table({"a": [1, 2, None]})  # noqa: F841
        self.assertEqual(self.con.sql("CREATE OR REPLACE TABLE of_frame AS SELECT a FROM frame").rows_changed, 3)
        self.assertEqual(self.con.sql("INSERT INTO of_frame SELECT a + ? FROM frame WHERE a > ?", [10, 1]).rows_changed, 1)
        self.con.sql("DELETE FROM of_frame WHERE a IN (SELECT a FROM frame)")
        self.assertEqual(self.con.sql("SELECT a FROM of_frame ORDER BY a").fetchall(), [(12,), (None,)])
        with self.con.transaction():
            self.con.sql("INSERT INTO of_frame SELECT a FROM frame")
        self.assertEqual(self.con.sql("SELECT count(*) FROM of_frame").fetchall(), [(5,)])

    def test_a_failed_transaction_leaves_no_rows_for_the_next_statement(self):
        frame = pandas.DataFrame({"a": [1]})
        self.con.begin()
        with self.assertRaisesRegex(quiver.ProgrammingError, '"nope" does not exist'):
            self.con.sql("SELECT nope FROM frame")
        with self.assertRaisesRegex(quiver.Error, "a statement of this transaction failed"):
            self.con.sql("SELECT a FROM frame")
        self.con.rollback()
        frame.loc[0, "a"] = 2
        self.assertEqual(self.con.sql("SELECT a FROM frame").fetchall(), [(2,)])
        self.assertEqual(self.con.tables("temp"), [])

    def test_what_interrupts_a_drop_leaves_no_rows_for_the_next_statement(self):
        frame = pandas.DataFrame({"a": [1]})
        with mock.patch.object(type(self.con._frames), "_drop", side_effect=[None, KeyboardInterrupt]):
            with self.assertRaises(KeyboardInterrupt):
                self.con.sql("SELECT a FROM frame")
        frame.loc[0, "a"] = 2
        self.assertEqual(self.con.sql("SELECT a FROM frame").fetchall(), [(2,)])
        del frame
        with self.assertRaisesRegex(quiver.ProgrammingError, 'table "frame" does not exist'):
            self.con.sql("SELECT * FROM frame")

    def test_a_result_is_a_table_and_keeps_its_rows(self):
        first = self.con.sql("SELECT value AS n FROM generate_series(1, 20000) AS g (value)")
        self.assertEqual(self.con.sql("SELECT count(*), sum(n) FROM first").fetchall(), [(20_000, 200_010_000)])
        self.assertEqual(first.arrow().num_rows, 20_000)
        self.con.write("as_table", {"n": [3]}, mode="replace")
        stored = self.con.table("as_table")  # noqa: F841
        self.assertEqual(self.con.sql("SELECT count(*) FROM first JOIN stored USING (n)").fetchall(), [(1,)])

    def test_a_plan_of_a_variable_is_explained(self):
        frame = pa.table({"a": [1]})
        result = self.con.sql("SELECT a FROM frame WHERE a = :one", {"one": 1})
        del frame
        self.assertIn("VolatileScan table=frame", result.explain(analyze=True))
        self.assertEqual(result.fetchall(), [(1,)])

    def test_variables_are_no_tables_on_request(self):
        frame = pa.table({"a": [1]})  # noqa: F841
        self.con.frames = False
        for statement in (self.con.sql, self.con.another().sql):
            with self.assertRaisesRegex(quiver.ProgrammingError, 'table "frame" does not exist'):
                statement("SELECT * FROM frame")
        self.con.frames = True
        self.assertEqual(self.con.sql("SELECT * FROM frame").fetchall(), [(1,)])

    def test_programs_that_send_sql_read_no_variables(self):
        frame = pa.table({"a": [1]})  # noqa: F841
        with quiver.dbapi.connect(self.place, autocommit=True, **self.login) as connection:
            with self.assertRaisesRegex(quiver.ProgrammingError, '"frame" does not exist'):
                connection.cursor().execute("SELECT * FROM frame")

    def test_what_is_no_table_is_refused(self):
        lazy = polars.DataFrame({"a": [1]}).lazy()  # noqa: F841
        column = pandas.Series([1])  # noqa: F841
        reader = of_this_module.to_reader()  # noqa: F841
        numbers = [1, 2]  # noqa: F841
        twice = pa.table([[1], [2]], ["a", "a"])  # noqa: F841
        for name, why in [
            ("lazy", "collect"),
            ("column", "to_frame"),
            ("reader", r"read_all\(\)"),
            ("numbers", "does not exist"),
            ("pandas", "does not exist"),
            ("twice", "two columns"),
        ]:
            with self.subTest(name), self.assertRaisesRegex(quiver.ProgrammingError, why):
                self.con.sql(f"SELECT * FROM {name}")
        self.assertEqual(self.con.tables("temp"), [])

    def test_registered_data_is_a_table_until_it_is_not(self):
        frame = pandas.DataFrame({"a": [1]})
        self.con.write("as_stored", {"a": ["stored"]}, mode="replace")
        self.con.register("as_stored", frame)
        self.con.register("of columns", {"k": numpy.array([1, 2])})
        query = 'SELECT sum(a) + max(k) FROM as_stored, "of columns" WHERE k = 2'
        self.assertEqual(self.rows(query), [(3,)])
        frame.loc[0, "a"] = 5
        self.assertEqual(self.rows(query), [(7,)])
        with self.con.transaction():
            self.con.executemany("INSERT INTO main.as_stored SELECT CAST(a AS VARCHAR) FROM as_stored WHERE a = ?", [[5], [6]])
        self.con.unregister("as_stored")
        self.assertCountEqual(self.rows("SELECT * FROM as_stored"), [("stored",), ("5",)])
        self.con.unregister("of columns")
        with self.assertRaisesRegex(quiver.ProgrammingError, 'of columns" does not exist'):
            self.rows(query)
        with self.assertRaisesRegex(quiver.ProgrammingError, 'nothing is registered as "of columns"'):
            self.con.unregister("of columns")
        for nothing, why in [(7, "no rows"), (of_this_module.to_reader(), "read once")]:
            with self.assertRaisesRegex(quiver.ProgrammingError, why):
                self.con.register("nothing", nothing)

    def test_threads_read_their_own_variables(self):
        wrong = []

        def work(place):
            for turn in range(3):
                own = pa.table({"n": [place * 100 + turn]})
                found = self.con.sql("SELECT n FROM own").fetchall()
                if found != [(own["n"][0].as_py(),)]:
                    wrong.append(found)

        self.assertEqual(in_threads(work, 4), [None] * 4)
        self.assertEqual(wrong, [])


globals().update(in_both_ways(Frames))


class InFork(Connected, InProcess):
    def test_a_forked_process_is_refused(self):
        frame = pa.table({"a": [1]})  # noqa: F841
        said = multiprocessing.get_context("fork").Queue()

        def work():
            try:
                self.con.sql("SELECT * FROM frame")
            except quiver.InterfaceError as error:
                said.put(str(error))

        taken, leave = threading.Event(), threading.Event()

        def hold():
            with self.con._frames._lock:
                taken.set()
                leave.wait()

        threading.Thread(target=hold, daemon=True).start()
        taken.wait()
        child = multiprocessing.get_context("fork").Process(target=work)
        child.start()
        leave.set()
        self.assertIn("which this one was forked from", said.get(timeout=60))
        child.join()


class WithoutAConnection(unittest.TestCase):
    def test_a_store_of_its_own_takes_statements(self):
        frame = pandas.DataFrame({"a": [1, 2]})  # noqa: F841
        quiver.sql("CREATE OR REPLACE TABLE kept AS SELECT * FROM frame")
        self.assertEqual(quiver.sql("SELECT sum(a) FROM kept WHERE a < :most", {"most": 9}).fetchall(), [(3,)])
        with quiver.open() as con:
            self.assertEqual(con.tables(), [])
            self.assertEqual(quiver.write_matrix("only", numpy.ones((2, 2))), 1)
            self.assertEqual(con.tables(), ["only"])


if __name__ == "__main__":
    unittest.main()
