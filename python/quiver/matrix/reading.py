"""Reads a matrix from a table by blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy
import pyarrow as pa

from .. import names
from ..errors import DataError, ProgrammingError
from .indexing import Axis, axes, condition
from .layout import Layout

if TYPE_CHECKING:
    from ..connection import Connection


class Matrix:
    """A block matrix of the store, or a vector in blocks. `matrix[rows, columns]` reads only the blocks that contain some of them:
    numbers, slices with steps, negative ones as in numpy, and a list of numbers or booleans for one of the two. A missing
    block counts as zeros.

    If one block contains the whole selection, the answer is a view of it: in process, a read-only view of the store's file.
    Otherwise it is a new array. `numpy.asarray(matrix)` reads the whole matrix."""

    def __init__(self, connection: Connection, name: str, schema: str | None = None):
        self._connection = connection
        self.name = name
        # As in SQL, a name without a schema may also be a temporary table.
        parts = (name,) if schema is None and "." not in name else names.split(name, schema)
        self._quoted = ".".join(map(names.quoted, parts))
        self._layout = Layout.of(connection._backend.schema_of(f"SELECT * FROM {self._quoted}"), name)
        self._sizes = self._layout.shape or self._covered_shape()

    def _covered_shape(self) -> tuple[int, int]:
        """The number of rows and columns that the blocks cover."""
        last = self._connection.sql(f"SELECT {', '.join(f'max({column})' for column in self._layout.index_columns)} FROM {self._quoted}")
        rows, *columns = (0 if index is None else (index + 1) * size for index, size in zip(last.fetchall()[0], self._layout.block))
        return rows, columns[0] if columns else 1

    @property
    def shape(self) -> tuple[int, ...]:
        return self._sizes[: self.ndim]

    @property
    def block_shape(self) -> tuple[int, ...]:
        return self._layout.block[: self.ndim]

    @property
    def ndim(self) -> int:
        return len(self._layout.index_columns)

    @property
    def dtype(self) -> numpy.dtype:
        return numpy.dtype(self._layout.element.to_pandas_dtype())

    @property
    def size(self) -> int:
        return self._sizes[0] * self._sizes[1]

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        rows, columns = axes(key, self.shape, self._layout.block)
        return self._read(rows, columns)[rows.final_index(), columns.final_index()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
        if copy is False:
            raise ValueError("a matrix is put together of its blocks, which is a copy of them")
        values = self[...]
        values = values if dtype is None else values.astype(dtype, copy=False)
        return values.copy() if copy and not values.flags.writeable else values

    def _read(self, rows: Axis, columns: Axis) -> numpy.ndarray:
        """The selected elements, in ascending order of their indices."""
        if not len(rows) or not len(columns):
            return numpy.empty((len(rows), len(columns)), self.dtype)
        row_parts, column_parts = ({block: axis.part(block) for block in axis.blocks()} for axis in (rows, columns))
        whole, seen = None, set()
        for i, j, block in self._blocks(list(row_parts), list(column_parts)):
            if (i, j) in seen:
                raise DataError(f'"{self.name}" has the block at i = {i}, j = {j} twice')
            if i not in row_parts or j not in column_parts:
                raise DataError(f'"{self.name}" has a block at i = {i}, j = {j}, outside of its shape {self.shape}')
            seen.add((i, j))
            (row_selection, inner_rows), (column_selection, inner_columns) = row_parts[i], column_parts[j]
            if len(row_parts) == len(column_parts) == 1:
                whole = block[inner_rows, inner_columns]
                continue
            if whole is None:
                whole = numpy.zeros((len(rows), len(columns)), self.dtype)
            whole[row_selection, column_selection] = block[inner_rows, inner_columns]
        return numpy.zeros((len(rows), len(columns)), self.dtype) if whole is None else whole

    def _blocks(self, rows: list[int], columns: list[int]) -> Iterator[tuple[int, int, numpy.ndarray]]:
        """The existing ones of these blocks, in any order."""
        conditions = [
            condition(name, blocks)
            for name, blocks, size, step in zip(self._layout.index_columns, (rows, columns), self._sizes, self._layout.block)
            if len(blocks) < -(-size // step)
        ]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        result = self._connection.sql(f"SELECT {', '.join(self._layout.index_columns)}, block FROM {self._quoted}{where}")
        if Layout.of(result.schema, self.name) != self._layout:
            raise ProgrammingError(f'"{self.name}" is another matrix now', hint="read it again with read_matrix")
        for batch in result:
            yield from self._blocks_of(batch)

    def _blocks_of(self, batch: pa.RecordBatch) -> Iterator[tuple[int, int, numpy.ndarray]]:
        *index_columns, blocks = batch.columns
        i, j = (
            column.to_pylist()
            for column in (index_columns if len(index_columns) == 2 else [*index_columns, pa.array([0] * batch.num_rows)])
        )
        if None in i or None in j:
            raise DataError(f'"{self.name}" has a block without its place: i or j is NULL')
        lists = blocks.storage if isinstance(blocks, pa.ExtensionArray) else blocks
        width = self._layout.block[0] * self._layout.block[1]
        for row, index in enumerate(zip(i, j)):
            block = lists.values.slice((lists.offset + row) * width, width)
            if block.null_count or (lists.null_count and not lists[row].is_valid):
                raise DataError(f'the block of "{self.name}" at i = {index[0]}, j = {index[1]} is NULL, or has NULL in it')
            yield *index, block.to_numpy(zero_copy_only=True).reshape(self._layout.block)

    def over(self, connection: Connection) -> Matrix:
        """The same matrix, read by another connection."""
        other = object.__new__(Matrix)
        other.__dict__.update(self.__dict__, _connection=connection)
        return other

    def is_read_by(self, connection: Connection) -> bool:
        return self._connection is connection

    def __repr__(self) -> str:
        shape, block = (" x ".join(map(str, sizes)) for sizes in (self.shape, self.block_shape))
        return f"<quiver.Matrix {self.name}: {shape} of {self.dtype}, in blocks of {block}>"
