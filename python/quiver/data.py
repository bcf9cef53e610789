"""What `Connection.write` takes, as a stream of Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from .errors import ProgrammingError


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


def _told(convert: Any) -> pa.Table:
    try:
        return convert()
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ProgrammingError(f"these rows cannot be written: {error}") from None
