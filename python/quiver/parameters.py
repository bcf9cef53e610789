"""Python values as a batch of parameters: a column for each `?` or `$1`, a row for each run of the statement."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, KeysView, Mapping, Sequence, ValuesView
from datetime import date, datetime, time
from typing import Any

import pyarrow as pa

from . import tensors, tokens
from .errors import ProgrammingError

_NUMBERED = re.compile(r"\?|\$\d")

Values = Sequence[Any] | Mapping[str, Any]
"""The values of `?` or `$1`, `$2`, …, or those of `:name` or `$name`."""


def in_order(sql: str, values: Values | None) -> tuple[str, Sequence[Any] | None]:
    """The statement and its values by number."""
    if not isinstance(values, Mapping):
        if values:
            _check_numbered(sql)
        return sql, values
    sql, names = _numbered(sql, values)
    return sql, [values[name] for name in names]


def rows_in_order(sql: str, rows: Iterable[Values]) -> tuple[str, Sequence[Sequence[Any]]]:
    """The same for a statement that runs once for each row."""
    rows = list(rows)
    first = rows[0] if rows else None
    if not isinstance(first, Mapping):
        return sql, rows  # type: ignore[return-value]
    sql, names = _numbered(sql, first)
    ordered = []
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping) or row.keys() != first.keys():
            raise ProgrammingError(f"row {number} of the parameters has other names than the first one")
        ordered.append([row[name] for name in names])
    return sql, ordered


def _check_numbered(sql: str) -> None:
    # Decided without splitting the text where that is possible: it may have megabytes.
    if _NUMBERED.search(sql) or not (":" in sql or "$" in sql):
        return
    if token := next((token for token in tokens.tokens(sql) if token["parameter"]), None):
        hint = f'give a dict: {{"{token["parameter"]}": …}}'
        raise ProgrammingError(f"the parameter {token[0]} has a name, and the values have none", hint=hint)


def _numbered(sql: str, names: Collection[str]) -> tuple[str, list[str]]:
    """The statement with `$1`, `$2`, … for `:name` and `$name`, and the names in this order. A number takes as much room as its name, so
    that positions in errors stay the same."""
    order: list[str] = []
    pieces = []
    for token in tokens.tokens(sql):
        piece = token[0]
        if token["number"] and names:
            raise ProgrammingError(f"the statement has {piece}, and its parameters have names", hint="name all of them, or give a list")
        if name := token["parameter"]:
            if name not in names:
                raise ProgrammingError(f'the parameter "{name}" has no value', hint="add it to the dict")
            if name not in order:
                order.append(name)
            piece = f"${order.index(name) + 1}".ljust(len(piece))
        pieces.append(piece)
    if unused := [name for name in names if name not in order]:
        raise ProgrammingError(f'the statement has no parameter "{unused[0]}"', hint=f"write :{unused[0]} where its value belongs")
    return "".join(pieces), order


def one_row(values: Sequence[Any] | None) -> pa.RecordBatch | None:
    """None if there are no values."""
    if values is None or (isinstance(values, Sequence) and not values):
        return None
    return batch([values])


def batch(rows: Iterable[Sequence[Any]]) -> pa.RecordBatch:
    rows = [_row(values) for values in rows]
    width = len(rows[0]) if rows else 0
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise ProgrammingError(f"row {number} of the parameters has {len(row)} values and the first one {width}")
    if rows and not width:
        raise ProgrammingError("the rows of parameters have no values", hint="run a statement without parameters by itself")
    columns = [_column(place, [_plain(row[place]) for row in rows]) for place in range(width)]
    return pa.RecordBatch.from_arrays(columns, names=[f"${place + 1}" for place in range(width)])


def _row(values: Sequence[Any]) -> Sequence[Any]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise ProgrammingError(f"parameters are a list of values, and not {type(values).__name__}", hint="write [value]")
    return values


def _plain(value: Any) -> Any:
    """Converts pyarrow scalars (except tensors), numpy matrices and times, and the NULLs of pandas to Python values."""
    if isinstance(value, pa.FixedShapeTensorScalar) and value.is_valid:
        return value
    if isinstance(value, pa.Scalar):
        value = value.as_py()
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 0) > 1:
        value = value.tolist()
    if type(value).__name__ in ("datetime64", "timedelta64") and not isinstance(plain := value.item(), int):
        # pyarrow takes numpy times from seconds to nanoseconds. Python has no nanoseconds, so `item` returns an int for them.
        value = plain
    return None if type(value).__name__ in ("NaTType", "NAType") else value


def _as_list(value: Any) -> Any:
    """The values of a column of pandas, polars or pyarrow, or of a range."""
    library = type(value).__module__.split(".")[0]
    if library == "pandas" and getattr(value, "ndim", 0) == 1:
        value = pa.array(value, from_pandas=True)
    elif library == "polars" and type(value).__name__ == "Series":
        value = value.to_arrow()
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        return value.to_pylist()
    return list(value) if isinstance(value, (range, KeysView, ValuesView)) else value


def _column(place: int, values: list[Any]) -> pa.Array:
    try:
        values = [_as_list(value) for value in values]
        if (column := tensors.column(values)) is not None:
            return column
        values = tensors.as_lists(values)
        column = _nanoseconds(values)
        column = pa.array(_of_one_kind(values), _unsigned(values)) if column is None else column
        if isinstance(column.type, pa.BaseExtensionType):
            raise TypeError("give its text")
        return column
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        kinds = " and ".join(sorted({type(value).__name__ for value in values if value is not None}))
        message = f"parameter {place + 1} is {kinds}, which is no value of SQL"
        if isinstance(error, OverflowError):
            raise ProgrammingError(message, hint="a number beyond 64 bits is a decimal.Decimal") from None
        # The text of pyarrow has all of the object.
        if "did not recognize" in str(error):
            raise ProgrammingError(message, hint="give a number, a text, a time, bytes, or a list of these") from None
        raise ProgrammingError(f"{message}: {error}") from None


def _of_one_kind(values: list[Any]) -> list[Any]:
    """pyarrow infers the type from the first value, and would truncate the others."""
    if any(isinstance(value, time) and value.tzinfo is not None for value in values):
        raise TypeError("a time of day has no time zone")
    times = [value for value in values if isinstance(value, datetime)]
    if len({value.tzinfo is None for value in times}) > 1:
        raise TypeError("some of these have a time zone and some have none")
    if not times:
        return values
    zone = times[0].tzinfo
    return [datetime.combine(value, time(), zone) if type(value) is date else value for value in values]


def _unsigned(values: list[Any]) -> pa.DataType | None:
    """The type for integers that only a BIGINT UNSIGNED can hold."""
    numbers = [value for value in values if value is not None]
    if all(type(value) is int and 0 <= value < 1 << 64 for value in numbers) and any(value >> 63 for value in numbers):
        return pa.uint64()
    return None


def _nanoseconds(values: list[Any]) -> pa.Array | None:
    """Times of pandas in nanoseconds, which Python's types cannot hold."""
    known = [value for value in values if value is not None]
    times = [value for value in known if not isinstance(value, pa.MonthDayNano)]
    finer = [value for value in times if getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0)]
    if not finer:
        return None
    if not all(type(value) is type(finer[0]) for value in known):
        raise TypeError("times of pandas come with times of Python, which have no nanoseconds")
    is_time = isinstance(finer[0], datetime)
    kind = pa.timestamp("ns", pa.array(finer[:1]).type.tz) if is_time else pa.duration("ns")
    return pa.array([None if value is None else value.value for value in values], kind)
