"""Converts the rows for `Connection.write` to an Arrow stream."""

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


def is_frame(kind: type) -> bool:
    """Whether it is a type of pandas or polars that is a table, or that has a hint how to make one."""
    library = kind.__module__.split(".")[0]
    return (library in ("pandas", "polars") and kind.__name__ == "DataFrame") or (library, kind.__name__) in _HINTS


def as_stream(data: Any) -> Any:
    """An object with `__arrow_c_stream__`. Its columns are checked if they are known before its rows are read."""
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
        # Converted by pyarrow, which accepts everything from polars: there, columns of NULLs only have a buffer.
        return _convert(lambda: pa.table(data))
    if hasattr(data, "__arrow_c_stream__"):
        return data
    if hasattr(data, "scanner"):
        return data.scanner().to_reader()
    if isinstance(data, Mapping):
        _check_polars({name: values.dtype for name, values in data.items() if type(values).__module__.startswith("polars.")})
        return _convert(lambda: pa.table(dict(data)))
    if isinstance(data, list) and data and isinstance(data[0], Mapping):
        return _of_rows(data)
    if isinstance(data, list) and data and all(isinstance(batch, pa.RecordBatch) for batch in data):
        return _convert(lambda: pa.Table.from_batches(data))
    hint = "give a table or data frame of pyarrow, polars or pandas, a record batch reader, or a dict of columns"
    raise ProgrammingError(f"{type(data).__name__} has no rows that could be written", hint=hint)


def _of_pandas(frame: Any) -> pa.Table:
    # The index is left out: it is a row number, or a column for which the user can call reset_index().
    table = _convert(lambda: pa.Table.from_pandas(frame, preserve_index=False))
    for field in table.schema:
        if isinstance(field.type, pa.BaseExtensionType) and field.type.extension_name == "pandas.period":
            hint = f'write frame["{field.name}"].dt.to_timestamp(), or its text: .astype(str)'
            raise ProgrammingError(f'column "{field.name}" has periods of pandas, which SQL has no type for', hint=hint)
    return table


def _of_rows(rows: list[Any]) -> pa.Table:
    """pyarrow takes the names from the first row, and would drop further columns of other rows."""
    if not all(isinstance(row, Mapping) for row in rows):
        raise ProgrammingError("some of these rows are dicts and some are not", hint="give a list of dicts")
    names = list(dict.fromkeys(name for row in rows for name in row))
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise ProgrammingError(f"the name of a column is text, and not {wrong[0]!r}")
    return _convert(lambda: pa.table({name: [row.get(name) for row in rows] for name in names}))


def _check_polars(schema: Mapping[str, Any]) -> None:
    """polars would export Python objects as their addresses."""
    for name, dtype in schema.items():
        if _has_objects(dtype):
            hint = "cast it, or make a column of it that has a type of polars"
            raise ProgrammingError(f'column "{name}" has objects of Python, which SQL has no type for', hint=hint)


def _has_objects(dtype: Any) -> bool:
    inner = [getattr(dtype, "inner", None), *(field.dtype for field in getattr(dtype, "fields", ()))]
    return str(dtype) == "Object" or any(_has_objects(part) for part in inner if part is not None)


def check_names(schema: pa.Schema) -> None:
    """Checks that names of columns are unique, and that Arrow's C interface can carry them unchanged."""
    duplicate = next((name for name, number in Counter(schema.names).items() if number > 1), None)
    if duplicate is not None:
        raise ProgrammingError(f'two columns are called "{duplicate}"', hint="give one of them another name")
    for field in schema:
        _check_name(field)


def _check_name(field: pa.Field) -> None:
    if "\0" in field.name:
        raise ProgrammingError(f"the name of column {field.name!r} has a NUL in it, where it would end", hint="give it another name")
    if pa.types.is_nested(field.type):
        for place in range(field.type.num_fields):
            _check_name(field.type.field(place))


@contextmanager
def reader_errors(stream: Any) -> Iterator[Any]:
    """Raises an exception of a Python reader unchanged. The consumer reads through the C interface, where an error is a text
    with a traceback.

    **Invariant:** every batch has the columns of the reader's schema. The C interface does not check this, and a batch of narrower
    numbers would be read beyond its end."""
    if not isinstance(stream, pa.RecordBatchReader):
        yield stream
        return
    errors: list[Exception] = []

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            for batch in stream:
                _check_fits(batch.schema, stream.schema)
                yield batch
        except Exception as error:
            errors.append(error)
            raise

    try:
        yield pa.RecordBatchReader.from_batches(stream.schema, batches())
    except Error as error:
        if not errors:
            raise
        if isinstance(errors[0], Error):
            raise errors[0] from None
        raise ProgrammingError(f"the rows cannot be read: {errors[0]}") from error


def _check_fits(found: pa.Schema, declared: pa.Schema) -> None:
    if found.names == declared.names and found.types == declared.types:
        return
    differing = ((one, other) for one, other in zip(found, declared) if (one.name, one.type) != (other.name, other.type))
    if (differs := next(differing, None)) is None:
        message = f"a record batch has {len(found)} columns, and its reader says {len(declared)}"
    else:
        message = 'a record batch has the column "{0.name}" ({0.type}) where its reader says "{1.name}" ({1.type})'.format(*differs)
    raise ProgrammingError(message, hint="make the reader with the schema of its batches, or cast them to its own")


def _convert(convert: Any) -> pa.Table:
    try:
        return convert()
    except (pa.ArrowException, TypeError, ValueError) as error:
        # pyarrow names the column in a second text.
        raise ProgrammingError(f"these rows cannot be written: {': '.join(map(str, reversed(error.args)))}") from None
