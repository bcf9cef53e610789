"""One session of a server."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.flight as flight

from ..errors import InterfaceError, OperationalError
from ..sources import Imported, ImportOptions
from . import files, messages
from .calls import interruptible
from .failures import told
from .hand_off import MappedSource
from .rows import RemoteSource
from .session import Cookies

T = TypeVar("T")
VIEWS = (b"x-quiver-view-types", b"true")


@dataclass(frozen=True)
class Credentials:
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)


class RemoteBackend:
    def __init__(self, location: str, credentials: Credentials, tls: dict[str, bytes], *, hand_off: bool = False):
        self.uri = location
        self._hand_off = hand_off
        self._credentials, self._tls = credentials, tls
        self._process = os.getpid()
        self._transaction: bytes | None = None
        self._cookies = Cookies()
        self._results: weakref.WeakSet[RemoteSource] = weakref.WeakSet()
        self.is_closed = False
        with told():
            self._client = flight.FlightClient(location, middleware=[self._cookies], **tls)
            self._headers = [VIEWS, *interruptible(self._authenticate)]

    def _authenticate(self) -> list[tuple[bytes, bytes]]:
        """The headers of who calls, with the session begun."""
        who = self._credentials
        if who.user is not None:
            headers = [self._client.authenticate_basic_token(who.user, who.password or "")]
        else:
            headers = [(b"authorization", f"Bearer {who.token}".encode())] if who.token else []
        # Begins a session, which a cookie names: settings and transactions are in it.
        options = flight.FlightCallOptions(headers=headers)
        list(self._client.do_action(flight.Action("SetSessionOptions", b""), options))
        return headers

    def execute(self, sql: str, parameters: pa.RecordBatch | None) -> RemoteSource:
        def run() -> RemoteSource:
            if parameters is None:
                return self._started(messages.query(sql, self._transaction))
            handle = self._prepare(sql)
            try:
                bound = self._put(messages.prepared_query(handle), parameters)
                return self._started(messages.prepared_query(messages.text(bound, 1) or handle))
            finally:
                self._act("ClosePreparedStatement", messages.close_prepared(handle))

        return self._call(run)

    def execute_rows(self, sql: str, parameters: pa.RecordBatch) -> int:
        def run() -> int:
            handle = self._prepare(sql)
            try:
                return messages.number(self._put(messages.prepared_update(handle), parameters), 1)
            finally:
                self._act("ClosePreparedStatement", messages.close_prepared(handle))

        return self._call(run)

    def ingest(self, data: Any, schema: str, table: str, mode: str) -> int:
        """In a transaction in any case: a stream that the client has to end early looks like a whole one."""
        if self._transaction is not None:
            command = messages.ingest(schema, table, mode, self._transaction)
            return self._call(lambda: self._written(command, data))
        self.begin()
        try:
            command = messages.ingest(schema, table, mode, self._transaction or b"")
            written = self._call(lambda: self._written(command, data))
        except BaseException:
            self.rollback()
            raise
        self.commit()
        return written

    def import_files(self, paths: Sequence[str], schema: str, table: str, options: ImportOptions) -> Imported:
        """The files are this machine's, so they are read here."""
        return Imported(table, self.ingest(files.reader(paths, options), schema, table, options.mode))

    def mapped(self, schema: str, table: str, columns: Sequence[str] | None) -> MappedSource | None:
        """The rows of the last version, which are not those that a transaction sees."""
        if not self._hand_off or self.in_transaction:
            return None
        return self._call(lambda: MappedSource(self._answers, self._fetched, schema, table, columns))

    def begin(self) -> None:
        if self._transaction is not None:
            raise OperationalError("a transaction is open already", hint="end it with COMMIT or ROLLBACK")
        begun = self._call(lambda: self._act("BeginTransaction", messages.begin()))
        self._transaction = messages.text(messages.text(begun, 2), 1)

    def commit(self) -> None:
        self._end(commit=True)

    def rollback(self) -> None:
        self._end(commit=False)

    def _end(self, *, commit: bool) -> None:
        if self._transaction is None:
            raise OperationalError("no transaction is open", hint="begin one with BEGIN")
        transaction, self._transaction = self._transaction, None
        self._call(lambda: self._act("EndTransaction", messages.end(transaction, commit=commit)))

    @property
    def in_transaction(self) -> bool:
        return self._transaction is not None

    def another(self) -> RemoteBackend:
        self._check_open()
        return RemoteBackend(self.uri, self._credentials, self._tls, hand_off=self._hand_off)

    def close(self) -> None:
        self.is_closed = True
        if self._process != os.getpid():
            return
        for source in list(self._results):
            source.close()
        try:
            # A server that is gone has no session to be closed any more.
            options = flight.FlightCallOptions(headers=self._headers, timeout=5)
            interruptible(lambda: list(self._client.do_action(flight.Action("CloseSession", b""), options)))
        except (pa.ArrowException, flight.FlightError, OSError):
            pass
        self._client.close()

    def _call(self, work: Callable[[], T]) -> T:
        self._check_open()
        with told():
            return interruptible(work)

    def _check_open(self) -> None:
        if self.is_closed:
            raise InterfaceError("the connection is closed", hint="open it again")
        if self._process != os.getpid():
            message = f"the connection was opened by process {self._process}, which this one was forked from"
            raise InterfaceError(message, hint="connect in this process")

    @property
    def _options(self) -> flight.FlightCallOptions:
        return flight.FlightCallOptions(headers=self._headers)

    def _started(self, command: bytes) -> RemoteSource:
        info = self._client.get_flight_info(flight.FlightDescriptor.for_command(command), self._options)
        source = RemoteSource(self._client, info, self._options)
        self._results.add(source)
        return source

    def _prepare(self, sql: str) -> bytes:
        made = self._act("CreatePreparedStatement", messages.prepare(sql, self._transaction))
        return messages.text(messages.text(made, 2), 1)

    def _act(self, name: str, body: bytes) -> bytes:
        return next(iter(self._answers(name, body)), b"")

    def _answers(self, name: str, body: bytes) -> list[bytes]:
        return [answer.body.to_pybytes() for answer in self._client.do_action(flight.Action(name, body), self._options)]

    def _fetched(self, ticket: bytes) -> pa.Table:
        return self._client.do_get(flight.Ticket(ticket), self._options).read_all()

    def _put(self, command: bytes, batch: pa.RecordBatch) -> bytes:
        return self._sent(command, batch.schema, [batch])

    def _written(self, command: bytes, data: Any) -> int:
        reader = pa.RecordBatchReader.from_stream(data)
        return messages.number(self._sent(command, reader.schema, reader), 1)

    def _sent(self, command: bytes, schema: pa.Schema, batches: Any) -> bytes:
        writer, answers = self._client.do_put(flight.FlightDescriptor.for_command(command), schema, self._options)
        with writer:
            for batch in batches:
                writer.write_batch(batch)
            writer.done_writing()
            answer = answers.read()
        return b"" if answer is None else answer.to_pybytes()
