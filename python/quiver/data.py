"""What `Connection.write` takes, as a stream of Arrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from .errors import Error, ProgrammingError

_HINTS = {
    ("polars", "LazyFrame"): "collect() it first",
    ("polars", "Series"): "make a data frame of it: series.to_frame()",
    ("pandas", "Series"): "make a data frame of it: series.to_frame()",
}


def as_stream(data: Any) -> Any:
    """An object with `__arrow_c_stream__`, whose columns are checked as far as they are known before its rows."""
    stream = _stream(data)
    if isinstance(schema := getattr(stream, "schema", None), pa.Schema):
        check_names(schema)
    return stream


def _stream(data: Any) -> Any:
    library = type(data).__module__.split(".")[0]
    if hint := _HINTS.get((library, type(data).__name__)):
        raise ProgrammingError(f"a {type(data).__name__} of {library} is no table", hint=hint)
    if library == "pandas" and hasattr(data, "columns"):
        return _of_pandas(data)
    if library == "polars" and hasattr(data, "__arrow_c_stream__"):
        _check_polars(data.schema)
        # By way of pyarrow, which takes all that polars hands over: columns of nothing but NULL have a buffer there.
        return _told(lambda: pa.table(data))
    if hasattr(data, "__arrow_c_stream__"):
        return data
    if hasattr(data, "scanner"):
        return data.scanner().to_reader()
    if isinstance(data, Mapping):
        _check_polars({name: values.dtype for name, values in data.items() if type(values).__module__.startswith("polars.")})
        return _told(lambda: pa.table(dict(data)))
    if isinstance(data, list) and data and isinstance(data[0], Mapping):
        return _of_rows(data)
    if isinstance(data, list) and data and all(isinstance(batch, pa.RecordBatch) for batch in data):
        return _told(lambda: pa.Table.from_batches(data))
    hint = "give a table or data frame of pyarrow, polars or pandas, a record batch reader, or a dict of columns"
    raise ProgrammingError(f"{type(data).__name__} has no rows that could be written", hint=hint)


def _of_pandas(frame: Any) -> pa.Table:
    # The index is a number for each row or a column that has a name elsewhere; reset_index() makes it one here.
    table = _told(lambda: pa.Table.from_pandas(frame, preserve_index=False))
    for field in table.schema:
        if isinstance(field.type, pa.BaseExtensionType) and field.type.extension_name == "pandas.period":
            hint = f'write frame["{field.name}"].dt.to_timestamp(), or its text: .astype(str)'
            raise ProgrammingError(f'column "{field.name}" has periods of pandas, which SQL has no type for', hint=hint)
    return table


def _of_rows(rows: list[Any]) -> pa.Table:
    """pyarrow goes by the names of the first row, and would leave out what the others have beyond them."""
    if not all(isinstance(row, Mapping) for row in rows):
        raise ProgrammingError("some of these rows are dicts and some are not", hint="give a list of dicts")
    names = list(dict.fromkeys(name for row in rows for name in row))
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise ProgrammingError(f"the name of a column is text, and not {wrong[0]!r}")
    return _told(lambda: pa.table({name: [row.get(name) for row in rows] for name in names}))


def _check_polars(schema: Mapping[str, Any]) -> None:
    """What polars keeps as objects of Python it hands over as their addresses."""
    for name, dtype in schema.items():
        if _has_objects(dtype):
            hint = "cast it, or make a column of it that has a type of polars"
            raise ProgrammingError(f'column "{name}" has objects of Python, which SQL has no type for', hint=hint)


def _has_objects(dtype: Any) -> bool:
    inner = [getattr(dtype, "inner", None), *(field.dtype for field in getattr(dtype, "fields", ()))]
    return str(dtype) == "Object" or any(_has_objects(part) for part in inner if part is not None)


def check_names(schema: pa.Schema) -> None:
    """That every column can be told from the others, and is called at the other end of Arrow's C interface as it is here."""
    twice = next((name for name, number in Counter(schema.names).items() if number > 1), None)
    if twice is not None:
        raise ProgrammingError(f'two columns are called "{twice}"', hint="give one of them another name")
    for field in schema:
        _check_name(field)


def _check_name(field: pa.Field) -> None:
    if "\0" in field.name:
        raise ProgrammingError(f"the name of column {field.name!r} has a NUL in it, where it would end", hint="give it another name")
    if pa.types.is_nested(field.type):
        for place in range(field.type.num_fields):
            _check_name(field.type.field(place))


@contextmanager
def noting(stream: Any) -> Iterator[Any]:
    """What goes wrong while a reader of Python makes rows is raised as it is. Who pulls them does so in C, where an error is a text
    with a traceback in it.

    **Invariant:** every batch has the columns that the reader has said. In C nothing says what a batch is made of, and one of narrower
    numbers would be read beyond its end."""
    if not isinstance(stream, pa.RecordBatchReader):
        yield stream
        return
    noted: list[Exception] = []

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            for batch in stream:
                _check_fits(batch.schema, stream.schema)
                yield batch
        except Exception as error:
            noted.append(error)
            raise

    try:
        yield pa.RecordBatchReader.from_batches(stream.schema, batches())
    except Error as error:
        if not noted:
            raise
        if isinstance(noted[0], Error):
            raise noted[0] from None
        raise ProgrammingError(f"the rows cannot be read: {noted[0]}") from error


def _check_fits(found: pa.Schema, said: pa.Schema) -> None:
    if found.names == said.names and found.types == said.types:
        return
    differing = ((one, other) for one, other in zip(found, said) if (one.name, one.type) != (other.name, other.type))
    if (differs := next(differing, None)) is None:
        message = f"a record batch has {len(found)} columns, and its reader says {len(said)}"
    else:
        message = 'a record batch has the column "{0.name}" ({0.type}) where its reader says "{1.name}" ({1.type})'.format(*differs)
    raise ProgrammingError(message, hint="make the reader with the schema of its batches, or cast them to its own")


def _told(convert: Any) -> pa.Table:
    try:
        return convert()
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ProgrammingError(f"these rows cannot be written: {error}") from None
