"""A table as files of the server's machine, mapped here: docs/hand-off.md. No row crosses the network."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from ..errors import InterfaceError
from ..sources import Look
from ..stats import Stats
from .failures import told

Act = Callable[[str, bytes], list[bytes]]
Fetch = Callable[[bytes], pa.Table]


class MappedSource:
    """The lease holds the version of the store until the rows were read; what is mapped then stays."""

    is_query = True
    rows_changed = None

    def __init__(self, act: Act, fetch: Fetch, schema: str, table: str, columns: Sequence[str] | None):
        command: dict[str, Any] = {"schema": schema, "table": table}
        if columns is not None:
            command["columns"] = list(columns)
        answer, described = act("lease", json.dumps(command).encode())
        self._act, self._fetch = act, fetch
        self._lease = json.loads(answer)
        self.schema = pa.ipc.read_schema(pa.py_buffer(described))
        self._batches = self._all_batches()
        self._rows = self._bytes = 0
        self._is_held = True
        self._is_closed = False

    @property
    def stats(self) -> Stats:
        """What was handed over; the server has read nothing."""
        return Stats(rows_returned=self._rows, bytes_returned=self._bytes)

    def read_all(self, look: Look | None) -> pa.Table:
        return pa.Table.from_batches(self._remaining(), self.schema)

    def next_batch(self) -> pa.RecordBatch | None:
        return next(self._remaining(), None)

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self._remaining())

    def close(self) -> None:
        self._is_closed = True
        self._release()

    def _remaining(self) -> Iterator[pa.RecordBatch]:
        while True:
            if self._is_closed:
                raise InterfaceError("the result is closed", hint="read the table again")
            with told():
                batch = next(self._batches, None)
            if batch is None:
                return self._release()
            self._rows += batch.num_rows
            self._bytes += batch.nbytes
            yield batch

    def _all_batches(self) -> Iterator[pa.RecordBatch]:
        for part in self._lease["parts"]:
            if "ticket" in part:
                yield from self._fetch(part["ticket"].encode()).cast(self.schema).to_batches()
                continue
            file = pa.ipc.open_file(pa.memory_map(part["file"]))
            for place in part["batches"]:
                batch = self._fitted(file.get_batch(place["index"]).select(part["columns"]))
                yield from (batch.slice(start, end - start) for start, end in place["rows"])

    def _fitted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Columns that have their type already are not copied."""
        columns = [column.cast(field.type) for column, field in zip(batch.columns, self.schema, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _release(self) -> None:
        if self._is_held:
            self._is_held = False
            self._act("release_lease", self._lease["lease"].encode())
