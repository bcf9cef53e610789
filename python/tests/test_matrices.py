"""Block matrices: writing arrays to tables, and reading parts of them."""

import tempfile
import tracemalloc
from pathlib import Path
from unittest import mock

import numpy
import pyarrow as pa
import quiver
from both import Connected, InProcess, in_both_ways
from quiver.matrix import as_rows
from test_mapping import InSegments

KEYS = [
    numpy.s_[3, 4], numpy.s_[-1, -53], numpy.s_[5], numpy.s_[-2], numpy.s_[:, 7], numpy.s_[..., -1], numpy.s_[...], numpy.s_[:],
    numpy.s_[0:8, 0:16], numpy.s_[7:9, 15:17], numpy.s_[10:30, 20:50], numpy.s_[::3, ::5], numpy.s_[::-1, ::-7], numpy.s_[30:2:-4, 1:],
    numpy.s_[::20, ::40], numpy.s_[5:5, :], numpy.s_[100:, 3], numpy.s_[:1000, -3:], numpy.s_[[3, 1, -1, 3], :], numpy.s_[2, [0, 52, 17]],
    numpy.s_[[], 1:3], numpy.s_[numpy.arange(37) % 9 == 1, 4:40:3], numpy.s_[numpy.int32(4), numpy.array([1, 2])],
]  # fmt: skip


class LikeAnArray:
    """An array like a data set of h5py: its parts are read on demand."""

    def __init__(self, values):
        self.values, self.shape, self.dtype, self.most = values, values.shape, values.dtype, 0

    def __getitem__(self, key):
        part = self.values[key]
        self.most = max(self.most, part.size)
        return part


