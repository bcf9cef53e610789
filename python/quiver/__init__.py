"""Quiver in Python: the engine in this process (`open`), or a server (`connect`). One API for both; docs/python.md shows it.

    import quiver

    with quiver.open("flights-store") as con:
        con.import_("flights.parquet")
        con.sql("SELECT carrier, count(*) FROM flights WHERE dep_delay > ? GROUP BY 1", [60]).df()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .connection import Connection
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
from .result import Result
from .sources import Imported
from .stats import Stats
from .table import Table

if TYPE_CHECKING:
    from .embedded import open
    from .remote import connect

__version__ = "0.1.0"
__all__ = [
    "CancelledError", "ConflictError", "Connection", "DataError", "DatabaseError", "Error", "Imported", "IntegrityError",
    "InterfaceError", "InternalError", "NotSupportedError", "OperationalError", "ProgrammingError", "Result", "Stats", "Table",
    "connect", "open",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """`open` needs the engine, and `connect` pyarrow.flight: each is looked for when it is used."""
    if name == "open":
        from .embedded import open

        return open
    if name == "connect":
        from .remote import connect

        return connect
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext quiver`"""
    from .magic import load

    load(shell)
