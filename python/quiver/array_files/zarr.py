"""Zarr v3 in a directory: arrays in groups, with the names of their dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .model import FileArray, FileGroup, Listing, attributes_of, tags_of

if TYPE_CHECKING:
    from ..array_object import Array


def arrays_of(path: str) -> Listing:
    import zarr

    root = zarr.open(path, mode="r")
    if isinstance(root, zarr.Array):
        yield _array("array", root)
        return
    yield FileGroup("", tags_of(dict(root.attrs)))
    for name, item in root.members(max_depth=None):
        if isinstance(item, zarr.Group):
            yield FileGroup(name, tags_of(dict(item.attrs)))
        else:
            yield _array(name, item)


def _array(name: str, item: Any) -> FileArray:
    dims = getattr(item.metadata, "dimension_names", None) or item.attrs.get("_ARRAY_DIMENSIONS")
    shape = item.shape or (1,)
    return FileArray(
        path=name,
        shape=shape,
        dtype=item.dtype,
        read=(lambda key: item[key]) if item.shape else (lambda key: item[()].reshape(1)),
        dims=tuple(dim or f"dim_{at}" for at, dim in enumerate(dims)) if dims and item.shape else None,
        growing=(False,) * len(shape),
        chunks=item.chunks or None,
        fill=item.fill_value,
        attributes=tags_of(dict(item.attrs), frozenset({"_ARRAY_DIMENSIONS"})),
    )


def write(path: str, arrays: Sequence[Array], attributes: dict[str, Any]) -> None:
    import zarr

    root = zarr.create_group(path, overwrite=True, zarr_format=3, attributes=attributes)
    for array in arrays:
        item = root.create_array(
            array.name,
            shape=array.shape,
            dtype=array.dtype,
            chunks=tuple(min(chunk, max(length, 1)) for chunk, length in zip(array.chunks, array.shape)),
            fill_value=array.fill_value,
            dimension_names=array.dims,
            attributes=attributes_of(array.tags),
        )
        for key in array.parts():
            item[key] = array[key]
