"""Files of arrays into a store, and arrays of a store into files."""

from __future__ import annotations

import fnmatch
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import names
from ..array_object import TYPES, Array, parts_of
from ..errors import NotSupportedError, ProgrammingError
from .model import FileArray, FileGroup, Listing, attributes_of

if TYPE_CHECKING:
    from ..connection import Connection

# The module of each format, the package that it needs, and the ends of names.
_FORMATS = {
    "hdf5": ("h5py", (".h5", ".hdf5", ".he5", ".nc", ".nc4", ".netcdf")),
    "fits": ("astropy", (".fits", ".fit", ".fts", ".fits.gz")),
    "zarr": ("zarr", (".zarr",)),
}


def import_arrays(
    connection: Connection,
    path: str | PathLike[str],
    *,
    schema: str | None = None,
    group: str | None = None,
    file_format: str | None = None,
    mode: str = "create",
    exclude: Sequence[str] = (),
    exclude_attributes: Sequence[str] = (),
) -> list[Array]:
    """All arrays of a file, in one commit. Its groups become groups, its attributes tags. The arrays are in `group`, by default the name
    of the file without its end. `exclude` and `exclude_attributes` are patterns of paths and names as the shell has them."""
    path = fspath(path)
    module = _module(path, file_format)
    if not os.path.exists(path):
        raise ProgrammingError(f'"{path}" does not exist')
    schema = names.DEFAULT_SCHEMA if schema is None else schema
    group = Path(path.rstrip("/")).name.split(".")[0] if group is None else group
    try:
        with connection.one_commit():
            return _load(connection, module.arrays_of(path), schema, group, mode, exclude, exclude_attributes)
    except (OSError, KeyError, ValueError, RuntimeError) as error:
        raise ProgrammingError(f'"{path}" cannot be read: {error}') from error


def _load(
    connection: Connection,
    listing: Listing,
    schema: str,
    root: str,
    mode: str,
    exclude: Sequence[str],
    exclude_attributes: Sequence[str],
) -> list[Array]:
    written: list[Array] = []
    groups: set[str] = set()
    for item in listing:
        if _matches(item.path, exclude):
            continue
        kept = {name: value for name, value in item.attributes.items() if not _matches(name, exclude_attributes)}
        if isinstance(item, FileGroup):
            _make_group(connection, schema, root, item.path, groups)
            connection.group(_group_name(root, item.path), schema).tags.update(kept)
            continue
        if any(array.name == item.path for array in written):
            raise ProgrammingError(f'the file has two arrays called "{item.path}"', hint=f"leave them out: exclude=[{item.path!r}]")
        array = _write(connection, item, schema, mode)
        array.tags.update(kept)
        around, _, _ = item.path.rpartition("/")
        _make_group(connection, schema, root, around, groups)
        connection.group(_group_name(root, around), schema).add(array)
        written.append(array)
    return written


def _group_name(root: str, path: str) -> str:
    return f"{root}/{path}" if path else root


def _make_group(connection: Connection, schema: str, root: str, path: str, made: set[str]) -> None:
    """The group and those around it."""
    if path in made:
        return
    made.add(path)
    around, has_parent, _ = path.rpartition("/")
    within = ""
    if path:
        _make_group(connection, schema, root, around, made)
        within = f" IN {names.quoted(schema)}.{names.quoted(_group_name(root, around))}"
    connection._sql(f"CREATE GROUP IF NOT EXISTS {names.quoted(schema)}.{names.quoted(_group_name(root, path))}{within}")


def _write(connection: Connection, item: FileArray, schema: str, mode: str) -> Array:
    if item.dtype.name not in TYPES and item.dtype.name not in ("bool", "float16"):
        hint = f"an array has cells of {', '.join(TYPES)}; leave it out: exclude=[{item.path!r}]"
        raise NotSupportedError(f'"{item.path}" has cells of type {item.dtype}, for which there is no type', hint=hint)
    dtype = {"bool": "uint8", "float16": "float32"}.get(item.dtype.name, item.dtype.name)
    dims = item.dims if item.dims is None or len(set(item.dims)) == len(item.dims) else None
    growing = item.growing or (False,) * len(item.shape)
    shape = [None if grows or length == 0 else length for length, grows in zip(item.shape, growing)]
    array = connection.create_array(
        item.path, shape, dtype, dims=dims, chunks=_chunks(item), fill_value=_fill(item, dtype), mode=mode, schema=schema
    )
    for key in parts_of(item.shape, array.chunks, item.dtype.itemsize):
        array[key] = item.read(key)
    return array


def _chunks(item: FileArray) -> Sequence[int] | None:
    """Those of the file, unless they are so small that each would be a row of a few bytes."""
    import numpy

    if item.chunks is None or numpy.prod(item.chunks, dtype=float) * item.dtype.itemsize < 16 << 10:
        return None
    growing = item.growing or (False,) * len(item.shape)
    return [chunk if grows else min(chunk, length) for chunk, length, grows in zip(item.chunks, item.shape, growing)]


def _fill(item: FileArray, dtype: str) -> Any:
    import numpy

    fill = item.fill
    return fill if isinstance(fill, (int, float, numpy.number)) and not isinstance(fill, bool) else None


def export_arrays(
    connection: Connection,
    path: str | PathLike[str],
    arrays: Iterable[str] | None = None,
    *,
    schema: str | None = None,
    group: str | None = None,
    file_format: str | None = None,
) -> None:
    """Arrays by name, or all of a group or schema, into a file of one format. It appears under its name when it is whole."""
    path, schema = fspath(path), names.DEFAULT_SCHEMA if schema is None else schema
    module = _module(path, file_format)
    attributes: dict[str, Any] = {}
    if group is not None:
        around = connection.group(group, schema)
        attributes = attributes_of(around.tags)
        rows = around.objects().select(["kind", "schema_name", "name"]).to_pylist()
        found = [connection.array(row["name"], row["schema_name"]) for row in rows if row["kind"] == "array"]
    elif arrays is not None:
        found = [connection.array(name, schema) for name in arrays]
    else:
        sql = f"SELECT name FROM system.objects WHERE kind = 'array' AND schema_name = {names.literal(schema)} ORDER BY name"
        found = [connection.array(name, schema) for (name,) in connection._sql(sql).fetchall()]
    if not found:
        raise ProgrammingError("there are no arrays to write", hint="FIND ARRAYS lists those there are")
    target = Path(path)
    with tempfile.TemporaryDirectory(dir=target.resolve().parent, prefix=f".{target.name}.") as directory:
        made = os.path.join(directory, target.name)
        try:
            module.write(made, found, attributes)
        except (OSError, KeyError, ValueError, RuntimeError, TypeError, OverflowError) as error:
            raise ProgrammingError(f'"{path}" cannot be written: {error}') from error
        if target.is_dir():
            shutil.rmtree(target)
        os.replace(made, target)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _format_of(path: str) -> str | None:
    lower = path.lower().rstrip("/")
    return next((name for name, (_, ends) in _FORMATS.items() if lower.endswith(ends)), None)


def _module(path: str, file_format: str | None) -> Any:
    name = _format_of(path) if file_format is None else file_format
    if name not in _FORMATS:
        known = ", ".join(end for _, ends in _FORMATS.values() for end in ends)
        raise ProgrammingError(f'"{path}" is no file of arrays', hint=f"known ends of names are {known}; or say file_format='hdf5'")
    package = _FORMATS[name][0]
    try:
        import_module(package)
    except ImportError as error:
        raise NotSupportedError(f"files of this format need the package {package}", hint=f"pip install {package}") from error
    return import_module(f".{name}", __package__)
