"""Files of arrays, in and out, and xarray. The packages of the formats read what Quiver has written, and the other way round."""

import datetime
import os
import subprocess
import sys
import threading
import unittest
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import h5py
import numpy
import quiver
import xarray
import zarr
from astropy.io import fits
from both import PASSWORD, Remote, in_both_ways
from quiver.array_files import attributes, load
from quiver.xarray_backend import QuiverBackend

PACKAGE = Path(__file__).resolve().parents[1]
TEMPERATURES = numpy.arange(4 * 5 * 6, dtype="float32").reshape(4, 5, 6)


def written_netcdf(path):
    """A file of NetCDF-4 as its libraries write it: scales, attributes, a dimension that grows, a group."""
    with h5py.File(path, "w") as file:
        file.attrs["title"] = "measured"
        lat = file.create_dataset("lat", data=numpy.linspace(-10, 10, 5))
        lat.make_scale("lat")
        lat.attrs["units"] = "degrees_north"
        time = file.create_dataset("time", (4,), "int64", maxshape=(None,), chunks=(4,))
        time[:] = [0, 6, 12, 18]
        time.make_scale("time")
        bare = file.create_dataset("lon", (6,), "float32")
        bare.make_scale("This is a netCDF dimension but not a netCDF variable.         6")
        temp = file.create_dataset("temp", data=TEMPERATURES, maxshape=(None, 5, 6), chunks=(2, 5, 6), fillvalue=-999)
        for at, scale in enumerate((time, lat, bare)):
            temp.dims[at].attach_scale(scale)
        temp.attrs.update({"units": "K", "valid_range": [0.0, 400.0], "levels": 3})
        file.create_group("run/first").attrs["seed"] = 7
        file["run/first"].create_dataset("count", data=numpy.uint16(9))
    return path


def extraction_ends():
    for thread in threading.enumerate():
        if thread.name == "quiver-attributes":
            thread.join(60)


@contextmanager
def extraction_is_held():
    """The thread of an import with metadata="async" sets the tags at the end of the block."""
    may_go, set_tags = threading.Event(), load.set_tags

    def held(*args):
        if threading.current_thread().name == "quiver-attributes":
            may_go.wait(60)
        return set_tags(*args)

    with mock.patch.object(load, "set_tags", held):
        try:
            yield
        finally:
            may_go.set()
            extraction_ends()


