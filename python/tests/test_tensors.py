"""Columns of tensors and vectors as pyarrow and numpy have them, and rows with such sent back."""

import unittest

import numpy
import pyarrow as pa

import quiver
from both import Connected, InProcess, in_both_ways
from test_mapping import InSegments


def blocks(count=3, shape=(4, 5)):
    values = numpy.arange(count * shape[0] * shape[1], dtype=numpy.float64).reshape(count, *shape)
    return values, pa.FixedShapeTensorArray.from_numpy_ndarray(values)


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
        self.assertEqual(self.rows("SELECT data_type FROM system.columns WHERE table_name = 'a' AND column_name = 'block'"), [("TENSOR(DOUBLE, 4, 5)",)])

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
        with self.assertRaisesRegex(quiver.ProgrammingError, r"TENSOR\(DOUBLE, 4, 5\)"):
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
