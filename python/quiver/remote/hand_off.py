"""A table as files of the server's machine, mapped here: docs/hand-off.md. No row crosses the network."""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight

from ..errors import InterfaceError, OperationalError
from ..process import Process
from ..sources import Look
from ..stats import Stats
from .calls import interruptible, pulled
from .failures import told
from .releasing import Releases

Act = Callable[[str, bytes], list[bytes]]
Fetch = Callable[[bytes], pa.Table]


class MappedSource:
    """The lease holds the version of the store until the rows were read; what is mapped then stays.

    Where a file cannot be mapped, or the lease is gone, the table has broken off, and says so from then on."""

    is_query = True
    rows_changed = None

    def __init__(self, act: Act, fetch: Fetch, releases: Releases, schema: str, table: str, columns: Sequence[str] | None):
        command: dict[str, Any] = {"schema": schema, "table": table}
        if columns is not None:
            command["columns"] = list(columns)
        answer, described = act("lease", json.dumps(command).encode())
        self._act, self._fetch = act, fetch
        self._lease = json.loads(answer)
        releases.prepare()
        # Of a table that nobody has any more.
        self._unread = weakref.finalize(self, releases.lease, self._lease["lease"].encode())
        self._unread.atexit = False
        self.schema = pa.ipc.read_schema(pa.py_buffer(described))
        # Begun when it is read: a generator has this object, and would keep it from going by itself.
        self._batches: Iterator[pa.RecordBatch] | None = None
        self._rows = self._bytes = 0
        self._process = Process()
        self._lock = threading.RLock()
        self._failure: Exception | None = None
        self._is_held = True
        self._is_closed = False

    @property
    def stats(self) -> Stats:
        """What was handed over; the server has read nothing."""
        return Stats(rows_returned=self._rows, bytes_returned=self._bytes)

    def read_all(self, look: Look | None) -> pa.Table:
        return pa.Table.from_batches(iter(self.next_batch, None), self.schema)

    def next_batch(self) -> pa.RecordBatch | None:
        self._process.check()
        with self._lock:
            self.check()
            try:
                with told():
                    self._batches = self._batches or self._all_batches()
                    batch = next(self._batches, None)
            except BaseException as error:
                interrupted = InterfaceError("reading this table was interrupted", hint="read it again")
                self._failure = error if isinstance(error, Exception) else interrupted
                self._release()
                raise
            if batch is None:
                self._release()
                return None
            self._rows += batch.num_rows
            self._bytes += batch.nbytes
            return batch

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, pulled(self.next_batch))

    def check(self) -> None:
        self._process.check()
        if self._failure is not None:
            raise self._failure
        if self._is_closed:
            raise InterfaceError("the result is closed", hint="read the table again")

    def close(self) -> None:
        self._is_closed = True
        self._release()

    def _all_batches(self) -> Iterator[pa.RecordBatch]:
        # All at once: a lease that ends while rows are read slowly takes none of them away.
        files = {part["file"]: _mapped(part) for part in self._lease["parts"] if "file" in part}
        for part in self._lease["parts"]:
            if "ticket" in part:
                rows = interruptible(partial(self._fetch, part["ticket"].encode()))
                yield from rows.cast(self.schema).to_batches()
                continue
            file = pa.ipc.open_file(files[part["file"]])
            for place in part["batches"]:
                batch = self._fitted(file.get_batch(place["index"]).select(part["columns"]))
                yield from (batch.slice(start, end - start) for start, end in place["rows"])

    def _fitted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Columns that have their type already are not copied."""
        columns = [column.cast(field.type) for column, field in zip(batch.columns, self.schema, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _release(self) -> None:
        """One that cannot be released ends by itself."""
        if self._is_held and self._process.is_here:
            self._is_held = False
            self._unread.detach()
            with suppress(pa.ArrowException, flight.FlightError, OSError):
                interruptible(lambda: self._act("release_lease", self._lease["lease"].encode()))


def _mapped(part: dict[str, Any]) -> pa.MemoryMappedFile:
    file = pa.memory_map(part["file"])
    if file.size() != part["size_bytes"]:
        hint = "connect without hand_off if the server runs on another machine"
        raise OperationalError(f'"{part["file"]}" is not the file that the server means', hint=hint)
    return file
