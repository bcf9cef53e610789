"""The rows of a statement as they come."""

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
from ..sources import Look
from ..stats import Stats
from . import messages, progress
from .calls import Pump, pulled
from .failures import told
from .releasing import Releases


class RemoteSource:
    """Nothing of a query runs before its rows are asked for. Endpoints are read one after the other, and released where nobody does."""

    def __init__(self, client: flight.FlightClient, info: flight.FlightInfo, headers: list[tuple[bytes, bytes]], releases: Releases):
        self._report = _report(_app_metadata(info))
        self.kind = str(self._report.get("statement"))
        self.schema = without_annotations(info.schema)
        self.is_query = self.kind == "query"
        endpoints = info.endpoints if self.is_query else []
        self._stream = _Stream(client, endpoints, flight.FlightCallOptions(headers=headers), releases)
        # A query has one.
        self._question = progress.Question(client, headers, endpoints[0].ticket.ticket) if endpoints else None
        if endpoints:
            releases.prepare()
            # A result that nobody has any more is not sent any further, and not kept.
            weakref.finalize(self, self._stream.cancel).atexit = False
        # None of what begins and ends no transaction, and of older servers.
        self.in_transaction: bool | None = self._report.get("in_transaction")
        self.rows_changed = info.total_records if self.kind == "write" else None
        self._process = Process()
        self._pump: Pump | None = None
        self._is_closed = False

    @property
    def stats(self) -> Stats:
        return Stats.of(self._report)

    def read_all(self, look: Look | None) -> pa.Table:
        if look is None or self._question is None:
            return pa.Table.from_batches(iter(self.next_batch, None), self.schema)
        with progress.watched(self._question, look) as tick:
            return pa.Table.from_batches(iter(partial(self.next_batch, tick), None), self.schema)

    def next_batch(self, meanwhile: Callable[[], None] | None = None) -> pa.RecordBatch | None:
        try:
            return self._next_batch(meanwhile)
        except Error:
            raise
        except BaseException:
            # What came while the reader was interrupted is lost.
            self.close()
            raise

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, pulled(self.next_batch))

    def check(self) -> None:
        self._process.check()
        with told():
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
                with told():
                    piece = self._started().next(meanwhile)
            except StopIteration:
                return None
            if meanwhile is not None:
                # Where rows never have to be waited for.
                meanwhile()
            if piece.app_metadata is not None:
                self._report = _report(piece.app_metadata.to_pybytes())
            if piece.data is not None and piece.data.num_rows:
                return pa.RecordBatch.from_arrays(piece.data.columns, schema=self.schema)

    def _started(self) -> Pump:
        if self._pump is None:
            self._pump = Pump(self, self._stream.next_piece, self._stream.cancel)
        return self._pump


class _Stream:
    """What the thread that reads has, and nothing else of the result."""

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
                # No result any more that only waits: it is taken off first.
                self._reader = self._client.do_get(self._endpoints.pop(0).ticket, self._options)
                # It was not there yet for who has cancelled meanwhile.
                if self._is_cancelled:
                    self._reader.cancel()
            try:
                return self._reader.read_chunk()
            except StopIteration:
                self._reader = None

    def cancel(self) -> None:
        # A process that was forked has the reader's memory, and not its connection.
        if not self._releases.is_here:
            return
        self._is_cancelled = True
        if (reader := self._reader) is not None:
            reader.cancel()
        endpoints, self._endpoints = self._endpoints, []
        for endpoint in endpoints:
            self._releases.ticket(endpoint.ticket.ticket)


def _app_metadata(info: flight.FlightInfo) -> bytes:
    """pyarrow 18, which Apache Superset asks for, has it in the serialized message alone."""
    return info.app_metadata if hasattr(info, "app_metadata") else messages.text(info.serialize(), 7)


def _report(metadata: bytes) -> dict[str, Any]:
    return json.loads(metadata) if metadata else {}


def without_annotations(schema: pa.Schema) -> pa.Schema:
    """What Flight SQL tells JDBC of each column is no part of it."""
    return pa.schema([field.with_metadata(_own(field.metadata)) for field in schema], metadata=schema.metadata)


def _own(metadata: dict[bytes, bytes] | None) -> dict[bytes, bytes] | None:
    own = {key: value for key, value in (metadata or {}).items() if not key.startswith(b"ARROW:FLIGHT:SQL:")}
    return own or None
