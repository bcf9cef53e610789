"""Quoting of names and literals for SQL."""

from __future__ import annotations

DEFAULT_SCHEMA = "main"
# The schema of temporary tables, which belong to one session.
TEMPORARY_SCHEMA = "temp"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def split(name: str, schema: str | None = None) -> tuple[str, str]:
    """Schema and table of `table` or `schema.table`. If `schema` is given, a dot is part of the table's name."""
    if schema is None and "." in name:
        schema, name = name.split(".", 1)
    return schema or DEFAULT_SCHEMA, name
