"""The interface between Connection and Result and the two backends: in this process (`embedded`) and over Flight (`remote`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from .stats import Stats

ProgressCallback = Callable[[int, int], None]
"""Called repeatedly with the number of rows scanned and the number of all rows to scan."""


@dataclass
class ImportOptions:
    mode: str = "create"
    order_by: list[str] = field(default_factory=list)
    format: str | None = None
    on_error: str = "abort"
    header: bool | None = None
    delimiter: str | None = None
    null: list[str] = field(default_factory=list)
    types: list[tuple[str, str]] = field(default_factory=list)
    csv: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Imported:
    """The outcome of an import."""

    table: str
    rows: int
    rows_skipped: int = 0
    skip_reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class ArrayChunks:
    """Chunks of an array at one version, in place."""

    # The id of the array.
    object_id: int
    # None for a chunk that was never written.
    cells: list[pa.Buffer | None]


class Source(Protocol):
    """The rows of one statement. A statement other than a query has run already, and has no columns.

    A source that failed raises its error on every further read, in all forms. It never looks like a result with fewer rows."""

    @property
    def schema(self) -> pa.Schema: ...
    @property
    def rows_changed(self) -> int | None: ...
    @property
    def is_query(self) -> bool: ...
    @property
    def stats(self) -> Stats: ...
    def read_all(self, on_progress: ProgressCallback | None) -> pa.Table: ...
    def next_batch(self) -> pa.RecordBatch | None: ...
    def reader(self) -> pa.RecordBatchReader: ...
    def check(self) -> None:
        """Raises the error of a failed source."""

    def close(self) -> None: ...


class Backend(Protocol):
    """One session of an engine."""

    # Whether this process maps files of the store.
    maps_files: bool

    @property
    def uri(self) -> str: ...
    def execute(self, sql: str, parameters: pa.RecordBatch | None) -> Source: ...
    def schema_of(self, sql: str) -> pa.Schema:
        """The columns of a query, without running it."""

    def run_substrait(self, plan: bytes) -> Source: ...
    def execute_rows(self, sql: str, parameters: pa.RecordBatch) -> int: ...
    def ingest(self, data: Any, schema: str, table: str, mode: str) -> int: ...
    def import_files(self, paths: Sequence[str], schema: str, table: str, options: ImportOptions) -> Imported: ...
    def mapped(self, schema: str, table: str, columns: Sequence[str] | None) -> Source | None:
        """The rows of a table as files that are mapped here; None if the backend does not support it."""

    def find_ids(self, conditions: Sequence[tuple[str, Any, Any]]) -> list[int]:
        """The ids of the objects whose tags are in these ranges."""

    def read_blobs(self, schema: str, names: Sequence[str]) -> dict[str, pa.Buffer] | None:
        """The bytes of these blobs, of those there are; None if a query reads them."""

    def read_chunks(self, schema: str, array: str, numbers: list[list[int]]) -> ArrayChunks | None:
        """These chunks of an array in place, all of one version; None if a query reads them."""

    def begin(self) -> None: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...
    def another(self) -> Backend: ...
    def close(self) -> None: ...
    @property
    def in_transaction(self) -> bool: ...
    @property
    def is_closed(self) -> bool: ...
