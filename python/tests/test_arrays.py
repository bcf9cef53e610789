"""Arrays from Python, in process and over the network. numpy says what is right."""

import random
import unittest

import numpy
import quiver
from both import in_both_ways, in_threads


def random_key(generator, shape):
    """An index of numpy's basic kind: integers, slices with any bounds and steps, an ellipsis."""

    def part(length):
        if generator.random() < 0.2:
            return generator.randrange(-length, length)
        bound = lambda: generator.choice([None, generator.randrange(-length - 2, length + 3)])  # noqa: E731
        return slice(bound(), bound(), generator.choice([None, 1, 1, 2, 3, -1, -2, -7]))

    key = [part(length) for length in shape]
    if generator.random() < 0.3:
        key[generator.randrange(len(key))] = ...
    return tuple(key[: generator.randrange(1, len(key) + 1)])


class ArraysCases:
    def test_every_region_is_the_one_that_numpy_would_read(self):
        generator = random.Random(7)
        for at, (shape, chunks, dtype) in enumerate(
            [((13,), (4,), "int16"), ((9, 11), (4, 3), "float32"), ((5, 6, 7), (2, 6, 3), "int64"), ((3, 4, 2, 5), (2, 2, 2, 2), "uint8")]
        ):
            values = numpy.arange(numpy.prod(shape)).reshape(shape).astype(dtype)
            array = self.con.write_array(f"a{at}", values, chunks=chunks)
            self.assertEqual((array.shape, array.dtype, array.chunks), (shape, values.dtype, chunks))
            for _ in range(40):
                key = random_key(generator, shape)
                numpy.testing.assert_array_equal(array[key], values[key], err_msg=f"{shape} {key}")
                self.assertEqual(array[key].dtype, values.dtype)

    def test_every_region_is_written_as_numpy_would_write_it(self):
        generator = random.Random(8)
        model = numpy.full((9, 11), -1, "float64")
        array = self.con.create_array("w", model.shape, chunks=(4, 3), fill_value=-1)
        for at in range(60):
            key = random_key(generator, model.shape)
            shape = model[key].shape
            value = float(at) if at % 3 == 0 else numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape) + at
            array[key] = value
            model[key] = value
            numpy.testing.assert_array_equal(array[...], model, err_msg=str(key))

    def test_rows_are_broadcast_and_cells_keep_their_type(self):
        array = self.con.create_array("b", (3, 4), "int32")
        array[...] = [1, 2, 3, 4]
        array[:, 1:3] = numpy.array([[7], [8], [9]], "int8")
        numpy.testing.assert_array_equal(array[:], [[1, 7, 7, 4], [1, 8, 8, 4], [1, 9, 9, 4]])
        with self.assertRaises(quiver.ProgrammingError):
            array[0, 0:2] = [1.5, 2]
        for wrong in (1.5, 3_000_000_000):
            with self.assertRaises(quiver.Error):
                array[0, 0] = wrong
        with self.assertRaises(quiver.ProgrammingError):
            self.con.create_array("narrow", (2,), "float32")[:] = [1e300, 1]
        with self.assertRaises(ValueError):
            array[0] = [1, 2]
        for key in [3, (0, 0, 0), "x", (0, -5), [0, 1], (..., ...)]:
            with self.assertRaises(IndexError):
                array[key]

    def test_every_nan_is_greater_than_all_numbers(self):
        array = self.con.create_array("n", (4,), "float32")
        array[:] = numpy.array([1, numpy.nan, -numpy.nan, 2], "float32")
        self.assertEqual(self.rows("SELECT count(*) FROM n WHERE value > 1"), [(3,)])
        self.assertEqual(self.rows("SELECT least, greatest > 2 FROM chunks('n')"), [(1.0, True)])

    def test_a_dimension_without_limit_grows(self):
        array = self.con.create_array("g", (None, 2), "float32", dims=("t", "k"), chunks=(3, 2), fill_value=float("nan"))
        self.assertEqual((array.shape, array[...].shape), ((0, 2), (0, 2)))
        array.append([[1, 2], [3, 4]])
        array[4:6, 0] = 9
        numpy.testing.assert_array_equal(array[:, 0], numpy.array([1, 3, numpy.nan, numpy.nan, 9, 9], "float32"))
        array.append(numpy.zeros((1, 2)), "t")
        self.assertEqual((len(array), array.dims, numpy.isnan(array.fill_value)), (7, ("t", "k"), True))
        numpy.testing.assert_array_equal(array[-1], [0, 0])
        for wrong, axis in (([[1]], "k"), ([1, 2], "t"), ([[1, 2, 3]], "t")):
            with self.assertRaises((quiver.ProgrammingError, ValueError)):
                array.append(wrong, axis)
        self.assertEqual(len(array), 7)
        both = self.con.create_array("both", (None, None))
        both.append([[1, 2, 3]])
        both.append([[4], [5]], 1)
        numpy.testing.assert_array_equal(both[:], [[1, 2, 3, 4], [0, 0, 0, 5]])
        grown = self.con.write_array("grown", numpy.ones((4, 3)), shape=(None, 3))
        self.assertEqual((grown.shape, grown.mean()), ((4, 3), 1))

    def test_each_of_many_writers_appends_at_an_end_of_its_own(self):
        self.con.create_array("shared", (None, 3), "int64", chunks=(5, 3))

        def appends(place):
            with self.con.another() as con:
                for at in range(6):
                    con.array("shared").append(numpy.full((2, 3), 100 * place + at))

        self.assertEqual(in_threads(appends, 3), [None] * 3)
        first = self.con.array("shared")[:, 0]
        self.assertEqual(sorted(first.tolist()), sorted([100 * place + at for place in range(3) for at in range(6)] * 2))

    def test_a_handle_follows_the_array_that_took_the_place_of_its_own(self):
        handle = self.con.write_array("q", numpy.arange(6), chunks=(2,))
        numpy.testing.assert_array_equal(handle[:], numpy.arange(6))
        region = handle.region[-1:]
        self.con.write_array("q", numpy.arange(10) + 100, chunks=(2,), mode="replace")
        self.assertEqual((region.sum(), handle.region[-1:].sum()), (109, 109))
        again = self.con.write_array("q", numpy.arange(8) + 200, chunks=(2,), mode="replace")
        self.assertEqual((handle[-1], len(handle[:]), handle.shape), (207, 8, (8,)))
        self.con.write_array("q", numpy.arange(9), chunks=(2,), mode="replace")
        again[-1] = 5
        numpy.testing.assert_array_equal(self.con.array("q")[6:], [6, 7, 5])
        with self.assertRaisesRegex(quiver.ProgrammingError, "was replaced by another one; read its lengths again"):
            self.con.sql("SELECT * FROM region('q', '[0:1]', 1)")

    def test_what_is_computed_with_a_region_runs_where_it_lies(self):
        values = numpy.random.default_rng(3).normal(300, 20, (40, 30))
        array = self.con.write_array("k", values, dims=("y", "x"), chunks=(16, 16))
        region, part = array.region[5:30, ::2], values[5:30, ::2]
        self.assertEqual(region.shape, part.shape)
        self.assertEqual((array.region[0, -40::-1].shape, array.region[0, -40::-1].count()), ((0,), 0))
        for found, expected in [
            (region.sum(), part.sum()), (region.mean(), part.mean()), (region.min(), part.min()), (region.max(), part.max()),
            (region.std(), part.std()), (array.mean(), values.mean()), (array.where("value > 300").count(), (values > 300).sum()),
            (region.where("value > 300 AND y < 10").sum(), part[:5][part[:5] > 300].sum()),
        ]:  # fmt: skip
            self.assertAlmostEqual(found, expected, places=6)
        edges = [200, 280, 300, 320, 400]
        numpy.testing.assert_array_equal(region.histogram(edges), numpy.histogram(part, edges)[0])
        self.assertEqual(sorted(array.where("value > 340").to_numpy()), sorted(values[values > 340]))
        numpy.testing.assert_array_equal(numpy.asarray(region), part)
        self.assertEqual(self.con.sql("SELECT y FROM k ORDER BY value DESC LIMIT 1").fetchall(), [(int(values.argmax()) // 30,)])
        numpy.testing.assert_array_equal(numpy.asarray(array), values)
        numpy.testing.assert_array_equal(numpy.from_dlpack(array), values)

    def test_an_array_has_tags_units_and_coordinates(self):
        self.con.sql("CREATE SCHEMA climate")
        array = self.con.write_array("climate.temp", numpy.ones((2, 3)), dims=("lat", "lon"), units={"lat": "degrees"})
        self.con.write_array("climate.lat", [10.0, 20.0], dims=["lat"])
        array.tags["station"] = "north"
        self.assertEqual((dict(array.tags), array.units, list(array.coords)), ({"station": "north"}, {"lat": "degrees"}, ["lat"]))
        numpy.testing.assert_array_equal(array.coords["lat"], [10, 20])
        self.assertEqual(self.con.find("station = 'north'").arrow()["kind"].to_pylist(), ["array"])
        self.assertIn("lat: 2, lon: 3) float64", repr(array))
        group = self.con.create_group("climate.level0")
        group.add(array)
        self.assertEqual(group.objects()["name"].to_pylist(), ["temp"])
        array.drop()
        with self.assertRaises(quiver.ProgrammingError):
            self.con.array("climate.temp").shape  # noqa: B018

    def test_a_write_of_many_cells_is_one_commit(self):
        from quiver import array_object

        before, array_object.CELLS_WRITTEN_AT_ONCE = array_object.CELLS_WRITTEN_AT_ONCE, 100
        self.addCleanup(setattr, array_object, "CELLS_WRITTEN_AT_ONCE", before)
        values = numpy.arange(40 * 50).reshape(40, 50)
        array = self.con.write_array("many", values, chunks=(7, 9))
        # Background compaction commits, too.
        written = "SELECT count(*) FROM system.snapshots WHERE operation <> 'COMPACT' AND array_has(tables, 'main.many')"
        commits = self.rows(written)[0][0]
        array[::-1, 3:] = values[:, 3:]
        numpy.testing.assert_array_equal(array[::-1, 3:], values[:, 3:])
        self.assertEqual(self.rows(written), [(commits + 1,)])


globals().update(in_both_ways(ArraysCases))


class MappedArrayTest(unittest.TestCase):
    def test_a_region_in_one_chunk_is_a_view_of_the_mapped_file(self):
        values = numpy.arange(1024 * 1024, dtype="float64").reshape(1024, 1024)
        with quiver.open() as con:
            array = con.write_array("v", values, chunks=(512, 512))
            one, other = array[100:200, 50:60], array[100:200, 50:60]
            self.assertEqual(one.__array_interface__["data"], other.__array_interface__["data"])
            self.assertFalse(one.flags.writeable)
            numpy.testing.assert_array_equal(one, values[100:200, 50:60])


if __name__ == "__main__":
    unittest.main()
