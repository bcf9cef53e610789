"""Files of arrays into a store, and arrays of a store into files."""

from __future__ import annotations

import fnmatch
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from .. import names
from ..array_object import TYPES, Array, parts_of
from ..errors import NotSupportedError, ProgrammingError
from .attributes import PendingTags, Tagged, check_metadata, mark_pending, set_tags
from .model import FileArray, FileGroup, attributes_of

if TYPE_CHECKING:
    from ..connection import Connection
    from ..objects import Group

# The module of each format, the package that it needs, and the ends of names.
_FORMATS = {
    "hdf5": ("h5py", (".h5", ".hdf5", ".he5", ".nc", ".nc4", ".netcdf")),
    "fits": ("astropy", (".fits", ".fit", ".fts", ".fits.gz")),
    "zarr": ("zarr", (".zarr",)),
}


class FileImport:
    """An import of a file: which arrays and attributes, and the schema and group that get them."""

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        schema: str | None = None,
        group: str | None = None,
        file_format: str | None = None,
        exclude: str | Sequence[str] = (),
        exclude_attributes: str | Sequence[str] = (),
    ):
        """`group` is by default the name of the file without its end. `exclude` and `exclude_attributes` are patterns of paths and names
        as the shell has them."""
        self.path = fspath(path)
        self._module = _module(self.path, file_format)
        if not os.path.exists(self.path):
            raise ProgrammingError(f'"{self.path}" does not exist')
        self.schema = names.DEFAULT_SCHEMA if schema is None else schema
        self.group = Path(self.path.rstrip("/")).name.split(".")[0] if group is None else group
        self._file_format, self._exclude, self._exclude_attributes = file_format, _patterns(exclude), _patterns(exclude_attributes)

    def objects(self, connection: Connection) -> Iterator[tuple[FileArray | FileGroup, Tagged]]:
        """Each array and group of the file, with its object of the store and the attributes that are to be its tags."""
        for item in self._module.arrays_of(self.path):
            if _matches(item.path, self._exclude):
                continue
            is_group = isinstance(item, FileGroup)
            of = self.group_of(connection, item.path) if is_group else connection.array(item.path, self.schema)
            yield item, (of, {name: value for name, value in item.attributes.items() if not _matches(name, self._exclude_attributes)})

    def group_of(self, connection: Connection, path: str) -> Group:
        return connection.group(f"{self.group}/{path}" if path else self.group, self.schema)

    @property
    def extraction(self) -> str:
        """The call that extracts the attributes, for who reads an error."""
        given: dict[str, Any] = {"schema": self.schema, "group": self.group, "file_format": self._file_format}
        given |= {"exclude": self._exclude, "exclude_attributes": self._exclude_attributes}
        return f"con.extract_attributes({self.path!r}{''.join(f', {name}={value!r}' for name, value in given.items() if value)})"

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Errors of the packages that read the file become errors of this one."""
        try:
            yield
        except (OSError, KeyError, ValueError, RuntimeError) as error:
            raise ProgrammingError(f'"{self.path}" cannot be read: {error}') from error


def import_arrays(
    connection: Connection, path: str | PathLike[str], *, mode: str = "create", metadata: str = "sync", **options: Any
) -> list[Array]:
    """All arrays of a file, in one commit. Its groups become groups, its attributes tags: in the same commit, in a later one of a thread
    (`async`), or not at all (`none`). The other options are those of `FileImport`."""
    source = FileImport(path, **options)
    if metadata != "async":
        return load(connection, source, mode, metadata)[0]
    own = connection.another()
    try:
        arrays, pending = load(connection, source, mode, metadata)
        # No daemon: the process ends when the tags are there.
        Thread(target=_tag_later, args=(own, source, pending), name="quiver-attributes").start()
    except BaseException:
        own.close()
        raise
    return arrays


def load(connection: Connection, source: FileImport, mode: str, metadata: str) -> tuple[list[Array], PendingTags | None]:
    """The arrays, and with `sync` their tags, in one commit. With `async` they are marked as objects without their tags, which are returned."""
    check_metadata(connection, metadata)
    pending = None
    with source.reading(), connection.one_commit():
        arrays, tagged = _load(connection, source, mode)
        if metadata == "sync":
            set_tags(connection, tagged)
        elif metadata == "async":
            pending = mark_pending(connection, tagged)
    return arrays, pending


def extract_attributes(connection: Connection, path: str | PathLike[str], **options: Any) -> int:
    """Attributes of a file as tags of arrays and groups that are in the store already, in one commit. Returns how many objects have
    some. The options are those of `FileImport`."""
    source = FileImport(path, **options)
    with source.reading():
        tagged = [of_object for _, of_object in source.objects(connection)]
    try:
        return set_tags(connection, tagged)
    except ProgrammingError as error:
        if error.kind != "not_found":
            raise
        hint = "import the file first, or give the schema, group and exclude of its import"
        raise ProgrammingError(f'"{source.path}" has what the store has not: {error.message}', hint=hint) from error


def error_of_tags(connection: Connection, source: FileImport, pending: PendingTags) -> str | None:
    """Sets the tags of objects that are committed. If it fails, they stay marked, and the text says how to do it again."""
    try:
        set_tags(connection, pending.objects, pending.marked_at)
    except Exception as error:  # Whatever it is, nobody else would say that the tags are missing.
        return f'the attributes of "{source.path}" are no tags yet: {error}; {source.extraction} does it again'
    return None


def _tag_later(connection: Connection, source: FileImport, pending: PendingTags) -> None:
    with connection:
        failure = error_of_tags(connection, source, pending)
    if failure is not None:
        warnings.warn(failure, RuntimeWarning, stacklevel=1)


def _load(connection: Connection, source: FileImport, mode: str) -> tuple[list[Array], list[Tagged]]:
    written: list[Array] = []
    tagged: list[Tagged] = []
    groups: set[str] = set()
    for item, of_object in source.objects(connection):
        tagged.append(of_object)
        if isinstance(item, FileGroup):
            _make_group(connection, source, item.path, groups)
            continue
        if any(array.name == item.path for array in written):
            raise ProgrammingError(f'the file has two arrays called "{item.path}"', hint=f"leave them out: exclude=[{item.path!r}]")
        written.append(_write(connection, item, source.schema, mode))
        around, _, _ = item.path.rpartition("/")
        _make_group(connection, source, around, groups)
        source.group_of(connection, around).add(written[-1])
    return written, tagged


def _make_group(connection: Connection, source: FileImport, path: str, made: set[str]) -> None:
    """The group and those around it."""
    if path in made:
        return
    made.add(path)
    within = ""
    if path:
        around, _, _ = path.rpartition("/")
        _make_group(connection, source, around, made)
        within = f" IN {source.group_of(connection, around)._quoted}"
    connection._sql(f"CREATE GROUP IF NOT EXISTS {source.group_of(connection, path)._quoted}{within}")


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


def _patterns(given: str | Sequence[str]) -> Sequence[str]:
    """A text is one pattern, and not one for each of its letters."""
    return [given] if isinstance(given, str) else given


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
