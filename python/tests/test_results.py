"""Queries and the forms of their rows."""

import datetime
import io
import os
from contextlib import redirect_stdout
from decimal import Decimal
from unittest import mock

import numpy
import pandas
import polars
import pyarrow as pa
import quiver
from both import in_both_ways, in_threads

SERIES = "SELECT value AS n, 'row ' || value AS t FROM generate_series(1, {}) AS g (value)"


class Results:
    def test_a_wrong_call_takes_no_rows(self):
        result = self.con.sql("SELECT value FROM generate_series(1, 3) AS g (value)")
        self.assertEqual(result.fetchone(), (1,))
        for wrong in [lambda: result.fetchmany(), lambda: result.fetchone(2), lambda: result.fetchmany("two")]:
            with self.assertRaises((TypeError, quiver.ProgrammingError)):
                wrong()
        self.assertEqual(result.fetchall(), [(2,), (3,)])

    def test_a_query_gives_values_of_python(self):
        sql = (
            "SELECT 1 AS n, 'text' AS t, CAST(12.34 AS DECIMAL(10, 2)) AS d, DATE '2026-11-20' AS day, true AS flag, "
            "1.5e0 AS x, NULL AS nothing, TIMESTAMP '2026-11-20 14:00:00' AS at"
        )
        day, at = datetime.date(2026, 11, 20), datetime.datetime(2026, 11, 20, 14)
        result = self.con.sql(sql)
        self.assertEqual(result.columns, ["n", "t", "d", "day", "flag", "x", "nothing", "at"])
        self.assertEqual(result.fetchall(), [(1, "text", Decimal("12.34"), day, True, 1.5, None, at)])

    def test_one_result_is_given_in_every_form(self):
        result = self.con.sql(SERIES.format(3) + " ORDER BY n")
        self.assertEqual(result.arrow().to_pydict(), {"n": [1, 2, 3], "t": ["row 1", "row 2", "row 3"]})
        frame = result.df()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(frame["t"].tolist(), ["row 1", "row 2", "row 3"])
        self.assertEqual(frame["n"].sum(), 6)
        self.assertTrue(result.pl().equals(polars.DataFrame({"n": [1, 2, 3], "t": ["row 1", "row 2", "row 3"]})))
        self.assertEqual(result.numpy()["n"].tolist(), [1, 2, 3])
        self.assertEqual(result.fetchall(), [(1, "row 1"), (2, "row 2"), (3, "row 3")])

    def test_rows_that_were_fetched_are_kept_for_other_forms(self):
        result = self.con.sql(SERIES.format(3) + " ORDER BY n")
        self.assertEqual(len(result.fetchall()), 3)
        self.assertEqual(result.df()["n"].tolist(), [1, 2, 3])
        self.assertEqual(result.fetchall(), [])

    def test_of_threads_that_read_one_result_none_takes_rows_of_another(self):
        for read in ("fetchone", "fetchmany", "batches"):
            result, seen = self.con.sql(SERIES.format(100_000)), []

            def take(_):
                if read == "batches":
                    seen.extend(row for batch in result for row in batch["n"].to_pylist())
                    return
                while rows := [result.fetchone()] if read == "fetchone" else result.fetchmany(100):
                    if rows == [None]:
                        return
                    seen.extend(row[0] for row in rows)

            refused = [error for error in in_threads(take, 4) if error is not None]
            self.assertEqual({type(error) for error in refused} - {quiver.InterfaceError}, set(), refused)
            self.assertEqual(sorted(seen), list(range(1, 100_001)), read)

    def test_times_are_those_of_python(self):
        zone = datetime.timezone.utc
        self.con.write("timed", pa.table({
            "at": pa.array([1_577_836_800_123_456_789], pa.timestamp("ns")),
            "instant": pa.array([1_577_836_800_123_456_789], pa.timestamp("ns", "UTC")),
            "second": pa.array([1_577_836_800], pa.timestamp("s")),
            "list": pa.array([[1_577_836_800_123_456_789]], pa.list_(pa.timestamp("ns"))),
        }), mode="replace")  # fmt: skip
        at = datetime.datetime(2020, 1, 1, 0, 0, 0, 123456)
        (row,) = self.rows("SELECT at, instant, second, list FROM timed")
        self.assertEqual(row, (at, at.replace(tzinfo=zone), datetime.datetime(2020, 1, 1), [at]))
        self.assertEqual([type(value) for value in (*row[:3], *row[3])], [datetime.datetime] * 4)
        self.assertEqual(self.con.table("timed").df()["at"][0].nanosecond, 789)
        self.assertEqual(self.rows("SELECT TIME '12:30:00', INTERVAL '1' DAY IS NULL"), [(datetime.time(12, 30), False)])

    def test_a_value_that_python_cannot_hold_is_an_error_of_its_column(self):
        self.con.write("far", pa.table({"n": [1], "year": pa.array([10**12], pa.timestamp("s"))}), mode="replace")
        result = self.con.sql("SELECT n, year FROM far")
        for _ in range(2):
            with self.assertRaisesRegex(quiver.DataError, 'column "year" has a value'):
                result.fetchone()
        self.assertEqual(self.con.table("far").arrow().num_rows, 1)
        self.assertEqual(self.rows("SELECT n FROM far"), [(1,)])

    def test_two_columns_of_one_name_are_two(self):
        result = self.con.sql("SELECT * FROM (VALUES (1)) AS one (a), (VALUES (2)) AS two (a)")
        self.assertEqual(result.fetchall(), [(1, 2)])
        self.assertIn("<td>1</td><td>2</td>", result._repr_html_())
        with self.assertRaisesRegex(quiver.ProgrammingError, 'two columns are called "a"'):
            result.numpy()

    def test_a_table_without_a_schema_is_the_volatile_one_as_in_sql(self):
        self.con.write("both", {"a": [1, 2]}, mode="replace")
        stored = self.con.table("both")
        self.con.sql("CREATE VOLATILE TABLE both AS SELECT 7 AS b")
        table = self.con.table("both")
        self.assertEqual((table.schema_name, table.columns, len(table)), ("temp", ["b"], 1))
        self.assertEqual(table.arrow().to_pydict(), self.con.sql("SELECT * FROM both").arrow().to_pydict())
        for main in (stored, self.con.table("main.both"), self.con.table("both", "main")):
            self.assertEqual((main.schema_name, main.arrow().to_pydict()), ("main", {"a": [1, 2]}))
        self.con.sql("DROP TABLE both")
        self.assertEqual(self.con.table("both").columns, ["a"])

    def test_text_comes_as_views_or_as_plain_strings(self):
        result = self.con.sql("SELECT t FROM (VALUES ('a'), (NULL)) AS v (t)")
        self.assertEqual(result.arrow(views=False).schema.field("t").type, pa.string())
        self.con.write("texts", pa.table({"t": ["a", None]}), mode="replace")
        self.assertEqual(self.con.table("texts").arrow().schema.field("t").type, pa.string_view())
        self.assertEqual(self.con.table("texts").df()["t"].isna().tolist(), [False, True])

    def test_nested_columns_reach_pandas(self):
        self.con.write("nested", pa.table({"a": [["x", None], None], "b": [{"c": "y"}, {"c": None}]}), mode="replace")
        frame = self.con.table("nested").df()
        self.assertEqual(list(frame["a"][0]), ["x", None])
        self.assertEqual(frame["b"][0], {"c": "y"})

    def test_numbers_with_nulls_are_masked(self):
        arrays = self.con.sql("SELECT a, b FROM (VALUES (1, true), (NULL, NULL), (3, false)) AS v (a, b)").numpy()
        self.assertEqual(arrays["a"].tolist(), [1, None, 3])
        self.assertEqual(arrays["a"].dtype, numpy.int64)
        self.assertEqual(arrays["b"].tolist(), [True, None, False])

    def test_a_result_of_no_rows_has_its_columns(self):
        result = self.con.sql("SELECT 1 AS a, 'x' AS b WHERE false")
        self.assertEqual(result.arrow().column_names, ["a", "b"])
        self.assertEqual(result.fetchall(), [])
        self.assertEqual(result.numpy()["a"].tolist(), [])
        self.assertEqual(len(result.df()), 0)

    def test_rows_are_read_in_batches(self):
        batches = list(self.con.sql(SERIES.format(50_000)))
        self.assertGreater(len(batches), 1)
        self.assertTrue(all(isinstance(batch, pa.RecordBatch) for batch in batches))
        self.assertEqual(sum(batch.num_rows for batch in batches), 50_000)

    def test_rows_are_read_one_by_one(self):
        result = self.con.sql(SERIES.format(20_000) + " ORDER BY n")
        self.assertEqual(result.fetchone(), (1, "row 1"))
        self.assertEqual(result.fetchmany(2), [(2, "row 2"), (3, "row 3")])
        self.assertEqual(len(result.fetchall()), 19_997)
        self.assertIsNone(result.fetchone())

    def test_all_rows_cannot_be_had_when_some_are_gone(self):
        result = self.con.sql(SERIES.format(20_000))
        result.fetchone()
        with self.assertRaisesRegex(quiver.InterfaceError, "run the query again"):
            result.arrow()

    def test_other_libraries_read_a_result_as_it_is_made(self):
        self.assertEqual(pa.table(self.con.sql(SERIES.format(30_000))).num_rows, 30_000)
        self.assertEqual(polars.DataFrame(self.con.sql(SERIES.format(10)))["n"].sum(), 55)

    def test_parameters_stand_for_values(self):
        self.assertEqual(self.rows("SELECT CAST(? AS VARCHAR) || ?", ["a", "b"]), [("ab",)])
        self.assertEqual(self.rows("SELECT $2, $1", [1, "x"]), [("x", 1)])
        day = datetime.date(2026, 11, 20)
        self.con.sql("CREATE TABLE IF NOT EXISTS days (day DATE, amount DECIMAL(10, 2), raw BLOB)")
        self.con.sql("DELETE FROM days")
        changed = self.con.sql("INSERT INTO days VALUES (?, ?, ?)", [day, Decimal("1.50"), b"\0x"]).rows_changed
        self.assertEqual(changed, 1)
        self.assertEqual(self.rows("SELECT * FROM days WHERE day = ?", [day]), [(day, Decimal("1.50"), b"\0x")])
        self.assertEqual(self.rows("SELECT ? IS NULL", [None]), [(True,)])

    def test_parameters_have_names(self):
        query = "SELECT :b || '-:a' || $a, \"a:b\", 'x'::VARCHAR, [1, 2, 3][1:2] FROM (SELECT 1 AS \"a:b\") -- :c\n/* $c */"
        self.assertEqual(self.rows(query, {"a": "one", "b": "two"}), [("two-:aone", 1, "x", [1, 2])])
        self.assertEqual(self.rows("SELECT $n, :n + 1", {"n": 1}), [(1, 2)])
        self.con.sql("CREATE OR REPLACE TABLE named (a BIGINT, b VARCHAR)")
        rows = [{"text": "x", "n": 1}, {"n": 2, "text": "y"}]
        self.assertEqual(self.con.executemany("INSERT INTO named VALUES (:n, :text)", rows), 2)
        self.assertEqual(self.rows("SELECT * FROM named ORDER BY a"), [(1, "x"), (2, "y")])
        result = self.con.sql("SELECT a FROM named WHERE b = :text", {"text": "y"})
        self.assertIn('Utf8View("y")', result.explain())
        self.assertEqual(result.fetchall(), [(2,)])

    def test_an_error_is_where_it_is_in_a_statement_with_names(self):
        with self.assertRaises(quiver.ProgrammingError) as raised:
            self.con.sql("SELECT :first_name, $last_name, sumn(2)", {"first_name": 1, "last_name": 2})
        self.assertEqual((raised.exception.line, raised.exception.column), (1, 33))

    def test_a_list_is_a_parameter_after_in(self):
        self.con.write("listed", {"n": [1, 2, 3, None]}, mode="replace")
        for condition, params, expected in [
            ("n IN ?", [[1, 3, 9]], [1, 3]),
            ("n IN $1", [[]], []),
            ("n NOT IN ?", [(1, 2)], [3]),
            ("n NOT IN ?", [[1, None]], []),
            ("n IN :these AND n > :least", {"these": [1, 3], "least": 1}, [3]),
        ]:
            with self.subTest(condition, params=params):
                rows = self.rows(f"SELECT n FROM listed WHERE {condition} ORDER BY n", params)
                self.assertEqual([n for (n,) in rows], expected)

    def test_intervals_are_added_to_times(self):
        self.con.sql("CREATE OR REPLACE TABLE moments AS SELECT DATE '2024-01-31' AS day, TIMESTAMP '2024-01-31 12:00:00' AS moment")
        two, month = datetime.timedelta(days=2), pa.MonthDayNano([1, 0, 0])
        for expression, value, expected in [
            ("day + ?", two, datetime.date(2024, 2, 2)),
            ("? + day", two, datetime.date(2024, 2, 2)),
            ("day - ?", two, datetime.date(2024, 1, 29)),
            ("day + ?", month, datetime.date(2024, 2, 29)),
            ("day + ?", 2, datetime.date(2024, 2, 2)),
            ("day - ?", 2, datetime.date(2024, 1, 29)),
            ("day - ?", datetime.date(2024, 1, 1), 30),
            ("moment + ?", two, datetime.datetime(2024, 2, 2, 12)),
            ("moment - ?", two, datetime.datetime(2024, 1, 29, 12)),
            ("? + INTERVAL '1 day'", datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)),
        ]:
            with self.subTest(expression, value=value):
                self.assertEqual(self.rows(f"SELECT {expression} FROM moments", [value]), [(expected,)])

    def test_table_functions_take_parameters(self):
        self.con.sql("CREATE OR REPLACE TABLE spread AS SELECT CAST(value AS DOUBLE) AS x FROM generate_series(1, 60) AS g (value)")
        clusters = "SELECT count(*), sum(size) FROM kmeans('spread', 'x', $1, $2)"
        for params in ([3, 10], [5, 10], [3, 1e-3]):
            self.assertEqual(self.rows(clusters, params), [(params[0], 60)])
        self.assertEqual(
            self.rows("SELECT cluster, size FROM kmeans('spread', 'x', k => ?, iterations => 5, init => ?)", [1, "random"]), [(0, 60)]
        )
        self.assertEqual(self.rows("SELECT min(value), max(value) FROM generate_series(?, ?, ?)", [-2, 6, 4]), [(-2, 6)])
        self.assertIn("end=9", self.con.sql("SELECT * FROM generate_series(1, ?)", [9]).explain())
        with self.assertRaisesRegex(quiver.ProgrammingError, "9.5, which is no BIGINT"):
            self.rows("SELECT * FROM generate_series(1, ?)", [9.5])

    def test_parameters_keep_their_values(self):
        self.con.sql("CREATE OR REPLACE TABLE valued (at TIMESTAMP, big BIGINT UNSIGNED)")
        fine = pandas.Timestamp("2020-01-01 00:00:00.123456789")
        days = [datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 3, 4)]
        self.con.executemany("INSERT INTO valued (at) VALUES (?)", [(day,) for day in days])
        self.con.executemany("INSERT INTO valued VALUES (?, ?)", [(fine, 2**64 - 1), (pandas.NaT, pandas.NA)])
        kept = self.con.sql("SELECT at, big FROM valued ORDER BY at NULLS LAST").arrow()
        self.assertEqual(kept["at"].cast(pa.int64())[0].as_py(), fine.value)
        self.assertEqual(kept["big"].to_pylist(), [2**64 - 1, None, None, None])
        self.assertEqual(self.rows("SELECT count(*) FROM valued WHERE at = ?", [fine]), [(1,)])
        self.assertEqual(self.rows("SELECT at FROM valued WHERE at > ? ORDER BY at", [days[0]]), [(days[1],)])

    def test_times_of_numpy_are_values(self):
        days = [numpy.datetime64("2020-01-02"), numpy.datetime64("2020-01-02T03", "h"), numpy.datetime64("NaT"), numpy.timedelta64(3, "D")]
        expected = (datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3), None, datetime.timedelta(days=3))
        self.assertEqual(self.rows("SELECT ?, ?, ?, ?", days), [expected])
        fine = numpy.datetime64("2020-01-02T00:00:00.000000001", "ns")
        self.assertEqual(self.con.sql("SELECT ? AS at", [fine]).arrow()["at"].cast(pa.int64()).to_pylist(), [fine.astype(int)])

    def test_what_is_no_query_has_run_already(self):
        self.con.sql("CREATE OR REPLACE TABLE at_once (a BIGINT)")
        result = self.con.sql("INSERT INTO at_once VALUES (1), (2)")
        self.assertEqual(result.rows_changed, 2)
        self.assertFalse(result.is_query)
        self.assertEqual(self.con.sql("DELETE FROM at_once WHERE a = 1").rows_changed, 1)
        self.assertEqual(self.rows("SELECT a FROM at_once"), [(2,)])
        self.assertIsNone(self.con.sql("DROP TABLE at_once").rows_changed)
        self.assertEqual(repr(self.con.sql("SET batch_size = 8192")), "<quiver.Result: done>")

    def test_stats_say_what_was_read(self):
        self.con.write("touched", pa.table({"n": range(50_000), "t": ["text"] * 50_000}), mode="replace")
        result = self.con.sql("SELECT n FROM touched WHERE n >= 49990")
        self.assertEqual(len(result.fetchall()), 10)
        self.assertEqual(result.stats.rows_returned, 10)
        self.assertGreater(result.stats.zones_pruned, 0)
        self.assertGreater(result.stats.bytes_touched, 0)
        self.assertLess(result.stats.bytes_touched, 400_000)
        self.assertIn("zones pruned", str(result.stats))

    def test_columns_are_one_name_or_a_list(self):
        self.con.write("columned", {"first": [1], "second": [2]}, mode="replace")
        table = self.con.table("columned")
        self.assertEqual(table.df("second").columns.tolist(), ["second"])
        self.assertEqual(table.arrow(["second", "first"]).to_pylist(), [{"second": 2, "first": 1}])
        with self.assertRaisesRegex(quiver.ProgrammingError, "no columns"):
            table.arrow([])

    def test_a_plan_is_explained(self):
        self.con.write("planned", pa.table({"n": [1, 2]}), mode="replace")
        result = self.con.sql("SELECT n FROM planned")
        self.assertIn("StoreScan", result.explain())
        self.assertIn("bytes_touched", result.explain(analyze=True))
        self.assertEqual(len(result.fetchall()), 2)

    def test_a_query_with_parameters_is_explained_with_them(self):
        self.con.write("planned", pa.table({"n": [1, 2]}), mode="replace")
        params = [1]
        result = self.con.sql("SELECT n FROM planned WHERE n > ?", params)
        params[0] = 5
        for plan in (result.explain(), result.explain(analyze=True)):
            self.assertIn("> 1", plan)
            self.assertNotIn("$1", plan)
        self.assertEqual(result.fetchall(), [(2,)])

    def test_a_notebook_shows_the_first_rows_and_leaves_them(self):
        result = self.con.sql(SERIES.format(30_000) + " ORDER BY n")
        page = result._repr_html_()
        self.assertIn("<td>row 20</td>", page)
        self.assertNotIn("<td>row 21</td>", page)
        self.assertIn("there are more rows", page)
        self.assertEqual(result.arrow().num_rows, 30_000)
        self.assertIn("&lt;b&gt;", self.con.sql("SELECT '<b>' AS t")._repr_html_())

    def test_a_prompt_shows_the_first_rows_and_leaves_them(self):
        result = self.con.sql(SERIES.format(30_000) + " ORDER BY n")
        self.assertIn("| 20 | row 20 |\n+----+--------+\n(there are more rows)", repr(result))
        with redirect_stdout(io.StringIO()) as printed:
            result.show(2)
        self.assertEqual(printed.getvalue().splitlines()[-4:], ["| 1 | row 1 |", "| 2 | row 2 |", "+---+-------+", "(there are more rows)"])
        self.assertEqual(result.arrow().num_rows, 30_000)
        with redirect_stdout(io.StringIO()) as printed:
            self.con.sql("CREATE OR REPLACE TABLE shown AS SELECT 1 AS a").show()
            self.con.table("shown").show()
        self.assertEqual(printed.getvalue().splitlines(), ["1 row", "+---+", "| a |", "+---+", "| 1 |", "+---+", "(1 row)"])
        self.assertEqual(repr(self.con.sql("SELECT 1 AS a WHERE false")), "+---+\n| a |\n+---+\n(0 rows)")
        with self.assertRaisesRegex(quiver.DataError, "(?i)zero"):
            repr(self.con.sql("SELECT 1 / (1 - value) FROM generate_series(1, 3) AS g (value)"))

    def test_a_wide_result_fits_the_terminal(self):
        columns = ", ".join(f"'value {place}' AS column_{place}" for place in range(19))
        with mock.patch.dict(os.environ, COLUMNS="50"):
            lines = repr(self.con.sql(f"SELECT '日本', NULL, {columns}")).splitlines()
            self.assertEqual(len(repr(self.con.sql(f"SELECT repeat('x', 300), {columns}")).splitlines()), 6)
        self.assertRegex(lines[1], r"^\| '日本' \| NULL \| … \| column_17 \| column_18 \|$")
        self.assertRegex(lines[3], r"^\| 日本   \| NULL \| … \| value 17  \| value 18  \|$")
        self.assertEqual(lines[-1], "(1 row, 21 columns, of which 4 are shown)")
        self.assertLessEqual(max(map(len, lines)), 50)

    def test_settings_stay_with_the_connection(self):
        self.con.sql("SET batch_size = 512")
        self.assertEqual(self.rows("SHOW batch_size"), [("batch_size", "512")])
        with self.con.another() as other:
            self.assertEqual(other.sql("SHOW batch_size").fetchall(), [("batch_size", "8192")])


globals().update(in_both_ways(Results))