class Matrices:
    def setUp(self):
        super().setUp()
        self.values = numpy.random.default_rng(6).random((37, 53))
        self.con.write_matrix("a", self.values, block=(8, 16), mode="replace")

    def blocks_read(self, work):
        """The number of blocks that all statements of `work` return."""
        results, sql = [], self.con.sql

        def noted(*args):
            results.append(sql(*args))
            return results[-1]

        with mock.patch.object(self.con, "sql", noted):
            work()
        return sum(result.stats.rows_returned for result in results)

    def test_a_matrix_comes_back_as_it_was_written(self):
        matrix = self.con.read_matrix("a")
        self.assertEqual((matrix.shape, matrix.block_shape, matrix.dtype, len(matrix)), ((37, 53), (8, 16), numpy.float64, 37))
        self.assertTrue(numpy.array_equal(numpy.asarray(matrix), self.values))
        self.assertEqual(numpy.asarray(matrix, numpy.float32).dtype, numpy.float32)
        self.assertTrue(numpy.array(matrix).flags.writeable)
        self.assertEqual(repr(matrix), "<quiver.Matrix a: 37 x 53 of float64, in blocks of 8 x 16>")

    def test_blocks_are_rows_with_zeros_where_the_matrix_ends(self):
        table = self.con.sql("SELECT i, j, block FROM a ORDER BY i, j").arrow()
        self.assertEqual((table["i"].to_pylist(), table["j"].to_pylist()), ([i for i in range(5) for _ in range(4)], list(range(4)) * 5))
        self.assertEqual(table.schema.field("block").type, pa.fixed_shape_tensor(pa.float64(), (8, 16)))
        blocks = self.con.sql("SELECT i, j, block FROM a ORDER BY i, j").numpy()["block"]
        whole = numpy.zeros((40, 64))
        whole[:37, :53] = self.values
        self.assertTrue(numpy.array_equal(blocks.reshape(5, 4, 8, 16).transpose(0, 2, 1, 3).reshape(40, 64), whole))

    def test_parts_are_those_that_numpy_has(self):
        matrix = self.con.read_matrix("a")
        for key in KEYS:
            with self.subTest(key=key):
                self.assertEqual(numpy.shape(matrix[key]), self.values[key].shape)
                self.assertTrue(numpy.array_equal(matrix[key], self.values[key]))

    def test_only_the_blocks_that_are_needed_are_read(self):
        matrix = self.con.read_matrix("a")
        for key, blocks in [
            (numpy.s_[3, 4], 1), (numpy.s_[0:8, 16:32], 1), (numpy.s_[7:9, 15:17], 4), (numpy.s_[20, :], 4), (numpy.s_[:, 20], 5),
            (numpy.s_[::20, 0], 2), (numpy.s_[::-36, -1], 2), (numpy.s_[:, 5:5], 0), (numpy.s_[:, :], 20), (numpy.s_[[0, 36, 1], 17], 2),
        ]:  # fmt: skip
            with self.subTest(key=key):
                self.assertEqual(self.blocks_read(lambda key=key: matrix[key]), blocks)

    def test_places_that_are_not_there_are_errors(self):
        matrix = self.con.read_matrix("a")
        for key in (37, (0, -54), (1, 2, 3), 1.5, "x", (None, 1), ([0, 99], 1), ([True], 1), ([0], [1])):
            with self.subTest(key=key), self.assertRaises(IndexError):
                matrix[key]

    def test_arrays_of_every_order_and_kind_are_written(self):
        whole = (self.values * 100).astype(int)
        with tempfile.NamedTemporaryFile() as file:
            mapped = numpy.memmap(file, numpy.float64, "w+", shape=self.values.shape, order="F")
            mapped[:] = self.values
            for values, dtype in [
                (numpy.asfortranarray(self.values), "f8"), (self.values[::-1, ::2], "f8"), (mapped, "f8"), (self.values.tolist(), "f8"),
                (self.values.astype(">f8"), "f8"), (self.values.astype("f4"), "f4"), (self.values.astype("f2"), "f4"), (whole, "f8"),
                (whole.astype("u1"), "f8"), (whole > 50, "f8"), (numpy.zeros((0, 5)), "f8"), (LikeAnArray(self.values), "f8"),
            ]:  # fmt: skip
                self.con.write_matrix("kinds", values, block=11, mode="replace")
                read = self.con.read_matrix("kinds")
                expected = values.values if isinstance(values, LikeAnArray) else numpy.asarray(values)
                with self.subTest(values=type(values), dtype=expected.dtype):
                    self.assertEqual((read.dtype, read.shape), (numpy.dtype(dtype), expected.shape))
                    self.assertTrue(numpy.array_equal(numpy.asarray(read), expected))

    def test_nan_and_infinity_are_numbers_of_a_matrix(self):
        values = numpy.array([[numpy.nan, -0.0], [numpy.inf, -numpy.inf]])
        self.con.write_matrix("odd", values, mode="replace")
        read = numpy.asarray(self.con.read_matrix("odd"))
        self.assertEqual(read.tobytes(), values.tobytes())

    def test_what_is_no_matrix_of_numbers_is_refused(self):
        for values, error, message in [
            (numpy.float64(3), quiver.ProgrammingError, "two dimensions and a vector one, and this array is a single value"),
            (numpy.zeros((2, 2, 2)), quiver.ProgrammingError, "2 x 2 x 2"),
            (numpy.zeros((2, 2), complex), quiver.NotSupportedError, "complex128"),
            ([["a"]], quiver.NotSupportedError, "<U1"),
            (numpy.ma.zeros((2, 2)), quiver.NotSupportedError, "masked"),
            (
                numpy.array([[1, 2], [3, -(2**60)]]),
                quiver.ProgrammingError,
                f"{-(2**60)} in row 1, column 1 is no number that a double has",
            ),
        ]:
            with self.subTest(message), self.assertRaisesRegex(error, message):
                self.con.write_matrix("refused", values)
        for block in (0, (1,), (1, -1), 2.5, "big", True, (8, True)):
            with self.subTest(block=block), self.assertRaisesRegex(quiver.ProgrammingError, "block is "):
                self.con.write_matrix("refused", self.values, block=block)
        with self.assertRaises(quiver.ProgrammingError) as raised:
            self.con.write_matrix("refused", numpy.array([[2**53 + 1]]))
        # The message is one sentence, without the traceback of the library that pulls the rows.
        self.assertRegex(str(raised.exception), r"^9007199254740993 in row 0, column 0 is no number that a double has[^\n]*$")
        with self.assertRaisesRegex(quiver.ProgrammingError, "cannot have an empty name|the name of the table is empty"):
            self.con.write_matrix("", self.values)
        with self.assertRaisesRegex(quiver.ProgrammingError, "use create or replace"):
            self.con.write_matrix("refused", self.values, mode="append")
        with self.assertRaisesRegex(quiver.ProgrammingError, "already exists"):
            self.con.write_matrix("a", self.values)
        self.assertNotIn("refused", self.con.tables())

    def test_a_missing_block_is_zeros(self):
        self.con.sql("DELETE FROM a WHERE i = 1 AND j = 2")
        self.values[8:16, 32:48] = 0
        matrix = self.con.read_matrix("a")
        self.assertTrue(numpy.array_equal(numpy.asarray(matrix), self.values))
        self.assertTrue(numpy.array_equal(matrix[9:12, 40], numpy.zeros(3)))

    def test_a_matrix_that_says_no_shape_has_that_of_its_blocks(self):
        blocks = pa.FixedShapeTensorArray.from_numpy_ndarray(numpy.arange(12, dtype="i4").reshape(2, 2, 3))
        self.con.write("shapeless", pa.table({"j": [2, 0], "i": [1, 0], "more": ["x", "y"], "block": blocks}), mode="replace")
        matrix = self.con.read_matrix("shapeless")
        self.assertEqual((matrix.shape, matrix.dtype), ((4, 9), numpy.int32))
        self.assertEqual(matrix[2:, 6:].tolist(), [[0, 1, 2], [3, 4, 5]])
        self.assertEqual(matrix[:2, :3].tolist(), [[6, 7, 8], [9, 10, 11]])
        self.con.sql("DELETE FROM shapeless")
        self.assertEqual(numpy.asarray(self.con.read_matrix("shapeless")).shape, (0, 0))

    def test_a_vector_is_a_table_of_i_and_block(self):
        values = self.values.ravel()
        for block in (100, (100,), None):
            self.con.write_matrix("vector", values, block=block, mode="replace")
            vector = self.con.read_matrix("vector")
            self.assertEqual((vector.shape, vector.ndim, vector.block_shape), ((1961,), 1, (100 if block else 1024,)))
            self.assertTrue(numpy.array_equal(numpy.asarray(vector), values))
            for key in (3, -1, numpy.s_[90:1020], numpy.s_[::-7], [5, 1960, 5], numpy.s_[...], values > 0.5):
                with self.subTest(key=key):
                    self.assertTrue(numpy.array_equal(vector[key], values[key]))
            with self.assertRaisesRegex(IndexError, "2 indices"):
                vector[1, 2]
        self.assertEqual(self.con.table("vector").schema.names, ["i", "block"])

    def test_a_table_that_is_no_matrix_is_told_apart(self):
        block = pa.FixedShapeTensorArray.from_numpy_ndarray(numpy.zeros((1, 2, 2)))
        cube = pa.FixedShapeTensorArray.from_numpy_ndarray(numpy.zeros((1, 2, 2, 2)))
        for columns, why in [
            ({"i": [0], "block": block}, "it has no column j, and block is .* no vector of a fixed size"),
            ({"j": [0], "block": block}, "it has no column i"),
            ({"i": ["a"], "j": [0], "block": block}, "i is .* and not a whole number"),
            ({"i": [0], "j": [0], "block": [1.5]}, "block is double and not a tensor"),
            ({"i": [0], "j": [0], "block": cube}, "not a tensor of two dimensions"),
        ]:
            self.con.write("other", pa.table(columns), mode="replace")
            with self.subTest(why), self.assertRaisesRegex(quiver.ProgrammingError, f'"other" is no block matrix: .*{why}'):
                self.con.read_matrix("other")
        with self.assertRaises(quiver.ProgrammingError):
            self.con.read_matrix("nothing")

    def test_blocks_that_make_no_matrix_are_errors_with_their_place(self):
        kind = pa.fixed_shape_tensor(pa.float64(), (1, 2))
        for places, values, why in [
            ([(0, 0), (0, 0)], [[1.0, 2.0], [3.0, 4.0]], "i = 0, j = 0 twice"),
            ([(0, 0), (0, 1)], [[1.0, 2.0], None], "i = 0, j = 1 is NULL"),
            ([(0, 0), (0, 1)], [[1.0, None], [3.0, 4.0]], "i = 0, j = 0 is NULL, or has NULL in it"),
            ([(0, -1), (0, 0)], [[1.0, 2.0], [3.0, 4.0]], "j = -1, outside of its shape"),
            ([(0, 0), (0, None)], [[1.0, 2.0], [3.0, 4.0]], "i or j is NULL"),
        ]:
            blocks = pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))
            rows, columns = ([place[axis] for place in places] for axis in (0, 1))
            self.con.write("bad", pa.table({"i": rows, "j": columns, "block": blocks}), mode="replace")
            with self.subTest(why), self.assertRaisesRegex(quiver.DataError, why):
                numpy.asarray(self.con.read_matrix("bad"))

    def test_a_matrix_that_was_replaced_by_another_is_not_mixed_with_it(self):
        matrix = self.con.read_matrix("a")
        self.con.write_matrix("a", self.values + 1, block=(8, 16), mode="replace")
        self.assertEqual(matrix[3, 4], self.values[3, 4] + 1)
        self.con.write_matrix("a", self.values.T, block=(8, 16), mode="replace")
        with self.assertRaisesRegex(quiver.ProgrammingError, "another matrix now"):
            matrix[3, 4]

    def test_a_matrix_is_written_of_one_of_the_same_connection(self):
        self.con.write_matrix("again", self.con.read_matrix("a"), block=(5, 7), mode="replace")
        self.assertTrue(numpy.array_equal(numpy.asarray(self.con.read_matrix("again")), self.values))

    def test_a_write_that_breaks_off_leaves_nothing(self):
        class Broken(LikeAnArray):
            def __getitem__(self, key):
                if key[0].start > 20:
                    raise OSError("the disk of somebody else")
                return super().__getitem__(key)

        with self.assertRaisesRegex(quiver.ProgrammingError, "the disk of somebody else"):
            self.con.write_matrix("a", Broken(self.values), block=(8, 16), mode="replace")
        self.assertTrue(numpy.array_equal(numpy.asarray(self.con.read_matrix("a")), self.values))

    def test_names_of_other_schemas_and_the_only_connection_are_known(self):
        self.con.sql('CREATE SCHEMA IF NOT EXISTS "Other One"')
        self.con.write_matrix('Odd."a', self.values, schema="Other One", mode="replace")
        self.assertEqual(self.con.read_matrix('Odd."a', schema="Other One")[1, 2], self.values[1, 2])
        quiver.write_matrix("main.by_module", self.values, (8, 8), "replace", con=self.con)
        self.assertEqual(quiver.read_matrix("by_module", con=self.con)[1, 2], self.values[1, 2])
        with mock.patch.object(quiver.Connection, "_all", {self.con}):
            self.assertEqual(quiver.read_matrix("main.by_module")[-1, -1], self.values[-1, -1])
            with self.con.another() as other, mock.patch.object(quiver.Connection, "_all", {self.con, other}):
                with self.assertRaisesRegex(quiver.InterfaceError, "2 connections are open"):
                    quiver.read_matrix("by_module")
        with mock.patch.object(quiver.Connection, "_all", set()), self.assertRaisesRegex(quiver.InterfaceError, "no connection"):
            quiver.write_matrix("by_module", self.values)

    def test_columns_of_tensors_and_vectors_are_arrays_with_more_dimensions(self):
        tensors = numpy.arange(24, dtype="f4").reshape(4, 2, 3)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(range(8)), 2)
        kind = pa.fixed_shape_tensor(pa.float32(), (2, 3))
        gaps = pa.ExtensionArray.from_storage(kind, pa.array([[1, 2, 3, 4, 5, 6], None, [1, None, 3, 4, 5, 6], None], kind.storage_type))
        table = {"t": pa.FixedShapeTensorArray.from_numpy_ndarray(tensors), "v": vectors, "gaps": gaps, "n": range(4)}
        self.con.write("tensors", pa.table(table), mode="replace")
        arrays = self.con.sql("SELECT t, v, gaps FROM tensors ORDER BY n").numpy()
        self.assertTrue(numpy.array_equal(arrays["t"], tensors))
        self.assertEqual((arrays["t"].dtype, arrays["v"].dtype), (numpy.float32, numpy.int64))
        self.assertEqual(arrays["v"].tolist(), [[0, 1], [2, 3], [4, 5], [6, 7]])
        none = [[None] * 3] * 2
        self.assertEqual(arrays["gaps"].tolist(), [[[1, 2, 3], [4, 5, 6]], none, [[1, None, 3], [4, 5, 6]], none])
        self.assertEqual(self.con.sql("SELECT t FROM tensors WHERE false").numpy()["t"].shape, (0, 2, 3))
        (row,) = self.rows("SELECT t FROM tensors WHERE n = 1")
        self.assertEqual(numpy.ravel(row[0]).tolist(), tensors[1].ravel().tolist())
        self.assertEqual(len(self.con.table("tensors").df()), 4)
        self.assertEqual(len(self.con.table("tensors").pl()), 4)


