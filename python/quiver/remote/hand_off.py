"""Maps the files of a server's table on the same machine: docs/hand-off.md. No row crosses the network."""

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
from ..sources import ProgressCallback
from ..stats import Stats
from .calls import interruptible, interruptible_batches
from .encodings import decoded
from .failures import translated_errors
from .releasing import Releases

# A server refuses requests of 1 MiB.
REQUEST_BYTES_MAX = 512 << 10

Act = Callable[[str, bytes], list[bytes]]
Fetch = Callable[[bytes], pa.Table]


class MappedSource:
    """The lease holds the version of the store until the rows were read. Files that are mapped by then stay valid.

    If a file cannot be mapped, or the lease has ended, every further read raises that error."""

    is_query = True
    rows_changed = None

    def __init__(self, do_action: Act, fetch: Fetch, releases: Releases, schema: str, table: str, columns: Sequence[str] | None):
        command: dict[str, Any] = {"schema": schema, "table": table, "encodings": True}
        if columns is not None:
            command["columns"] = list(columns)
        answer, described = do_action("lease", json.dumps(command).encode())
        self._do_action, self._fetch = do_action, fetch
        self._lease = json.loads(answer)
        releases.prepare()
        # Releases the lease when this object is collected.
        self._unread = weakref.finalize(self, releases.lease, self._lease["lease"].encode())
        self._unread.atexit = False
        self.schema = pa.ipc.read_schema(pa.py_buffer(described))
        # Created on the first read: the generator refers to this object, and would keep it from being collected.
        self._batches: Iterator[pa.RecordBatch] | None = None
        self._rows = self._bytes = 0
        self._process = Process()
        self._lock = threading.RLock()
        self._failure: Exception | None = None
        self._holds_lease = True
        self._is_closed = False

    @property
    def stats(self) -> Stats:
        """Counts the bytes that were handed over. The server has read nothing."""
        return Stats(rows_returned=self._rows, bytes_returned=self._bytes)

    def read_all(self, on_progress: ProgressCallback | None) -> pa.Table:
        return pa.Table.from_batches(iter(self.next_batch, None), self.schema)

    def next_batch(self) -> pa.RecordBatch | None:
        self._process.check()
        with self._lock:
            self.check()
            try:
                with translated_errors():
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
        return pa.RecordBatchReader.from_batches(self.schema, interruptible_batches(self.next_batch))

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
        # All files are mapped at once, so that a lease that ends during a slow read does not matter.
        files = {part["file"]: _memory_map(part) for part in self._lease["parts"] if "file" in part}
        for part in self._lease["parts"]:
            if "ticket" in part:
                rows = interruptible(partial(self._fetch, part["ticket"].encode()))
                yield from rows.cast(self.schema).to_batches()
                continue
            file = pa.ipc.open_file(files[part["file"]])
            for entry in part["batches"]:
                batch = self._decoded(file.get_batch(entry["index"]).select(part["columns"]))
                yield from (batch.slice(start, end - start) for start, end in entry["rows"])

    def _decoded(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns in their types. Those that already have them are not copied."""
        columns = zip(batch.columns, batch.schema, self.schema, strict=True)
        arrays = [decoded(column, stored).cast(field.type) for column, stored, field in columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _release(self) -> None:
        """Releases the lease. If that fails, it expires."""
        if self._holds_lease and self._process.is_here:
            self._holds_lease = False
            self._unread.detach()
            with suppress(pa.ArrowException, flight.FlightError, OSError):
                interruptible(lambda: self._do_action("release_lease", self._lease["lease"].encode()))


def mapped_values(
    do_action: Callable[[str, bytes], bytes], action: str, command: dict[str, Any]
) -> tuple[dict[str, Any], list[pa.Buffer | None]] | None:
    """The answer to the action, and for each value a view of the file that has it, or None if there is no such value. None in place of both if
    a value is in no file, or if there are too many for one request."""
    request = json.dumps(command).encode()
    if len(request) > REQUEST_BYTES_MAX:
        return None
    answer = json.loads(do_action(action, request))
    try:
        if any(found is not None and "file" not in found for found in answer["ranges"]):
            return None
        files = [_memory_map(file) for file in answer["files"]]
        wholes = [file.read_buffer(file.size()) for file in files]
        return answer, [found and wholes[found["file"]].slice(found["offset"], found["length"]) for found in answer["ranges"]]
    finally:
        # What is mapped by now stays readable. There is a limit for the leases at once, so that it is released here and not in the background.
        with suppress(pa.ArrowException, flight.FlightError, OSError):
            do_action("release_lease", answer["lease"].encode())


def _memory_map(part: dict[str, Any]) -> pa.MemoryMappedFile:
    file = pa.memory_map(part["file"])
    if file.size() != part["size_bytes"]:
        hint = "connect without hand_off if the server runs on another machine"
        raise OperationalError(f'"{part["file"]}" is not the file that the server means', hint=hint)
    return file
