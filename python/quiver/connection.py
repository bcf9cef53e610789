"""One connection, in process or over the network."""

from __future__ import annotations

import re
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from os import PathLike, fspath
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeVar

from . import data, functions, hints, names, objects, parameters, substrait
from .errors import InterfaceError, NotSupportedError, ProgrammingError
from .frames import NO_VARIABLES, Frames, Variables, variables_of
from .result import Result
from .sources import Backend, Imported, ImportOptions
from .table import Table

if TYPE_CHECKING:
    import pyarrow as pa
    import xarray

    from .array_object import Array
    from .matrix import Matrix

_F = TypeVar("_F", bound=Callable[..., Any])
_TEMPORARY = re.compile("volatile|temp", re.IGNORECASE)
MODES = ("create", "append", "replace", "create_append")


class Connection(hints.Hints):
    """Statements of a connection run one after the other, whichever threads send them; their rows may be read
    concurrently. `cursor()` of `quiver.dbapi` and `another()` allow concurrent statements."""

    _all: weakref.WeakSet[Connection] = weakref.WeakSet()
    _hints = hints.of_members(Result, "con.sql(…)") | hints.CONNECTION

    def __init__(self, backend: Backend, progress: bool | None = None, frames: bool = True):
        self._backend = backend
        self.progress = progress
        self.frames = frames
        """Whether `sql` takes a data frame by the name of its variable for a table."""
        self._frames = Frames()
        # Whether a statement has mentioned temporary tables. Otherwise the session has none.
        self._mentions_temporary = False
        self._all.add(self)

    @property
    def uri(self) -> str:
        """The address of the store."""
        return self._backend.uri

    def sql(self, query: str, params: parameters.Values | None = None) -> Result:
        """Plans a query, which runs when its rows are read; runs any other statement. `params` are the values of
        `?`, or of `$1`, `$2`, …, or a dict of those of `:name` or `$name`.

        A table that the store does not have may be a variable of the caller: a data frame of pandas or polars, a table of pyarrow,
        or a `Result`."""
        return self._sql(query, params, variables_of(sys._getframe(1)))

    def _sql(self, query: str, params: parameters.Values | None = None, variables: Variables = NO_VARIABLES) -> Result:
        _check_text(query)
        self._mentions_temporary |= _TEMPORARY.search(query) is not None
        text, values = parameters.in_order(query, params)
        row = parameters.one_row(values)
        with self._frames.as_tables(self, query, variables if self.frames else NO_VARIABLES) as used:
            return Result(self, self._backend.execute(text, row), query, params, used)

    def register(self, name: str | Callable[..., Any], rows: Any = None, **options: Any) -> None:
        """From now on, `name` is a table in the statements of this connection. Each of them reads the rows as they are then. `rows` is
        what `write` takes, except for a reader.

        A function, or a class, in the place of the name is kept in the store, as with `function`, whose options it takes."""
        if callable(name):
            if rows is not None:
                raise ProgrammingError("a function has no rows", hint="con.register('t', rows) makes a table, con.register(f) a function")
            self.function(**options)(name)
        else:
            self._frames.register(name, rows)

    def function(
        self,
        returns: Any = None,
        *,
        parameters: Mapping[str, Any] | None = None,
        name: str | None = None,
        schema: str | None = None,
        aggregate: bool = False,
        immutable: bool = True,
        strict: bool = False,
        replace: bool = True,
    ) -> Callable[[_F], _F]:
        """A decorator that keeps a function in the store, with its source. It gets arrays of pyarrow, with the values of a batch of rows, and
        returns as many values; with `aggregate` those of a group, and returns one. With a dict of columns as `returns` it gets values and
        tables (`pa.Table`), and returns a table. Types are those of SQL, or classes of Python. Of a class each public method is kept: its
        objects are made of a table. What is `immutable` is computed once where its arguments are constants.

            @con.function(returns="DOUBLE")
            def half(x: float): return pc.divide(x, 2)

            con.sql("SELECT half(x) FROM t")
        """

        def keep(function: _F) -> _F:
            made = functions.statements(
                function,
                name=name,
                schema=schema,
                parameters=parameters,
                returns=returns,
                aggregate=aggregate,
                immutable=immutable,
                strict=strict,
                replace=replace,
            )
            for statement in list(made):
                self._sql(statement)
            return function

        return keep

    def procedure(
        self,
        returns: Mapping[str, Any] | None = None,
        *,
        parameters: Mapping[str, Any] | None = None,
        name: str | None = None,
        schema: str | None = None,
        replace: bool = True,
    ) -> Callable[[_F], _F]:
        """A decorator that keeps a procedure in the store, with its source. It gets a session and the arguments of CALL. `session.sql` and
        `session.write` run in one transaction, where the data is. With a dict of columns as `returns` it returns rows.

            @con.procedure()
            def rename(session, old: str, new: str): session.sql("UPDATE t SET name = $1 WHERE name = $2", [new, old])

            con.sql("CALL rename('a', 'b')")
        """

        def keep(function: _F) -> _F:
            self._sql(
                functions.procedure_statement(function, name=name, schema=schema, parameters=parameters, returns=returns, replace=replace)
            )
            return function

        return keep

    def unregister(self, name: str) -> None:
        self._frames.unregister(name)

    def run_substrait(self, plan: Any) -> Result:
        """Plans a query from a Substrait plan. It runs when its rows are read. The plan is the bytes of a `substrait.Plan`,
        such a message, or an expression of Ibis, which `ibis-substrait` compiles."""
        return Result(self, self._backend.run_substrait(substrait.as_bytes(plan)), None)

    def executemany(self, statement: str, rows: Iterable[parameters.Values]) -> int:
        """Runs a writing statement once for each row of parameters, all of them or none. Returns the number of rows changed."""
        _check_text(statement)
        text, rows = parameters.rows_in_order(statement, rows)
        batch = parameters.batch(rows)
        if not batch.num_rows:
            return 0
        with self._frames.as_tables(self, statement, NO_VARIABLES):
            return self._backend.execute_rows(text, batch)

    def table(self, name: str, schema: str | None = None) -> Table:
        return Table(self, name, schema)

    def __getitem__(self, name: str) -> Table:
        """The table of this name: `con["t"].tags` are its tags."""
        return self.table(name)

    def find(self, condition: str | None = None, *, order_by: str | None = None, limit: int | None = None) -> Result:
        """The objects that satisfy a condition on their tags and on columns of `system.objects`, as `FIND OBJECTS` takes it."""
        where = "" if condition is None else f" WHERE {condition}"
        order = "" if order_by is None else f" ORDER BY {order_by}"
        return self._sql(f"FIND OBJECTS{where}{order}" + ("" if limit is None else f" LIMIT {int(limit)}"))

    def find_ids(self, tags: Mapping[str, Any]) -> list[int]:
        """The ids of the objects that have these tags: each with a value, or with a range `(least, greatest)`, of which None is no
        bound. It is the search with the least around it, in microseconds, for a store of this process."""
        ranges = [(key, *value) if isinstance(value, tuple) else (key, value, value) for key, value in tags.items()]
        return self._backend.find_ids(ranges)

    def tag(self, rows: Any) -> int:
        """Gives tags to many objects in one commit, and returns their number. `rows` is what `write` takes: it names the objects by
        `object_id`, or by `kind`, `name` and `schema_name`; every other column is a tag, and None leaves a tag as it is."""
        with self._registered(rows) as name:
            return self._sql(f"TAG OBJECTS FROM {name}").rows_changed or 0

    def group(self, name: str, schema: str | None = None) -> objects.Group:
        return objects.Group(self, name, schema)

    def create_group(self, name: str, schema: str | None = None, *, tags: Mapping[str, Any] | None = None) -> objects.Group:
        group = self.group(name, schema)
        self._sql(f"CREATE {group._in_sql}")
        group.tags.update(tags or {})
        return group

    def blob(self, name: str, schema: str | None = None) -> objects.Blob:
        """The blob of this name, which need not be there yet: `write` makes it."""
        return objects.Blob(self, name, schema)

    def write_blobs(
        self, contents: Mapping[str, Any], tags: Mapping[str, Mapping[str, Any]] | None = None, *, schema: str | None = None
    ) -> int:
        """Writes many blobs in one commit: their bytes by name, and tags by name. A blob that is there already gets new bytes."""
        with self._registered(objects.rows_of_blobs(contents, tags, schema or names.DEFAULT_SCHEMA)) as name:
            return self._sql(f"COPY BLOBS FROM {name}").rows_changed or 0

    def read_blobs(self, blobs: Iterable[str], *, schema: str | None = None) -> dict[str, pa.Buffer]:
        """The bytes of many blobs by name; of those there are. In process they are views of the mapped files, and no query is planned."""
        schema_name = schema or names.DEFAULT_SCHEMA
        found: dict[str, pa.Buffer] = {}
        for wanted in _batches(blobs, objects.BLOBS_READ_AT_ONCE):
            direct = self._backend.read_blobs(schema_name, wanted)
            if direct is not None:
                found.update(direct)
                continue
            listed = ", ".join(map(names.literal, wanted))
            sql = f"SELECT name, content FROM system.blobs WHERE schema_name = {names.literal(schema_name)} AND name IN ({listed})"
            found.update(objects.contents_of(self._sql(sql).arrow(views=True)))
        return found

    def array(self, name: str, schema: str | None = None) -> Array:
        """The array of this name: `[…]` reads and writes regions of it as arrays of numpy."""
        from .array_object import Array

        return Array(self, name, schema)

    def create_array(
        self,
        name: str,
        shape: Sequence[int | None],
        dtype: Any = "float64",
        *,
        dims: Sequence[str] | None = None,
        chunks: Sequence[int] | None = None,
        fill_value: Any = None,
        units: Mapping[str, str] | None = None,
        mode: str = "create",
        schema: str | None = None,
    ) -> Array:
        """Makes an array. A length of None grows with what is written; `mode` is `create` or `replace`; without `fill_value`, cells that
        were never written are 0."""
        from .array_object import create_sql

        if mode not in ("create", "replace"):
            raise ProgrammingError(f'there is no mode "{mode}" for an array', hint="use create or replace")
        array = self.array(name, schema)
        self._sql(create_sql(array._quoted, shape, dtype, dims, chunks, fill_value, units or {}, mode == "replace"))
        return array

    def write_array(self, name: str, values: Any, **options: Any) -> Array:
        """Makes an array of these values in one commit. The other arguments are those of `create_array`."""
        import numpy

        values = numpy.asarray(values)
        options = {"shape": values.shape, "dtype": values.dtype} | options
        with self.one_commit():
            array = self.create_array(name, **options)
            # A dimension without limit has no cells yet.
            array[tuple(slice(0, length) for length in values.shape)] = values
        return array

    def import_arrays(self, path: str | PathLike[str], **options: Any) -> list[Array]:
        """The arrays of a file of HDF5, NetCDF-4, FITS, or of a directory of Zarr, in one commit: groups become groups, attributes tags.
        `schema`; `group`, which gets them (the name of the file); `mode`: `create` or `replace`; `exclude` and `exclude_attributes`:
        patterns of names to leave out; `file_format`, if the name of the file does not say it: `hdf5`, `fits` or `zarr`; `metadata`:
        whether attributes become tags in this commit (`sync`), in a later one, while the tag `tags_pending_since` says that they are
        missing (`async`), or not at all (`none`)."""
        from .array_files import import_arrays

        return import_arrays(self, path, **options)

    def extract_attributes(self, path: str | PathLike[str], **options: Any) -> int:
        """Attributes of a file as tags of its arrays and groups, which are in the store already, in one commit. Returns how many objects
        have some. The options are those of `import_arrays`, without `mode` and `metadata`."""
        from .array_files import extract_attributes

        return extract_attributes(self, path, **options)

    def export_arrays(self, path: str | PathLike[str], arrays: Iterable[str] | None = None, **options: Any) -> None:
        """Arrays by name, or all of a `group` or `schema`, into one such file; tags become attributes."""
        from .array_files import export_arrays

        export_arrays(self, path, arrays, **options)

    def dataset(self, schema: str | None = None, group: str | None = None) -> xarray.Dataset:
        """The arrays of a schema, or of a group of it, as a data set of xarray, which reads what it needs."""
        from .xarray_backend import dataset_of

        return dataset_of(self, schema or names.DEFAULT_SCHEMA, group)

    def write_dataset(
        self, dataset: xarray.Dataset, schema: str | None = None, group: str | None = None, mode: str = "create"
    ) -> list[Array]:
        """The variables and coordinates of a data set of xarray as arrays, in one commit; their attributes become tags, and those of the
        data set tags of `group`, which gets the arrays."""
        from .xarray_backend import write_dataset

        return write_dataset(self, dataset, schema or names.DEFAULT_SCHEMA, group, mode)

    @contextmanager
    def _registered(self, rows: Any) -> Iterator[str]:
        """The rows as a table of one statement."""
        name = "_rows_of_this_call"
        self.register(name, rows)
        try:
            yield name
        finally:
            self.unregister(name)

    def tables(self, schema: str | None = None) -> list[str]:
        """The names of tables and views of a schema."""
        # A literal, because over the network parameters need additional calls.
        schema_literal = names.literal(schema or names.DEFAULT_SCHEMA)
        sql = f"SELECT table_name FROM information_schema.tables WHERE table_schema = {schema_literal} ORDER BY table_name"
        return [name for (name,) in self._sql(sql).fetchall()]

    def _kinds_of(self, table: str) -> dict[str, str]:
        """The kind of the object of this name in each schema: `BASE TABLE`, `LOCAL TEMPORARY` or `VIEW`."""
        sql = f"SELECT table_schema, table_type FROM information_schema.tables WHERE table_name = {names.literal(table)}"
        return dict(self._sql(sql).fetchall())

    def write(self, table: str, rows: Any, mode: str = "create", *, schema: str | None = None) -> int:
        """Adds rows to a table in one commit, or in the open transaction. `rows` is a table or data frame of pyarrow, polars or
        pandas, a reader of record batches, or a dict of columns. Returns the number of rows.

        `create`: the table must not exist. `append`: it must exist; columns are matched by name. `replace`: a new table takes
        its place. `create_append`: either."""
        check_mode(mode)
        target = self._target(table, schema)
        with data.reader_errors(data.as_stream(rows)) as stream:
            return self._backend.ingest(stream, *target, mode)

    def import_(
        self,
        paths: str | PathLike[str] | Sequence[str | PathLike[str]],
        table: str | None = None,
        mode: str = "create",
        *,
        schema: str | None = None,
        order_by: str | Sequence[str] = (),
        format: str | None = None,  # noqa: A002 - as in SQL
        on_error: str = "abort",
        header: bool | None = None,
        delimiter: str | None = None,
        null: str | Sequence[str] = (),
        types: Mapping[str, str] | None = None,
        **csv: str | int | Sequence[str],
    ) -> Imported:
        """Reads files, directories and globs of this machine into a table, in one commit: Parquet, CSV, JSON or Arrow. Without
        `table` it is named after the file.

        `types` are types of SQL by column. `csv` are further options by their names in SQL: `quote`, `escape`, `comment`, `skip`,
        `date_format`, `decimal` and `encoding`."""
        check_mode(mode)
        if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii()):
            raise ProgrammingError(f"a delimiter is one character of ASCII, and not {delimiter!r}")
        listed = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
        found = [fspath(path) for path in listed]
        target = self._target(table or _name_of(found), schema)
        keys = [order_by] if isinstance(order_by, str) else list(order_by)
        nulls = [null] if isinstance(null, str) else list(null)
        texts = [(name, value) for name, values in csv.items() for value in _option_texts(values)]
        options = ImportOptions(mode, keys, format, on_error, header, delimiter, nulls, list((types or {}).items()), texts)
        return self._backend.import_files(found, *target, options)

    def _target(self, table: str, schema: str | None) -> tuple[str, str]:
        """The schema and the name of the target table. A temporary table is refused, and so is a stored table that one hides."""
        target = names.split(table, schema)
        is_temporary = target[0] == names.TEMPORARY_SCHEMA
        if target == (names.DEFAULT_SCHEMA, table) and schema is None and self._mentions_temporary:
            is_temporary = names.TEMPORARY_SCHEMA in self._kinds_of(table)
        if is_temporary:
            hint = f'fill it with INSERT INTO "{target[1]}" SELECT …, or write to the stored table "{names.DEFAULT_SCHEMA}.{target[1]}"'
            raise NotSupportedError(f'"{target[1]}" is a temporary table, and rows are written to stored ones', hint=hint)
        return target

    def write_matrix(
        self,
        name: str,
        values: Any,
        block: int | tuple[int, int] | None = None,
        mode: str = "create",
        *,
        schema: str | None = None,
    ) -> int:
        """Writes a matrix, or a vector, as a table of blocks, in one commit: an array of numpy in any order of its elements, a memmap,
        a data set of h5py, a matrix of `read_matrix`; only some blocks of it are in memory at a time. Returns the number of blocks.

        `block`: rows and columns of a block (of a vector: rows), by default up to 1024; the last blocks are padded with zeros.
        float64 and float32 keep their types, float16 becomes float32; integers (up to 2^53) and booleans become
        float64. `mode`: `create` or `replace`."""
        from . import matrix

        if mode not in ("create", "replace"):
            raise ProgrammingError(f'there is no mode "{mode}" for a matrix', hint="it is written whole: use create or replace")
        if isinstance(values, matrix.Matrix) and values.is_read_by(self):
            # A read on this connection would wait for the write.
            with self.another() as reader:
                return self.write(name, matrix.as_rows(values.over(reader), block), mode, schema=schema)
        return self.write(name, matrix.as_rows(values, block), mode, schema=schema)

    def read_matrix(self, name: str, schema: str | None = None) -> Matrix:
        """A matrix; `[rows, columns]` of it reads only the blocks that it needs."""
        from .matrix import Matrix

        return Matrix(self, name, schema)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Commits at the end, or rolls back after an exception. All statements in it see one version of the store."""
        self.begin()
        try:
            yield self
        except BaseException:
            if self._backend.in_transaction:
                self.rollback()
            raise
        if self._backend.in_transaction:
            self.commit()

    @contextmanager
    def one_commit(self) -> Iterator[Connection]:
        """The open transaction, or one of its own."""
        if self.in_transaction:
            yield self
        else:
            with self.transaction():
                yield self

    def begin(self) -> None:
        self._backend.begin()

    def commit(self) -> None:
        self._backend.commit()

    def rollback(self) -> None:
        self._backend.rollback()

    @property
    def in_transaction(self) -> bool:
        return self._backend.in_transaction

    def another(self) -> Connection:
        """A second connection to the same store, with a transaction and settings of its own."""
        return Connection(self._backend.another(), self.progress, self.frames)

    def close(self) -> None:
        """Ends running results and rolls back an open transaction. A second call does nothing."""
        if not self._backend.is_closed:
            self._backend.close()

    @property
    def is_closed(self) -> bool:
        return self._backend.is_closed

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<quiver.Connection to {self.uri}{', closed' if self.is_closed else ''}>"


def only_one() -> Connection:
    """The default connection: the only open one of this process."""
    open_connections = [connection for connection in list(Connection._all) if not connection.is_closed]
    if len(open_connections) != 1:
        number = f"{len(open_connections)} connections are open" if open_connections else "no connection is open"
        raise InterfaceError(f"{number}, so which one is to be used has to be said", hint="give it: con=quiver.open(…)")
    return open_connections[0]


def _check_text(statement: str) -> None:
    if not isinstance(statement, str):
        raise ProgrammingError(f"a statement is text, and not {type(statement).__name__}", hint="write it as str")
    try:
        statement.encode()
    except UnicodeEncodeError as error:
        raise ProgrammingError(f"the statement has a character that is none, at {error.start + 1}") from None


def check_mode(mode: str) -> None:
    if mode not in MODES:
        raise ProgrammingError(f'there is no mode "{mode}"', hint=f"use {', '.join(MODES[:-1])} or {MODES[-1]}")


def _batches(values: Iterable[str], size: int) -> Iterator[list[str]]:
    values = iter(values)
    while batch := list(islice(values, size)):
        yield batch


def _option_texts(values: str | int | Sequence[str]) -> list[str]:
    """An option with a list is there several times."""
    if isinstance(values, (str, int)):
        return [str(values).lower() if isinstance(values, bool) else str(values)]
    return [str(value) for value in values]


def _name_of(paths: list[str]) -> str:
    stems = {PurePath(path).name.split(".")[0] for path in paths}
    name = stems.pop() if len(stems) == 1 else ""
    if not name or not name.replace("_", "").replace("-", "").isalnum():
        raise ProgrammingError("these paths give no name for a table", hint="say it with table=")
    return name
