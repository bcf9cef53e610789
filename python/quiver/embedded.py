"""The engine in this process."""

from __future__ import annotations

import atexit
import builtins
import os
import re
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from os import PathLike
from typing import Any

import pyarrow as pa

from .connection import Connection
from .errors import InterfaceError, ProgrammingError
from .process import Process
from .sources import ArrayChunks, Imported, ImportOptions, ProgressCallback
from .stats import Stats


def _check_processor() -> None:
    """An extension that is compiled for AVX2 would end this process with SIGILL. So on a processor without it, another process tries."""
    with suppress(OSError), builtins.open("/proc/cpuinfo", encoding="ascii", errors="replace") as info:
        flags = next((line.split() for line in info if line.startswith("flags")), ["avx2"])
        if "avx2" not in flags:
            load = "import sys; sys.path.insert(0, sys.argv[1]); import _quiver"
            command = [sys.executable, "-c", load, os.path.dirname(__file__)]
            if subprocess.run(command, capture_output=True, check=False).returncode == -signal.SIGILL:
                raise ImportError("the engine of Quiver needs a processor with AVX2, and this one has none; use quiver.connect")


_check_processor()
try:
    from . import _quiver
except ImportError as error:  # pragma: no cover - a package without its extension
    raise ImportError(f"the engine of Quiver is not here ({error}); build it with `make build`, or use quiver.connect") from error


def open(  # noqa: A001 - as files are opened
    path: str | PathLike[str] | None = None,
    *,
    read_only: bool = False,
    memory_limit: int | str | None = None,
    query_memory_limit: int | str | None = None,
    spill_dir: str | PathLike[str] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    frames: bool = True,
) -> Connection:
    """Opens the store at `path` in this process, or creates it if there is none; without a path, opens a temporary store that is
    deleted when it is closed. A store is open for writing in one process. Others read it with `read_only`, and see the version that was
    the last one when they opened it.

    Limits are numbers of bytes or texts such as "4GB". `progress`: whether long queries show a bar; by default, they do in a
    terminal or a notebook. `frames`: whether the statements of `sql` find data frames by the names of their variables."""
    _check_path(path)
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise ProgrammingError(f"threads is {threads!r}, and has to be a number from 1")
    options: dict[str, Any] = {
        "read_only": read_only,
        "memory_limit_bytes": size_bytes(memory_limit),
        "query_memory_limit_bytes": size_bytes(query_memory_limit),
        "spill_dir": None if spill_dir is None else os.fspath(spill_dir),
        "threads": threads,
    }
    return Connection(EmbeddedBackend(OpenStore.get(path, options)), progress, frames)


