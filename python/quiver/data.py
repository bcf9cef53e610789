"""What `Connection.write` takes, as a stream of Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from .errors import Error, ProgrammingError


def as_stream(data: Any) -> Any:
    """An object with `__arrow_c_stream__`."""
    if type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns"):
        # The index is a number for each row or a column that has a name elsewhere; reset_index() makes it one here.
        return _told(lambda: pa.Table.from_pandas(data, preserve_index=False))
    if type(data).__module__.split(".")[0] == "polars" and hasattr(data, "__arrow_c_stream__"):
        # By way of pyarrow, which takes all that polars hands over: columns of nothing but NULL have a buffer there.
        return _told(lambda: pa.table(data))
    if hasattr(data, "__arrow_c_stream__"):
        return data
    if hasattr(data, "scanner"):
        return data.scanner().to_reader()
    if isinstance(data, Mapping):
        return _told(lambda: pa.table(dict(data)))
    if isinstance(data, list) and data and isinstance(data[0], Mapping):
        return _told(lambda: pa.Table.from_pylist(data))
    hint = "give a table or data frame of pyarrow, polars or pandas, a record batch reader, or a dict of columns"
    raise ProgrammingError(f"{type(data).__name__} has no rows that could be written", hint=hint)


@contextmanager
def noting(stream: Any) -> Iterator[Any]:
    """What goes wrong while a reader of Python makes rows is raised as it is. Who pulls them does so in C, where an error is a text
    with a traceback in it."""
    if not isinstance(stream, pa.RecordBatchReader):
        yield stream
        return
    noted: list[Exception] = []

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from stream
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


def _told(convert: Any) -> pa.Table:
    try:
        return convert()
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ProgrammingError(f"these rows cannot be written: {error}") from None
