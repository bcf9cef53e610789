"""Turns an array into the rows of a block matrix, lazily."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pyarrow as pa

from ..errors import NotSupportedError, ProgrammingError
from .layout import BLOCK_BYTES_MAX, Layout

BATCH_BYTES = 32 << 20
"""The size of a record batch, which has at least one block."""

BLOCK_MAX = 1024
"""The default number of rows and columns of a block: 8 MiB of doubles."""

EXACT_MAX = 2**53
"""A double represents every integer up to here."""


def as_rows(values: Any, block: int | tuple[int, int] | None) -> pa.RecordBatchReader:
    """Reads one block of `values` at a time, so an array that is mapped from a file is never whole in memory."""
    source = _source(values)
    is_vector = len(source.shape) == 1
    rows, columns = (*map(int, source.shape), 1)[:2]
    element = _element(source.dtype)
    height, width = _block(block, (rows, columns), is_vector)
    if height * width * (element.bit_width // 8) > BLOCK_BYTES_MAX:
        hint = "one value has at most 2 GiB: take smaller blocks"
        raise NotSupportedError(f"a block of {height} x {width} {element} is not supported", hint=hint)
    layout = Layout((height, width), element, (rows, columns), is_vector)
    return pa.RecordBatchReader.from_batches(layout.schema, _batches(source, layout))


def _source(values: Any) -> Any:
    """An object with a shape, a numpy dtype and `[rows, columns]`: an array, a memmap, a data set of h5py, a matrix. One
    dimension makes a vector."""
    if isinstance(values, numpy.ma.MaskedArray):
        raise NotSupportedError("masked arrays have no form as a matrix", hint="say what stands for masked values: .filled(0)")
    if not (hasattr(values, "shape") and isinstance(getattr(values, "dtype", None), numpy.dtype)):
        try:
            values = numpy.asarray(values)
        except (TypeError, ValueError) as error:
            raise ProgrammingError(f"{type(values).__name__} is no matrix: {error}") from None
    if len(values.shape) not in (1, 2):
        shape = " x ".join(map(str, values.shape)) or "a single value"
        hint = "reshape it to rows and columns"
        raise ProgrammingError(f"a matrix has two dimensions and a vector one, and this array is {shape}", hint=hint)
    return values


def _element(dtype: numpy.dtype) -> pa.DataType:
    if dtype.kind == "f" and dtype.itemsize <= 8:
        return pa.float64() if dtype.itemsize == 8 else pa.float32()
    if dtype.kind in "iub":
        return pa.float64()
    hint = "make it float64 or float32 with .astype"
    raise NotSupportedError(f"a matrix of {dtype} is not supported", hint=hint)


def _is_size(size: Any) -> bool:
    return isinstance(size, (int, numpy.integer)) and not isinstance(size, bool) and int(size) >= 1


def _block(requested: int | tuple[int, ...] | None, shape: tuple[int, int], is_vector: bool) -> tuple[int, int]:
    if requested is None:
        # Derived from the size only, so that matrices that can be multiplied have matching blocks; rounded up to 64 bytes.
        rows, columns = (min(BLOCK_MAX, max(8, -(-size // 8) * 8)) for size in shape)
        return rows, 1 if is_vector else columns
    dimensions = 1 if is_vector else 2
    sizes: tuple[Any, ...] = (
        (requested,) * dimensions if _is_size(requested) else tuple(requested) if isinstance(requested, (tuple, list)) else ()
    )
    if len(sizes) != dimensions or not all(_is_size(size) for size in sizes):
        raise ProgrammingError(f"block is {requested!r}, and has to be {'a number' if is_vector else '(rows, columns)'} of at least 1")
    rows, columns = (*map(int, sizes), 1)[:2]
    return rows, columns


def _batches(source: Any, layout: Layout) -> Iterator[pa.RecordBatch]:
    (rows, columns), (height, width) = layout.shape or (0, 0), layout.block
    storage = layout.kind.storage_type if isinstance(layout.kind, pa.BaseExtensionType) else layout.kind
    indices = morton_order(-(-rows // height), -(-columns // width))
    count = max(1, BATCH_BYTES // (height * width * (layout.element.bit_width // 8)))
    for start in range(0, len(indices), count):
        some = indices[start : start + count]
        blocks = numpy.zeros((len(some), height, width), layout.element.to_pandas_dtype())
        for block, (i, j) in zip(blocks, some.tolist()):
            part = _part(source, slice(i * height, min(rows, (i + 1) * height)), slice(j * width, min(columns, (j + 1) * width)))
            block[: part.shape[0], : part.shape[1]] = part
        values = pa.FixedSizeListArray.from_arrays(pa.array(blocks.reshape(-1)), type=storage)
        numbers = [pa.array(numpy.ascontiguousarray(some[:, axis])) for axis, _ in enumerate(layout.index_columns)]
        values = values if storage == layout.kind else pa.ExtensionArray.from_storage(layout.kind, values)
        yield pa.record_batch([*numbers, values], schema=layout.schema)


def _part(source: Any, rows: slice, columns: slice) -> numpy.ndarray:
    part = numpy.asarray(source[rows, columns] if len(source.shape) == 2 else source[rows])
    if part.dtype.kind in "iu" and part.dtype.itemsize == 8:
        beyond = numpy.argwhere((part > EXACT_MAX) | (part < -EXACT_MAX))
        if len(beyond):
            first = beyond[0].tolist()
            where = ", ".join(f"{name} {place + at.start}" for name, place, at in zip(("row", "column"), first, (rows, columns)))
            what = f"{part[tuple(first)]} in {where} is no number that a double has"
            raise ProgrammingError(f"{what}: whole numbers of a matrix go to 2^53")
    return part.reshape(len(part), -1) if len(part) else part.reshape(0, 1)


def morton_order(rows: int, columns: int) -> numpy.ndarray:
    """The indices of all blocks, in an order that keeps neighbours in both directions close to each other (Morton 1966), so
    that a few rows of the matrix, or a few columns of it, are in a few segments."""
    i, j = (numbers.reshape(-1) for numbers in numpy.indices((rows, columns), numpy.int64))
    key = numpy.zeros(rows * columns, numpy.int64)
    for bit in range(max(rows, columns, 1).bit_length()):
        key |= (i >> bit & 1) << 2 * bit + 1 | (j >> bit & 1) << 2 * bit
    order = numpy.argsort(key, kind="stable")
    return numpy.stack([i[order], j[order]], axis=1)
