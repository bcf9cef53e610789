"""The dialects: connecting and reflection for SQLAlchemy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import exc, pool
from sqlalchemy.engine import URL, default
from sqlalchemy.engine import reflection as engine_reflection

from .. import dbapi, url_options
from . import reflection
from .compiler import QuiverCompiler, QuiverDDLCompiler, QuiverTypeCompiler

LEVELS: list[Any] = ["REPEATABLE READ", "AUTOCOMMIT"]


def cache(function: Any) -> Any:
    """SQLAlchemy 1.4 cannot recompile a function whose annotations are strings."""
    function.__annotations__ = {}
    return engine_reflection.cache(function)


class QuiverDialect(default.DefaultDialect):
    """`quiver:///store`, with the options of `quiver.open` in the query: `?read_only=true&memory_limit=4GB`."""

    name = "quiver"
    driver = "embedded"
    default_paramstyle = "qmark"
    statement_compiler = QuiverCompiler
    ddl_compiler = QuiverDDLCompiler
    type_compiler = type_compiler_cls = QuiverTypeCompiler
    max_identifier_length = 255
    default_schema_name = "main"
    default_isolation_level = LEVELS[0]
    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_multivalues_insert = True
    supports_sane_rowcount = True
    supports_sane_multi_rowcount = False
    supports_default_values = False
    supports_empty_insert = False
    supports_schemas = True
    supports_views = True
    supports_sequences = False
    postfetch_lastrowid = False
    use_insertmanyvalues = False
    cte_follows_insert = True

    @classmethod
    def import_dbapi(cls) -> Any:
        return dbapi

    if not hasattr(default.DefaultDialect, "import_dbapi"):  # SQLAlchemy 1.4
        dbapi = import_dbapi  # type: ignore[assignment]

    @classmethod
    def get_pool_class(cls, url: URL) -> type[pool.Pool]:
        # Without a path, each connection would have a store of its own.
        return pool.QueuePool if url.database else pool.StaticPool

    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        for name in ("user", "host", "port"):
            if getattr(url, "username" if name == "user" else name):
                raise exc.ArgumentError(f"{url!r} names a {name}; write quiver:///path, or quiver+flight://host:port")
        from ..embedded import open as opened

        return [url.database or None], _options(url, opened)

    def initialize(self, connection: Any) -> None:
        """Asks the server nothing: the package knows the features of a server of its version."""

    def get_isolation_level_values(self, dbapi_connection: Any) -> list[Any]:
        return LEVELS

    def get_default_isolation_level(self, dbapi_connection: Any) -> Any:
        return LEVELS[0]

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        return LEVELS[1] if dbapi_connection.autocommit else LEVELS[0]

    def set_isolation_level(self, dbapi_connection: Any, level: str) -> None:
        dbapi_connection.autocommit = level == LEVELS[1]

    def is_disconnect(self, e: Exception, connection: Any, cursor: Any) -> bool:
        """Whether the server is gone, or has ended the session, so that a new connection may work."""
        is_closed = connection is not None and getattr(connection, "quiver", None) is not None and connection.quiver.is_closed
        return is_closed or getattr(e, "kind", "") in ("unavailable", "unauthenticated", "session_ended")

    @cache
    def get_schema_names(self, connection: Any, **kw: Any) -> list[str]:
        return reflection.schema_names(connection)

    @cache
    def get_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        return reflection.table_names(connection, schema or self.default_schema_name, views=False)

    @cache
    def get_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        return reflection.table_names(connection, schema or self.default_schema_name, views=True)

    @cache
    def get_view_definition(self, connection: Any, view_name: str, schema: str | None = None, **kw: Any) -> str:
        return reflection.definition(connection, schema or self.default_schema_name, view_name)

    @cache
    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        return bool(reflection.column_rows(connection, schema or self.default_schema_name, table_name))

    @cache
    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        return reflection.columns(connection, schema or self.default_schema_name, table_name)

    @cache
    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        return reflection.primary_key(connection, schema or self.default_schema_name, table_name)

    @cache
    def get_unique_constraints(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        return reflection.unique_constraints(connection, schema or self.default_schema_name, table_name)

    @cache
    def get_check_constraints(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        return reflection.check_constraints(connection, schema or self.default_schema_name, table_name)

    def get_foreign_keys(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        """There are none in Quiver."""
        return []

    def get_indexes(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        """There are none in Quiver: zones have statistics."""
        return []

    def get_table_comment(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        return {"text": None}


class FlightDialect(QuiverDialect):
    """`quiver+flight://user:password@host:port`; `?tls=true&tls_ca=file` for TLS, `?token=…` instead of a user."""

    driver = "flight"
    supports_statement_cache = True

    @classmethod
    def get_pool_class(cls, url: URL) -> type[pool.Pool]:
        return pool.QueuePool

    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        from ..remote import connect

        options = _options(url, connect, "tls")
        tls = options.pop("tls", False) or "tls_ca" in options
        if not url.host or not url.port:
            raise exc.ArgumentError(f"{url!r} names no server; write quiver+flight://host:port")
        if url.username:
            options |= {"user": url.username, "password": url.password}
        host = f"[{url.host}]" if ":" in url.host else url.host
        return [f"grpc{'+tls' if tls else ''}://{host}:{url.port}"], options


def _options(url: URL, opened: Callable[..., Any], *others: str) -> dict[str, Any]:
    try:
        return url_options.checked(dict(url.query), opened, "autocommit", *others)
    except ValueError as error:
        raise exc.ArgumentError(str(error)) from None
