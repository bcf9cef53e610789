"""DB-API 2.0 (PEP 249) for both ways to a store: `connect("path")` and `connect("grpc://host:port", user=…)`."""

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
from . import errors
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
    """Equal to the types of columns that it stands for."""

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
    """As `quiver.open`, or as `quiver.connect` where `database` is `grpc://…`. Without `autocommit`, a transaction begins
    with the first statement and ends with `commit` or `rollback`."""
    if database is not None and not isinstance(database, (str, PathLike)):
        raise InterfaceError(f"a database is text or a path, and not {type(database).__name__}", hint='write "store" or "grpc://host:port"')
    if database is not None and "://" in os.fspath(database):
        from .remote import connect as opened
    else:
        from .embedded import open as opened  # type: ignore[assignment]
    return Connection(opened(database, **options), autocommit=autocommit)  # type: ignore[arg-type]


class Connection:
    """Threads may share it: a statement, and the transaction that it begins, are started by one of them at a time."""

    Warning, Error, InterfaceError, DatabaseError = Warning, Error, InterfaceError, DatabaseError
    DataError, OperationalError, IntegrityError = DataError, OperationalError, IntegrityError
    InternalError, ProgrammingError, NotSupportedError = InternalError, ProgrammingError, NotSupportedError

    def __init__(self, connection: both.Connection, *, autocommit: bool = False):
        self.quiver = connection
        self._autocommit = autocommit
        self._turn = threading.RLock()
        self._process = Process()
        self._first_failure: Error | None = None

    @property
    def autocommit(self) -> bool:
        return self._autocommit

    @autocommit.setter
    def autocommit(self, wanted: bool) -> None:
        self._process.check()
        with self._turn:
            if wanted:
                self.commit()
            self._autocommit = wanted

    def cursor(self) -> Cursor:
        self._check_open()
        return Cursor(self)

    def commit(self) -> None:
        """A transaction of which a statement has failed is rolled back, and the error says why."""
        self._check_open()
        with self._turn:
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
        with self._turn:
            self._first_failure = None
            if self.quiver.in_transaction:
                self.quiver.rollback()

    def close(self) -> None:
        """What is not committed is rolled back."""
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
        """What another thread commits meanwhile has the whole statement, or nothing of it."""
        self._check_open()
        with self._turn:
            if not self.quiver.in_transaction:
                self._first_failure = None
                if not self._autocommit:
                    self.quiver.begin()
            try:
                yield
            except Error as error:
                self._note(error)
                raise
            # After one has failed, what does not has gone back to a savepoint.
            self._first_failure = None

    def _note(self, error: errors.Error) -> None:
        """Programs that commit whatever has happened, as pandas, show only the error of that. Errors of this package have no kind,
        and have not reached the transaction."""
        if error.kind:
            # A copy: with the traceback would stay what the callers' functions had.
            place = None if error.line is None or error.column is None else (error.line, error.column)
            self._first_failure = self._first_failure or of_kind(error.kind, error.message, hint=error.hint, place=place)

    def _check_open(self) -> None:
        """Before the lock is taken, which a fork may have left taken."""
        if self.quiver.is_closed:
            raise InterfaceError("the connection is closed", hint="connect again")
        self._process.check()


class Cursor:
    arraysize = 1

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
        return [_described(field) for field in self._result.schema]

    def execute(self, operation: str, parameters: Sequence[Any] = ()) -> Cursor:
        self._start()
        with self.connection._in_transaction():
            self._result = self.connection.quiver.sql(operation, parameters)
        changed = self._result.rows_changed
        self.rowcount = -1 if changed is None else changed
        return self

    def executemany(self, operation: str, seq_of_parameters: Sequence[Sequence[Any]]) -> Cursor:
        """Without rows there is nothing to do, and the statement is not looked at."""
        self._start()
        with self.connection._in_transaction():
            self.rowcount = self.connection.quiver.executemany(operation, seq_of_parameters)
        return self

    def fetchone(self) -> tuple | None:
        return self._fetched(Result.fetchone)

    def fetchmany(self, size: int | None = None) -> list[tuple]:
        return self._fetched(Result.fetchmany, self.arraysize if size is None else size)

    def fetchall(self) -> list[tuple]:
        return self._fetched(Result.fetchall)

    def fetch_arrow_table(self) -> pa.Table:
        """All rows as Arrow, as ADBC's cursors give them."""
        return self._fetched(Result.arrow)

    def fetch_record_batch(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_stream(self._rows())

    def fetch_df(self) -> Any:
        return self._fetched(Result.df)

    @property
    def result(self) -> Result:
        """What `Connection.sql` of `quiver` gives, of the last statement."""
        return self._rows()

    def __iter__(self) -> Cursor:
        return self

    def __next__(self) -> tuple:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def setinputsizes(self, sizes: object) -> None:
        """Types are those of the values."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Values of any length are given whole."""

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

    def _fetched(self, read: Callable[..., T], *arguments: Any) -> T:
        rows = self._rows()
        try:
            return read(rows, *arguments)
        except Error as error:
            self.connection._note(error)
            raise

    def _rows(self) -> Result:
        if self._is_closed:
            raise InterfaceError("the cursor is closed", hint="ask the connection for another one")
        self.connection._check_open()
        if self._result is None or not self._result.is_query:
            raise ProgrammingError("there are no rows: no query was run by this cursor last", hint="execute one first")
        return self._result


def _described(field: pa.Field) -> tuple:
    kind = field.type
    precision, scale = (kind.precision, kind.scale) if pa.types.is_decimal(kind) else (None, None)
    return (field.name, str(kind), None, None, precision, scale, field.nullable)
