"""Arrays of a store: regions of them as arrays of numpy, and what is computed where they lie."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import isfinite, prod
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from . import names
from .arrays import numpy_array
from .errors import ConflictError, IntegrityError, ProgrammingError
from .objects import NamedObject

if TYPE_CHECKING:
    import numpy

    from .result import Result

# SQL's name of each type of cells.
TYPES = {
    "float64": "DOUBLE", "float32": "REAL", "int64": "BIGINT", "int32": "INTEGER", "int16": "SMALLINT", "int8": "TINYINT",
    "uint64": "BIGINT UNSIGNED", "uint32": "INTEGER UNSIGNED", "uint16": "SMALLINT UNSIGNED", "uint8": "TINYINT UNSIGNED",
}  # fmt: skip
_DTYPES = {sql: dtype for dtype, sql in TYPES.items()}

# More cells are written in several statements.
CELLS_WRITTEN_AT_ONCE = 16 << 20
# A whole array is read in parts of so many bytes.
_BYTES_READ_AT_ONCE = 64 << 20


@dataclass(frozen=True)
class Dimension:
    name: str
    length: int
    is_unlimited: bool
    chunk: int
    unit: str | None


@dataclass(frozen=True)
class Axis:
    """The cells of a region along one dimension, as `range` has them; a single index is no dimension of the region."""

    cells: range
    is_index: bool

    @property
    def in_sql(self) -> str:
        if self.is_index:
            return str(self.cells.start)
        if not self.cells:
            return "0:0"
        stop = "" if self.cells.stop < 0 else self.cells.stop
        return f"{self.cells.start}:{stop}:{self.cells.step}"


class Array(NamedObject):
    """An array of any number of dimensions. `[…]` reads a region as an array of numpy, and assignment writes one; `region[…]` reads
    nothing before it is computed with."""

    kind = "array"

    @cached_property
    def _layout(self) -> tuple[str, str, list[Dimension], int]:
        """The type and fill of the cells, the dimensions, and the id of the object."""
        sql = (
            "SELECT cell_type, fill, object_id, dimension, length, is_unlimited, chunk, unit FROM system.arrays "
            f"WHERE schema_name = {names.literal(self.schema_name)} AND name = {names.literal(self.name)} ORDER BY position"
        )
        rows = self._connection._sql(sql).fetchall()
        if not rows:
            raise ProgrammingError(f'array "{self.name}" does not exist', hint="FIND ARRAYS lists those there are")
        return rows[0][0], rows[0][1], [Dimension(*row[3:]) for row in rows], rows[0][2]

    def _now(self) -> list[Dimension]:
        """The dimensions with their lengths as of now, unless another array has taken the place of this one: its reader gets an error."""
        if "_layout" in self.__dict__ and any(dimension.is_unlimited for dimension in self._layout[2]):
            self._forget_layout()
        return self._layout[2]

    def _forget_layout(self) -> None:
        self.__dict__.pop("_layout", None)

    @property
    def _object_id(self) -> int:
        return self._layout[3]

    @property
    def shape(self) -> tuple[int, ...]:
        self._forget_layout()
        return tuple(dimension.length for dimension in self._layout[2])

    @property
    def dtype(self) -> numpy.dtype:
        import numpy

        return numpy.dtype(_DTYPES[self._layout[0]])

    @property
    def fill_value(self) -> Any:
        """The value of cells that were never written."""
        text = {"NaN": "nan", "inf": "inf", "-inf": "-inf"}.get(self._layout[1], self._layout[1])
        return self.dtype.type(text)

    @property
    def dims(self) -> tuple[str, ...]:
        return tuple(dimension.name for dimension in self._layout[2])

    @property
    def chunks(self) -> tuple[int, ...]:
        """The cells of a chunk along each dimension."""
        return tuple(dimension.chunk for dimension in self._layout[2])

    @property
    def units(self) -> dict[str, str]:
        return {dimension.name: dimension.unit for dimension in self._layout[2] if dimension.unit is not None}

    @property
    def ndim(self) -> int:
        return len(self._layout[2])

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def coords(self) -> Mapping[str, Array]:
        """The coordinates of dimensions: the array of one dimension that has the name of the dimension, in the same schema."""
        sql = (
            "SELECT name FROM system.arrays "
            f"WHERE schema_name = {names.literal(self.schema_name)} GROUP BY name HAVING count(*) = 1 AND min(dimension) = name"
        )
        known = {name for (name,) in self._connection._sql(sql).fetchall()}
        return {name: Array(self._connection, name, self.schema_name) for name in self.dims if name in known}

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[at] for at in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        """A region, as numpy's basic slicing has it. In process, or with `hand_off`, it is a view of the mapped file if one chunk has all of
        it."""
        was_known = "_layout" in self.__dict__
        try:
            return self._region(key)
        except (IndexError, ProgrammingError):
            # The array may have been replaced by another one since its layout was read.
            if not was_known:
                raise
            self._forget_layout()
            return self._region(key)

    def _region(self, key: Any) -> Any:
        import numpy

        axes = self._axes(key)
        shape = tuple(len(axis.cells) for axis in axes if not axis.is_index)
        if 0 in shape:
            return numpy.empty(shape, self.dtype)
        cells = self._mapped(axes, shape) if self._connection._backend.maps_files else None
        if cells is None:
            sql = f"SELECT region FROM array_region({self._literal}, {_slices(axes)}, {self._object_id})"
            cells = numpy_array(self._connection._sql(sql).arrow()["region"])[0]
            # An earlier version, which a session may want to read, may be shorter.
            cells = cells.reshape(shape) if cells.size == prod(shape) else cells
        return cells if shape else cells[()]

    def __setitem__(self, key: Any, value: Any) -> None:
        """Writes a region in one commit. A dimension without limit grows to the end of an explicit slice."""
        import numpy

        # A write takes longer than to ask whether this is the same array still.
        self._forget_layout()
        axes = self._axes(key, grows=True)
        shape = tuple(len(axis.cells) for axis in axes if not axis.is_index)
        value = _as_type(numpy.asarray(value), self.dtype)
        values = numpy.broadcast_to(value, shape)
        if 0 in shape:
            return
        if value.ndim == 0:
            self._connection._sql(f"UPDATE ARRAY {self._quoted} SET REGION [{_slices(axes)[1:-1]}] = {_number(value[()])}")
        elif prod(shape) <= CELLS_WRITTEN_AT_ONCE:
            self._write(axes, values)
        else:
            with self._connection.one_commit():
                self._write(axes, values)

    def append(self, values: Any, axis: int | str = 0) -> None:
        """Adds cells at the end of a dimension without limit. Several may append at the same time: each gets an end of its own."""
        import numpy

        at = self.dims.index(axis) if isinstance(axis, str) else operator.index(axis)
        values = numpy.asarray(values)
        if values.ndim != self.ndim:
            raise ProgrammingError(f"the array has {self.ndim} dimensions, and what is to be appended has {values.ndim}")
        if not self._layout[2][at].is_unlimited:
            raise ProgrammingError(f'dimension "{self.dims[at]}" does not grow', hint="it was not created as UNLIMITED")
        while True:
            try:
                # The end is that of the transaction. Whoever has appended meanwhile has written the same chunk, or made it.
                with self._connection.one_commit():
                    dimensions = self._now()
                    key = [slice(0, length) if of.is_unlimited else slice(None) for of, length in zip(dimensions, values.shape)]
                    key[at] = slice(dimensions[at].length, dimensions[at].length + values.shape[at])
                    self[tuple(key)] = values
                return
            except (ConflictError, IntegrityError):
                if self._connection.in_transaction:
                    raise

    def parts(self) -> Iterator[tuple[slice, ...]]:
        """Regions of whole chunks that together are the array, each of a size that fits into memory."""
        return parts_of(self.shape, self.chunks, self.dtype.itemsize)

    @property
    def region(self) -> RegionOf:
        """`region[…]` is a region that is computed with where it lies."""
        return RegionOf(self)

    def where(self, condition: str) -> Region:
        return self.region[...].where(condition)

    def sum(self) -> Any:
        return self.region[...].sum()

    def mean(self) -> float | None:
        return self.region[...].mean()

    def min(self) -> Any:
        return self.region[...].min()

    def max(self) -> Any:
        return self.region[...].max()

    def histogram(self, edges: Sequence[float]) -> numpy.ndarray:
        return self.region[...].histogram(edges)

    def drop(self) -> None:
        self._connection._sql(f"DROP {self._in_sql}")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
        return _as_numpy(self[...], dtype, copy)

    def __dlpack__(self, **options: Any) -> Any:
        return _writable(self[...]).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        # The processor's memory.
        return (1, 0)

    def __repr__(self) -> str:
        dims = ", ".join(f"{dimension.name}: {dimension.length}" for dimension in self._now())
        return f"<quiver array {self.schema_name}.{self.name} ({dims}) {self.dtype}>"

    @property
    def _literal(self) -> str:
        return names.literal(self._quoted)

    def _axes(self, key: Any, grows: bool = False) -> list[Axis]:
        dimensions = self._now()
        parts = list(key) if isinstance(key, tuple) else [key]
        ellipses = [at for at, part in enumerate(parts) if part is Ellipsis]
        if len(ellipses) > 1:
            raise IndexError("an index can only have a single ellipsis ('...')")
        missing = len(dimensions) - (len(parts) - len(ellipses))
        if missing < 0:
            raise IndexError(f"too many indices: the array has {len(dimensions)} dimensions, but {len(parts) - len(ellipses)} were indexed")
        at = ellipses[0] if ellipses else len(parts)
        parts[at : at + len(ellipses)] = [slice(None)] * missing
        return [_axis(part, dimension, grows and dimension.is_unlimited) for part, dimension in zip(parts, dimensions)]

    def _mapped(self, axes: list[Axis], shape: tuple[int, ...]) -> Any:
        """The region from mapped files: a view if one chunk has all of it. None if a query has to read it."""
        import numpy

        parts = list(product(*(_runs(axis, dimension.chunk) for axis, dimension in zip(axes, self._layout[2]))))
        found = self._connection._backend.read_chunks(self.schema_name, self.name, [[run.number for run in part] for part in parts])
        if found is None:
            return None
        if found.object_id != self._object_id:
            raise ProgrammingError(f'array "{self.name}" was replaced by another one', hint="read it again")
        cells = [
            None if chunk is None else numpy.frombuffer(chunk, self.dtype).reshape(self.chunks)[tuple(run.within for run in part)]
            for part, chunk in zip(parts, found.cells)
        ]
        if len(cells) == 1 and cells[0] is not None:
            return cells[0]
        region = numpy.empty(shape, self.dtype)
        for part, values in zip(parts, cells):
            region[tuple(run.of_region for run in part if run.of_region is not None)] = self.fill_value if values is None else values
        return region

    def _write(self, axes: list[Axis], values: numpy.ndarray) -> None:
        """In halves along the longest dimension until a part is small enough to be sent as one value."""
        if values.size > CELLS_WRITTEN_AT_ONCE:
            open_axes = [at for at, axis in enumerate(axes) if not axis.is_index]
            along = max(range(values.ndim), key=lambda at: values.shape[at])
            at, half = open_axes[along], _half(values.shape[along], axes[open_axes[along]], self.chunks[open_axes[along]])
            for part in (slice(0, half), slice(half, None)):
                cells = Axis(axes[at].cells[part], False)
                self._write([*axes[:at], cells, *axes[at + 1 :]], values[(slice(None),) * along + (part,)])
            return
        import numpy

        flat = pa.array(numpy.ascontiguousarray(values).reshape(-1))
        row = pa.table({"cells": pa.FixedSizeListArray.from_arrays(flat, len(flat))})
        with self._connection._registered(row) as name:
            self._connection._sql(f"UPDATE ARRAY {self._quoted} SET REGION [{_slices(axes)[1:-1]}] = (SELECT cells FROM {name})")


class RegionOf:
    """`array.region`"""

    def __init__(self, array: Array):
        self._array = array

    def __getitem__(self, key: Any) -> Region:
        return Region(self._array, key)


class Region:
    """Cells of an array, of which nothing was read yet. Its methods run where the array lies and return the result alone."""

    def __init__(self, array: Array, key: Any, conditions: tuple[str, ...] = ()):
        self._array = array
        self._key = key
        self._conditions = conditions
        self._resolve()

    def _resolve(self) -> None:
        self._axes = self._array._axes(self._key)
        self._object_id = self._array._object_id

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis.cells) for axis in self._axes if not axis.is_index)

    def where(self, condition: str) -> Region:
        """Only the cells that satisfy a condition of SQL on `value` and the names of the dimensions."""
        return Region(self._array, self._key, (*self._conditions, condition))

    def _relation(self, columns: str) -> Result:
        try:
            return self._array._connection._sql(self._sql(columns))
        except ProgrammingError:
            # The array may have been replaced by another one.
            before = self._object_id
            self._array._forget_layout()
            self._resolve()
            if self._object_id == before:
                raise
            return self._array._connection._sql(self._sql(columns))

    def _sql(self, columns: str) -> str:
        where = " AND ".join(f"({condition})" for condition in self._conditions)
        region = f"region({self._array._literal}, {_slices(self._axes)}, {self._object_id})"
        return f"SELECT {columns} FROM {region}" + (f" WHERE {where}" if where else "")

    def _only(self, expression: str) -> Any:
        return self._relation(expression).fetchall()[0][0]

    def arrow(self) -> pa.Table:
        """A row for each cell: its indices and its value."""
        return self._relation("*").arrow()

    def count(self) -> int:
        return self._only("count(*)")

    def sum(self) -> Any:
        return self._only("sum(value)")

    def mean(self) -> float | None:
        return self._only("avg(value)")

    def min(self) -> Any:
        return self._only("min(value)")

    def max(self) -> Any:
        return self._only("max(value)")

    def std(self) -> float | None:
        """As numpy's, of all cells and not of a sample."""
        return self._only("stddev_pop(value)")

    def histogram(self, edges: Sequence[float]) -> numpy.ndarray:
        """The number of cells between the edges, as `numpy.histogram` counts them."""
        import numpy

        listed = ", ".join(_number(numpy.float64(edge)) for edge in edges)
        return numpy.array(self._only(f"histogram(value, [{listed}])"), numpy.int64)

    def to_numpy(self) -> numpy.ndarray:
        """The cells as an array; with a condition, a flat one of those that satisfy it, in no particular order."""
        if self._conditions:
            return numpy_array(self._relation("value").arrow()["value"])
        return self._array[self._key]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
        return _as_numpy(self.to_numpy(), dtype, copy)

    def __repr__(self) -> str:
        where = f" where {' and '.join(self._conditions)}" if self._conditions else ""
        return f"<region {_slices(self._axes)[1:-1]} of {self._array.schema_name}.{self._array.name}{where}>"


