"""What numpy's `[…]` asks of a matrix along one axis, by blocks."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy

Where = slice | numpy.ndarray


@dataclass(frozen=True)
class Axis:
    """`places` in their order, of an axis of `size` that is cut into blocks of `step`: a range that ascends, or an array."""

    places: range | numpy.ndarray
    step: int
    is_reversed: bool = False
    is_single: bool = False

    def __len__(self) -> int:
        return len(self.places)

    def blocks(self) -> list[int] | range:
        """Those that are needed, ascending."""
        if isinstance(self.places, range):
            if not self.places:
                return []
            if self.places.step <= self.step:
                return range(self.places[0] // self.step, self.places[-1] // self.step + 1)
            return sorted({place // self.step for place in self.places})
        return numpy.unique(self.places // self.step).tolist()

    def part(self, block: int) -> tuple[Where, Where]:
        """Where the places of a block stand in the answer, and where in the block."""
        if isinstance(self.places, numpy.ndarray):
            (found,) = numpy.nonzero(self.places // self.step == block)
            return found, self.places[found] - block * self.step
        first, step = self.places.start, self.places.step
        begin = max(0, -((first - block * self.step) // step))
        end = min(len(self.places), max(0, -((first - (block + 1) * self.step) // step)))
        inside = first + begin * step - block * self.step
        return slice(begin, end), slice(inside, inside + (end - begin - 1) * step + 1, step)

    def shown(self) -> int | slice:
        """What is to be taken of the answer in the end."""
        return 0 if self.is_single else slice(None, None, -1 if self.is_reversed else None)


def axes(key: Any, shape: tuple[int, ...], block: tuple[int, int]) -> tuple[Axis, Axis]:
    """Of `matrix[key]`, and of `vector[key]`, which has its only column."""
    keys = key if isinstance(key, tuple) else (key,)
    if any(part is Ellipsis for part in keys):
        place = next(place for place, part in enumerate(keys) if part is Ellipsis)
        rest = keys[:place] + keys[place + 1 :]
        keys = keys[:place] + (slice(None),) * (len(shape) - len(rest)) + keys[place + 1 :]
    if len(keys) > len(shape) or any(part is Ellipsis for part in keys):
        raise IndexError(f"{len(keys)} indices were given for {'rows and columns' if len(shape) == 2 else 'the elements of a vector'}")
    keys += (slice(None),) * (len(shape) - len(keys))
    found = [_axis(*given) for given in zip(keys, shape, block, ("row", "column"))]
    if len(found) == 1:
        return found[0], Axis(range(1), 1, is_single=True)
    rows, columns = found
    if isinstance(rows.places, numpy.ndarray) and isinstance(columns.places, numpy.ndarray):
        raise IndexError("lists of rows and of columns at once are not supported: read the rows, and take the columns of what comes")
    return rows, columns


def _axis(key: Any, size: int, step: int, what: str) -> Axis:
    if isinstance(key, slice):
        places = range(*key.indices(size))
        return Axis(places[::-1], step, is_reversed=True) if places.step < 0 else Axis(places, step)
    if not isinstance(key, (bool, numpy.bool_)) and hasattr(key, "__index__") and numpy.ndim(key) == 0:
        place = _checked(operator.index(key), size, what)
        return Axis(range(place, place + 1), step, is_single=True)
    return Axis(_listed(key, size, what), step)


def _listed(key: Any, size: int, what: str) -> numpy.ndarray:
    listed = numpy.asarray(key)
    if listed.ndim == 1 and not listed.size:
        return numpy.empty(0, numpy.int64)
    if listed.ndim != 1 or listed.dtype.kind not in "iub":
        raise IndexError(f"{what}s are a number, a slice, or a list of numbers, and not {key!r}")
    if listed.dtype.kind == "b":
        if len(listed) != size:
            raise IndexError(f"{len(listed)} truth values were given for {size} {what}s")
        return numpy.nonzero(listed)[0]
    for place in (int(listed.min()), int(listed.max())):
        _checked(place, size, what)
    listed = listed.astype(numpy.int64)
    return numpy.where(listed < 0, listed + size, listed)


def _checked(place: int, size: int, what: str) -> int:
    if not -size <= place < size:
        raise IndexError(f"{what} {place} is none of {size}")
    return place + size if place < 0 else place


def condition(column: str, blocks: list[int] | range) -> str:
    """That a block is one of these, which are not none, as SQL."""
    first, last = blocks[0], blocks[-1]
    if first == last:
        return f"{column} = {first}"
    if last - first + 1 == len(blocks):
        return f"{column} BETWEEN {first} AND {last}"
    return f"{column} IN ({', '.join(map(str, blocks))})"
