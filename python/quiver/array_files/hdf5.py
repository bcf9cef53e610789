"""HDF5 and NetCDF-4, which is HDF5 with named dimensions. Arrays are the data sets; dimensions have the names of their scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .model import FileArray, FileGroup, Listing, attributes_of, tags_of

if TYPE_CHECKING:
    from ..array_object import Array

# Programs for NetCDF take cells of this value for missing ones.
_FILL = "_FillValue"
# How HDF5 and NetCDF-4 store dimensions.
_OWN_ATTRIBUTES = frozenset(
    {"DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties", "_nc3_strict"}
)


def arrays_of(path: str) -> Listing:
    import h5py

    with h5py.File(path, "r") as file:
        yield FileGroup("", tags_of(file.attrs, _OWN_ATTRIBUTES))
        found: list[tuple[str, Any]] = []
        # Soft links are the same object under another name; it is listed once.
        file.visititems(lambda name, item: found.append((name, item)))
        for name, item in found:
            if isinstance(item, h5py.Group):
                yield FileGroup(name, tags_of(item.attrs, _OWN_ATTRIBUTES))
            # A data set of shape None has no cells at all.
            elif isinstance(item, h5py.Dataset) and item.shape is not None and not _is_bare_dimension(item):
                yield _array(name, item)


def _array(name: str, item: Any) -> FileArray:
    shape = item.shape or (1,)
    fill = item.attrs.get(_FILL, item.fillvalue)
    return FileArray(
        path=name,
        shape=shape,
        dtype=item.dtype,
        read=(lambda key: item[key]) if item.shape else (lambda key: item[()].reshape(1)),
        dims=tuple(_dimension(item, at) for at in range(len(item.shape))) if item.shape else ("scalar",),
        growing=tuple(most is None for most in item.maxshape) if item.shape else (False,),
        chunks=item.chunks,
        fill=fill[0] if getattr(fill, "shape", ()) == (1,) else fill,
        attributes=tags_of(item.attrs, _OWN_ATTRIBUTES),
    )


def _is_bare_dimension(item: Any) -> bool:
    """NetCDF-4 has such a data set for a dimension without coordinates."""
    name = item.attrs.get("NAME", b"")
    return (name.decode() if isinstance(name, bytes) else str(name)).startswith("This is a netCDF dimension but not a netCDF variable")


def _dimension(item: Any, at: int) -> str:
    if item.is_scale and item.ndim == 1:
        return item.name.rsplit("/", 1)[-1]
    dimension = item.dims[at]
    if len(dimension):
        return dimension[0].name.rsplit("/", 1)[-1]
    return dimension.label or f"dim_{at}"


def write(path: str, arrays: Sequence[Array], attributes: dict[str, Any]) -> None:
    """A file of HDF5 that programs for NetCDF-4 read as well: each dimension is a scale."""
    import h5py
    import numpy

    with h5py.File(path, "w", track_order=True) as file:
        file.attrs.update(attributes)
        lengths = {dim: length for array in arrays for dim, length in zip(array.dims, array.shape)}
        written = {array.name: _write_one(file, array) for array in arrays}
        for dim, length in lengths.items():
            scale = written.get(dim)
            if scale is None or scale.shape != (length,):
                if dim in written:
                    continue
                scale = file.create_dataset(dim, (length,), numpy.float32)
                scale.make_scale(f"This is a netCDF dimension but not a netCDF variable. {length:9d}")
            else:
                scale.make_scale(dim)
            for array in arrays:
                item = written[array.name]
                if item is not scale:
                    [item.dims[at].attach_scale(scale) for at, name in enumerate(array.dims) if name == dim and array.shape[at] == length]


def _write_one(file: Any, array: Array) -> Any:
    growing = tuple(None if dimension.is_unlimited else dimension.length for dimension in array._now())
    chunks = tuple(min(chunk, max(length, 1)) for chunk, length in zip(array.chunks, array.shape))
    item = file.create_dataset(array.name, array.shape, array.dtype, chunks=chunks, maxshape=growing, fillvalue=array.fill_value)
    for key in array.parts():
        item[key] = array[key]
    tags = attributes_of(array.tags)
    if _FILL in tags:
        # NetCDF wants the type of the cells.
        tags[_FILL] = array.dtype.type(tags[_FILL])
    item.attrs.update(tags)
    return item
