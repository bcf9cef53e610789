"""The result of a statement, in whatever form a program likes rows."""

from __future__ import annotations

import operator
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import pyarrow as pa

from . import arrays, progress, show
from .errors import Error, InterfaceError, NotSupportedError, ProgrammingError
from .rows import Rows
from .sources import Source
from .stats import Stats
from .types import without_views

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars

    from .connection import Connection

T = TypeVar("T")
P = ParamSpec("P")


def _reads(method: Callable[Concatenate[Result, P], T]) -> Callable[Concatenate[Result, P], T]:
    """For methods that take rows, of one thread at a time.

    Ctrl-C may come after any call in Python, also after a row was taken: so nothing but the call itself is outside of `try`, and
    rows that nobody received never go unnoticed. A thread that comes in the same moment as another one waits for it."""

    @wraps(method)
    def reading(self: Result, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            if self._reader.locked():
                # Newer Pythons may be interrupted before they give it back.
                self._check_uninterrupted()
                raise InterfaceError("another thread is reading these rows", hint="read them in one thread")
            with self._reader:
                return method(self, *args, **kwargs)
        except BaseException as error:
            self._broke_in(error)
            raise

    return reading


class Result:
    """Planned, and run when its rows are asked for. What is no query has run already.

    `arrow`, `df`, `pl`, `numpy`, `fetchall` give all rows, and keep them: they can be asked one after the other. Iteration
    (record batches) and `fetchone`, `fetchmany` read rows once, as they are made, and hold none of them. After an error
    nothing but that error comes.
    """

    def __init__(self, connection: Connection, source: Source, sql: str | None, params: Sequence[Any] | None = None):
        # None of what came as a plan.
        self._connection, self._source, self.sql = connection, source, sql
        # As they were: the caller may change its list.
        self._params = list(params) if params else None
        self._table: pa.Table | None = None
        self._ahead: deque[pa.RecordBatch] = deque()
        self._rows: Rows | None = None
        self._is_streaming = self._is_interrupted = False
        # Of two threads each would take rows that the other one has in hand.
        self._reader = threading.Lock()

    @property
    def schema(self) -> pa.Schema:
        return self._source.schema

    @property
    def columns(self) -> list[str]:
        return self.schema.names

    @property
    def is_query(self) -> bool:
        return self._source.is_query

    @property
    def rows_changed(self) -> int | None:
        """How many rows a statement that writes has written; None of others."""
        return self._source.rows_changed

    @property
    def stats(self) -> Stats:
        return self._source.stats

    def arrow(self, *, views: bool = True) -> pa.Table:
        """All rows. Columns that the query only read are the buffers of the store's files. Text comes as string_view, of
        which pyarrow cannot compute everything yet: `views=False` copies it into plain strings."""
        if self._table is None:
            self._read_all()
        return self._table if views else without_views(self._table)

    @_reads
    def _read_all(self) -> None:
        # Another thread may have been just before.
        if self._table is None:
            self._check_unread()
            self._read_table()

    def _read_table(self) -> None:
        with progress.shown(self._connection.progress) as look:
            rest = self._source.read_all(look)
        ahead = pa.Table.from_batches(self._ahead, self.schema)
        self._ahead.clear()
        self._table = pa.concat_tables([ahead, rest]) if ahead.num_rows else rest

    def df(self) -> pandas.DataFrame:
        return without_views(self.arrow(), large=True).to_pandas()

    def pl(self) -> polars.DataFrame:
        import polars

        return polars.DataFrame(self.arrow())

    def numpy(self) -> dict[str, numpy.ndarray]:
        """An array for each column; a masked one where there are NULLs. Numbers and times without NULLs are views of the
        store's files where they lie there in one piece."""
        return arrays.numpy_arrays(self.arrow())

    def fetchall(self) -> list[tuple]:
        """The rows that were not fetched yet."""
        if self._rows is None and not self._is_streaming:
            self.arrow()
        return self._rest()

    @_reads
    def _rest(self) -> list[tuple]:
        return list(self._row_iterator())

    def fetchone(self) -> tuple | None:
        return self._one()

    @_reads
    def _one(self) -> tuple | None:
        return next(self._row_iterator(), None)

    def fetchmany(self, size: int) -> list[tuple]:
        return self._some(_number_of_rows(size))

    @_reads
    def _some(self, size: int) -> list[tuple]:
        return [row for _, row in zip(range(size), self._row_iterator())]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Record batches, as they are made."""
        if self._table is not None:
            return iter(self._table.to_batches())
        self._is_streaming = True
        return iter(self._next_batch, None)

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """For every library that reads Arrow: rows as they are made."""
        return self._stream().__arrow_c_stream__(requested_schema)

    @_reads
    def _stream(self) -> pa.Table | pa.RecordBatchReader:
        if self._table is not None:
            return self._table
        self._check_unread()
        if self._ahead:
            self._read_table()
            return self._table
        self._is_streaming = True
        return self._source.reader()

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        return without_views(self.arrow(), large=True).__dataframe__(nan_as_null, allow_copy)

    def explain(self, *, analyze: bool = False) -> str:
        """The plan; with `analyze`, of another run, and with what each step of it did."""
        if analyze and not self.is_query:
            raise NotSupportedError("what is no query would be run once more", hint="explain it without analyze")
        if self.sql is None:
            raise NotSupportedError("explaining what came as a plan", hint="`quiver plan --format text` shows plans")
        words = "EXPLAIN ANALYZE " if analyze else "EXPLAIN "
        plan = self._connection.sql(words + self.sql, self._params).fetchall()
        return "\n".join(f"{kind}:\n{text}" for kind, text in plan)

    def close(self) -> None:
        """Ends a query of which no more rows are wanted."""
        self._source.close()

    def __enter__(self) -> Result:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if not self.is_query:
            return f"<quiver.Result: {show.outcome(self)}>"
        return f"<quiver.Result of {show.shortened(self.sql or 'a Substrait plan')!r}: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        return show.html(self)

    def _peek(self, rows: int) -> pa.Table:
        """The first rows, which stay to be read."""
        if self._table is None:
            self._read_ahead(rows)
        # Another thread may have taken all of them.
        if self._table is None and not self._is_streaming:
            return pa.Table.from_batches(self._ahead, self.schema).slice(0, rows)
        return self.arrow().slice(0, rows)

    @_reads
    def _read_ahead(self, rows: int) -> None:
        if self._table is not None or self._is_streaming:
            return
        seen = sum(batch.num_rows for batch in self._ahead)
        while seen < rows and (batch := self._source.next_batch()) is not None:
            self._ahead.append(batch)
            seen += batch.num_rows

    def _row_iterator(self) -> Rows:
        self._check_uninterrupted()
        if self._rows is None:
            if self._table is None:
                self._is_streaming = True
                self._rows = Rows(iter(self._take_batch, None))
            else:
                self._rows = Rows(iter(self._table.to_batches()))
        return self._rows

    @_reads
    def _next_batch(self) -> pa.RecordBatch | None:
        return self._take_batch()

    def _take_batch(self) -> pa.RecordBatch | None:
        self._check_uninterrupted()
        return self._ahead.popleft() if self._ahead else self._source.next_batch()

    def _check_uninterrupted(self) -> None:
        if self._is_interrupted:
            raise InterfaceError("reading these rows was interrupted", hint="run the query again")

    def _check_unread(self) -> None:
        self._check_uninterrupted()
        if self._is_streaming:
            self._source.check()
            raise InterfaceError("rows of this result were read already", hint="run the query again to have all of them")

    def _broke_in(self, error: BaseException) -> None:
        """What is no error of ours came in between: rows that were on their way are lost, so that no more may follow."""
        if not isinstance(error, Error):
            self._is_interrupted = True
            self._source.close()


def _number_of_rows(size: Any) -> int:
    """Looked at before anything is read."""
    try:
        number = operator.index(size)
    except TypeError:
        number = -1
    if number < 0:
        raise ProgrammingError(f"{size!r} is no number of rows", hint="give one from 0")
    return number
