"""Columns of segments that are stored in other types than those of their values: docs/format.md, "Types"."""

from __future__ import annotations

import re

import pyarrow as pa

_INTEGERS = {f"{sign}Int{bits}": getattr(pa, f"{sign.lower()}int{bits}")() for sign in ("", "U") for bits in (8, 16, 32, 64)}
_UNITS = ("s", "ms", "us", "ns")


def decoded(column: pa.Array, field: pa.Field) -> pa.Array:
    """The values of a column that is stored as `field`."""
    name = (field.metadata or {}).get(b"quiver.type", b"").decode()
    if pa.types.is_dictionary(column.type):
        return column.dictionary_decode()
    if not name or not pa.types.is_integer(column.type):
        return column
    if name in _INTEGERS:
        return column.cast(_INTEGERS[name])
    if match := re.fullmatch(r"Decimal\d+\((\d+), (-?\d+)\)", name):
        # The digits without the point.
        digits = column.cast(pa.int64()).cast(pa.decimal128(38, 0))
        return digits.view(pa.decimal128(38, int(match[2]))).cast(pa.decimal128(int(match[1]), int(match[2])))
    kind = _time(name)
    return column.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)


def _time(name: str) -> pa.DataType:
    """The type of days, times, instants or lengths of time that has this name in Rust."""
    match = re.fullmatch(r'(\w+?)(?:\((\w+|µs)(?:, "(.*)")?\))?', name)
    kind, unit, zone = match.groups() if match else (name, None, None)
    unit = "us" if unit == "µs" else unit
    if kind in ("Date32", "Date64"):
        return pa.date32() if kind == "Date32" else pa.date64()
    if kind == "Timestamp" and unit in _UNITS:
        return pa.timestamp(unit, zone)
    if kind in ("Time32", "Time64", "Duration") and unit in _UNITS:
        return {"Time32": pa.time32, "Time64": pa.time64, "Duration": pa.duration}[kind](unit)
    raise ValueError(f"a column is stored as {name}, which this version does not know")
