"""DB-API 2.0 (PEP 249) for both backends: `connect("path")` and `connect("grpc://host:port", user=…)`."""

from __future__ import annotations

import datetime
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any, TypeVar

import pyarrow as pa

from . import connection as both
from . import errors, hints
from .errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,  # noqa: A004 - the name that DB-API gives it
    of_kind,
)
from .parameters import Values
from .process import Process
from .result import Result

__all__ = [
    "BINARY", "Binary", "Connection", "Cursor", "DATETIME", "DataError", "DatabaseError", "Date", "DateFromTicks", "Error",
    "IntegrityError", "InterfaceError", "InternalError", "NUMBER", "NotSupportedError", "OperationalError", "ProgrammingError",
    "ROWID", "STRING", "Time", "TimeFromTicks", "Timestamp", "TimestampFromTicks", "Warning", "apilevel", "connect",
    "paramstyle", "threadsafety",
]  # fmt: skip

T = TypeVar("T")

apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"

Date, Time, Timestamp, Binary = datetime.date, datetime.time, datetime.datetime, bytes


def DateFromTicks(ticks: float) -> datetime.date:
    return datetime.date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:
    return datetime.time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:
    return datetime.datetime(*time.localtime(ticks)[:6])


class TypeObject:
    """Compares equal to the types of columns in its group."""

    def __init__(self, *names: str):
        self.names = names

    def __eq__(self, other: object) -> bool:
        return self is other or str(other).split("(")[0].split("[")[0] in self.names

    __hash__ = None  # type: ignore[assignment]


STRING = TypeObject("string", "string_view", "large_string")
BINARY = TypeObject("binary", "binary_view", "large_binary", "fixed_size_binary")
INTEGERS = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
NUMBER = TypeObject(*INTEGERS, "halffloat", "float", "double", "decimal32", "decimal64", "decimal128", "decimal256")
DATETIME = TypeObject("date32", "date64", "timestamp", "time32", "time64", "duration", "month_day_nano_interval")
ROWID = TypeObject()


def connect(database: str | PathLike[str] | None = None, *, autocommit: bool = False, **options: Any) -> Connection:
    """Like `quiver.open`, or like `quiver.connect` if `database` is `grpc://…`. Without `autocommit`, a transaction begins
    with the first statement and ends with `commit` or `rollback`."""
    if database is not None and not isinstance(database, (str, PathLike)):
        raise InterfaceError(f"a database is text or a path, and not {type(database).__name__}", hint='write "store" or "grpc://host:port"')
    if database is not None and "://" in os.fspath(database):
        from .remote import connect as opened
    else:
        from .embedded import open as opened  # type: ignore[assignment]
    return Connection(opened(database, **options), autocommit=autocommit)  # type: ignore[arg-type]


class Connection(hints.Hints):
    """Threads may share it: one thread at a time starts a statement and the transaction that it begins."""

    Warning, Error, InterfaceError, DatabaseError = Warning, Error, InterfaceError, DatabaseError
    DataError, OperationalError, IntegrityError = DataError, OperationalError, IntegrityError
    InternalError, ProgrammingError, NotSupportedError = InternalError, ProgrammingError, NotSupportedError
    _hints = hints.of_members(both.Connection, "con.quiver") | {name: f"con.cursor().{name}(…)" for name in ("execute", "executemany")}

    def __init__(self, connection: both.Connection, *, autocommit: bool = False):
        self.quiver = connection
        self._autocommit = autocommit
        self._lock = threading.RLock()
        self._process = Process()
        self._first_failure: Error | None = None

    @property
    def autocommit(self) -> bool:
        return self._autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        self._process.check()
        with self._lock:
            if value:
                self.commit()
            self._autocommit = value

    def cursor(self) -> Cursor:
        self._check_open()
        return Cursor(self)

    def commit(self) -> None:
        """A transaction in which a statement has failed is rolled back, and the error gives the reason."""
        self._check_open()
        with self._lock:
            if not self.quiver.in_transaction:
                return
            first, self._first_failure = self._first_failure, None
            try:
                self.quiver.commit()
            except Error as error:
                if first is None:
                    raise
                raise of_kind(error.kind, f"{error.message}: {first.message}", hint=error.hint) from first

    def rollback(self) -> None:
        self._check_open()
        with self._lock:
            self._first_failure = None
            if self.quiver.in_transaction:
                self.quiver.rollback()

    def close(self) -> None:
        """Rolls back what is not committed."""
        self.quiver.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if not self.quiver.is_closed:
                self.commit() if kind is None else self.rollback()
        finally:
            self.close()

    @contextmanager
    def _in_transaction(self) -> Iterator[None]:
        """A commit of another thread contains the whole statement, or nothing of it."""
        self._check_open()
        with self._lock:
            if not self.quiver.in_transaction:
                self._first_failure = None
                if not self._autocommit:
                    self.quiver.begin()
            try:
                yield
            except Error as error:
                self._record_failure(error)
                raise
            # A statement that succeeds after a failed one has rolled back to a savepoint.
            self._first_failure = None

    def _record_failure(self, error: errors.Error) -> None:
        """Programs that commit in any case, such as pandas, show only the error of the commit. Errors of this package have no kind,
        and have not affected the transaction."""
        if error.kind:
            # A copy without the traceback, which would keep the callers' variables alive.
            place = None if error.line is None or error.column is None else (error.line, error.column)
            self._first_failure = self._first_failure or of_kind(error.kind, error.message, hint=error.hint, place=place)

    def _check_open(self) -> None:
        """Called before taking the lock, which a fork may have left locked."""
        if self.quiver.is_closed:
            raise InterfaceError("the connection is closed", hint="connect again")
        self._process.check()