class ArrayFilesCases:
    def test_a_netcdf_file_becomes_arrays_groups_and_tags(self):
        path = written_netcdf(self.files / f"{type(self).__name__}_climate.nc")
        arrays = {array.name: array for array in self.con.import_arrays(path, group="climate")}
        self.assertEqual(sorted(arrays), ["lat", "run/first/count", "temp", "time"])
        temp = arrays["temp"]
        self.assertEqual((temp.shape, temp.dims, temp.fill_value), ((4, 5, 6), ("time", "lat", "lon"), -999))
        numpy.testing.assert_array_equal(temp[...], TEMPERATURES)
        self.assertEqual(dict(temp.tags), {"units": "K", "valid_range": [0.0, 400.0], "levels": 3})
        self.assertEqual(list(temp.coords), ["time", "lat"])
        self.assertEqual(dict(self.con.group("climate").tags), {"title": "measured"})
        self.assertEqual(dict(self.con.group("climate/run/first").tags), {"seed": 7})
        self.assertEqual(self.con.array("run/first/count")[0], 9)
        below = self.con.find("units = 'K'").arrow()["name"].to_pylist()
        self.assertEqual(below, ["temp"])
        temp.append(TEMPERATURES[:1])
        self.assertEqual(temp.shape, (5, 5, 6))
        for array in arrays.values():
            array.drop()
        self.con.sql("DROP GROUP climate CASCADE")

    def test_what_was_written_is_read_by_the_packages_of_the_formats(self):
        self.con.sql("CREATE SCHEMA out")
        values = numpy.random.default_rng(5).normal(size=(30, 40))
        array = self.con.write_array("out.image", values, dims=("y", "x"), chunks=(16, 16))
        array.tags.update(exposure=2.5, filter="r", frames=[1, 2])
        self.con.write_array("out.y", numpy.arange(30), dims=["y"])
        path = self.files / f"{type(self).__name__}_out"
        for end in (".h5", ".zarr", ".fits"):
            self.con.export_arrays(f"{path}{end}", schema="out")
            self.con.export_arrays(f"{path}{end}", schema="out")
        with h5py.File(f"{path}.h5") as file:
            numpy.testing.assert_array_equal(file["image"], values)
            self.assertEqual((file["image"].attrs["filter"], file["image"].dims[0][0].name), ("r", "/y"))
        root = zarr.open(f"{path}.zarr", mode="r")
        numpy.testing.assert_array_equal(root["image"][...], values)
        self.assertEqual((root["image"].metadata.dimension_names, root["image"].attrs["frames"]), (("y", "x"), [1, 2]))
        with fits.open(f"{path}.fits") as file:
            numpy.testing.assert_array_equal(file["image"].data, values)
            self.assertEqual(file["image"].header["EXPOSURE"], 2.5)
        for end in (".h5", ".zarr", ".fits"):
            self.con.sql("CREATE SCHEMA back")
            again = {back.name.lower(): back for back in self.con.import_arrays(f"{path}{end}", schema="back")}
            numpy.testing.assert_array_equal(again["image"][...], values)
            self.assertEqual(again["image"].dtype, values.dtype)
            numpy.testing.assert_array_equal(again["y"][:], numpy.arange(30))
            self.con.sql("DROP SCHEMA back CASCADE")
        array.drop()
        self.con.sql("DROP SCHEMA out CASCADE")

    def test_images_of_every_kind_are_read(self):
        path = self.files / f"{type(self).__name__}_images.fits"
        counts = numpy.arange(12, dtype="uint16").reshape(3, 4) + 40_000
        scaled = fits.ImageHDU(numpy.ones((2, 2), "int16"), name="SCI")
        fits.HDUList([fits.PrimaryHDU(counts), scaled, fits.ImageHDU(numpy.zeros(5), name="SCI", ver=2)]).writeto(path)
        arrays = {array.name: array for array in self.con.import_arrays(path, schema="main", group="images")}
        self.assertEqual(sorted(arrays), ["SCI", "SCI_2", "primary"])
        numpy.testing.assert_array_equal(arrays["primary"][...], counts)
        for array in arrays.values():
            array.drop()

    def test_a_file_that_cannot_become_arrays_leaves_nothing_behind(self):
        path = self.files / f"{type(self).__name__}_bad.h5"
        with h5py.File(path, "w") as file:
            file["good"] = numpy.arange(3)
            file["words"] = numpy.array([b"a", b"b"])
            file["nothing"] = h5py.Empty("f4")
        with self.assertRaisesRegex(quiver.NotSupportedError, "words"):
            self.con.import_arrays(path)
        self.assertEqual(self.con.find("name = 'good' OR name LIKE '%bad'").arrow().num_rows, 0)
        self.assertEqual([array.name for array in self.con.import_arrays(path, exclude="w*")], ["good"])
        cut = self.files / f"{type(self).__name__}_cut.h5"
        cut.write_bytes(path.read_bytes()[:1000])
        for wrong in (cut, self.files / "missing.nc", self.files):
            with self.assertRaises(quiver.ProgrammingError):
                self.con.import_arrays(wrong)
        self.con.array("good").drop()

    def test_the_command_line_imports_a_file_of_arrays(self):
        path = written_netcdf(self.files / f"{type(self).__name__}_shell.nc")
        self.con.close()
        done = self.shell_import(path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, "_shell.nc: 4 arrays, 0.0 MB, ")
        again = self.shell_import(path)
        self.assertEqual(again.returncode, 1)
        self.assertRegex(again.stderr, "already")
        self.assertEqual(self.shell_import(path, "--replace", "--quiet").stdout, "")
        self.assertIn("does not exist", self.shell_import("missing.fits").stderr)
        self.con = self.opened()
        self.addCleanup(self.con.close)
        numpy.testing.assert_array_equal(self.con.array("temp")[...], TEMPERATURES)
        for array in self.con.find("kind = 'array'").arrow()["name"].to_pylist():
            self.con.array(array).drop()

    def test_the_command_line_sets_the_tags_when_the_arrays_are_there(self):
        path = written_netcdf(self.files / f"{type(self).__name__}_later.nc")
        with h5py.File(path, "a") as file:
            file["lat"].attrs[":wrong"] = 1
        self.con.close()
        failed = self.shell_import(path, "--metadata", "async")
        self.assertEqual(failed.returncode, 1)
        self.assertRegex(failed.stdout, r"_later.nc: 4 arrays, 0.0 MB, [0-9.]+ s; its attributes follow\n$")
        self.assertRegex(failed.stderr, r"begin with a colon.*con\.extract_attributes\(")
        self.assertEqual(self.waiting("main"), [path.stem, f"{path.stem}/run/first", "lat", "temp"])
        options = (
            "--metadata",
            "async",
            "--exclude",
            "run/*",
            "--exclude",
            "tim*",
            "--exclude-attributes",
            ":*",
            "--exclude-attributes",
            "lev*",
        )
        done = self.shell_import(path, "--replace", *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, "_later.nc: 2 arrays")
        left_out = self.shell_import(path, "--replace", "--metadata", "none", "--exclude", "temp")
        self.assertEqual((left_out.returncode, left_out.stderr), (0, ""))
        self.con = self.opened()
        self.addCleanup(self.con.close)
        self.assertEqual(dict(self.con.array("temp").tags), {"units": "K", "valid_range": [0.0, 400.0]})
        self.assertEqual(dict(self.con.array("lat").tags), {})
        for array in self.con.find("kind = 'array'").arrow()["name"].to_pylist():
            self.con.array(array).drop()
        self.con.sql(f'DROP GROUP "{path.stem}" CASCADE')

    def shell_import(self, *words):
        """The store has to be closed, because it has one process that writes."""
        place = ["--store", self.place]
        if isinstance(self, Remote):
            place = ["--connect", self.place, "--user", "ann", "--tls-ca", self.login["tls_ca"]]
        environment = os.environ | {"QUIVER_PYTHON": sys.executable, "PYTHONPATH": str(PACKAGE), "QUIVER_PASSWORD": PASSWORD}
        command = [quiver.testing.binary(), *place, "import", *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

    def in_schema(self, name):
        self.con.sql(f"CREATE SCHEMA {name}")
        self.addCleanup(lambda: self.con.sql(f"DROP SCHEMA {name} CASCADE"))
        return name

    def waiting(self, schema):
        """The objects whose attributes are no tags yet, as another connection sees them."""
        with self.opened() as other:
            return other.find(f"tags_pending_since IS NOT NULL AND schema_name = '{schema}'", order_by="name").arrow()["name"].to_pylist()

    def test_arrays_are_there_before_their_attributes_which_a_thread_makes_tags(self):
        schema = self.in_schema("later")
        path = written_netcdf(self.files / f"{type(self).__name__}_async.nc")
        began = datetime.datetime.now(datetime.timezone.utc)
        with extraction_is_held():
            arrays = {array.name: array for array in self.con.import_arrays(path, schema=schema, group="file", metadata="async")}
            numpy.testing.assert_array_equal(arrays["temp"][...], TEMPERATURES)
            self.assertEqual(self.waiting(schema), ["file", "file/run/first", "lat", "temp"])
            self.assertEqual(list(arrays["temp"].tags), ["tags_pending_since"])
            self.assertLessEqual(began, arrays["temp"].tags["tags_pending_since"])
            self.assertEqual(self.con.find("units = 'K'").arrow().num_rows, 0)
            self.con.export_arrays(path.with_suffix(".h5"), ["temp"], schema=schema)
            with h5py.File(path.with_suffix(".h5")) as file:
                self.assertNotIn("tags_pending_since", file["temp"].attrs)
        self.assertEqual(self.waiting(schema), [])
        self.assertEqual(dict(arrays["temp"].tags), {"units": "K", "valid_range": [0.0, 400.0], "levels": 3})
        self.assertEqual(dict(self.con.group("file", schema).tags), {"title": "measured"})
        self.assertEqual(dict(self.con.group("file/run/first", schema).tags), {"seed": 7})

    def test_a_thread_leaves_arrays_alone_that_were_imported_again(self):
        schema = self.in_schema("twice")
        path = written_netcdf(self.files / f"{type(self).__name__}_twice.nc")
        with extraction_is_held():
            self.con.import_arrays(path, schema=schema, group="file", metadata="async")
            with h5py.File(path, "a") as file:
                file["temp"].attrs["units"] = "C"
            self.con.import_arrays(path, schema=schema, group="file", mode="replace")
        self.assertEqual(self.con.array("temp", schema).tags["units"], "C")
        self.assertEqual(self.waiting(schema), [])

    def test_a_program_that_ends_has_its_tags(self):
        path = self.files / f"{type(self).__name__}_ended.zarr"
        zarr.create_array(path, name="ended", shape=(2, 2), dtype="int32").attrs["units"] = "m"
        login = {key: str(value) for key, value in self.login.items()}
        opened = f"quiver.{'connect' if login else 'open'}({self.place!r}, **{login!r})"
        script = f"import quiver; {opened}.import_arrays({str(path)!r}, metadata='async')"
        self.con.close()
        environment = os.environ | {"PYTHONPATH": str(PACKAGE)}
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with self.opened() as con:
            (array,) = con.find("kind = 'array' AND units = 'm'").arrow()["name"].to_pylist()
            self.assertEqual(array, "ended")
            con.array(array).drop()

    def test_an_extraction_that_fails_leaves_the_objects_marked_and_is_done_again(self):
        schema = self.in_schema("again")
        path = written_netcdf(self.files / f"{type(self).__name__}_again.nc")
        with h5py.File(path, "a") as file:
            file["lat"].attrs[":wrong"] = 1
        again = f"con.extract_attributes({str(path)!r}, schema='again', group='file', exclude=['tim*']) does it again"
        with self.assertWarns(RuntimeWarning) as warned:
            self.con.import_arrays(path, schema=schema, group="file", exclude=["tim*"], metadata="async")
            extraction_ends()
        self.assertRegex(str(warned.warning), "begin with a colon")
        self.assertIn(again, str(warned.warning))
        self.assertEqual(self.waiting(schema), ["file", "file/run/first", "lat", "temp"])
        self.assertEqual(list(self.con.array("temp", schema).tags), ["tags_pending_since"])
        options = {"schema": schema, "group": "file", "exclude": ["tim*"], "exclude_attributes": [":*"]}
        for _ in range(2):
            self.assertEqual(self.con.extract_attributes(path, **options), 4)
            self.assertEqual(self.waiting(schema), [])
            self.assertEqual(self.con.array("temp", schema).tags["units"], "K")

    def test_a_tag_that_somebody_sets_meanwhile_is_kept(self):
        schema = self.in_schema("meanwhile")
        path = written_netcdf(self.files / f"{type(self).__name__}_meanwhile.nc")
        self.con.import_arrays(path, schema=schema, group="file", metadata="none")
        self.assertEqual(dict(self.con.array("temp", schema).tags) | dict(self.con.group("file", schema).tags), {})
        marks = attributes._marks

        def interrupted(connection):
            found = marks(connection)
            with self.opened() as other:
                seen = other.array("temp", schema).tags
                if "seen" not in seen:
                    seen["seen"] = True
            return found

        with mock.patch.object(attributes, "_marks", interrupted):
            self.con.extract_attributes(path, schema=schema, group="file")
        self.assertEqual(dict(self.con.array("temp", schema).tags), {"units": "K", "valid_range": [0.0, 400.0], "levels": 3, "seen": True})

    def test_attributes_of_one_name_may_have_several_types(self):
        schema = self.in_schema("types")
        path = self.files / f"{type(self).__name__}_types.h5"
        with h5py.File(path, "w") as file:
            for name, value in {"a": 1, "b": "one", "c": [1.5], "d": numpy.uint64(1 << 63)}.items():
                file.create_dataset(name, data=numpy.arange(3)).attrs["kind"] = value
        arrays = self.con.import_arrays(path, schema=schema)
        self.assertEqual([array.tags.get("kind") for array in arrays], [1, "one", [1.5], None])

    def test_attributes_are_extracted_without_the_cells(self):
        schema = self.in_schema("lazy")
        netcdf = written_netcdf(self.files / f"{type(self).__name__}_lazy.nc")
        images = self.files / f"{type(self).__name__}_lazy.fits"
        fits.HDUList([fits.PrimaryHDU(numpy.full((3, 4), 40_000, "uint16"), fits.Header({"FILTER": "r"}))]).writeto(images)
        for path in (netcdf, images):
            self.con.import_arrays(path, schema=schema, metadata="none")
        with mock.patch.object(h5py.Dataset, "__getitem__", side_effect=AssertionError("cells")):
            self.con.extract_attributes(netcdf, schema=schema)
        with mock.patch.object(fits.PrimaryHDU, "data", mock.PropertyMock(side_effect=AssertionError("cells"))):
            self.con.extract_attributes(images, schema=schema)
        self.assertEqual(self.con.array("temp", schema).tags["units"], "K")
        self.assertEqual(self.con.array("primary", schema).tags["FILTER"], "r")

    def test_what_cannot_be_extracted_is_said(self):
        schema = self.in_schema("wrong")
        path = written_netcdf(self.files / f"{type(self).__name__}_wrong.nc")
        with self.assertRaisesRegex(quiver.ProgrammingError, 'cannot be "later"; use sync, async or none'):
            self.con.import_arrays(path, schema=schema, metadata="later")
        with self.con.transaction(), self.assertRaisesRegex(quiver.ProgrammingError, 'before its commit; import .* metadata="sync"'):
            self.con.import_arrays(path, schema=schema, metadata="async")
        self.assertEqual(self.con.find("schema_name = 'wrong'").arrow().num_rows, 0)
        self.con.import_arrays(path, schema=schema, exclude=["temp"])
        with self.assertRaisesRegex(quiver.ProgrammingError, 'array "wrong.temp" does not exist; import the file first'):
            self.con.extract_attributes(path, schema=schema)
        with self.assertRaisesRegex(quiver.ProgrammingError, 'group "wrong.other" does not exist'):
            self.con.extract_attributes(path, schema=schema, group="other", exclude=["temp"])
        with self.assertRaisesRegex(quiver.ProgrammingError, "missing.nc"):
            self.con.extract_attributes(self.files / "missing.nc")

    def test_xarray_opens_a_store_and_reads_what_it_needs(self):
        self.con.sql("CREATE SCHEMA weather")
        dataset = xarray.Dataset(
            {
                "temp": (("time", "lat", "lon"), TEMPERATURES, {"units": "K"}),
                "gaps": (("lat",), [1.0, numpy.nan, 3, 4, 5], {}, {"_FillValue": -9.0}),
                "height": ((), 2.0),
            },
            {"time": numpy.array(["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04"], "datetime64[ns]"), "lat": [1.0, 2, 3, 4, 5]},
            {"title": "forecast"},
        )
        with self.con.transaction():
            self.con.write_dataset(dataset, "weather", group="run")
        login = {"login": self.login} if isinstance(self, Remote) else {}
        if not login:
            # A store has one process that writes.
            self.con.close()
        with xarray.open_dataset(self.place, engine=QuiverBackend, schema="weather", chunks={}, **login) as opened:
            self.assertIsNotNone(opened.temp.chunks)
            self.assertEqual(opened.temp.attrs, {"units": "K"})
            numpy.testing.assert_array_equal(opened.time, dataset.time)
            found = opened.temp.sel(lat=slice(2, 3), time="2020-01-02").mean().compute()
            self.assertEqual(float(found), float(TEMPERATURES[1, 1:3].mean()))
            xarray.testing.assert_equal(opened.compute(), dataset)
        if not login:
            self.con = self.opened()
            self.addCleanup(self.con.close)
        again = self.con.dataset("weather", group="run").compute()
        xarray.testing.assert_equal(again, dataset)
        self.assertEqual(again.attrs, {"title": "forecast"})
        self.con.export_arrays(self.files / f"{type(self).__name__}_gaps.nc", ["gaps"], schema="weather")
        with h5py.File(self.files / f"{type(self).__name__}_gaps.nc") as file:
            self.assertEqual(file["gaps"].attrs["_FillValue"], numpy.float64(-9))


globals().update(in_both_ways(ArrayFilesCases))

if __name__ == "__main__":
    unittest.main()
