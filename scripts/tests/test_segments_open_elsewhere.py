"""A sealed segment is a valid Arrow IPC file: other programs open it by themselves."""

import datetime
import os
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
from quiver_shell import QUIVER

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
from quiver.remote.encodings import decoded

ROWS = 20_000  # more than two zones, so that a segment has whole zones and a part of one


def every_third_null(values: list) -> list:
    return [None if number % 3 == 2 else value for number, value in enumerate(values)]


def sample() -> pyarrow.Table:
    """Types of every layout: fixed width, bits, variable width, views, decimals, nested."""
    numbers = range(ROWS)
    day = datetime.date(2013, 1, 1)
    noon = datetime.datetime(2013, 1, 1, 12, tzinfo=datetime.timezone.utc)
    columns = {
        "id": (pyarrow.int64(), list(numbers)),
        "small": (pyarrow.int16(), [n % 1000 - 500 for n in numbers]),
        "flag": (pyarrow.bool_(), [n % 7 == 0 for n in numbers]),
        "ratio": (pyarrow.float64(), [n / 7 for n in numbers]),
        "price": (pyarrow.decimal128(15, 2), [Decimal(n * 7 - 9999).scaleb(-2) for n in numbers]),
        "day": (pyarrow.date32(), [day + datetime.timedelta(days=n % 365) for n in numbers]),
        "at": (pyarrow.timestamp("us", tz="UTC"), [noon + datetime.timedelta(seconds=n) for n in numbers]),
        "few": (pyarrow.string(), [["N", "O", "F"][n % 3] for n in numbers]),
        "text": (pyarrow.string(), [f"row {n} " + "long enough to leave a view " * (n % 3) for n in numbers]),
        "bytes": (pyarrow.binary(), [n.to_bytes(4, "big") for n in numbers]),
        "list": (pyarrow.list_(pyarrow.int32()), [list(range(n % 4)) for n in numbers]),
        "pair": (pyarrow.struct([("x", pyarrow.int32()), ("y", pyarrow.string())]), [{"x": n, "y": str(n)} for n in numbers]),
    }
    arrays = [pyarrow.array(values if name == "id" else every_third_null(values), type=kind) for name, (kind, values) in columns.items()]
    return pyarrow.table(arrays, names=list(columns))


def plain(kind: pyarrow.DataType) -> pyarrow.DataType:
    """The type with text and bytes instead of views, also inside of others."""
    types = pyarrow.types
    if types.is_string_view(kind):
        return pyarrow.string()
    if types.is_binary_view(kind):
        return pyarrow.binary()
    if types.is_list(kind):
        return pyarrow.list_(kind.value_field.with_type(plain(kind.value_type)))
    if types.is_struct(kind):
        return pyarrow.struct([field.with_type(plain(field.type)) for field in kind])
    if types.is_map(kind):
        return pyarrow.map_(plain(kind.key_type), plain(kind.item_type))
    return kind


