"""Values of Python as a batch of parameters: a column for each `?` or `$1`, a row for each run of the statement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from .errors import NotSupportedError, ProgrammingError


def one_row(values: Sequence[Any] | None) -> pa.RecordBatch | None:
    """None where there are no values."""
    return batch([values]) if values else None


def batch(rows: Iterable[Sequence[Any]]) -> pa.RecordBatch:
    rows = [_row(values) for values in rows]
    width = len(rows[0]) if rows else 0
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise ProgrammingError(f"row {number} of the parameters has {len(row)} values and the first one {width}")
    columns = [_column(place, [row[place] for row in rows]) for place in range(width)]
    return pa.RecordBatch.from_arrays(columns, names=[f"${place + 1}" for place in range(width)])


def _row(values: Sequence[Any]) -> Sequence[Any]:
    if isinstance(values, Mapping):
        raise NotSupportedError("parameters by name are not supported", hint="write ? or $1 and give a list")
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise ProgrammingError(f"parameters are a list of values, and not {type(values).__name__}", hint="write [value]")
    return values


def _column(place: int, values: list[Any]) -> pa.Array:
    try:
        return pa.array([_plain(value) for value in values])
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        kinds = " and ".join(sorted({type(value).__name__ for value in values if value is not None}))
        message = f"parameter {place + 1} is {kinds}, which is no value of SQL: {error}"
        raise ProgrammingError(message) from None


def _plain(value: Any) -> Any:
    """Scalars of pyarrow and numpy as values of Python."""
    if isinstance(value, pa.Scalar):
        return value.as_py()
    return value
