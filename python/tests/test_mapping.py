"""Columns that are only read are buffers in the store's files: in process, and with a server on this machine that allows it."""

import re
import unittest
from pathlib import Path

import numpy
import pyarrow as pa
import quiver
import quiver.testing
from both import Connected, InProcess

ROWS = 60_000


class InSegments:
    """A test case with a table, and `self.segments`, the directory of the segments of its store."""

    def fill(self):
        text = [f"a text that is longer than a view holds: {n}" for n in range(ROWS)]
        self.written = pa.table({"n": range(ROWS), "x": numpy.arange(ROWS) / 2, "t": text})
        self.con.sql("CREATE OR REPLACE TABLE mapped (n BIGINT, x DOUBLE, t VARCHAR) WITH (encoding = 'plain')")
        self.con.write("mapped", self.written, mode="append")

    def assert_mapped(self, address: int, length: int):
        """Asserts that the bytes are in a sealed segment of this store, mapped read-only."""
        for line in Path("/proc/self/maps").read_text().splitlines():
            found = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+\s+(/.*\.arrow)$", line)
            if found and int(found[1], 16) <= address and address + length <= int(found[2], 16):
                self.assertEqual(found[3][:2], "r-")
                self.assertTrue(found[4].startswith(str(self.segments)), found[4])
                return
        self.fail(f"{length} bytes at {address:#x} are in no segment of the store")

    def assert_all_mapped(self, table: pa.Table):
        for column in table.columns:
            for chunk in column.chunks:
                buffers = [buffer for buffer in chunk.buffers() if buffer is not None and buffer.size]
                self.assertGreaterEqual(len(buffers), 1)
                for buffer in buffers:
                    self.assert_mapped(buffer.address, buffer.size)
        self.assertEqual(sorted(table.column("n").to_pylist()), list(range(ROWS)))


class Mapping(InSegments, Connected, InProcess):
    def setUp(self):
        super().setUp()
        self.segments = Path(self.place).resolve() / "segments"
        self.fill()

    def test_buffers_of_arrow_are_those_of_the_segment(self):
        self.assert_all_mapped(self.con.table("mapped").arrow())

    def test_arrays_of_numpy_are_views_of_the_segment(self):
        arrays = self.con.table("mapped").numpy(["n", "x"])
        for name in ("n", "x"):
            array = arrays[name]
            self.assert_mapped(array.ctypes.data, array.nbytes)
            self.assertFalse(array.flags.writeable)
            self.assertTrue(numpy.array_equal(array, self.written[name].to_numpy()))

    def test_batches_that_a_filter_let_pass_whole_are_views(self):
        batches = list(self.con.sql("SELECT x FROM mapped WHERE n >= 0"))
        for batch in batches:
            self.assert_mapped(batch.column(0).buffers()[1].address, 8 * batch.num_rows)
        self.assertEqual(sum(batch.num_rows for batch in batches), ROWS)

    def test_views_outlive_the_connection_and_the_table(self):
        array = self.con.table("mapped").numpy(["n"])["n"]
        self.con.sql("DROP TABLE mapped")
        self.con.close()
        self.assertTrue(numpy.array_equal(array, numpy.arange(ROWS)))


