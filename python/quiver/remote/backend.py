"""One session of a server."""

from __future__ import annotations

import secrets
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.flight as flight

from ..errors import Error, InterfaceError, NotSupportedError, ProgrammingError
from ..process import Process
from ..sources import ArrayChunks, Imported, ImportOptions
from . import files, messages
from .calls import interruptible
from .failures import connection_errors, translated_errors
from .hand_off import MappedSource, mapped_values
from .releasing import ANSWER_S, Releases
from .rows import RemoteSource, without_annotations
from .sending import Sending, put
from .session import Cookies
from .transaction import IS_OPEN, Transaction

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
        self._hand_off = self.maps_files = hand_off
        self._credentials, self._tls = credentials, tls
        self._process = Process()
        self._transaction_state = Transaction()
        # Held from reading the state to changing it. Otherwise a transaction that another thread begins might never be ended, and one
        # that is being ended would still look open.
        self._transaction_lock = threading.RLock()
        self._cookies = Cookies()
        self._results: weakref.WeakSet[RemoteSource] = weakref.WeakSet()
        self.is_closed = False
        with connection_errors(location, has_ca="tls_root_certs" in tls):
            self._client = flight.FlightClient(location, middleware=[self._cookies], **tls)
            self._headers = [VIEWS, *interruptible(self._authenticate)]
        self._releases = Releases(self._client, self._headers)

    def _authenticate(self) -> list[tuple[bytes, bytes]]:
        """Logs in and begins a session. Returns the headers that authenticate later calls."""
        credentials = self._credentials
        if credentials.user is not None:
            headers = [self._token(credentials.user, credentials.password or "")]
        else:
            headers = [(b"authorization", f"Bearer {credentials.token}".encode())] if credentials.token else []
        # This begins a session, which a cookie names. It holds settings and transactions.
        options = flight.FlightCallOptions(headers=headers)
        list(self._client.do_action(flight.Action("SetSessionOptions", b""), options))
        return headers

    def _token(self, user: str, password: str) -> tuple[bytes, bytes]:
        try:
            return self._client.authenticate_basic_token(user, password)
        except flight.FlightUnauthenticatedError:
            raise
        except (pa.ArrowException, OSError):
            # If the server cannot be reached, this call gives no reason, but another call does.
            with suppress(flight.FlightUnauthenticatedError):
                list(self._client.list_actions())
            raise

    def execute(self, sql: str, parameters: pa.RecordBatch | None) -> RemoteSource:
        state = self._transaction
        transaction, changes = state.handle, state.changes

        def run(options: flight.FlightCallOptions) -> RemoteSource:
            if parameters is None:
                return self._start(messages.query(sql, transaction), options)
            handle, _ = self._prepare(sql, transaction)
            try:
                bound = self._send(messages.prepared_query(handle), parameters.schema, [parameters], options)
                return self._start(messages.prepared_query(messages.text(bound, 1) or handle), options)
            finally:
                self._releases.prepared(handle)

        try:
            source = self._statement(run)
        except BaseException:
            self._invalidate_transaction()
            raise
        if source.kind == "transaction":
            with self._transaction_lock:
                if source.in_transaction is not None and state.is_unchanged(transaction, changes):
                    self._update_transaction(source.in_transaction)
                else:
                    state.invalidate()
        return source

    def schema_of(self, sql: str) -> pa.Schema:
        request = flight.FlightDescriptor.for_command(messages.query(sql, self._transaction.handle))
        return without_annotations(self._call(lambda: self._client.get_schema(request, self._options)).schema)

    def run_substrait(self, plan: bytes) -> RemoteSource:
        transaction = self._transaction.handle
        try:
            return self._statement(lambda options: self._start(messages.substrait(plan, transaction), options))
        except BaseException:
            self._invalidate_transaction()
            raise

    def execute_rows(self, sql: str, parameters: pa.RecordBatch) -> int:
        transaction = self._transaction.handle

        def run(options: flight.FlightCallOptions) -> int:
            handle, has_rows = self._prepare(sql, transaction)
            try:
                if has_rows:
                    what = "rows of parameters for what changes no rows is not supported"
                    raise NotSupportedError(what, hint="run it with one row at a time")
                return messages.number(self._send(messages.prepared_update(handle), parameters.schema, [parameters], options), 1)
            finally:
                self._releases.prepared(handle)

        return self._statement(run)

    def ingest(self, data: Any, schema: str, table: str, mode: str) -> int:
        """Always runs in a transaction: to the server, a stream that the client has to end early looks complete."""
        self._check_open()
        rows = Sending(data)
        with self._transaction_lock:
            state = self._transaction
            is_own, transaction = not state.is_open, state.handle
        if is_own:
            transaction = self._begin_transaction()
        command = messages.ingest(schema, table, mode, transaction or b"")
        try:
            written = self._statement(lambda options: messages.number(self._send(command, rows.schema, rows, options), 1), rows.stop)
        except BaseException:
            rows.stop()
            self._abandon(transaction) if is_own else self._fail(transaction)
            raise
        if is_own:
            self._end(transaction, commit=True)
        return written

    def import_files(self, paths: Sequence[str], schema: str, table: str, options: ImportOptions) -> Imported:
        """The files are on the client's machine, so they are read here."""
        return Imported(table, self.ingest(files.reader(paths, options), schema, table, options.mode))

    def mapped(self, schema: str, table: str, columns: Sequence[str] | None) -> MappedSource | None:
        """The rows of the latest version. A transaction may see another version, so it does not use this."""
        if not self._hand_off or self._transaction.is_open:
            return None
        return self._call(lambda: MappedSource(self._do_action, self._fetch, self._releases, schema, table, columns))

    def find_ids(self, conditions: Sequence[tuple[str, Any, Any]]) -> list[int]:
        raise NotSupportedError("find_ids searches a store of this process", hint="use con.find(…) over the network")

    def read_blobs(self, schema: str, names: Sequence[str]) -> dict[str, pa.Buffer] | None:
        values = self._mapped_values("lease_blobs", {"schema": schema, "blobs": list(names)})
        return None if values is None else {name: value for name, value in zip(names, values[1]) if value is not None}

    def read_chunks(self, schema: str, array: str, numbers: list[list[int]]) -> ArrayChunks | None:
        values = self._mapped_values("lease_chunks", {"schema": schema, "array": array, "chunks": numbers})
        return None if values is None else ArrayChunks(values[0]["object_id"], values[1])

    def _mapped_values(self, action: str, command: dict[str, Any]) -> tuple[dict[str, Any], list[pa.Buffer | None]] | None:
        """Like `mapped`, for single values; None too if one of them is in no file, or if there are too many for one request."""
        if not self._hand_off or self._transaction.is_open:
            return None
        return self._call(lambda: mapped_values(self._do_action_once, action, command))

    def begin(self) -> None:
        self._check_open()
        with self._transaction_lock:
            self._transaction.check_none()
            self._transaction_state.handle = self._begin_transaction()

    def commit(self) -> None:
        self._finish(commit=True)

    def rollback(self) -> None:
        self._finish(commit=False)

    def _finish(self, *, commit: bool) -> None:
        self._check_open()
        with self._transaction_lock:
            self._end(self._transaction.take(), commit=commit)

    def _begin_transaction(self) -> bytes:
        response = self._call(lambda: self._do_action_once("BeginTransaction", messages.begin()))
        return messages.text(messages.text(response, 2), 1)

    def _end(self, transaction: bytes | None, *, commit: bool) -> None:
        if transaction is not None:
            self._call(lambda: self._do_action_once("EndTransaction", messages.end(transaction, commit=commit)))
        else:
            self._call(lambda: self._start(messages.query("COMMIT" if commit else "ROLLBACK", None)))

    def _abandon(self, transaction: bytes | None) -> None:
        """Rolls back. If that fails, the transaction can no longer be committed either, because its handle is dropped."""
        with suppress(Error):
            self._end(transaction, commit=False)

    def _fail(self, transaction: bytes | None) -> None:
        """The open transaction may contain some of the rows of a stream that broke off. In process it would have failed, and could only be
        rolled back. A failing statement has the same effect here."""
        try:
            self._call(lambda: self._start(messages.query('RELEASE SAVEPOINT "rows that broke off"', transaction)))
        except ProgrammingError:
            pass
        except BaseException:
            # These rows must not be committed.
            self.close()

    @property
    def in_transaction(self) -> bool:
        return not self.is_closed and self._transaction.is_open

    def another(self) -> RemoteBackend:
        self._check_open()
        return RemoteBackend(self.uri, self._credentials, self._tls, hand_off=self._hand_off)

    def close(self) -> None:
        self.is_closed = True
        if not self._process.is_here:
            return
        self._releases.stop()
        for source in list(self._results):
            source.close()
        try:
            # If the server is gone, there is no session to close.
            options = flight.FlightCallOptions(headers=self._headers, timeout=ANSWER_S)
            interruptible(lambda: list(self._client.do_action(flight.Action("CloseSession", b""), options)))
        except (pa.ArrowException, flight.FlightError, OSError):
            pass
        self._client.close()

    def _call(self, work: Callable[[], T]) -> T:
        self._check_open()
        with translated_errors():
            return interruptible(work)

    def _statement(self, work: Callable[[flight.FlightCallOptions], T], stop: Callable[[], None] | None = None) -> T:
        """Runs calls with these options. If they are interrupted, they are cancelled on the server too, and `stop` is called."""
        self._check_open()
        name = secrets.token_hex(16)
        options = flight.FlightCallOptions(headers=[*self._headers, (b"x-quiver-call", name.encode())])

        def end() -> bool:
            if stop is not None:
                stop()
            return self._end_call(name)

        with translated_errors():
            return interruptible(lambda: work(options), end)

    def _end_call(self, name: str) -> bool:
        options = flight.FlightCallOptions(headers=self._headers, timeout=ANSWER_S)
        try:
            list(self._client.do_action(flight.Action("cancel_call", name.encode()), options))
        except (pa.ArrowException, flight.FlightError, OSError) as error:
            # An older server does not know the action, so retrying is pointless.
            return isinstance(error, NotImplementedError)
        return True

    def _check_open(self) -> None:
        if self.is_closed:
            raise InterfaceError("the connection is closed", hint="open it again")
        self._process.check()

    @property
    def _options(self) -> flight.FlightCallOptions:
        return flight.FlightCallOptions(headers=self._headers)

    def _start(self, command: bytes, options: flight.FlightCallOptions | None = None) -> RemoteSource:
        info = self._client.get_flight_info(flight.FlightDescriptor.for_command(command), options or self._options)
        source = RemoteSource(self._client, info, self._headers, self._releases)
        self._results.add(source)
        return source

    @property
    def _transaction(self) -> Transaction:
        """The current state. It asks the server if that is unknown."""
        self._check_open()
        state = self._transaction_state
        with self._transaction_lock:
            if not state.is_known:
                self._update_transaction(self._is_open(state.handle))
        return state

    def _invalidate_transaction(self) -> None:
        """Waits for a running query of the state first, because its answer may be outdated."""
        with self._transaction_lock:
            self._transaction_state.invalidate()

    def _update_transaction(self, is_open: bool) -> None:
        transaction = self._transaction_state.handle
        self._transaction_state.update(is_open)
        if transaction is not None and not is_open:
            # SQL has ended it, but the server keeps its handle until EndTransaction.
            self._abandon(transaction)

    def _is_open(self, transaction: bytes | None) -> bool:
        request = messages.query(IS_OPEN, transaction)
        try:
            return self._call(lambda: self._start(request).read_all(None)).num_rows > 0
        except ProgrammingError as error:
            # A failed transaction refuses queries, but it still exists.
            return error.kind != "not_found"

    def _prepare(self, sql: str, transaction: bytes | None) -> tuple[bytes, bool]:
        """The handle, and whether the statement is a query."""
        response = messages.text(self._do_action_once("CreatePreparedStatement", messages.prepare(sql, transaction)), 2)
        return messages.text(response, 1), bool(messages.text(response, 2))

    def _do_action_once(self, name: str, body: bytes) -> bytes:
        return next(iter(self._do_action(name, body)), b"")

    def _do_action(self, name: str, body: bytes) -> list[bytes]:
        return [answer.body.to_pybytes() for answer in self._client.do_action(flight.Action(name, body), self._options)]

    def _fetch(self, ticket: bytes) -> pa.Table:
        return self._client.do_get(flight.Ticket(ticket), self._options).read_all()

    def _send(self, command: bytes, schema: pa.Schema, batches: Any, options: flight.FlightCallOptions) -> bytes:
        return put(self._client, options, command, schema, batches)