class SegmentsOpenElsewhere(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="quiver-test-")
        cls.addClassCleanup(directory.cleanup)
        cls.directory = Path(directory.name)
        cls.store = cls.directory / "store"
        cls.table = sample()
        pyarrow.parquet.write_table(cls.table, cls.directory / "sample.parquet")
        parquet = cls.directory / "sample.parquet"
        cls.quiver("--store", cls.store, "-c", f"CREATE TABLE sample WITH (encoding = 'plain') AS SELECT * FROM '{parquet}'")
        cls.segments = cls.find_segments(cls.store)

    @classmethod
    def quiver(cls, *arguments) -> str:
        done = subprocess.run([QUIVER, *arguments], capture_output=True, text=True, env=os.environ | {"HOME": str(cls.directory)})
        if done.returncode != 0:
            raise AssertionError(f"quiver {arguments} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    @classmethod
    def find_segments(cls, store: Path) -> list[Path]:
        """Statistics lie beside the segments as Arrow files too; a segment has the table's columns."""
        found = []
        for path in sorted((store / "segments").rglob("*.arrow")):
            with pyarrow.ipc.open_file(path) as file:
                if file.schema.names == cls.table.schema.names:
                    found.append(path)
        return found

    def read_segments(self) -> pyarrow.Table:
        tables = []
        for path in self.segments:
            with pyarrow.memory_map(str(path)) as mapped:
                tables.append(pyarrow.ipc.open_file(mapped).read_all())
        table = pyarrow.concat_tables(tables)
        table.validate(full=True)
        # pyarrow reads views but cannot sort them yet: as plain text and bytes it can.
        fields = [field.with_type(plain(field.type)) for field in table.schema]
        return table.cast(pyarrow.schema(fields)).sort_by("id")

    def test_a_store_has_segments_with_the_columns_of_the_table(self):
        self.assertGreaterEqual(len(self.segments), 1)

    def test_pyarrow_reads_from_a_segment_what_was_imported(self):
        # Values and not types: a segment may hold a column narrower.
        found = self.read_segments()
        for name in self.table.column_names:
            self.assertEqual(found[name].to_pylist(), self.table[name].to_pylist(), name)

    def test_a_column_that_is_stored_in_fewer_bytes_says_of_which_type_it_is(self):
        store = self.directory / "encoded"
        self.quiver("import", "--store", store, "--table", "sample", self.directory / "sample.parquet")
        stored = set()
        for path in self.find_segments(store):
            table = pyarrow.ipc.open_file(pyarrow.memory_map(str(path))).read_all()
            table.validate(full=True)
            stored |= {field.name for field in table.schema if b"quiver.type" in (field.metadata or {})}
            columns = {field.name: decoded(table.column(field.name).combine_chunks(), field) for field in table.schema}
            for name, column in columns.items():
                self.assertEqual(column.to_pylist(), self.table[name].to_pylist(), name)
        # Times of microseconds since 1970 take eight bytes, and the texts of a page are long enough for views.
        self.assertEqual(stored & {"id", "small", "ratio", "price", "day", "at", "few", "list"}, {"id", "price", "day", "few"})

    def test_pyarrow_maps_a_segment_without_copying(self):
        path = self.segments[0]
        with pyarrow.memory_map(str(path)) as mapped:
            before = pyarrow.total_allocated_bytes()
            table = pyarrow.ipc.open_file(mapped).read_all()
            copied = pyarrow.total_allocated_bytes() - before
            self.assertLess(copied, table.nbytes / 10, "buffers are compressed or misaligned")

    def test_duckdb_answers_from_a_segment_as_quiver_does(self):
        sql = (
            "select few, count(*) as n, sum(price) as total, min(day) as first_day, max(text) as last_text, "
            "sum(small) as small, count(flag) as flags from sample group by few order by few nulls last"
        )
        result = self.directory / "answer.arrow"
        self.quiver("--store", self.store, "--format", "arrow", "-o", result, "-c", sql)
        with pyarrow.ipc.open_file(result) as file:
            answer = file.read_all()
        connection = duckdb.connect()
        connection.register("sample", self.read_segments())
        expected = connection.sql(sql).to_arrow_table()
        for name in expected.column_names:
            self.assertEqual(answer[name].to_pylist(), expected[name].to_pylist(), name)

    def test_duckdb_reads_mapped_segments_as_they_are(self):
        # No copy and no cast: DuckDB takes the buffers of the mapping, 64-bit decimals and views included.
        files = [pyarrow.ipc.open_file(pyarrow.memory_map(str(path))) for path in self.segments]
        batches = (file.get_batch(number) for file in files for number in range(file.num_record_batches))
        segments = pyarrow.RecordBatchReader.from_batches(files[0].schema, batches)
        connection = duckdb.connect()
        connection.register("segments", segments)
        found = connection.sql("select * from segments order by id").to_arrow_table()
        for name in self.table.column_names:
            self.assertEqual(found[name].to_pylist(), self.table[name].to_pylist(), name)

    def test_duckdb_reads_what_quiver_exports(self):
        facts = "select count(*), sum(price), max(text), min(day), count(flag), max(list), max(pair) from"
        connection = duckdb.connect()
        connection.register("imported", self.table)
        expected = connection.sql(f"{facts} imported").fetchall()
        parquet, arrow = self.directory / "exported.parquet", self.directory / "exported.arrow"
        for file in [parquet, arrow]:
            self.quiver("--store", self.store, "-c", f"COPY sample TO '{file}'")
        self.assertEqual(connection.sql(f"{facts} '{parquet}'").fetchall(), expected)
        # For Arrow files DuckDB wants an extension, or pyarrow to open them.
        connection.register("exported", pyarrow.ipc.open_file(pyarrow.memory_map(str(arrow))).read_all())
        self.assertEqual(connection.sql(f"{facts} exported").fetchall(), expected)

    def test_duckdb_filters_exported_arrow_and_segments_as_datasets(self):
        # DuckDB hands columns and conditions to pyarrow's scan, also those on text, 64-bit decimals and times.
        exported = self.directory / "dataset.arrow"
        self.quiver("--store", self.store, "-c", f"COPY sample TO '{exported}'")
        facts = (
            "select count(*), sum(price), max(text), min(\"at\"), max(list) from {} where few = 'O' and price > 10 and day >= '2013-02-01'"
        )
        connection = duckdb.connect()
        connection.register("imported", self.table)
        expected = connection.sql(facts.format("imported")).fetchall()
        self.assertGreater(expected[0][0], 0)
        for files in [[exported], self.segments]:
            dataset = pyarrow.dataset.dataset([str(path) for path in files], format="ipc")
            connection.register("files", dataset)
            self.assertEqual(connection.sql(facts.format("files")).fetchall(), expected)

    def test_duckdb_opens_no_arrow_file_by_itself(self):
        """If this fails, docs/clients.md says too little of a newer DuckDB."""
        exported = self.directory / "refused.arrow"
        self.quiver("--store", self.store, "-c", f"COPY sample TO '{exported}'")
        for path in [exported, self.segments[0]]:
            with self.assertRaisesRegex(duckdb.Error, "No extension found that is capable of reading the file"):
                duckdb.connect().sql(f"from '{path}'")

    def test_quiver_returns_the_declared_values_of_every_column(self):
        result = self.directory / "all.arrow"
        self.quiver("--store", self.store, "--format", "arrow", "-o", result, "-c", "select * from sample order by id")
        with pyarrow.ipc.open_file(result) as file:
            answer = file.read_all()
        for name in self.table.column_names:
            self.assertEqual(answer[name].to_pylist(), self.table[name].to_pylist(), name)
        # As every reader of Arrow knows them, also inside of others.
        self.assertEqual(answer.schema.types, self.table.schema.types)


if __name__ == "__main__":
    unittest.main()
