"""The result of a statement, with its rows in several forms."""

from __future__ import annotations

import copy
import operator
import threading
from collections import deque
from collections.abc import Callable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import pyarrow as pa

from . import arrays, hints, progress, show
from .errors import Error, InterfaceError, NotSupportedError, ProgrammingError
from .frames import NO_VARIABLES, Variables
from .parameters import Values
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


def _exclusive(method: Callable[Concatenate[Result, P], T]) -> Callable[Concatenate[Result, P], T]:
    """A decorator for methods that read rows: one thread may read at a time.

    Ctrl-C may interrupt after any call in Python, also after a row was taken. So everything but the call itself is inside of `try`,
    and rows that were lost never go unnoticed. If two threads begin at the same moment, one waits for the other."""

    @wraps(method)
    def exclusive(self: Result, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            if self._reader.locked():
                # Newer versions of Python may be interrupted before they release the lock.
                self._check_uninterrupted()
                raise InterfaceError("another thread is reading these rows", hint="read them in one thread")
            with self._reader:
                return method(self, *args, **kwargs)
        except BaseException as error:
            self._handle_interrupt(error)
            raise

    return exclusive


class Result(hints.Hints):
    """A query is planned, and runs when its rows are read. Any other statement has run already.

    `arrow`, `df`, `pl`, `numpy` and `fetchall` return all rows and keep them, so that they can be called again. Iteration
    (record batches), `fetchone` and `fetchmany` stream the rows once and keep none of them. After an error,
    every method raises that error again.
    """

    _hints = hints.RESULT

    def __init__(
        self,
        connection: Connection,
        source: Source,
        sql: str | None,
        params: Values | None = None,
        variables: Variables = NO_VARIABLES,
    ):
        # `sql` is None if the statement came as a plan.
        self._connection, self._source, self.sql = connection, source, sql
        # A copy, because the caller may change it.
        self._params: Values | None = copy.copy(params) if params else None
        self._variables = variables
        self._table: pa.Table | None = None
        self._ahead: deque[pa.RecordBatch] = deque()
        self._rows: Rows | None = None
        self._is_streaming = self._is_interrupted = False
        # Two threads would take rows from each other.
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
        """The number of rows that a write has changed; None for other statements."""
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

    @_exclusive
    def _read_all(self) -> None:
        # Another thread may have read them a moment ago.
        if self._table is None:
            self._check_unread()
            self._read_table()

    def _read_table(self) -> None:
        with progress.progress_bar(self._connection.progress) as on_progress:
            rest = self._source.read_all(on_progress)
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
        store's files if they are contiguous there."""
        return arrays.numpy_arrays(self.arrow())

    def fetchall(self) -> list[tuple]:
        """All rows that were not fetched yet."""
        if self._rows is None and not self._is_streaming:
            self.arrow()
        return self._fetch_rest()

    @_exclusive
    def _fetch_rest(self) -> list[tuple]:
        return list(self._row_iterator())

    def fetchone(self) -> tuple | None:
        return self._fetch_one()

    @_exclusive
    def _fetch_one(self) -> tuple | None:
        return next(self._row_iterator(), None)

    def fetchmany(self, size: int) -> list[tuple]:
        return self._fetch_some(_number_of_rows(size))

    @_exclusive
    def _fetch_some(self, size: int) -> list[tuple]:
        return [row for _, row in zip(range(size), self._row_iterator())]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Streams the record batches."""
        if self._table is not None:
            return iter(self._table.to_batches())
        self._is_streaming = True
        return iter(self._next_batch, None)

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """Streams the rows to any library that reads Arrow."""
        return self._stream().__arrow_c_stream__(requested_schema)

    @_exclusive
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
        """The plan. With `analyze`, the query runs again, and the plan shows the metrics of each step."""
        if analyze and not self.is_query:
            raise NotSupportedError("what is no query would be run once more", hint="explain it without analyze")
        if self.sql is None:
            raise NotSupportedError("explaining what came as a plan", hint="`quiver plan --format text` shows plans")
        words = "EXPLAIN ANALYZE " if analyze else "EXPLAIN "
        plan = self._connection._sql(words + self.sql, self._params, self._variables).fetchall()
        return "\n".join(f"{kind}:\n{text}" for kind, text in plan)

    def close(self) -> None:
        """Ends a query whose remaining rows are not needed."""
        self._source.close()

    def __enter__(self) -> Result:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def show(self, rows: int = show.ROWS_SHOWN) -> None:
        """Prints the first rows, which later reads still return."""
        print(show.text(self, _number_of_rows(rows)))

    def __repr__(self) -> str:
        """The first rows, as `show` prints them, if they can still be read."""
        if not self.is_query:
            return f"<quiver.Result: {show.outcome(self)}>"
        try:
            return show.text(self)
        except InterfaceError:
            return f"<quiver.Result of {show.shortened(self.sql or 'a Substrait plan')!r}: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        return show.html(self)

    def _peek(self, rows: int) -> pa.Table:
        """The first rows. They are still returned by later reads."""
        if self._table is None:
            self._read_ahead(rows)
        # Another thread may have taken all of them.
        if self._table is None and not self._is_streaming:
            return pa.Table.from_batches(self._ahead, self.schema).slice(0, rows)
        return self.arrow().slice(0, rows)

    @_exclusive
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

    @_exclusive
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

    def _handle_interrupt(self, error: BaseException) -> None:
        """After an exception that is not an `Error`, such as Ctrl-C, rows may be lost. So no more rows may follow."""
        if not isinstance(error, Error):
            self._is_interrupted = True
            self._source.close()


def _number_of_rows(size: Any) -> int:
    """Checks the number before anything is read."""
    try:
        number = operator.index(size)
    except TypeError:
        number = -1
    if number < 0:
        raise ProgrammingError(f"{size!r} is no number of rows", hint="give one from 0")
    return number
