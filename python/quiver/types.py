"""Conversion of column types for libraries that do not support all Arrow types."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

Leaf = Callable[[pa.DataType], pa.DataType]

_PLAIN = {pa.string_view(): (pa.string(), pa.large_string()), pa.binary_view(): (pa.binary(), pa.large_binary())}


def without_views(table: pa.Table, *, large: bool = False) -> pa.Table:
    """Copies text and bytes from views into columns with offsets."""
    schema = schema_without_views(table.schema, large=large)
    return table if schema.equals(table.schema) else table.cast(schema)


def schema_without_views(schema: pa.Schema, *, large: bool = False) -> pa.Schema:
    def plain(kind: pa.DataType) -> pa.DataType:
        return _PLAIN[kind][large] if kind in _PLAIN else kind

    return pa.schema([field.with_type(_mapped(field.type, plain)) for field in schema], metadata=schema.metadata)


def values(column: pa.Array) -> list:
    """Values of Python's own types. Times are `datetime` in microseconds, whether or not pandas is installed."""
    kind = _mapped(column.type, _in_microseconds)
    return (column if kind == column.type else column.cast(kind, safe=False)).to_pylist()


def _in_microseconds(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if pa.types.is_duration(kind) and kind.unit == "ns":
        return pa.duration("us")
    return kind


def _mapped(kind: pa.DataType, leaf: Leaf) -> pa.DataType:
    """Applies `leaf` to the type, also inside of lists, structs and maps."""
    if pa.types.is_struct(kind):
        return pa.struct([_mapped_field(field, leaf) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_mapped(kind.key_type, leaf), _mapped_field(kind.item_field, leaf))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_mapped_field(kind.value_field, leaf), kind.list_size)
    if pa.types.is_large_list(kind):
        return pa.large_list(_mapped_field(kind.value_field, leaf))
    if pa.types.is_list(kind):
        return pa.list_(_mapped_field(kind.value_field, leaf))
    return leaf(kind)


def _mapped_field(field: pa.Field, leaf: Leaf) -> pa.Field:
    return field.with_type(_mapped(field.type, leaf))
