"""Names of tables and columns as they stand in SQL."""

from __future__ import annotations

DEFAULT_SCHEMA = "main"
# Of volatile tables, which are the session's own.
VOLATILE_SCHEMA = "temp"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def split(name: str, schema: str | None = None) -> tuple[str, str]:
    """Schema and table of `table` or `schema.table`. With `schema` given, a dot is a part of the table's name."""
    if schema is None and "." in name:
        schema, name = name.split(".", 1)
    return schema or DEFAULT_SCHEMA, name
