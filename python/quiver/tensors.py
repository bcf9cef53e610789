"""pyarrow tensors among the values of a parameter."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import pyarrow as pa


class _AnyShape(pa.ExtensionType):
    """Arrow's extension type for tensors of any shape, which pyarrow does not have yet."""

    def __init__(self, element: pa.DataType, dimensions: int) -> None:
        storage = pa.struct([("data", pa.list_(element)), ("shape", pa.list_(pa.int32(), dimensions))])
        super().__init__(storage, "arrow.variable_shape_tensor")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> _AnyShape:
        return cls(storage_type["data"].type.value_type, storage_type["shape"].type.list_size)


def column(values: list[Any]) -> pa.Array | None:
    """A column of tensors, which the statement casts to lists of elements or of rows; None for other values, and if the tensors have
    different numbers of dimensions, or no elements."""
    known = [value for value in values if value is not None]
    if not known or not all(isinstance(value, pa.FixedShapeTensorScalar) for value in known):
        return None
    shapes = [_shape(value.type) for value in known]
    if len({len(shape) for shape in shapes}) > 1 or any(0 in shape for shape in shapes):
        return None
    lists = [None if value is None else _elements(value) for value in values]
    # The type that a list of the same numbers has.
    element = pa.array(lists).type.value_type
    element = known[0].type.value_type if pa.types.is_null(element) else element
    if all(shape == shapes[0] for shape in shapes):
        kind = pa.fixed_shape_tensor(element, shapes[0])
        return pa.ExtensionArray.from_storage(kind, pa.array(lists, kind.storage_type))
    kind = _AnyShape(element, len(shapes[0]))
    rows = [None if value is None else {"data": data, "shape": _shape(value.type)} for value, data in zip(values, lists)]
    return pa.ExtensionArray.from_storage(kind, pa.array(rows, kind.storage_type))


def as_lists(values: list[Any]) -> list[Any]:
    """Converts tensors to the form of the other values: lists of rows if the others are such, else lists of elements."""
    others = [value for value in values if isinstance(value, (list, tuple)) and value]
    are_rows = bool(others) and all(any(isinstance(part, (list, tuple)) for part in value) for value in others)
    plain = _rows if are_rows else _elements
    return [plain(value) if isinstance(value, pa.FixedShapeTensorScalar) else value for value in values]


def _shape(kind: pa.FixedShapeTensorType) -> list[int]:
    """The logical shape, whose order of dimensions may differ from that in memory."""
    order = kind.permutation
    return list(kind.shape) if order is None else [kind.shape[place] for place in order]


def _elements(tensor: pa.FixedShapeTensorScalar) -> list[Any]:
    """The elements in row-major order."""
    values, kind = tensor.value.as_py(), tensor.type
    order = kind.permutation
    if order is None or list(order) == sorted(order):
        return values
    strides = [prod(kind.shape[place + 1 :]) for place in order]
    places = product(*map(range, _shape(kind)))
    return [values[sum(at * stride for at, stride in zip(place, strides))] for place in places]


def _rows(tensor: pa.FixedShapeTensorScalar) -> list[Any]:
    values, shape = _elements(tensor), _shape(tensor.type)
    for dimension in range(len(shape) - 1, 0, -1):
        size = shape[dimension]
        values = [values[at * size : (at + 1) * size] for at in range(prod(shape[:dimension]))]
    return values
