"""The rows of a statement, as a stream."""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight

from ..errors import Error, InterfaceError
from ..process import Process
from ..sources import ProgressCallback
from ..stats import Stats
from . import messages, progress
from .calls import Pump, interruptible_batches
from .failures import translated_errors
from .releasing import Releases


class RemoteSource:
    """A query does not run before its rows are read. Endpoints are read one after the other, and released if they are not read."""

    def __init__(self, client: flight.FlightClient, info: flight.FlightInfo, headers: list[tuple[bytes, bytes]], releases: Releases):
        self._report = _report(_app_metadata(info))
        self.kind = str(self._report.get("statement"))
        self.schema = without_annotations(info.schema)
        self.is_query = self.kind == "query"
        endpoints = info.endpoints if self.is_query else []
        self._stream = _Stream(client, endpoints, flight.FlightCallOptions(headers=headers), releases)
        # A query has at least one endpoint.
        self._progress_request = progress.ProgressRequest(client, headers, endpoints[0].ticket.ticket) if endpoints else None
        if endpoints:
            releases.prepare()
            # When this object is collected, the server stops sending the result and drops it.
            weakref.finalize(self, self._stream.cancel).atexit = False
        # None if the statement neither begins nor ends a transaction, and with older servers.
        self.in_transaction: bool | None = self._report.get("in_transaction")
        self.rows_changed = info.total_records if self.kind == "write" else None
        self._process = Process()
        self._pump: Pump | None = None
        self._is_closed = False

    @property
    def stats(self) -> Stats:
        return Stats.of(self._report)

    def read_all(self, on_progress: ProgressCallback | None) -> pa.Table:
        if on_progress is None or self._progress_request is None:
            return pa.Table.from_batches(iter(self.next_batch, None), self.schema)
        with progress.polling(self._progress_request, on_progress) as tick:
            return pa.Table.from_batches(iter(partial(self.next_batch, tick), None), self.schema)

    def next_batch(self, meanwhile: Callable[[], None] | None = None) -> pa.RecordBatch | None:
        try:
            return self._next_batch(meanwhile)
        except Error:
            raise
        except BaseException:
            # Rows that arrived during the interrupt are lost.
            self.close()
            raise

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, interruptible_batches(self.next_batch))

    def check(self) -> None:
        self._process.check()
        with translated_errors():
            if self._pump is not None:
                self._pump.check()
        if self._is_closed:
            raise InterfaceError("the result is closed", hint="run the query again")

    def close(self) -> None:
        self._is_closed = True
        if self._pump is not None:
            self._pump.stop()
        else:
            self._stream.cancel()

    def _next_batch(self, meanwhile: Callable[[], None] | None) -> pa.RecordBatch | None:
        while True:
            self.check()
            if not self.is_query:
                return None
            try:
                with translated_errors():
                    piece = self._started_pump().next(meanwhile)
            except StopIteration:
                return None
            if meanwhile is not None:
                # Called here as well, because the pump calls it only while it waits.
                meanwhile()
            if piece.app_metadata is not None:
                self._report = _report(piece.app_metadata.to_pybytes())
            if piece.data is not None and piece.data.num_rows:
                return pa.RecordBatch.from_arrays(piece.data.columns, schema=self.schema)

    def _started_pump(self) -> Pump:
        if self._pump is None:
            self._pump = Pump(self, self._stream.next_piece, self._stream.cancel)
        return self._pump


class _Stream:
    """The part of a result that the reading thread holds. It does not keep the result itself alive."""

    def __init__(self, client: flight.FlightClient, endpoints: list[Any], options: flight.FlightCallOptions, releases: Releases):
        self._client, self._endpoints, self._options = client, list(endpoints), options
        self._releases = releases
        self._reader: flight.FlightStreamReader | None = None
        self._is_cancelled = False

    def next_piece(self) -> Any:
        """Raises StopIteration at the end of the last endpoint."""
        while True:
            if self._reader is None:
                if not self._endpoints:
                    raise StopIteration
                # The endpoint is removed first: it is fetched now, and so must not be released.
                self._reader = self._client.do_get(self._endpoints.pop(0).ticket, self._options)
                # `cancel` may have run before the reader existed.
                if self._is_cancelled:
                    self._reader.cancel()
            try:
                return self._reader.read_chunk()
            except StopIteration:
                self._reader = None

    def cancel(self) -> None:
        # A forked process has a copy of the reader, but not its connection.
        if not self._releases.is_here:
            return
        self._is_cancelled = True
        if (reader := self._reader) is not None:
            reader.cancel()
        endpoints, self._endpoints = self._endpoints, []
        for endpoint in endpoints:
            self._releases.ticket(endpoint.ticket.ticket)


def _app_metadata(info: flight.FlightInfo) -> bytes:
    """pyarrow 18, which Apache Superset requires, exposes it in the serialized message only."""
    return info.app_metadata if hasattr(info, "app_metadata") else messages.text(info.serialize(), 7)


def _report(metadata: bytes) -> dict[str, Any]:
    return json.loads(metadata) if metadata else {}


def without_annotations(schema: pa.Schema) -> pa.Schema:
    """Removes the metadata that Flight SQL adds to columns for JDBC."""
    return pa.schema([field.with_metadata(_own(field.metadata)) for field in schema], metadata=schema.metadata)


def _own(metadata: dict[bytes, bytes] | None) -> dict[bytes, bytes] | None:
    own = {key: value for key, value in (metadata or {}).items() if not key.startswith(b"ARROW:FLIGHT:SQL:")}
    return own or None
