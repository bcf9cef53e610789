"""Columns of tensors and vectors in pyarrow and numpy, and writing them back."""

import unittest

import numpy
import pyarrow as pa
import quiver
from both import Connected, InProcess, in_both_ways
from test_mapping import InSegments


def blocks(count=3, shape=(4, 5)):
    values = numpy.arange(count * shape[0] * shape[1], dtype=numpy.float64).reshape(count, *shape)
    return values, pa.FixedShapeTensorArray.from_numpy_ndarray(values)


def tensor(values, *shape, element=pa.float64(), permutation=None):
    kind = pa.fixed_shape_tensor(element, shape, permutation=permutation)
    return pa.ExtensionArray.from_storage(kind, pa.array([list(values)], kind.storage_type))[0]


class Tensors:
    def setUp(self):
        super().setUp()
        self.values, array = blocks()
        self.con.write("a", pa.table({"i": [0, 1, 2], "block": array}), mode="replace")

    def test_a_tensor_is_one_of_pyarrow(self):
        kind = pa.fixed_shape_tensor(pa.float64(), (4, 5))
        for rows in (self.con.table("a").arrow(), self.con.sql("SELECT block, i FROM a WHERE i >= 0 ORDER BY i").arrow()):
            self.assertEqual(rows.schema.field("block").type, kind)
            found = rows["block"].combine_chunks()
            found = found.chunk(0) if isinstance(found, pa.ChunkedArray) else found
            self.assertTrue(numpy.array_equal(found.to_numpy_ndarray(), self.values))
        self.assertEqual(
            self.rows("SELECT data_type FROM system.columns WHERE table_name = 'a' AND column_name = 'block'"), [("TENSOR(DOUBLE, 4, 5)",)]
        )

    def test_tensors_and_vectors_are_made_and_computed_with(self):
        rows = self.con.sql("SELECT matrix_transpose(block) AS t, CAST(l2_norm(block) AS DOUBLE) AS n FROM a ORDER BY i").arrow()
        self.assertEqual(rows.schema.field("t").type, pa.fixed_shape_tensor(pa.float64(), (5, 4)))
        self.assertTrue(numpy.allclose(rows["n"].to_numpy(), [numpy.linalg.norm(block) for block in self.values]))
        vectors = self.con.sql("SELECT CAST([i, 2] AS REAL[2]) AS v FROM a ORDER BY i").arrow()
        self.assertEqual(vectors.schema.field("v").type, pa.list_(pa.float32(), 2))

    def test_lists_are_parameters_for_a_tensor(self):
        self.con.sql("INSERT INTO a VALUES ($1, $2)", [7, [float(value) for value in range(20)]])
        found = self.rows("SELECT block FROM a WHERE i = 7")[0][0]
        self.assertEqual(numpy.asarray(found, float).ravel().tolist(), list(range(20)))

    def test_matrices_and_lists_of_rows_are_parameters_for_a_tensor(self):
        values = numpy.arange(20.0).reshape(4, 5)
        for place, given in enumerate([values, values.astype(numpy.float32), values.astype(int), values.tolist()], start=20):
            self.con.sql("INSERT INTO a VALUES ($1, $2)", [place, given])
            self.con.executemany("UPDATE a SET block = ? WHERE i = ?", [(given, place)])
            found = self.rows("SELECT block FROM a WHERE i = ?", [place])
            self.assertEqual(numpy.asarray(found[0][0], float).ravel().tolist(), list(range(20)))
        with self.assertRaisesRegex(quiver.DataError, r"TENSOR\(DOUBLE, 4, 5\)"):
            self.con.sql("INSERT INTO a VALUES ($1, $2)", [30, values.T])

    def test_a_tensor_is_a_list_of_rows_where_a_column_has_such(self):
        self.con.sql("CREATE OR REPLACE TABLE l (i BIGINT, w DOUBLE[][])")
        array = blocks()[1]
        self.con.sql("INSERT INTO l VALUES ($1, $2)", [0, array[0]])
        self.con.executemany("INSERT INTO l VALUES (?, ?)", [(1, array[1]), (2, self.values[2])])
        self.con.sql("UPDATE l SET w = $1 WHERE i = 2", [array[2]])
        self.assertEqual(self.rows("SELECT w FROM l ORDER BY i"), [(block.tolist(),) for block in self.values])
        with self.assertRaisesRegex(quiver.Error, r"the elements of a DOUBLE\[\] are no lists, as those of a DOUBLE\[\]\[\] are"):
            self.con.sql("INSERT INTO l VALUES ($1, $2)", [3, [1.0, 2.0]])
        with self.assertRaisesRegex(quiver.Error, r"TENSOR\(DOUBLE, 4, 5\), which cannot become DOUBLE\[\]\[\]"):
            self.con.write("l", pa.table({"i": range(3), "w": array}), mode="append")

    def stored(self, column, *values):
        """The contents of a column whose values were inserted one by one, and all at once."""
        self.con.sql(f"CREATE OR REPLACE TABLE p (i BIGINT, v {column})")
        for place, value in enumerate(values):
            self.con.sql("INSERT INTO p VALUES (?, ?)", [place, value])
        one_by_one = self.rows("SELECT v FROM p ORDER BY i")
        self.con.sql("DELETE FROM p")
        self.con.executemany("INSERT INTO p VALUES (?, ?)", list(enumerate(values)))
        self.assertEqual(self.rows("SELECT v FROM p ORDER BY i"), one_by_one)
        self.con.executemany("UPDATE p SET v = ? WHERE i = ?", [(value, place) for place, value in enumerate(values)])
        self.assertEqual(self.rows("SELECT v FROM p ORDER BY i"), one_by_one)
        return [list(value) if value is not None else None for (value,) in one_by_one]

    def test_a_tensor_is_the_list_of_its_elements_or_of_its_rows_as_the_column_wants_it(self):
        given = tensor([1, 2, 3, 4], 2, 2), None, tensor([5, None, 7, 8], 2, 2)
        flat, rows = [[1, 2, 3, 4], None, [5, None, 7, 8]], [[[1, 2], [3, 4]], None, [[5, None], [7, 8]]]
        for column in ("DOUBLE[4]", "DOUBLE[]", "REAL[4]", "BIGINT[]", "TENSOR(DOUBLE, 2, 2)"):
            self.assertEqual(self.stored(column, *given), flat, column)
        self.assertEqual(self.stored("DOUBLE[][]", *given), rows)

    def test_tensors_of_booleans_and_of_three_dimensions_are_parameters(self):
        given = tensor([True, False, None, True], 2, 2, element=pa.bool_())
        self.assertEqual(self.stored("BOOLEAN[]", given), [[True, False, None, True]])
        self.assertEqual(self.stored("BOOLEAN[][]", given), [[[True, False], [None, True]]])
        given = tensor([1, 2, 3, 4], 2, 1, 2)
        for column in ("DOUBLE[4]", "DOUBLE[]", "TENSOR(DOUBLE, 2, 1, 2)"):
            self.assertEqual(self.stored(column, given), [[1, 2, 3, 4]], column)
        self.assertEqual(self.stored("DOUBLE[][][]", given), [[[[1, 2]], [[3, 4]]]])
        with self.assertRaisesRegex(quiver.ProgrammingError, r"TENSOR\(DOUBLE, 2, 1, 2\) are no lists, as those of a DOUBLE\[\]\[\] are"):
            self.stored("DOUBLE[][]", given)

    def test_a_tensor_is_text_of_its_elements_and_never_a_number(self):
        self.con.sql("CREATE OR REPLACE TABLE p (v VARCHAR, x DOUBLE)")
        for given in (tensor([1, 2], 2, 1), tensor([5], 1, 1)):
            self.con.sql("INSERT INTO p (v) VALUES (?)", [given])
            self.con.executemany("INSERT INTO p (v) VALUES (?)", [(given,), (given,)])
            with self.assertRaises(quiver.ProgrammingError):
                self.con.sql("INSERT INTO p (x) VALUES (?)", [given])
            with self.assertRaises(quiver.ProgrammingError):
                self.con.executemany("INSERT INTO p (x) VALUES (?)", [(given,), (given,)])
        texts = [value for (value,) in self.rows("SELECT v FROM p ORDER BY v")]
        self.assertEqual([text.count("[") for text in texts], [1] * 6)
        self.assertEqual(len(set(texts)), 2)

    def test_tensors_whose_elements_lie_in_another_order_are_read_row_by_row(self):
        columns = numpy.array([[[1.0, 3, 5], [2, 4, 6]]]).transpose(0, 2, 1).copy().transpose(0, 2, 1)
        given = pa.FixedShapeTensorArray.from_numpy_ndarray(columns)[0]
        self.assertEqual(given.as_py(), [1, 2, 3, 4, 5, 6])
        for column in ("DOUBLE[]", "TENSOR(DOUBLE, 2, 3)"):
            self.assertEqual(self.stored(column, given), [[1, 3, 5, 2, 4, 6]], column)
        self.assertEqual(self.stored("DOUBLE[][]", given), [[[1, 3, 5], [2, 4, 6]]])
        # A tensor of 2×3×4 with the last dimension first.
        given = tensor(range(24), 2, 3, 4, permutation=[2, 0, 1])
        expected = numpy.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)
        self.assertEqual(self.stored("DOUBLE[]", given), [expected.ravel().tolist()])
        self.assertEqual(self.stored("DOUBLE[][][]", given), [expected.tolist()])

    def test_tensors_of_different_shapes_are_parameters_of_one_statement(self):
        given = tensor([1, 2, 3, 4], 2, 2), None, tensor([5, 6, 7], 3, 1, element=pa.int32())
        self.assertEqual(self.stored("DOUBLE[]", *given), [[1, 2, 3, 4], None, [5, 6, 7]])
        self.assertEqual(self.stored("DOUBLE[][]", *given), [[[1, 2], [3, 4]], None, [[5], [6], [7]]])

    def test_a_tensor_beside_lists_is_such_a_list_and_one_without_elements_an_empty_one(self):
        given = tensor([1, 2, 3, 4], 2, 2)
        self.assertEqual(self.stored("DOUBLE[]", given, [5.0], []), [[1, 2, 3, 4], [5], []])
        self.assertEqual(self.stored("DOUBLE[][]", [[5.0]], given), [[[5]], [[1, 2], [3, 4]]])
        for column in ("DOUBLE[]", "DOUBLE[][]"):
            self.assertEqual(self.stored(column, tensor([], 0, 2), tensor([], 2, 0)), [[], []], column)

    def test_a_tensor_of_another_shape_is_refused_with_both(self):
        for given in ([tensor([1, 2, 3, 4], 4, 1)], [tensor([1, 2, 3, 4], 4, 1), tensor([1, 2, 3, 4], 2, 2)]):
            for run in (self.stored, lambda column, *values: self.con.executemany("INSERT INTO p VALUES (?, ?)", list(enumerate(values)))):
                with self.assertRaisesRegex(quiver.ProgrammingError, r"a TENSOR\(DOUBLE, 4, 1\), which is no TENSOR\(DOUBLE, 2, 2\)"):
                    run("TENSOR(DOUBLE, 2, 2)", *given)
                self.assertEqual(self.rows("SELECT count(*) FROM p"), [(0,)])

    def test_functions_take_tensors(self):
        for element in (pa.float64(), pa.float16(), pa.int8()):
            given = tensor([1, 2, 3, 4], 2, 2, element=element)
            if element != pa.int8():
                self.assertEqual(self.rows("SELECT dot(?, [1, 1, 1, 1])", [given]), [(10.0,)])
                self.assertEqual(self.rows("SELECT l2_distance(?, [1, 2, 3, 6])", [given]), [(2.0,)])
            self.assertEqual(self.rows("SELECT array_length(?), list_contains(?, 3)", [given, given]), [(4, True)])
        given = tensor([1, None, 3, 4], 2, 2)
        self.assertEqual(self.rows("SELECT dot(?, [1, 1, 1, 1])", [given]), [(None,)])
        self.assertEqual(self.rows("SELECT CAST(? AS VARCHAR)", [given]), self.rows("SELECT CAST(? AS VARCHAR)", [[1.0, None, 3.0, 4.0]]))

    def test_blocks_of_another_shape_are_refused_with_both(self):
        other = pa.table({"i": [9], "block": blocks(1, (5, 4))[1]})
        with self.assertRaisesRegex(Exception, r"TENSOR\(DOUBLE, 5, 4\).*TENSOR\(DOUBLE, 4, 5\)"):
            self.con.write("a", other, mode="append")


globals().update(in_both_ways(Tensors))


class TensorsWhereTheyLie(InSegments, Connected, InProcess):
    def test_a_block_is_a_view_of_the_segment(self):
        self.segments = self.files.resolve() / "store" / "segments"
        values, array = blocks(300, (64, 64))
        self.con.write("m", pa.table({"i": range(300), "block": array}), mode="replace")
        for rows in (self.con.table("m").arrow(), self.con.sql("SELECT block FROM m WHERE i % 3 <> 1").arrow()):
            count = 0
            for chunk in rows["block"].chunks:
                seen = chunk.to_numpy_ndarray()
                self.assert_mapped(seen.ctypes.data, seen.nbytes)
                self.assertTrue(numpy.array_equal(seen[0], values[int(seen[0, 0, 0]) // 4096]))
                count += len(seen)
            self.assertIn(count, (300, 200))


if __name__ == "__main__":
    unittest.main()
