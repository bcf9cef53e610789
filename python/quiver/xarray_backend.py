"""Arrays of a store as data sets of xarray: `xarray.open_dataset("store", engine="quiver", schema="climate")`."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from . import names
from .array_object import Array

if TYPE_CHECKING:
    from .connection import Connection


# The dimension of an array that stands for a variable without dimensions.
SCALAR = "scalar"


class StoredArray(BackendArray):
    """Reads a region when it is looked at."""

    def __init__(self, array: Array):
        self._array = array
        self.shape = array.shape
        self.dtype = array.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._array.__getitem__)


class QuiverBackend(BackendEntrypoint):
    """A store of this machine, or the address of a server."""

    description = "Arrays of a Quiver store"
    open_dataset_parameters = (
        "filename_or_obj", "drop_variables", "schema", "group", "login", "mask_and_scale", "decode_times", "concat_characters",
        "decode_coords", "use_cftime", "decode_timedelta",
    )  # fmt: skip

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        schema: str = names.DEFAULT_SCHEMA,
        group: str | None = None,
        login: dict[str, Any] | None = None,
        **decoders: Any,
    ) -> xarray.Dataset:
        """The arrays of a schema, or of a group of it. `login` has the arguments of `quiver.connect`."""
        connection = opened(filename_or_obj, login or {})
        dataset = dataset_of(connection, schema, group, drop_variables, **decoders)
        dataset.set_close(connection.close)
        return dataset

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        if isinstance(filename_or_obj, str) and filename_or_obj.startswith(("grpc://", "grpc+tls://", "quiver://")):
            return True
        return isinstance(filename_or_obj, (str, PathLike)) and (Path(filename_or_obj) / "catalog.redb").is_file()


def opened(place: Any, login: dict[str, Any]) -> Connection:
    if isinstance(place, str) and "://" in place:
        from .remote import connect

        return connect(place, **login)
    from .embedded import open as open_store

    return open_store(fspath(place), read_only=True)


def dataset_of(
    connection: Connection,
    schema: str = names.DEFAULT_SCHEMA,
    group: str | None = None,
    drop_variables: str | Iterable[str] | None = None,
    **decoders: Any,
) -> xarray.Dataset:
    """The arrays of a schema, or of a group of it, as variables. A variable with one dimension of its own name is a coordinate; tags are
    attributes, and what they say of times and scales is applied, as xarray does for NetCDF."""
    dropped = {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
    attributes = {}
    if group is None:
        sql = f"SELECT name FROM system.objects WHERE kind = 'array' AND schema_name = {names.literal(schema)} ORDER BY name"
        found = [(schema, name) for (name,) in connection._sql(sql).fetchall()]
    else:
        around = connection.group(group, schema)
        attributes = dict(around.tags)
        rows = around.objects().select(["kind", "schema_name", "name"]).to_pylist()
        found = [(row["schema_name"], row["name"]) for row in rows if row["kind"] == "array"]
    arrays = [connection.array(name, of_schema) for of_schema, name in found if name not in dropped]
    return xarray.decode_cf(xarray.Dataset({array.name: variable(array) for array in arrays}, attrs=attributes), **decoders)


def variable(array: Array) -> xarray.Variable:
    data = indexing.LazilyIndexedArray(StoredArray(array))
    encoding = {"preferred_chunks": dict(zip(array.dims, array.chunks)), "chunksizes": array.chunks}
    found = xarray.Variable(array.dims, data, dict(array.tags), encoding)
    return found.isel({SCALAR: 0}) if array.dims == (SCALAR,) else found


def write_dataset(
    connection: Connection,
    dataset: xarray.Dataset,
    schema: str = names.DEFAULT_SCHEMA,
    group: str | None = None,
    mode: str = "create",
) -> list[Array]:
    """Writes the variables and coordinates of a data set as arrays of a schema, in one commit. Their attributes become tags, and those of
    the data set tags of `group`, which gets the arrays."""
    from .array_files.model import tags_of

    written = []
    with connection.one_commit():
        for name, of_dataset in dataset.variables.items():
            plain = xarray.conventions.encode_cf_variable(of_dataset, name=str(name))
            dims, values = [str(dim) for dim in plain.dims], plain.values
            if not dims:
                dims, values = [SCALAR], values.reshape(1)
            written.append(connection.write_array(str(name), values, dims=dims, mode=mode, schema=schema))
            written[-1].tags.update(tags_of(plain.attrs))
        if group is not None:
            around = connection.group(group, schema)
            connection._sql(f"CREATE GROUP IF NOT EXISTS {names.quoted(schema)}.{names.quoted(group)}")
            around.add(*written)
            around.tags.update(tags_of(dataset.attrs))
    return written
