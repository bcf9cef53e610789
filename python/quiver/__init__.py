"""Quiver in Python: the engine in this process (`open`), or a server (`connect`). One API for both; docs/python.md shows it.

import quiver

with quiver.open("flights-store") as con:
    con.import_("flights.parquet")
    con.sql("SELECT carrier, count(*) FROM flights WHERE dep_delay > ? GROUP BY 1", [60]).df()
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from . import hints
from .connection import Connection, only_one
from .errors import (
    CancelledError,
    ConflictError,
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)
from .frames import variables_of
from .parameters import Values
from .result import Result
from .sources import Imported
from .stats import Stats
from .table import Table

if TYPE_CHECKING:
    from .embedded import open  # noqa: A004 - as files are opened
    from .matrix import Matrix
    from .remote import connect

__version__ = "0.1.0"
__all__ = [
    "CancelledError", "ConflictError", "Connection", "DataError", "DatabaseError", "Error", "Imported", "IntegrityError",
    "InterfaceError", "InternalError", "Matrix", "NotSupportedError", "OperationalError", "ProgrammingError", "Result", "Stats",
    "Table", "connect", "open", "read_matrix", "sql", "write_matrix",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """`open` needs the engine, `connect` pyarrow.flight and `Matrix` numpy: each is imported on first use."""
    if name == "open":
        from .embedded import open  # noqa: A004

        return open
    if name == "connect":
        from .remote import connect

        return connect
    if name == "Matrix":
        from .matrix import Matrix

        return Matrix
    raise hints.no_attribute(f"module {__name__!r}", name, hints.of_module(Connection))


def sql(query: str, params: Values | None = None) -> Result:
    """`Connection.sql` on a temporary store of this process, which is deleted when the process ends."""
    from .embedded import default_connection

    return default_connection()._sql(query, params, variables_of(sys._getframe(1)))


def write_matrix(
    name: str,
    values: Any,
    block: int | tuple[int, int] | None = None,
    mode: str = "create",
    *,
    schema: str | None = None,
    con: Connection | None = None,
) -> int:
    """`Connection.write_matrix` of `con`; without it, of the only connection that this process has open."""
    return (con or only_one()).write_matrix(name, values, block, mode, schema=schema)


def read_matrix(name: str, schema: str | None = None, *, con: Connection | None = None) -> Matrix:
    """`Connection.read_matrix` of `con`; without it, of the only connection that this process has open."""
    return (con or only_one()).read_matrix(name, schema)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext quiver`"""
    from .magic import load

    load(shell)
