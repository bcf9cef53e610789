"""Resolves numpy's `[…]` on a matrix to blocks, along each axis."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy

Selection = slice | numpy.ndarray


@dataclass(frozen=True)
class Axis:
    """The selected indices of an axis that is divided into blocks of `step`: an ascending range, or an array in any order."""

    indices: range | numpy.ndarray
    step: int
    is_reversed: bool = False
    is_single: bool = False

    def __len__(self) -> int:
        return len(self.indices)

    def blocks(self) -> list[int] | range:
        """The numbers of the blocks that are needed, ascending."""
        if isinstance(self.indices, range):
            if not self.indices:
                return []
            if self.indices.step <= self.step:
                return range(self.indices[0] // self.step, self.indices[-1] // self.step + 1)
            return sorted({index // self.step for index in self.indices})
        return numpy.unique(self.indices // self.step).tolist()

    def part(self, block: int) -> tuple[Selection, Selection]:
        """The selection of a block's indices in the answer, and in the block."""
        if isinstance(self.indices, numpy.ndarray):
            (found,) = numpy.nonzero(self.indices // self.step == block)
            return found, self.indices[found] - block * self.step
        first, step = self.indices.start, self.indices.step
        begin = max(0, -((first - block * self.step) // step))
        end = min(len(self.indices), max(0, -((first - (block + 1) * self.step) // step)))
        inside = first + begin * step - block * self.step
        return slice(begin, end), slice(inside, inside + (end - begin - 1) * step + 1, step)

    def final_index(self) -> int | slice:
        """The final index into the answer: it drops a single axis, or reverses one."""
        return 0 if self.is_single else slice(None, None, -1 if self.is_reversed else None)


def axes(key: Any, shape: tuple[int, ...], block: tuple[int, int]) -> tuple[Axis, Axis]:
    """The axes of `matrix[key]`, or of `vector[key]` with its only column."""
    keys = key if isinstance(key, tuple) else (key,)
    if any(part is Ellipsis for part in keys):
        index = next(index for index, part in enumerate(keys) if part is Ellipsis)
        rest = keys[:index] + keys[index + 1 :]
        keys = keys[:index] + (slice(None),) * (len(shape) - len(rest)) + keys[index + 1 :]
    if len(keys) > len(shape) or any(part is Ellipsis for part in keys):
        raise IndexError(f"{len(keys)} indices were given for {'rows and columns' if len(shape) == 2 else 'the elements of a vector'}")
    keys += (slice(None),) * (len(shape) - len(keys))
    found = [_axis(*arguments) for arguments in zip(keys, shape, block, ("row", "column"))]
    if len(found) == 1:
        return found[0], Axis(range(1), 1, is_single=True)
    rows, columns = found
    if isinstance(rows.indices, numpy.ndarray) and isinstance(columns.indices, numpy.ndarray):
        raise IndexError("lists of rows and of columns at once are not supported: read the rows, and take the columns of what comes")
    return rows, columns


def _axis(key: Any, size: int, step: int, what: str) -> Axis:
    if isinstance(key, slice):
        indices = range(*key.indices(size))
        return Axis(indices[::-1], step, is_reversed=True) if indices.step < 0 else Axis(indices, step)
    if not isinstance(key, (bool, numpy.bool_)) and hasattr(key, "__index__") and numpy.ndim(key) == 0:
        index = _checked_index(operator.index(key), size, what)
        return Axis(range(index, index + 1), step, is_single=True)
    return Axis(_index_list(key, size, what), step)


def _index_list(key: Any, size: int, what: str) -> numpy.ndarray:
    indices = numpy.asarray(key)
    if indices.ndim == 1 and not indices.size:
        return numpy.empty(0, numpy.int64)
    if indices.ndim != 1 or indices.dtype.kind not in "iub":
        raise IndexError(f"{what}s are a number, a slice, or a list of numbers, and not {key!r}")
    if indices.dtype.kind == "b":
        if len(indices) != size:
            raise IndexError(f"{len(indices)} truth values were given for {size} {what}s")
        return numpy.nonzero(indices)[0]
    for index in (int(indices.min()), int(indices.max())):
        _checked_index(index, size, what)
    indices = indices.astype(numpy.int64)
    return numpy.where(indices < 0, indices + size, indices)


def _checked_index(index: int, size: int, what: str) -> int:
    if not -size <= index < size:
        raise IndexError(f"{what} {index} is none of {size}")
    return index + size if index < 0 else index


def condition(column: str, blocks: list[int] | range) -> str:
    """An SQL condition that selects these blocks. There is at least one."""
    first, last = blocks[0], blocks[-1]
    if first == last:
        return f"{column} = {first}"
    if last - first + 1 == len(blocks):
        return f"{column} BETWEEN {first} AND {last}"
    return f"{column} IN ({', '.join(map(str, blocks))})"
