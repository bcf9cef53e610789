"""Files of arrays, in and out: HDF5 and NetCDF-4 (with h5py), FITS (with astropy), Zarr (with zarr). Each format has a module with
`arrays_of`, which lists the arrays of a file, and `write`; `model` is what they share, `load` puts arrays into a store, and
`attributes` sets their tags."""

from .load import export_arrays, extract_attributes, import_arrays

__all__ = ["export_arrays", "extract_attributes", "import_arrays"]
