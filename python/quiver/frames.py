"""Data of Python as tables in statements: what a variable in the caller's scope holds, and what was registered by a name.

For one statement, a copy of the rows is a temporary table of the session. A statement reads the rows that were there when it was planned,
so the table is dropped before any row of the result is read."""

from __future__ import annotations

import re
import threading
from collections import ChainMap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from . import data, names, tokens
from .errors import Error, ProgrammingError
from .process import Process

if TYPE_CHECKING:
    from .connection import Connection

Variables = Mapping[str, Any]
NO_VARIABLES: Variables = {}

_WORD = re.compile(r"[^\W\d]\w*")


def variables_of(frame: FrameType | None) -> Variables:
    """The variables that a function sees, or a module."""
    # Until Python 3.12 a comprehension has a frame of its own, without the variables around it.
    while frame is not None and frame.f_code.co_name in ("<listcomp>", "<setcomp>", "<dictcomp>"):
        frame = frame.f_back
    return NO_VARIABLES if frame is None else ChainMap(frame.f_locals, frame.f_globals)


class Frames:
    """The data of one connection. It has no reference to it: a connection that is dropped is to be closed at once."""

    def __init__(self) -> None:
        self._process = Process()
        # Another thread's statement must not find the tables of this one's.
        self._lock = threading.RLock()
        self._registered: dict[str, Any] = {}
        # The temporary tables that are there, or may be. A failed transaction drops none.
        self._created: set[str] = set()

    def register(self, name: str, rows: Any) -> None:
        if not isinstance(name, str) or not name:
            raise ProgrammingError(f"the name of a table is text, and not {name!r}")
        _stream(name, rows)
        self._registered[name] = rows

    def unregister(self, name: str) -> None:
        if name not in self._registered:
            raise ProgrammingError(f'nothing is registered as "{name}"')
        del self._registered[name]

    @contextmanager
    def as_tables(self, connection: Connection, sql: str, variables: Variables) -> Iterator[dict[str, Any]]:
        """What the statement names is a table meanwhile. It gives the data, by the names as they are written."""
        mentioned = self._mentioned(sql, variables)
        if not mentioned and not self._created:
            yield {}
            return
        # A fork may have left the lock locked.
        self._process.check()
        with self._lock:
            self._drop(connection)
            used = {written: (name, rows) for written, (name, rows) in mentioned.items() if not self._is_table(connection, name)}
            # All before the first one is there: a `Table` of this connection runs a statement.
            streams = {name: _stream(name, rows) for name, rows in used.values()}
            try:
                for name, stream in streams.items():
                    # Remembered first: Ctrl-C may come between.
                    self._created.add(name)
                    with data.reader_errors(stream) as checked:
                        connection._backend.ingest(checked, names.TEMPORARY_SCHEMA, name, "create")
                yield {written: rows for written, (_, rows) in used.items()}
            finally:
                self._drop(connection)

    def _mentioned(self, sql: str, variables: Variables) -> dict[str, tuple[str, Any]]:
        """Data by the names as they are written, with the names that SQL reads. Few statements get as far as being split into tokens."""
        if not (self._registered or variables) or not tokens.may_have_tables(sql):
            return {}
        if not self._registered and not any(word in variables and _is_rows(variables[word]) for word in set(_WORD.findall(sql))):
            return {}
        found = {}
        for written, name in tokens.tables(sql).items():
            exact = written.strip('"')
            if (key := name if name in self._registered else exact) in self._registered:
                found[written] = (name, self._registered[key])
            elif _is_rows(rows := variables.get(exact)):
                found[written] = (name, rows)
        return found

    def _is_table(self, connection: Connection, name: str) -> bool:
        """A temporary table comes before what is registered, and a table of the store before a variable."""
        kinds = connection._kinds_of(name)
        return names.TEMPORARY_SCHEMA in kinds or (names.DEFAULT_SCHEMA in kinds and name not in self._registered)

    def _drop(self, connection: Connection) -> None:
        for name in list(self._created):
            with suppress(Error):
                connection._backend.execute(f"DROP VOLATILE TABLE IF EXISTS {names.quoted(name)}", None)
                self._created.discard(name)


def _is_rows(value: Any) -> bool:
    """Whether it is a table by its type. Lists and dicts are not: programs have them by every name."""
    kind = type(value)
    return hasattr(kind, "__arrow_c_stream__") or hasattr(kind, "scanner") or data.is_frame(kind)


def _stream(name: str, rows: Any) -> Any:
    if isinstance(rows, pa.RecordBatchReader):
        # The second statement would find no rows.
        raise ProgrammingError(f'"{name}" is a reader, whose rows are read once', hint="make a table of it: reader.read_all()")
    library = type(rows).__module__.split(".")[0]
    if library == "quiver":
        # A `Result` keeps the rows that it gives as a whole. As a stream they would be gone.
        rows = rows.arrow()
    elif library == "pandas":
        # In process the rows stay in the buffers that they come in, and those of pandas and numpy may change before the result is read.
        rows = rows.copy()
    elif isinstance(rows, Mapping):
        rows = {column: values.copy() if hasattr(values, "copy") else values for column, values in rows.items()}
    return data.as_stream(rows)
