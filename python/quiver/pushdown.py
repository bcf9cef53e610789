"""A table of a server for the Python package `datafusion`: filters, columns and limits run on the server.

    import datafusion
    from quiver import pushdown

    ctx = datafusion.SessionContext()
    ctx.register_table("flights", pushdown.table("quiver://db:31337/main.flights", user="ann", password="…"))
    ctx.sql("SELECT carrier, dep_delay FROM flights WHERE dep_delay > 60").show()

DataFusion computes what is above a scan, such as aggregates: its interface for foreign tables passes on columns,
filters and limits only. `quiver.open` reads such a table with `CREATE EXTERNAL TABLE … STORED AS QUIVER`, and pushes down everything that
can be pushed down. docs/pushdown.md describes both.
"""

from __future__ import annotations

import os
from os import PathLike
from typing import Any

import pyarrow as pa

from .errors import InterfaceError, ProgrammingError

LEVELS = ("off", "filter", "full")


class RemoteTable:
    """For `SessionContext.register_table` or `SessionContext.read_table`. Its columns were fetched when it was made."""

    def __init__(self, location: str, table: Any, level: str):
        self.location, self.level = location, level
        self._table = table

    @property
    def schema(self) -> pa.Schema:
        return pa.table(self._table.schema()).schema

    def __datafusion_table_provider__(self, session: Any = None) -> Any:
        return self._table.__datafusion_table_provider__(session)

    def __repr__(self) -> str:
        return f"<quiver.pushdown.RemoteTable {self.location} level={self.level}>"


def table(
    location: str,
    *,
    user: str | None = None,
    password: str | None = None,
    token: str | None = None,
    tls_ca: str | PathLike[str] | None = None,
    client_cert: str | PathLike[str] | None = None,
    client_key: str | PathLike[str] | None = None,
    level: str = "full",
) -> RemoteTable:
    """The table at `quiver://host:port/schema.table`, or `quiver+tls://` of a server with TLS.

    `level` is "off", which fetches the whole table, or "filter", which here means the same as "full": filters, columns and limits run on
    the server. For the package `datafusion` 55, whose major version is the engine's."""
    if not isinstance(location, str):
        raise ProgrammingError(f"the place of a table is a text such as quiver://host:port/schema.table, and not {location!r}")
    if level not in LEVELS:
        raise ProgrammingError(f'there is no level "{level}"', hint="take one of " + ", ".join(LEVELS))
    if password is not None and user is None and "@" not in location:
        raise ProgrammingError("a password without a user says nothing", hint="give user= as well")
    if (client_cert is None) != (client_key is None):
        raise ProgrammingError("client_cert and client_key belong together")
    try:
        from . import _quiver
    except ImportError as error:  # pragma: no cover - a package without its extension
        raise InterfaceError(f"the engine of Quiver is not here ({error})", hint="build it with `make build`") from error

    def path(name: str | PathLike[str] | None) -> str | None:
        return None if name is None else os.fspath(name)

    provider = _quiver.RemoteTable(
        location,
        user=user,
        password=password,
        token=token,
        tls_ca=path(tls_ca),
        client_cert=path(client_cert),
        client_key=path(client_key),
        level=level,
    )
    return RemoteTable(location, provider, level)
