"""Rows that contradict their schema, or have no type in SQL, are refused, and never dropped or misinterpreted."""

import pandas
import polars
import pyarrow as pa
import quiver
from both import in_both_ways

SAID = pa.schema([("a", pa.int64()), ("b", pa.int64())])


class Foreign:
    """An object with a capsule and no other interface."""

    def __init__(self, rows):
        self.rows = rows

    def __arrow_c_stream__(self, requested_schema=None):
        return self.rows.__arrow_c_stream__(requested_schema)


class NotWritten:
    def check_refused(self, rows, why):
        with self.assertRaisesRegex(quiver.ProgrammingError, why):
            self.con.write("refused", rows)
        self.assertNotIn("refused", self.con.tables())

    def test_dicts_have_the_columns_of_all_of_them(self):
        self.con.write("united", [{"a": 1}, {"b": "x", "a": 2}, {"c": 1.5}], mode="replace")
        self.assertEqual(self.con.table("united").columns, ["a", "b", "c"])
        self.assertEqual(self.rows("SELECT * FROM united"), [(1, None, None), (2, "x", None), (None, None, 1.5)])
        self.check_refused([{"a": 1}, (2,)], "some of these rows are dicts and some are not")
        self.check_refused([{0: 1}], "the name of a column is text, and not 0")

    def test_batches_are_of_the_schema_that_their_reader_says(self):
        for columns, why in [
            ({"a": pa.array([1], pa.int8()), "b": pa.array([1])}, r'the column "a" \(int8\) where its reader says "a" \(int64\)'),
            ({"b": pa.array([1]), "a": pa.array([2])}, r'the column "b" \(int64\) where its reader says "a" \(int64\)'),
            ({"a": pa.array([1])}, "has 1 columns, and its reader says 2"),
        ]:
            with self.subTest(why):
                good, bad = pa.record_batch({"a": [1], "b": [2]}), pa.record_batch(columns)
                self.check_refused(pa.RecordBatchReader.from_batches(SAID, iter([good, bad])), why)

    def test_a_list_of_record_batches_is_a_table(self):
        batch = pa.record_batch({"a": [1, 2]})
        self.assertEqual(self.con.write("listed", [batch, batch], mode="replace"), 4)
        self.check_refused([batch, pa.record_batch({"a": ["x"]})], "Schema at index 1 was different")

    def test_objects_of_python_are_refused(self):
        objects = polars.DataFrame({"n": [1], "o": [object()]}, schema={"n": polars.Int64, "o": polars.Object})
        self.check_refused(objects, 'column "o" has objects of Python')
        self.check_refused({"o": objects["o"]}, 'column "o" has objects of Python')

    def test_periods_of_pandas_are_refused(self):
        frame = pandas.DataFrame({"month": pandas.period_range("2020-01", periods=2, freq="M")})
        self.check_refused(frame, 'column "month" has periods of pandas.*to_timestamp')
        self.assertEqual(self.con.write("months", frame.assign(month=frame["month"].astype(str)), mode="replace"), 2)

    def test_what_is_no_table_yet_is_said_how_to_become_one(self):
        self.check_refused(polars.LazyFrame({"a": [1]}), "a LazyFrame of polars is no table; collect")
        self.check_refused(polars.Series("a", [1]), "a Series of polars is no table; .*to_frame")
        self.check_refused(pandas.Series([1]), "a Series of pandas is no table; .*to_frame")

    def test_columns_can_be_told_from_each_other(self):
        twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
        for rows in (twice, Foreign(twice)):
            self.check_refused(rows, 'two columns are called "a"')

    def test_a_name_with_a_nul_is_refused_and_not_cut_off(self):
        self.check_refused(pa.Table.from_arrays([pa.array([1])], names=["a\0b"]), "has a NUL in it")
        self.check_refused(pa.table({"s": pa.array([{"a\0b": 1}])}), "has a NUL in it")

    def test_a_temporary_table_is_not_written_and_hides_no_stored_one(self):
        self.con.sql("CREATE VOLATILE TABLE hiding AS SELECT 1 AS a")
        for mode in ("create", "append", "replace", "create_append"):
            with (
                self.subTest(mode),
                self.assertRaisesRegex(quiver.NotSupportedError, '"hiding" is a temporary table.*INSERT INTO.*"main.hiding"'),
            ):
                self.con.write("hiding", {"a": [2]}, mode)
        with self.assertRaisesRegex(quiver.NotSupportedError, '"hiding" is a temporary table'):
            self.con.write("temp.hiding", {"a": [2]}, "append")
        self.assertNotIn("hiding", self.con.tables())
        self.con.write("main.hiding", {"a": [3]})
        self.assertEqual((self.rows("SELECT a FROM hiding"), self.rows("SELECT a FROM main.hiding")), ([(1,)], [(3,)]))
        self.con.sql("DROP TABLE hiding")
        self.assertEqual(self.con.write("hiding", {"a": [4]}, "append"), 1)
        self.con.sql("DROP TABLE hiding")


globals().update(in_both_ways(NotWritten))
