"""The result of a statement, in whatever form a program likes rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from . import arrays, progress, show, types
from .errors import InterfaceError, NotSupportedError
from .sources import Source
from .stats import Stats

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars

    from .connection import Connection


class Result:
    """Planned, and run when its rows are asked for. What is no query has run already.

    `arrow`, `df`, `pl`, `numpy` give all rows, and keep them: they can be asked one after the other. Iteration (record
    batches) and `fetchone`, `fetchmany` read rows once, as they are made, and hold none of them.
    """

    def __init__(self, connection: Connection, source: Source, sql: str):
        self._connection, self._source, self.sql = connection, source, sql
        self._table: pa.Table | None = None
        self._ahead: deque[pa.RecordBatch] = deque()
        self._rows: Iterator[tuple] | None = None
        self._is_streaming = False

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
            self._check_unread()
            with progress.shown(self._connection.progress) as look:
                rest = self._source.read_all(look)
            ahead = pa.Table.from_batches(self._ahead, self.schema)
            self._ahead.clear()
            self._table = pa.concat_tables([ahead, rest]) if ahead.num_rows else rest
        return self._table if views else types.without_views(self._table)

    def df(self) -> pandas.DataFrame:
        return types.without_views(self.arrow(), large=True).to_pandas()

    def pl(self) -> polars.DataFrame:
        import polars

        return polars.DataFrame(self.arrow())

    def numpy(self) -> dict[str, numpy.ndarray]:
        """An array for each column; a masked one where there are NULLs. Numbers and times without NULLs are views of the
        store's files where they lie there in one piece."""
        return arrays.numpy_arrays(self.arrow())

    def fetchall(self) -> list[tuple]:
        return list(self._row_iterator())

    def fetchone(self) -> tuple | None:
        return next(self._row_iterator(), None)

    def fetchmany(self, size: int) -> list[tuple]:
        rows = self._row_iterator()
        return [row for _, row in zip(range(size), rows)]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Record batches, as they are made."""
        if self._table is not None:
            yield from self._table.to_batches()
            return
        self._is_streaming = True
        try:
            while (batch := self._next_batch()) is not None:
                yield batch
        except KeyboardInterrupt:
            self.close()
            raise

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """For every library that reads Arrow: rows as they are made."""
        if self._table is not None:
            return self._table.__arrow_c_stream__(requested_schema)
        self._check_unread()
        if self._ahead:
            return self.arrow().__arrow_c_stream__(requested_schema)
        self._is_streaming = True
        return self._source.reader().__arrow_c_stream__(requested_schema)

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        return types.without_views(self.arrow(), large=True).__dataframe__(nan_as_null, allow_copy)

    def explain(self, *, analyze: bool = False) -> str:
        """The plan; with `analyze`, of another run, and with what each step of it did."""
        if analyze and not self.is_query:
            raise NotSupportedError("what is no query would be run once more", hint="explain it without analyze")
        words = "EXPLAIN ANALYZE " if analyze else "EXPLAIN "
        plan = self._connection.sql(words + self.sql).fetchall()
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
        return f"<quiver.Result of {show.shortened(self.sql)!r}: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        return show.html(self)

    def _peek(self, rows: int) -> pa.Table:
        """The first rows, which stay to be read."""
        if self._table is None and not self._is_streaming:
            seen = sum(batch.num_rows for batch in self._ahead)
            while seen < rows and (batch := self._source.next_batch()) is not None:
                self._ahead.append(batch)
                seen += batch.num_rows
            return pa.Table.from_batches(self._ahead, self.schema).slice(0, rows)
        return self.arrow().slice(0, rows)

    def _row_iterator(self) -> Iterator[tuple]:
        if self._rows is None:
            self._rows = _rows(iter(self))
        return self._rows

    def _next_batch(self) -> pa.RecordBatch | None:
        return self._ahead.popleft() if self._ahead else self._source.next_batch()

    def _check_unread(self) -> None:
        if self._is_streaming:
            raise InterfaceError("rows of this result were read already", hint="run the query again to have all of them")


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple]:
    for batch in batches:
        yield from _tuples(batch)


def _tuples(batch: pa.RecordBatch) -> Iterator[tuple]:
    if not batch.num_columns:
        return iter([()] * batch.num_rows)
    return zip(*(column.to_pylist() for column in batch.columns))
