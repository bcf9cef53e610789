"""Types of columns for libraries that do not know all of Arrow's."""

from __future__ import annotations

import pyarrow as pa

_PLAIN = {pa.string_view(): (pa.string(), pa.large_string()), pa.binary_view(): (pa.binary(), pa.large_binary())}


def without_views(table: pa.Table, *, large: bool = False) -> pa.Table:
    """Text and bytes as one column of characters with offsets, which is a copy of them."""
    schema = pa.schema([field.with_type(_plain(field.type, large)) for field in table.schema], metadata=table.schema.metadata)
    return table if schema.equals(table.schema) else table.cast(schema)


def _plain(kind: pa.DataType, large: bool) -> pa.DataType:
    if kind in _PLAIN:
        return _PLAIN[kind][large]
    if pa.types.is_struct(kind):
        return pa.struct([_plain_field(field, large) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_plain(kind.key_type, large), _plain_field(kind.item_field, large))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_plain_field(kind.value_field, large), kind.list_size)
    if pa.types.is_large_list(kind):
        return pa.large_list(_plain_field(kind.value_field, large))
    if pa.types.is_list(kind):
        return pa.list_(_plain_field(kind.value_field, large))
    return kind


def _plain_field(field: pa.Field, large: bool) -> pa.Field:
    return field.with_type(_plain(field.type, large))
