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
from ..sources import Imported, ImportOptions
from . import files, messages
from .calls import interruptible
from .failures import connecting, told
from .hand_off import MappedSource
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
        self._hand_off = hand_off
        self._credentials, self._tls = credentials, tls
        self._process = Process()
        self._last_transaction = Transaction()
        # Who looks at it and changes it then has it: what another thread has begun would not be ended by anybody, and what is being
        # ended would still look open.
        self._turn = threading.RLock()
        self._cookies = Cookies()
        self._results: weakref.WeakSet[RemoteSource] = weakref.WeakSet()
        self.is_closed = False
        with connecting(location, has_ca="tls_root_certs" in tls):
            self._client = flight.FlightClient(location, middleware=[self._cookies], **tls)
            self._headers = [VIEWS, *interruptible(self._authenticate)]
        self._releases = Releases(self._client, self._headers)

    def _authenticate(self) -> list[tuple[bytes, bytes]]:
        """The headers of who calls, with the session begun."""
        who = self._credentials
        if who.user is not None:
            headers = [self._token(who.user, who.password or "")]
        else:
            headers = [(b"authorization", f"Bearer {who.token}".encode())] if who.token else []
        # Begins a session, which a cookie names: settings and transactions are in it.
        options = flight.FlightCallOptions(headers=headers)
        list(self._client.do_action(flight.Action("SetSessionOptions", b""), options))
        return headers

    def _token(self, user: str, password: str) -> tuple[bytes, bytes]:
        try:
            return self._client.authenticate_basic_token(user, password)
        except flight.FlightUnauthenticatedError:
            raise
        except (pa.ArrowException, OSError):
            # Of a server that cannot be reached this call says nothing, and another one the reason.
            with suppress(flight.FlightUnauthenticatedError):
                list(self._client.list_actions())
            raise

    def execute(self, sql: str, parameters: pa.RecordBatch | None) -> RemoteSource:
        known = self._transaction
        transaction, changes = known.handle, known.changes

        def run(options: flight.FlightCallOptions) -> RemoteSource:
            if parameters is None:
                return self._started(messages.query(sql, transaction), options)
            handle, _ = self._prepared(sql, transaction)
            try:
                bound = self._sent(messages.prepared_query(handle), parameters.schema, [parameters], options)
                return self._started(messages.prepared_query(messages.text(bound, 1) or handle), options)
            finally:
                self._releases.prepared(handle)

        try:
            source = self._statement(run)
        except BaseException:
            self._doubt()
            raise
        if source.kind == "transaction":
            with self._turn:
                if source.in_transaction is not None and known.is_as(transaction, changes):
                    self._learn(source.in_transaction)
                else:
                    known.doubt()
        return source

    def schema_of(self, sql: str) -> pa.Schema:
        asked = flight.FlightDescriptor.for_command(messages.query(sql, self._transaction.handle))
        return without_annotations(self._call(lambda: self._client.get_schema(asked, self._options)).schema)

    def run_substrait(self, plan: bytes) -> RemoteSource:
        transaction = self._transaction.handle
        try:
            return self._statement(lambda options: self._started(messages.substrait(plan, transaction), options))
        except BaseException:
            self._doubt()
            raise

    def execute_rows(self, sql: str, parameters: pa.RecordBatch) -> int:
        transaction = self._transaction.handle

        def run(options: flight.FlightCallOptions) -> int:
            handle, has_rows = self._prepared(sql, transaction)
            try:
                if has_rows:
                    what = "rows of parameters for what changes no rows is not supported"
                    raise NotSupportedError(what, hint="run it with one row at a time")
                return messages.number(self._sent(messages.prepared_update(handle), parameters.schema, [parameters], options), 1)
            finally:
                self._releases.prepared(handle)

        return self._statement(run)

    def ingest(self, data: Any, schema: str, table: str, mode: str) -> int:
        """In a transaction in any case: a stream that the client has to end early looks like a whole one."""
        self._check_open()
        rows = Sending(data)
        with self._turn:
            known = self._transaction
            is_own, transaction = not known.is_open, known.handle
        if is_own:
            transaction = self._begun()
        command = messages.ingest(schema, table, mode, transaction or b"")
        try:
            written = self._statement(lambda options: messages.number(self._sent(command, rows.schema, rows, options), 1), rows.stop)
        except BaseException:
            rows.stop()
            self._abandon(transaction) if is_own else self._fail(transaction)
            raise
        if is_own:
            self._end(transaction, commit=True)
        return written

    def import_files(self, paths: Sequence[str], schema: str, table: str, options: ImportOptions) -> Imported:
        """The files are this machine's, so they are read here."""
        return Imported(table, self.ingest(files.reader(paths, options), schema, table, options.mode))

    def mapped(self, schema: str, table: str, columns: Sequence[str] | None) -> MappedSource | None:
        """The rows of the last version, which are not those that a transaction sees."""
        if not self._hand_off or self._transaction.is_open:
            return None
        return self._call(lambda: MappedSource(self._answers, self._fetched, self._releases, schema, table, columns))

    def begin(self) -> None:
        self._check_open()
        with self._turn:
            self._transaction.check_none()
            self._last_transaction.handle = self._begun()

    def commit(self) -> None:
        self._finish(commit=True)

    def rollback(self) -> None:
        self._finish(commit=False)

    def _finish(self, *, commit: bool) -> None:
        self._check_open()
        with self._turn:
            self._end(self._transaction.take(), commit=commit)

    def _begun(self) -> bytes:
        begun = self._call(lambda: self._act("BeginTransaction", messages.begin()))
        return messages.text(messages.text(begun, 2), 1)

    def _end(self, transaction: bytes | None, *, commit: bool) -> None:
        if transaction is not None:
            self._call(lambda: self._act("EndTransaction", messages.end(transaction, commit=commit)))
        else:
            self._call(lambda: self._started(messages.query("COMMIT" if commit else "ROLLBACK", None)))

    def _abandon(self, transaction: bytes | None) -> None:
        """Where it cannot be rolled back, nobody commits it either: its handle is forgotten."""
        with suppress(Error):
            self._end(transaction, commit=False)

    def _fail(self, transaction: bytes | None) -> None:
        """The open transaction may have some of the rows that broke off. In process it has failed then, and can only be rolled
        back; so it does here, by a statement that fails."""
        try:
            self._call(lambda: self._started(messages.query('RELEASE SAVEPOINT "rows that broke off"', transaction)))
        except ProgrammingError:
            pass
        except BaseException:
            # Nobody may commit these rows.
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
            # A server that is gone has no session to be closed any more.
            options = flight.FlightCallOptions(headers=self._headers, timeout=ANSWER_S)
            interruptible(lambda: list(self._client.do_action(flight.Action("CloseSession", b""), options)))
        except (pa.ArrowException, flight.FlightError, OSError):
            pass
        self._client.close()

    def _call(self, work: Callable[[], T]) -> T:
        self._check_open()
        with told():
            return interruptible(work)

    def _statement(self, work: Callable[[flight.FlightCallOptions], T], stop: Callable[[], None] | None = None) -> T:
        """Calls with these options, which end at the server too when they are interrupted. `stop` is what else is to be done then."""
        self._check_open()
        name = secrets.token_hex(16)
        options = flight.FlightCallOptions(headers=[*self._headers, (b"x-quiver-call", name.encode())])

        def end() -> bool:
            if stop is not None:
                stop()
            return self._end_call(name)

        with told():
            return interruptible(lambda: work(options), end)

    def _end_call(self, name: str) -> bool:
        options = flight.FlightCallOptions(headers=self._headers, timeout=ANSWER_S)
        try:
            list(self._client.do_action(flight.Action("cancel_call", name.encode()), options))
        except (pa.ArrowException, flight.FlightError, OSError) as error:
            # An older server does not know the question, however often it is asked.
            return isinstance(error, NotImplementedError)
        return True

    def _check_open(self) -> None:
        if self.is_closed:
            raise InterfaceError("the connection is closed", hint="open it again")
        self._process.check()

    @property
    def _options(self) -> flight.FlightCallOptions:
        return flight.FlightCallOptions(headers=self._headers)

    def _started(self, command: bytes, options: flight.FlightCallOptions | None = None) -> RemoteSource:
        info = self._client.get_flight_info(flight.FlightDescriptor.for_command(command), options or self._options)
        source = RemoteSource(self._client, info, self._headers, self._releases)
        self._results.add(source)
        return source

    @property
    def _transaction(self) -> Transaction:
        """As it is now."""
        self._check_open()
        known = self._last_transaction
        with self._turn:
            if not known.is_known:
                self._learn(self._is_open(known.handle))
        return known

    def _doubt(self) -> None:
        """After a question that is being asked: its answer may be of before."""
        with self._turn:
            self._last_transaction.doubt()

    def _learn(self, is_open: bool) -> None:
        transaction = self._last_transaction.handle
        self._last_transaction.learn(is_open)
        if transaction is not None and not is_open:
            # SQL has ended it, and the server keeps its handle until it is told.
            self._abandon(transaction)

    def _is_open(self, transaction: bytes | None) -> bool:
        asked = messages.query(IS_OPEN, transaction)
        try:
            return self._call(lambda: self._started(asked).read_all(None)).num_rows > 0
        except ProgrammingError as error:
            # One that has failed answers nothing, but it is there.
            return error.kind != "not_found"

    def _prepared(self, sql: str, transaction: bytes | None) -> tuple[bytes, bool]:
        """The handle, and whether it is a query."""
        made = messages.text(self._act("CreatePreparedStatement", messages.prepare(sql, transaction)), 2)
        return messages.text(made, 1), bool(messages.text(made, 2))

    def _act(self, name: str, body: bytes) -> bytes:
        return next(iter(self._answers(name, body)), b"")

    def _answers(self, name: str, body: bytes) -> list[bytes]:
        return [answer.body.to_pybytes() for answer in self._client.do_action(flight.Action(name, body), self._options)]

    def _fetched(self, ticket: bytes) -> pa.Table:
        return self._client.do_get(flight.Ticket(ticket), self._options).read_all()

    def _sent(self, command: bytes, schema: pa.Schema, batches: Any, options: flight.FlightCallOptions) -> bytes:
        return put(self._client, options, command, schema, batches)
