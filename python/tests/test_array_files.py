"""Files of arrays, in and out, and xarray. The packages of the formats read what Quiver has written, and the other way round."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

import h5py
import numpy
import quiver
import xarray
import zarr
from astropy.io import fits
from both import PASSWORD, Remote, in_both_ways
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
        self.assertEqual([array.name for array in self.con.import_arrays(path, exclude=["w*"])], ["good"])
        cut = self.files / f"{type(self).__name__}_cut.h5"
        cut.write_bytes(path.read_bytes()[:1000])
        for wrong in (cut, self.files / "missing.nc", self.files):
            with self.assertRaises(quiver.ProgrammingError):
                self.con.import_arrays(wrong)
        self.con.array("good").drop()

    def test_the_command_line_imports_a_file_of_arrays(self):
        path = written_netcdf(self.files / f"{type(self).__name__}_shell.nc")
        self.con.close()
        place = (
            ["--connect", self.place, "--user", "ann", "--tls-ca", self.login["tls_ca"]]
            if isinstance(self, Remote)
            else ["--store", self.place]
        )
        environment = os.environ | {"QUIVER_PYTHON": sys.executable, "PYTHONPATH": str(PACKAGE), "QUIVER_PASSWORD": PASSWORD}

        def imported(*words):
            command = [quiver.testing.binary(), *place, "import", *words]
            return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

        done = imported(path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, "_shell.nc: 4 arrays, 0.0 MB, ")
        again = imported(path)
        self.assertEqual(again.returncode, 1)
        self.assertRegex(again.stderr, "already")
        self.assertEqual(imported(path, "--replace", "--quiet").stdout, "")
        self.assertIn("does not exist", imported("missing.fits").stderr)
        self.con = self.opened()
        self.addCleanup(self.con.close)
        numpy.testing.assert_array_equal(self.con.array("temp")[...], TEMPERATURES)
        for array in self.con.find("kind = 'array'").arrow()["name"].to_pylist():
            self.con.array(array).drop()

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