globals().update(in_both_ways(Matrices))


class Views(InSegments, Connected, InProcess):
    def setUp(self):
        super().setUp()
        self.segments = Path(self.place).resolve() / "segments"
        self.values = numpy.random.default_rng(6).random((256, 192))
        self.con.write_matrix("a", self.values, block=(64, 64), mode="replace")

    def assert_view(self, array):
        start, end = numpy.lib.array_utils.byte_bounds(array)
        self.assert_mapped(start, end - start)
        self.assertFalse(array.flags.writeable)

    def test_a_part_of_one_block_is_a_view_of_the_segment(self):
        matrix = self.con.read_matrix("a")
        for key in (numpy.s_[64:128, 64:128], numpy.s_[200, 130:190], numpy.s_[70:120:5, 60:2:-3]):
            with self.subTest(key=key):
                part = matrix[key]
                self.assert_view(part)
                self.assertTrue(numpy.array_equal(part, self.values[key]))
        self.con.sql("DROP TABLE a")
        self.con.close()
        self.assertTrue(numpy.array_equal(part, self.values[70:120:5, 60:2:-3]))

    def test_every_block_lies_at_a_multiple_of_64_bytes(self):
        for i in range(4):
            block = self.con.read_matrix("a")[64 * i : 64 * i + 64, :64]
            self.assertEqual(block.ctypes.data % 64, 0)

    def test_a_matrix_of_one_block_is_a_view_as_a_whole(self):
        self.con.write_matrix("one", self.values, block=(256, 192))
        self.assert_view(numpy.asarray(self.con.read_matrix("one")))

    def test_a_column_of_tensors_is_a_view(self):
        tensors = self.con.table("a").numpy(["block"])["block"]
        self.assertEqual(tensors.shape, (12, 64, 64))
        self.assert_view(tensors)
        self.assertTrue(numpy.array_equal(numpy.sort(tensors, None), numpy.sort(self.values, None)))

    def test_what_is_written_is_never_in_memory_as_a_whole(self):
        source = LikeAnArray(numpy.broadcast_to(numpy.float64(1.5), (2048, 2048)))
        with mock.patch("quiver.matrix.writing.BATCH_BYTES", 1 << 20):
            tracemalloc.start()
            self.addCleanup(tracemalloc.stop)
            blocks = sum(batch.num_rows for batch in as_rows(source, 128))
            self.assertEqual(blocks, 256)
            self.assertEqual(source.most, 128 * 128)
            self.assertLess(tracemalloc.get_traced_memory()[1], 4 << 20)

    def test_rows_and_columns_of_blocks_lie_close_to_each_other(self):
        places = [
            (i, j) for batch in as_rows(numpy.zeros((16, 16)), 1) for i, j in zip(*(column.to_pylist() for column in batch.columns[:2]))
        ]
        self.assertEqual(sorted(places), [(i, j) for i in range(16) for j in range(16)])
        # 16 segments of 16 blocks: a row or a column of blocks is in four of them.
        for axis in (0, 1):
            touched = {place // 16 for place, at in enumerate(places) if at[axis] == 5}
            self.assertEqual(len(touched), 4)