def _check_path(path: str | PathLike[str] | None) -> None:
    """A URL or `:memory:` would otherwise become a directory of that name."""
    if path == ":memory:":
        raise ProgrammingError('":memory:" is no place for a store', hint="without a path, open() makes one that goes when it is closed")
    if isinstance(path, str) and (found := re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", path)):
        is_server = found[1].lower().startswith("grpc")
        hint = "connect to a server with quiver.connect" if is_server else "write the path alone"
        raise ProgrammingError(f'"{path}" is no path', hint=hint)


def default_connection() -> Connection:
    """That of `quiver.sql`, to a temporary store. It is not `only_one`, which a caller has opened."""
    with OpenStore._lock:
        if OpenStore.default is None or OpenStore.default.is_closed:
            OpenStore.default = open()
            Connection._all.discard(OpenStore.default)
        return OpenStore.default


class OpenStore:
    """A store that stays open in this process as long as one of its connections is open.

    Opening the same store again gives another connection to the same engine, because a second engine could not
    write to it. An engine that reads beside a process that writes stays at one version, so there may be several."""

    _all: dict[str, OpenStore] = {}
    # Reentrant, because the garbage collector may close a connection in the middle of a call that opens another one.
    _lock = threading.RLock()
    default: Connection | None = None

    def __init__(self, path: str | None, options: dict[str, Any]):
        self.path, self.options = path, options
        # Functions in Python run in processes of the same interpreter; a program that embeds Python may have none.
        self.database = _quiver.Database(path, python=sys.executable or None, **options)
        self.users = 0

    @classmethod
    def get(cls, path: str | PathLike[str] | None, options: dict[str, Any]) -> OpenStore:
        with cls._lock:
            if path is None:
                store = cls(None, options)
            else:
                name = os.path.realpath(os.fspath(path))
                existing = cls._all.get(name)
                if existing and existing.options != options:
                    hint = "close it first, or open it with the same ones"
                    raise InterfaceError(f'the store "{name}" is open in this process with other options', hint=hint)
                # Who opens a store again wants its last version.
                is_old = existing is not None and existing.database.is_leased()
                store = cls(name, options) if existing is None or is_old else existing
                cls._all[name] = store
            store.users += 1
            return store

    def add_user(self) -> OpenStore:
        with self._lock:
            self.users += 1
            return self

    def release(self) -> None:
        with self._lock:
            self.users -= 1
            if self.users == 0:
                if self.path is not None and self._all.get(self.path) is self:
                    del self._all[self.path]
                self.database.close()

    @classmethod
    def after_fork(cls) -> None:
        """The open stores belong to the parent process."""
        cls._all, cls._lock, cls.default = {}, threading.RLock(), None


os.register_at_fork(after_in_child=OpenStore.after_fork)


class EmbeddedBackend:
    maps_files = True
    _alive: weakref.WeakSet[EmbeddedBackend] = weakref.WeakSet()

    def __init__(self, store: OpenStore):
        self._store = store
        self._process = Process()
        self._begin_lock = threading.Lock()
        try:
            self._session = store.database.session()
        except BaseException:
            store.release()
            raise
        self.is_closed = False
        self._alive.add(self)

    @property
    def uri(self) -> str:
        return f"quiver:///{self._store.path or ''}"

    def execute(self, sql: str, parameters: pa.RecordBatch | None) -> EmbeddedSource:
        return EmbeddedSource(self._session.execute(sql, parameters))

    def schema_of(self, sql: str) -> pa.Schema:
        return self.execute(sql, None).schema

    def run_substrait(self, plan: bytes) -> EmbeddedSource:
        return EmbeddedSource(self._session.run_substrait(plan))

    def execute_rows(self, sql: str, parameters: pa.RecordBatch) -> int:
        return self._session.execute_rows(sql, parameters)

    def ingest(self, data: Any, schema: str, table: str, mode: str) -> int:
        return self._session.ingest(
            data,
            schema,
            table,
            create=mode in ("create", "create_append", "replace"),
            append=mode in ("append", "create_append"),
            replace=mode == "replace",
        )

    def import_files(self, paths: Sequence[str], schema: str, table: str, options: ImportOptions) -> Imported:
        files = {"paths": list(paths), "schema": schema, "table": table, **vars(options)}
        rows, skipped, reasons = self._session.import_files(files)
        return Imported(table, rows, skipped, tuple(reasons))

    def mapped(self, schema: str, table: str, columns: Sequence[str] | None) -> None:
        """Returns None: every query in process reads mapped files."""

    def find_ids(self, conditions: Sequence[tuple[str, Any, Any]]) -> list[int]:
        return self._session.find_ids(list(conditions))

    def read_blobs(self, schema: str, names: Sequence[str]) -> dict[str, pa.Buffer] | None:
        found = self._session.read_blobs(schema, list(names))
        return None if found is None else {name: _buffer(content) for name, content in found}

    def read_chunks(self, schema: str, array: str, numbers: list[list[int]]) -> ArrayChunks | None:
        found = self._session.read_chunks(schema, array, numbers)
        return None if found is None else ArrayChunks(found[0], [None if cells is None else _buffer(cells) for cells in found[1]])

    def begin(self) -> None:
        # A fork may have left the lock locked.
        self._process.check()
        # Checked before, because a failing BEGIN would fail an open transaction. The lock covers a thread that is about to begin one.
        with self._begin_lock:
            if self.in_transaction:
                raise ProgrammingError("a transaction is open already", hint="end it with COMMIT or ROLLBACK first")
            self._session.execute("BEGIN", None)

    def commit(self) -> None:
        self._session.execute("COMMIT", None)

    def rollback(self) -> None:
        self._session.execute("ROLLBACK", None)

    @property
    def in_transaction(self) -> bool:
        return not self.is_closed and self._session.in_transaction

    def another(self) -> EmbeddedBackend:
        if self.is_closed:
            raise InterfaceError("the connection is closed", hint="open it again")
        return EmbeddedBackend(self._store.add_user())

    def close(self) -> None:
        # Two threads may close it at once, but it releases its store once.
        with OpenStore._lock:
            if self.is_closed:
                return
            self.is_closed = True
        if self._process.is_here:
            self._session.close()
            self._store.release()

    def __del__(self) -> None:
        # The connection was dropped without `close`, and other connections may share its database.
        if getattr(self, "is_closed", True) is False:
            self.close()

    @classmethod
    def close_all(cls) -> None:
        """Runs at exit, before the interpreter shuts down."""
        for backend in list(cls._alive):
            backend.close()


atexit.register(EmbeddedBackend.close_all)


class EmbeddedSource:
    def __init__(self, results: _quiver.Results):
        self._results = results
        self.is_query = results.kind == "query"
        self.rows_changed = results.rows_changed
        try:
            self.schema = pa.table(results.schema()).schema
        except pa.ArrowException as error:
            # In Arrow's C interface a name ends at a NUL.
            message = f"the columns of this result cannot be handed over: {error}"
            raise ProgrammingError(message, hint="name them with AS") from None

    @property
    def stats(self) -> Stats:
        return Stats.of(self._results.report())

    def read_all(self, on_progress: ProgressCallback | None) -> pa.Table:
        return pa.table(self._results.read_all(on_progress))

    def next_batch(self) -> pa.RecordBatch | None:
        rows = self._results.next_batch()
        return None if rows is None else pa.RecordBatchReader.from_stream(rows).read_next_batch()

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_stream(self._results.stream())

    def check(self) -> None:
        self._results.check()

    def close(self) -> None:
        self._results.close()


def statements(script: str) -> list[str]:
    """The statements of a script, which semicolons separate."""
    return _quiver.split_statements(script)


_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


def size_bytes(size: int | str | None) -> int | None:
    if size is None or (type(size) is int and size >= 0):
        return size
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", str(size))
    if not found or found[2].lower() not in _UNITS:
        raise ProgrammingError(f'"{size}" is no size', hint="write a number of bytes, or one with a unit such as 512MB or 4GiB")
    return int(float(found[1]) * _UNITS[found[2].lower()])


def _buffer(mapped: _quiver.MappedBytes) -> pa.Buffer:
    return pa.foreign_buffer(mapped.address, mapped.size_bytes, mapped)
