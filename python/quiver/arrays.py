"""Columns as numpy arrays. They are views of the mapped files if the rows are contiguous there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from .errors import ProgrammingError

if TYPE_CHECKING:
    import numpy


def numpy_arrays(table: pa.Table) -> dict[str, numpy.ndarray]:
    duplicate = next((name for name in table.column_names if table.column_names.count(name) > 1), None)
    if duplicate is not None:
        raise ProgrammingError(f'two columns are called "{duplicate}"', hint="give one of them another name with AS")
    return {name: numpy_array(column) for name, column in zip(table.column_names, table.columns)}


def numpy_array(column: pa.ChunkedArray) -> numpy.ndarray:
    """A column as an array: a view if its chunks are contiguous in memory, else one copy. A column with NULLs is masked. Vectors of
    a fixed length and tensors have further dimensions."""
    shape = _shape(column.type)
    if shape:
        return _stacked(column, shape)
    if column.null_count:
        return _masked(column)
    whole = _as_one(column)
    if whole is not None:
        return whole.to_numpy(zero_copy_only=True)
    return column.to_numpy(zero_copy_only=False)


def _stacked(column: pa.ChunkedArray, shape: tuple[int, ...]) -> numpy.ndarray:
    """The arrays of all rows as one array."""
    elements = pa.chunked_array([_elements(chunk) for chunk in column.chunks], column.type.value_type)
    flat = numpy_array(elements)
    stacked = flat.reshape(len(column), *shape)
    if column.null_count:
        import numpy

        is_null = column.is_null().to_numpy(zero_copy_only=False).reshape(len(column), *(1 for _ in shape))
        stacked = numpy.ma.MaskedArray(numpy.ma.getdata(stacked), mask=numpy.ma.getmaskarray(stacked) | is_null)
    return _transposed(stacked, column.type)


def _transposed(stacked: numpy.ndarray, kind: pa.DataType) -> numpy.ndarray:
    """Transposes the array to the logical dimensions of a tensor, whose order in memory may differ."""
    order = getattr(kind, "permutation", None)
    return stacked if order is None else stacked.transpose(0, *(1 + axis for axis in order))


def _as_one(column: pa.ChunkedArray) -> pa.Array | None:
    chunks = [chunk for chunk in column.chunks if len(chunk)]
    if not chunks or not _is_plain(column.type):
        return None
    if len(chunks) == 1:
        return chunks[0]
    width = column.type.bit_width // 8
    start = end = _address(chunks[0])
    for chunk in chunks:
        if _address(chunk) != end:
            return None
        end += len(chunk) * width
    # The base keeps the memory of the chunks alive.
    whole = pa.foreign_buffer(start, end - start, base=chunks)
    return pa.Array.from_buffers(column.type, len(column), [None, whole])


def _shape(kind: pa.DataType) -> tuple[int, ...]:
    """The shape of each row; empty for a plain number."""
    if isinstance(kind, pa.FixedShapeTensorType):
        return tuple(kind.shape)
    return (kind.list_size,) if pa.types.is_fixed_size_list(kind) and _is_plain(kind.value_type) else ()


def _elements(values: pa.Array) -> pa.Array:
    """The elements of vectors or tensors of all rows, including those under NULLs."""
    lists = values.storage if isinstance(values, pa.ExtensionArray) else values
    return lists.values.slice(lists.offset * lists.type.list_size, len(lists) * lists.type.list_size)


def _address(values: pa.Array) -> int:
    """The address of the first value."""
    return values.buffers()[1].address + values.offset * (values.type.bit_width // 8)


def _is_plain(kind: pa.DataType) -> bool:
    """Whether values have the same bytes in Arrow and in numpy."""
    is_time = pa.types.is_timestamp(kind) or pa.types.is_duration(kind)
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or is_time


def _masked(column: pa.ChunkedArray) -> numpy.ma.MaskedArray:
    import numpy

    mask = column.is_null().to_numpy(zero_copy_only=False)
    if not _is_plain(column.type) and not pa.types.is_boolean(column.type):
        return numpy.ma.MaskedArray(column.to_numpy(zero_copy_only=False), mask=mask)
    zero = False if pa.types.is_boolean(column.type) else pa.scalar(0, pa.int64()).cast(column.type)
    return numpy.ma.MaskedArray(column.fill_null(zero).to_numpy(zero_copy_only=False), mask=mask)