class HandOff(InSegments, unittest.TestCase):
    def connect(self, *switches: str):
        server = self.enterContext(quiver.testing.serve(switches=switches))
        self.segments = server.store.resolve() / "segments"
        self.con = self.enterContext(quiver.connect(server.uri, hand_off=True))
        self.fill()

    def test_a_table_of_a_server_on_this_machine_is_its_files(self):
        self.connect("--hand-off", "*")
        table = self.con.table("mapped")
        self.assert_all_mapped(table.arrow())
        array = table.numpy(["x"])["x"]
        self.assert_mapped(array.ctypes.data, array.nbytes)
        self.con.sql("DELETE FROM mapped WHERE n % 2 = 0")
        self.con.sql("INSERT INTO mapped VALUES (-1, 0.5, 'new')")
        self.assertEqual(sum(batch.num_rows for batch in table), ROWS // 2 + 1)
        with self.con.transaction():
            self.con.sql("DELETE FROM mapped")
            self.assertEqual(table.arrow().num_rows, 0)
        self.con.sql("BEGIN")
        self.con.sql("INSERT INTO mapped VALUES (-2, 0.5, 'newer')")
        self.assertEqual(table.arrow().num_rows, 1)
        self.con.sql("ROLLBACK")

    def test_columns_that_are_stored_in_fewer_bytes_are_decoded(self):
        self.connect("--hand-off", "*")
        zone = "i % 5 > 0 AND i % 7 > 0"
        self.con.sql(
            "CREATE TABLE encoded AS SELECT i AS n, (i % 100)::SMALLINT AS s, (i % 200)::UBIGINT AS u, (i % 50 - 25)::DECIMAL(15, 2) / 4 AS d,"
            " (i % 90)::DECIMAL(30, 3) AS long, DATE '1992-01-01' + (i % 900)::INT AS day,"
            " TIMESTAMP '1970-01-01' + ((i % 60) || ' seconds')::INTERVAL AS t, 'kind ' || (i % 3) AS few, 'one of ' || (i % 2000) AS more,"
            f" 'text ' || i AS every, CASE WHEN {zone} THEN 'kind' END AS some, CASE WHEN {zone} THEN i END AS numbers,"
            f" encode('a', 'hex')::BYTEA AS b FROM generate_series(0, {ROWS - 1}) AS g (i)"
        )
        read = self.con.table("encoded").arrow()
        self.assertEqual(read.num_rows, ROWS)
        queried = self.con.sql("SELECT * FROM encoded").arrow()
        self.assertEqual(read.cast(queried.schema), queried)

    def test_a_temporary_table_is_read_and_not_the_stored_one_of_its_name(self):
        self.connect("--hand-off", "*")
        self.con.sql("CREATE VOLATILE TABLE mapped AS SELECT 7 AS b")
        self.assertEqual(self.con.table("mapped").arrow().to_pydict(), {"b": [7]})
        self.assert_all_mapped(self.con.table("main.mapped").arrow())

    def test_chunks_of_arrays_are_views_of_files_and_regions_have_one_version(self):
        self.connect("--hand-off", "*")
        values = numpy.arange(600 * 700, dtype="float64").reshape(600, 700)
        array = self.con.write_array("grid", values, chunks=(300, 300))
        one = array[310:400, 20:290]
        self.assert_mapped(one.ctypes.data, 8)
        self.assertFalse(one.flags.writeable)
        numpy.testing.assert_array_equal(one, values[310:400, 20:290])
        numpy.testing.assert_array_equal(array[-1::-7, 5], values[-1::-7, 5])
        array[300, 20] = -1
        numpy.testing.assert_array_equal(one, values[310:400, 20:290])
        self.assertEqual(array[300, 20], -1)
        with self.con.transaction():
            array[300, 20] = -2
            self.assertEqual(array[300, 20], -2)

    def test_an_array_that_took_the_place_of_another_is_read_in_its_own_layout(self):
        self.connect("--hand-off", "*")
        array = self.con.write_array("grid", numpy.arange(40_000.0).reshape(200, 200), chunks=(100, 100))
        self.assertEqual(array[1, 1], 201)
        self.con.write_array("grid", numpy.ones((100, 200), "float32"), chunks=(50, 200), mode="replace")
        numpy.testing.assert_array_equal(array[0:60, 0:2], numpy.ones((60, 2), "float32"))

    def test_blobs_are_ranges_of_files(self):
        self.connect("--hand-off", "*")
        contents = {f"b{n}": bytes([n]) * 100_000 for n in range(5)}
        self.con.write_blobs(contents)
        found = self.con.read_blobs([*contents, "none"])
        self.assertEqual({name: bytes(content) for name, content in found.items()}, contents)
        for content in found.values():
            self.assert_mapped(content.address, content.size)
        self.con.write_blobs({"small": b"in the log"})
        self.assertEqual(bytes(self.con.blob("small").buffer()), b"in the log")
        self.con.blob("b1").drop()
        self.assertEqual(bytes(found["b1"]), contents["b1"])

    def test_a_server_that_does_not_allow_it_says_so(self):
        self.connect()
        with self.assertRaisesRegex(quiver.ProgrammingError, "--hand-off"):
            self.con.table("mapped").arrow()
