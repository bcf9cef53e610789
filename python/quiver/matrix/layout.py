"""The table of a matrix: one row for each block, with the indices of the block and its elements in row-major order."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa

from ..errors import ProgrammingError

SHAPE = b"quiver.matrix_shape"
"""Metadata of the field `block`: `[rows, columns]`. Without it, the blocks determine the shape of the matrix."""

BLOCK_BYTES_MAX = 2**31
"""The limit of SQL for the type of a tensor."""


@dataclass(frozen=True)
class Layout:
    """`block` is the shape of the blocks, `shape` that of the matrix, if the table has it. A vector is a matrix of one column; it
    has no `j`, and its blocks are vectors and not tensors."""

    block: tuple[int, int]
    element: pa.DataType
    shape: tuple[int, int] | None = None
    is_vector: bool = False

    @property
    def kind(self) -> pa.DataType:
        """The type of the blocks."""
        return pa.list_(self.element, self.block[0]) if self.is_vector else pa.fixed_shape_tensor(self.element, self.block)

    @property
    def index_columns(self) -> list[str]:
        return ["i"] if self.is_vector else ["i", "j"]

    @property
    def schema(self) -> pa.Schema:
        block = pa.field("block", self.kind, nullable=False)
        if self.shape is not None:
            block = block.with_metadata({SHAPE: json.dumps(list(self.shape))})
        return pa.schema([pa.field(column, pa.int64(), nullable=False) for column in self.index_columns] + [block])

    @classmethod
    def of(cls, schema: pa.Schema, name: str) -> Layout:
        """The layout of an existing table."""
        is_vector = schema.get_field_index("j") < 0
        for column in ("i", "block"):
            if schema.get_field_index(column) < 0:
                raise _not_a_matrix(name, f"it has no column {column}")
        for column in ("i",) if is_vector else ("i", "j"):
            if not pa.types.is_integer(schema.field(column).type):
                raise _not_a_matrix(name, f"{column} is {schema.field(column).type} and not a whole number")
        field = schema.field("block")
        block = _block_of(field.type, is_vector, name)
        if not pa.types.is_floating(field.type.value_type) and not pa.types.is_integer(field.type.value_type):
            raise _not_a_matrix(name, f"its elements are {field.type.value_type} and not numbers")
        return cls(block, field.type.value_type, _shape_of(field, name), is_vector)


def _block_of(kind: pa.DataType, is_vector: bool, name: str) -> tuple[int, int]:
    if is_vector:
        if not pa.types.is_fixed_size_list(kind) or not kind.list_size:
            raise _not_a_matrix(name, f"it has no column j, and block is {kind} and no vector of a fixed size")
        return kind.list_size, 1
    if not isinstance(kind, pa.FixedShapeTensorType) or len(kind.shape) != 2 or 0 in kind.shape:
        raise _not_a_matrix(name, f"block is {kind} and not a tensor of two dimensions")
    if kind.permutation not in (None, [0, 1]):
        raise _not_a_matrix(name, "its blocks lie column after column")
    return kind.shape[0], kind.shape[1]


def _shape_of(field: pa.Field, name: str) -> tuple[int, int] | None:
    metadata = (field.metadata or {}).get(SHAPE)
    if metadata is None:
        return None
    try:
        shape = json.loads(metadata)
        is_shape = isinstance(shape, list) and len(shape) in (1, 2) and all(type(size) is int and size >= 0 for size in shape)
    except ValueError:
        is_shape = False
    if not is_shape:
        raise _not_a_matrix(name, f"its {SHAPE.decode()} is {metadata.decode(errors='replace')} and not [rows, columns]")
    return (*shape, 1)[0], (*shape, 1)[1]


def _not_a_matrix(name: str, why: str) -> ProgrammingError:
    hint = "a block matrix has the columns i and j (BIGINT) and block (TENSOR(DOUBLE, rows, columns)); write_matrix makes one"
    return ProgrammingError(f'"{name}" is no block matrix: {why}', hint=hint)
