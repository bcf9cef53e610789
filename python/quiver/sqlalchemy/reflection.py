"""Reflection: the schemas, tables, columns and constraints of a store for SQLAlchemy."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import exc, text, types

_SIMPLE: dict[str, Any] = {
    "BOOLEAN": types.Boolean,
    "TINYINT": types.SmallInteger,
    "SMALLINT": types.SmallInteger,
    "INTEGER": types.Integer,
    "BIGINT": types.BigInteger,
    "TINYINT UNSIGNED": types.SmallInteger,
    "SMALLINT UNSIGNED": types.Integer,
    "INTEGER UNSIGNED": types.BigInteger,
    "BIGINT UNSIGNED": types.Numeric,
    "REAL": types.REAL,
    "DOUBLE": getattr(types, "Double", types.Float),
    "VARCHAR": types.String,
    "BYTEA": types.LargeBinary,
    "DATE": types.Date,
    "TIME": types.Time,
    "TIMESTAMP WITH TIME ZONE": lambda: types.DateTime(timezone=True),
    # SQLAlchemy's own type would use an offset from 1970, and a timedelta cannot hold months.
    "INTERVAL": lambda: QuiverType("INTERVAL"),
}
_CONSTRAINT = re.compile(r'^\s*CONSTRAINT (?P<name>"(?:[^"]|"")+"|\S+) (?P<kind>PRIMARY KEY|UNIQUE|CHECK) \((?P<inside>.*)\),?$')
_NAME = re.compile(r'"((?:[^"]|"")+)"|([^",\s]+)')


class QuiverType(types.UserDefinedType):
    """A type that SQLAlchemy does not have: lists, structs, maps."""

    __visit_name__ = "QUIVER"
    cache_ok = True

    def __init__(self, name: str):
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        return self.name


def schema_names(connection: Any) -> list[str]:
    rows = connection.execute(text("SELECT schema_name FROM information_schema.schemata ORDER BY 1"))
    return [name for (name,) in rows]


def table_names(connection: Any, schema: str, *, views: bool) -> list[str]:
    kind = "=" if views else "<>"
    sql = f"SELECT table_name FROM information_schema.tables WHERE table_schema = :schema AND table_type {kind} 'VIEW' ORDER BY 1"
    return [name for (name,) in connection.execute(text(sql), {"schema": schema})]


def column_rows(connection: Any, schema: str, table: str) -> list[Any]:
    sql = (
        "SELECT column_name, data_type, is_nullable, column_default FROM information_schema.columns "
        "WHERE table_schema = :schema AND table_name = :table ORDER BY ordinal_position"
    )
    return list(connection.execute(text(sql), {"schema": schema, "table": table}))


def columns(connection: Any, schema: str, table: str) -> list[dict[str, Any]]:
    rows = column_rows(connection, schema, table)
    if not rows:
        raise exc.NoSuchTableError(table)
    return [
        {"name": name, "type": type_of(kind), "nullable": nullable == "YES", "default": default, "autoincrement": False}
        for name, kind, nullable, default in rows
    ]


def type_of(name: str) -> Any:
    if simple := _SIMPLE.get(name):
        return simple()
    if found := re.fullmatch(r"DECIMAL\((\d+),\s*(-?\d+)\)", name):
        return types.Numeric(int(found[1]), int(found[2]))
    if re.fullmatch(r"TIMESTAMP(\(\d\))?", name):
        return types.DateTime()
    if re.fullmatch(r"TIMESTAMP(\(\d\))? WITH TIME ZONE", name):
        return types.DateTime(timezone=True)
    return QuiverType(name)


def definition(connection: Any, schema: str, table: str) -> str:
    """The statement that creates a table or view."""
    sql = "SELECT definition FROM information_schema.views WHERE table_schema = :schema AND table_name = :table"
    rows = list(connection.execute(text(sql), {"schema": schema, "table": table}))
    if not rows:
        raise exc.NoSuchTableError(table)
    return rows[0][0] or ""


def primary_key(connection: Any, schema: str, table: str) -> dict[str, Any]:
    for name, inside in _constraints(connection, schema, table, "PRIMARY KEY"):
        return {"name": name, "constrained_columns": _names(inside)}
    return {"name": None, "constrained_columns": []}


def unique_constraints(connection: Any, schema: str, table: str) -> list[dict[str, Any]]:
    found = _constraints(connection, schema, table, "UNIQUE")
    return [{"name": name, "column_names": _names(inside)} for name, inside in found]


def check_constraints(connection: Any, schema: str, table: str) -> list[dict[str, Any]]:
    return [{"name": name, "sqltext": inside} for name, inside in _constraints(connection, schema, table, "CHECK")]


def _constraints(connection: Any, schema: str, table: str, kind: str) -> list[tuple[str, str]]:
    """Parses the lines of the definition, which has one for each constraint."""
    found = map(_CONSTRAINT.match, definition(connection, schema, table).splitlines())
    return [(_names(line["name"])[0], line["inside"]) for line in found if line and line["kind"] == kind]


def _names(text: str) -> list[str]:
    return [quoted.replace('""', '"') if quoted else bare for quoted, bare in _NAME.findall(text)]