class Cursor(hints.Hints):
    arraysize = 1
    _hints = hints.of_members(Result, "cursor.result") | hints.CURSOR

    def __init__(self, connection: Connection):
        self.connection = connection
        self.rowcount = -1
        self.lastrowid = None
        self._result: Result | None = None
        self._is_closed = False

    @property
    def description(self) -> list[tuple] | None:
        if self._result is None or not self._result.is_query:
            return None
        return [_description_of(field) for field in self._result.schema]

    def execute(self, operation: str, parameters: Values = ()) -> Cursor:
        self._start()
        with self.connection._in_transaction():
            self._result = self.connection.quiver._sql(operation, parameters)
        changed = self._result.rows_changed
        self.rowcount = -1 if changed is None else changed
        return self

    def executemany(self, operation: str, seq_of_parameters: Sequence[Values]) -> Cursor:
        """Without rows there is nothing to do, and the statement is not checked."""
        self._start()
        with self.connection._in_transaction():
            self.rowcount = self.connection.quiver.executemany(operation, seq_of_parameters)
        return self

    def fetchone(self) -> tuple | None:
        return self._read(Result.fetchone)

    def fetchmany(self, size: int | None = None) -> list[tuple]:
        return self._read(Result.fetchmany, self.arraysize if size is None else size)

    def fetchall(self) -> list[tuple]:
        return self._read(Result.fetchall)

    def fetch_arrow_table(self) -> pa.Table:
        """All rows as Arrow, as with ADBC's cursors."""
        return self._read(Result.arrow)

    def fetch_record_batch(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_stream(self._rows())

    def fetch_df(self) -> Any:
        return self._read(Result.df)

    @property
    def result(self) -> Result:
        """The `quiver.Result` of the last statement."""
        return self._rows()

    def __iter__(self) -> Cursor:
        return self

    def __next__(self) -> tuple:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def setinputsizes(self, sizes: object) -> None:
        """Does nothing: the values determine the types."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing: values of any length are returned whole."""

    def close(self) -> None:
        self._is_closed = True
        if self._result is not None:
            self._result.close()
            self._result = None

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        if self._is_closed:
            raise InterfaceError("the cursor is closed", hint="ask the connection for another one")
        self._result, self.rowcount = None, -1

    def _read(self, read: Callable[..., T], *arguments: Any) -> T:
        rows = self._rows()
        try:
            return read(rows, *arguments)
        except Error as error:
            self.connection._record_failure(error)
            raise

    def _rows(self) -> Result:
        if self._is_closed:
            raise InterfaceError("the cursor is closed", hint="ask the connection for another one")
        self.connection._check_open()
        if self._result is None or not self._result.is_query:
            raise ProgrammingError("there are no rows: no query was run by this cursor last", hint="execute one first")
        return self._result


def _description_of(field: pa.Field) -> tuple:
    kind = field.type
    precision, scale = (kind.precision, kind.scale) if pa.types.is_decimal(kind) else (None, None)
    return (field.name, str(kind), None, None, precision, scale, field.nullable)
