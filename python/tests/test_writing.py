"""Writing rows and files to tables, and transactions."""

import datetime
import decimal
import gzip
from unittest import mock

import pandas
import polars
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import quiver
from both import Remote, in_both_ways


class Writing:
    def test_rows_of_every_library_are_written(self):
        expected = [(1, "a"), (2, "b"), (3, None)]
        columns = {"n": [1, 2, 3], "t": ["a", "b", None]}
        table = pa.table(columns)
        for name, rows in {
            "pyarrow table": table,
            "record batch": table.to_batches()[0],
            "reader": pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(max_chunksize=1))),
            "pandas": pandas.DataFrame(columns),
            "polars": polars.DataFrame(columns),
            "polars with a column of nothing": polars.DataFrame(columns | {"nothing": [None] * 3}),
            "dict": columns,
            "list of dicts": table.to_pylist(),
            "result": self.con.sql("SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (3, NULL)) AS v (n, t)"),
        }.items():
            with self.subTest(name):
                self.assertEqual(self.con.write("written", rows, mode="replace"), 3)
                self.assertEqual(self.rows("SELECT n, t FROM written ORDER BY n"), expected)

    def test_a_mode_says_what_is_done_about_the_table(self):
        rows = pa.table({"a": [1]})
        self.con.sql("DROP TABLE IF EXISTS modes")
        with self.assertRaisesRegex(quiver.ProgrammingError, "does not exist"):
            self.con.write("modes", rows, mode="append")
        self.con.write("modes", rows)
        with self.assertRaisesRegex(quiver.ProgrammingError, "already exists"):
            self.con.write("modes", rows)
        self.con.write("modes", rows, mode="append")
        self.con.write("modes", rows, mode="create_append")
        self.assertEqual(self.rows("SELECT count(*) FROM modes"), [(3,)])
        self.con.write("modes", rows, mode="replace")
        self.assertEqual(self.rows("SELECT count(*) FROM modes"), [(1,)])
        with self.assertRaisesRegex(quiver.ProgrammingError, "no mode"):
            self.con.write("modes", rows, mode="upsert")

    def test_a_reader_that_fails_leaves_nothing(self):
        schema = pa.schema([("a", pa.int64())])

        def batches():
            yield pa.record_batch([pa.array(range(100_000))], schema=schema)
            raise ValueError("the disk of somebody else")

        self.con.write("broken_off", pa.table({"a": [1]}), mode="replace")
        with self.assertRaisesRegex(quiver.ProgrammingError, "^the rows cannot be read: the disk of somebody else$"):
            self.con.write("broken_off", pa.RecordBatchReader.from_batches(schema, batches()), mode="append")
        self.assertEqual(self.rows("SELECT count(*) FROM broken_off"), [(1,)])
        self.assertFalse(self.con.in_transaction)

    def test_a_row_that_no_message_takes_is_refused(self):
        """In process, there are no messages."""
        rows = pa.table({"t": ["short", "x" * 2000, "short"]})
        with mock.patch("quiver.remote.sending.PIECE_BYTES", 1000), mock.patch("quiver.remote.sending.MESSAGE_BYTES_MAX", 1500):
            if self.con.uri.startswith("quiver:"):
                self.con.write("fits", rows)
            else:
                with self.assertRaisesRegex(quiver.NotSupportedError, "a row of .* cannot be sent.*smaller blocks"):
                    self.con.write("too_long", rows)
        self.assertNotIn("too_long", self.con.tables())

    def test_rows_are_sent_in_pieces(self):
        """In process, rows are not sent."""
        frame = polars.DataFrame({"n": range(50_000), "t": ["a text that is longer than a view"] * 50_000})
        with mock.patch("quiver.remote.sending.PIECE_BYTES", 100_000):
            self.assertEqual(self.con.write("in_pieces", frame, mode="replace"), 50_000)
        self.assertEqual(self.rows("SELECT count(DISTINCT n), min(t) FROM in_pieces"), [(50_000, frame["t"][0])])

    def test_rows_that_do_not_fit_are_refused(self):
        self.con.sql("CREATE OR REPLACE TABLE narrow (a BIGINT NOT NULL)")
        with self.assertRaises(quiver.DataError):
            self.con.write("narrow", pa.table({"a": ["no number"]}), mode="append")
        with self.assertRaises(quiver.IntegrityError):
            self.con.write("narrow", pa.table({"a": pa.array([None], pa.int64())}), mode="append")
        for nothing in (7, [], pandas.Series([1])):
            with self.assertRaises(quiver.ProgrammingError):
                self.con.write("narrow", nothing, mode="append")
        self.assertEqual(self.rows("SELECT count(*) FROM narrow"), [(0,)])

    def test_text_that_is_none_is_refused(self):
        bad = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")])
        with self.assertRaises(quiver.DatabaseError):
            self.con.write("bad_text", pa.table({"t": bad}))
        self.assertNotIn("bad_text", self.con.tables())

    def test_values_that_are_not_of_their_type_are_refused(self):
        def raw(kind, *values, width=8):
            data = b"".join(value.to_bytes(width, "little", signed=True) for value in values)
            return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(data)])

        lists = pa.ListArray.from_arrays([0, 1, 2], raw(pa.decimal128(3, 0), 1, 1000, width=16))
        day = 24 * 3600 * 1_000_000
        for bad, why in [
            (raw(pa.decimal128(18, 0), 1, 2**64, width=16), "18446744073709551616 does not fit"),
            (raw(pa.decimal128(3, 0), 1, -1000, width=16), "-1000 does not fit"),
            (raw(pa.decimal256(5, 0), 1, 100_000, width=32), "100000 does not fit"),
            (raw(pa.time64("us"), 0, day), "is no TIME"),
            (raw(pa.time64("ns"), 0, -(2**62)), "is no TIME"),
            (raw(pa.date32(), 0, 2**31 - 1, width=4), "days since 1970 are no DATE"),
            (raw(pa.timestamp("us"), 0, 2**63 - 1), "microseconds since 1970 are no TIMESTAMP"),
            (lists, "1000 does not fit"),
            (pa.StructArray.from_arrays([lists], ["inner"]), "in inner: 1000 does not fit"),
        ]:
            with self.subTest(bad.type):
                with self.assertRaisesRegex(quiver.DataError, 'row 2 of what was sent, column "v": .*' + why):
                    self.con.write("bad_values", pa.table({"v": bad}))
        zone = pa.array([0], pa.timestamp("us", "Nowhere/No"))
        with self.assertRaisesRegex(quiver.ProgrammingError, 'column "v": its time zone "Nowhere/No" is not known'):
            self.con.write("bad_values", pa.table({"v": zone}))
        self.assertNotIn("bad_values", self.con.tables())

    def test_names_are_taken_as_they_are(self):
        self.con.sql('CREATE SCHEMA IF NOT EXISTS "Other One"')
        self.con.write('Odd.na"me', pa.table({"A b": [1]}), schema="Other One", mode="replace")
        self.assertEqual(self.con.table('Odd.na"me', schema="Other One").arrow(["A b"]).to_pydict(), {"A b": [1]})
        self.assertEqual(self.con.tables("Other One"), ['Odd.na"me'])

    def test_a_statement_runs_for_each_row_of_parameters(self):
        self.con.sql("CREATE OR REPLACE TABLE many (a BIGINT, b VARCHAR)")
        self.assertEqual(self.con.executemany("INSERT INTO many VALUES (?, ?)", [(1, "one"), (2, None), (3, "three")]), 3)
        self.assertEqual(self.con.executemany("UPDATE many SET b = ? WHERE a = ?", [("1", 1), ("3", 3)]), 2)
        self.assertEqual(self.rows("SELECT * FROM many ORDER BY a"), [(1, "1"), (2, None), (3, "3")])
        self.assertEqual(self.con.executemany("DELETE FROM many WHERE a = ?", []), 0)

    def test_files_are_imported(self):
        table = pa.table({"n": [1, 2], "t": ["a", None]})
        pa.parquet.write_table(table, self.files / "taken.parquet")
        pa.csv.write_csv(table, self.files / "part1.csv")
        pa.csv.write_csv(table, self.files / "part2.csv")
        self.assertEqual(self.con.import_(self.files / "taken.parquet", mode="replace").rows, 2)
        self.assertEqual(self.rows("SELECT n, t FROM taken ORDER BY n"), [(1, "a"), (2, None)])
        imported = self.con.import_(str(self.files / "part*.csv"), table="parts", mode="replace")
        self.assertEqual((imported.table, imported.rows), ("parts", 4))
        self.con.import_([self.files / "part1.csv"], table="parts", mode="append")
        self.assertEqual(self.rows("SELECT sum(n) FROM parts"), [(9,)])
        for wrong in ({"paths": "nothing.csv"}, {"paths": "part1.csv", "format": "nonsense"}, {"paths": "part1.csv", "format": "parquet"}):
            with self.subTest(wrong), self.assertRaises(quiver.ProgrammingError):
                self.con.import_(table="wrong", **wrong | {"paths": self.files / wrong["paths"]})

    def test_files_have_the_same_columns_whoever_reads_them(self):
        (self.files / "bare.csv").write_text("1,x\n2,NA\n")
        (self.files / "one_of_two.csv").write_text("n\n1\n")
        (self.files / "two_of_two.csv").write_text("t,n\nx,1.5\n")
        (self.files / "packed.csv.gz").write_bytes(gzip.compress(b"n,t\n1,x\n"))
        (self.files / "array.json").write_text('\n [{"a": 1},\n {"b": "x", "a": 2}]')
        (self.files / "lines.json.gz").write_bytes(gzip.compress(b'{"a": 3}\n{"a": 4}\n'))
        for name, options, expected in [
            ("bare.csv", {"header": False, "null": "NA"}, {"column0": [1, 2], "column1": ["x", None]}),
            ("packed.csv.gz", {}, {"n": [1], "t": ["x"]}),
            ("array.json", {}, {"a": [1, 2], "b": [None, "x"]}),
            ("*_of_two.csv", {}, {"n": [1.0, 1.5], "t": [None, "x"]}),
            ("lines.json.gz", {}, {"a": [3, 4]}),
        ]:
            with self.subTest(name):
                self.con.import_(self.files / name, table="alike", mode="replace", **options)
                self.assertEqual(self.con.table("alike").arrow().to_pydict(), expected)

    def test_further_options_of_csv_have_their_names_in_sql(self):
        text = "a report\nday;price;zip\n1.2.2024;1,5;501é\n-;2,5;7\n"
        (self.files / "report.csv").write_bytes(text.encode("latin-1"))
        options = {"delimiter": ";", "null": "-", "skip": 1, "date_format": "%d.%m.%Y", "decimal": ",", "encoding": "latin-1"}
        options["types"] = {"price": "DECIMAL(6,2)"}
        if isinstance(self, Remote):
            with self.assertRaisesRegex(quiver.NotSupportedError, "types is not supported by imports over the network"):
                self.con.import_(self.files / "report.csv", **options)
            return
        self.con.import_(self.files / "report.csv", **options)
        expected = [(datetime.date(2024, 2, 1), decimal.Decimal("1.50"), "501é"), (None, decimal.Decimal("2.50"), "7")]
        self.assertEqual(self.rows("SELECT * FROM report ORDER BY price"), expected)
        for wrong, message in [({"skip": "two"}, "the option skip is a number of lines"), ({"colour": "red"}, 'no option "colour"')]:
            with self.subTest(wrong), self.assertRaisesRegex(quiver.ProgrammingError, message):
                self.con.import_(self.files / "report.csv", mode="replace", **wrong)

    def test_a_column_that_appears_late_in_a_file_of_json_is_there(self):
        lines = '{"a": 1}\n' * 200_000 + '{"a": 1, "b": 7}\n'
        self.assertGreater(len(lines), 2**20)
        (self.files / "late.json").write_text(lines)
        self.assertEqual(self.con.import_(self.files / "late.json", mode="replace").rows, 200_001)
        self.assertEqual(self.rows("SELECT sum(a), count(b), max(b) FROM late"), [(200_001, 1, 7)])

    def test_of_many_columns_two_of_one_name_are_refused(self):
        columns = pa.array([1])
        names = [f"c{place}" for place in range(20_000)]
        with self.assertRaisesRegex(quiver.ProgrammingError, 'two columns are called "c7"'):
            self.con.write("wide", pa.Table.from_arrays([columns] * 20_001, names=[*names, "c7"]))

    def test_a_transaction_commits_at_its_end_or_rolls_back(self):
        self.con.sql("CREATE OR REPLACE TABLE kept (a BIGINT)")
        with self.con.another() as other:
            with self.con.transaction():
                self.con.sql("INSERT INTO kept VALUES (1)")
                self.con.write("kept", pa.table({"a": [2]}), mode="append")
                self.assertEqual(self.rows("SELECT count(*) FROM kept"), [(2,)])
                self.assertEqual(other.sql("SELECT count(*) FROM kept").fetchall(), [(0,)])
            with self.assertRaises(ZeroDivisionError), self.con.transaction():
                self.con.sql("INSERT INTO kept VALUES (3)")
                raise ZeroDivisionError
            self.assertEqual(other.sql("SELECT a FROM kept ORDER BY a").fetchall(), [(1,), (2,)])

    def test_the_second_of_two_that_change_a_row_fails(self):
        self.con.sql("CREATE OR REPLACE TABLE fought_over (a BIGINT)")
        self.con.sql("INSERT INTO fought_over VALUES (1)")
        with self.con.another() as other:
            self.con.begin()
            other.begin()
            other.sql("SELECT a FROM fought_over").fetchall()
            self.con.sql("UPDATE fought_over SET a = 10")
            self.con.commit()
            with self.assertRaises(quiver.ConflictError):
                other.sql("UPDATE fought_over SET a = 20")
                other.commit()
        self.assertEqual(self.rows("SELECT a FROM fought_over"), [(10,)])


globals().update(in_both_ways(Writing))