def parts_of(shape: Sequence[int], chunks: Sequence[int], itemsize: int) -> Iterator[tuple[slice, ...]]:
    """Regions that together are the whole array. Each has whole chunks, and as many of them along the first dimensions as fit into the
    memory that one read may take."""
    sizes = [min(chunk, length) for chunk, length in zip(chunks, shape)]
    budget = _BYTES_READ_AT_ONCE // itemsize
    cells = 1
    for size in sizes:
        cells *= max(size, 1)
    # The last dimensions are lengthened first: their cells are neighbours.
    for at in reversed(range(len(shape))):
        most = max(1, budget // max(cells, 1))
        wanted = min(-(-shape[at] // max(sizes[at], 1)), most)
        cells = cells * max(wanted, 1)
        sizes[at] *= max(wanted, 1)

    def along(at: int) -> Iterator[tuple[slice, ...]]:
        if at == len(shape):
            yield ()
            return
        for start in range(0, shape[at], max(sizes[at], 1)):
            for rest in along(at + 1):
                yield (slice(start, min(start + sizes[at], shape[at])), *rest)

    return along(0)


def create_sql(
    name: str,
    shape: Sequence[int | None],
    dtype: Any,
    dims: Sequence[str] | None,
    chunks: Sequence[int] | None,
    fill_value: Any,
    units: Mapping[str, str],
    replaces: bool,
) -> str:
    """CREATE ARRAY without its tags. A length of None is UNLIMITED."""
    import numpy

    sql_type = TYPES.get(numpy.dtype(dtype).name)
    if sql_type is None:
        raise ProgrammingError(f"an array cannot have cells of type {numpy.dtype(dtype)}", hint=f"there are {', '.join(TYPES)}")
    dims = [f"dim_{at}" for at in range(len(shape))] if dims is None else dims
    if len(dims) != len(shape):
        raise ProgrammingError(f"{len(dims)} names are given for {len(shape)} dimensions")
    unit = {dim: f" UNIT {names.literal(unit)}" for dim, unit in units.items()}
    lengths = ["UNLIMITED" if length is None else str(operator.index(length)) for length in shape]
    listed = ", ".join(f"{names.quoted(dim)} {length}{unit.get(dim, '')}" for dim, length in zip(dims, lengths))
    sql = f"CREATE {'OR REPLACE ' if replaces else ''}ARRAY {name} ({listed}) OF {sql_type}"
    if chunks is not None:
        sql += f" CHUNK ({', '.join(str(operator.index(size)) for size in chunks)})"
    return sql if fill_value is None else f"{sql} FILL {_number(numpy.dtype(dtype).type(fill_value))}"


def _axis(part: Any, dimension: Dimension, grows: bool) -> Axis:
    length = dimension.length
    if isinstance(part, slice):
        start, stop, step = part.indices(length)
        if grows and step > 0:
            # What is beyond the end is to be written.
            start, stop = (
                end if named is None or named < 0 else operator.index(named) for named, end in ((part.start, start), (part.stop, stop))
            )
        return Axis(range(start, stop, step), False)
    try:
        index = operator.index(part)
    except TypeError:
        raise IndexError(f"an array is indexed by integers, slices and ..., and not by {type(part).__name__}") from None
    place = index + length if index < 0 else index
    if place < 0 or (place >= length and not grows):
        raise IndexError(f"index {index} is out of bounds for dimension {dimension.name} with size {length}")
    return Axis(range(place, place + 1), True)


class Run(NamedTuple):
    """The cells of a region along one dimension that a chunk has."""

    # Of the chunk.
    number: int
    # Counted from the begin of the chunk.
    within: int | slice
    # Counted from the begin of the region; None for a dimension that the region does not have.
    of_region: slice | None


def _runs(axis: Axis, chunk: int) -> list[Run]:
    if axis.is_index:
        return [Run(axis.cells.start // chunk, axis.cells.start % chunk, None)]
    runs = []
    at = 0
    while at < len(axis.cells):
        number = axis.cells[at] // chunk
        # The cells up to the end of the chunk, or, backwards, to its begin.
        left = (number + 1) * chunk - 1 - axis.cells[at] if axis.cells.step > 0 else axis.cells[at] - number * chunk
        end = min(len(axis.cells), at + left // abs(axis.cells.step) + 1)
        cells = axis.cells[at:end]
        within = _slice_of(range(cells.start - number * chunk, cells.stop - number * chunk, cells.step))
        runs.append(Run(number, within, slice(at, end)))
        at = end
    return runs


def _slice_of(cells: range) -> slice:
    """A slice that goes down to the first cell has no end."""
    return slice(cells.start, None if cells.stop < 0 else cells.stop, cells.step)


def _half(length: int, axis: Axis, chunk: int) -> int:
    """The middle, at the end of a chunk if there is one near: no chunk is to be written twice."""
    middle = length // 2
    if axis.cells.step != 1:
        return middle
    aligned = (axis.cells.start + middle) // chunk * chunk - axis.cells.start
    return aligned if 0 < aligned < length else middle


def _slices(axes: list[Axis]) -> str:
    return "'" + ", ".join(axis.in_sql for axis in axes) + "'"


def _number(value: Any) -> str:
    """A number as SQL. A text is cast to the type of the cells without passing through another one."""
    if value.dtype.kind in "iub":
        return str(int(value))
    if value.dtype.kind != "f":
        raise ProgrammingError(f"a cell is a number, and not {type(value).__name__}")
    return repr(float(value)) + "e0" if isfinite(value) and "e" not in repr(float(value)) else f"CAST('{float(value)!r}' AS DOUBLE)"


def _as_type(value: numpy.ndarray, dtype: numpy.dtype) -> numpy.ndarray:
    """Numbers of another kind are converted if none is changed beyond rounding."""
    import numpy

    if value.dtype.kind not in "iufb":
        raise ProgrammingError(f"cells are numbers, and not {value.dtype}")
    if value.dtype == dtype:
        return value.astype(dtype.newbyteorder("="), copy=False)
    with numpy.errstate(over="ignore", invalid="ignore"):
        converted = value.astype(dtype)
    is_same = numpy.isfinite(converted) == numpy.isfinite(value) if dtype.kind == "f" else converted == value
    if not numpy.all(is_same):
        raise ProgrammingError(f"some of these numbers of {value.dtype} are no {dtype}", hint="convert them with astype first")
    return converted


def _as_numpy(cells: Any, dtype: Any, copy: bool | None) -> numpy.ndarray:
    import numpy

    cells = numpy.asarray(cells)
    if dtype is not None and cells.dtype != dtype:
        return cells.astype(dtype)
    return cells.copy() if copy else cells


def _writable(cells: Any) -> numpy.ndarray:
    """DLPack has no way to say that an array must not be written to."""
    import numpy

    cells = numpy.asarray(cells)
    return cells if cells.flags.writeable else cells.copy()
