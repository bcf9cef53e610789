"""Rows as tuples of Python values."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from .errors import DataError
from .types import values


class Rows:
    """An iterator over rows. After an error it raises the same error again."""

    def __init__(self, batches: Iterator[pa.RecordBatch]):
        self._batches = batches
        self._rows: Iterator[tuple] = iter(())
        self._failure: DataError | None = None

    def __iter__(self) -> Rows:
        return self

    def __next__(self) -> tuple:
        while True:
            for row in self._rows:
                return row
            if self._failure is not None:
                raise self._failure
            batch = next(self._batches)
            try:
                self._rows = tuples(batch)
            except DataError as error:
                self._failure = error
                raise


def tuples(batch: pa.RecordBatch | pa.Table) -> Iterator[tuple]:
    if not batch.num_columns:
        return iter([()] * batch.num_rows)
    return zip(*(_column(name, column) for name, column in zip(batch.schema.names, batch.columns)))


def _column(name: str, column: pa.Array | pa.ChunkedArray) -> list:
    try:
        return values(column)
    except (OverflowError, ValueError) as error:
        # For example, a year after 9999.
        message = f'column "{name}" has a value that Python has no type for ({error})'
        raise DataError(message, hint="take the rows as Arrow, or cast the column to VARCHAR") from None
