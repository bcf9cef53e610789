"""What to write in place of names that users know from DuckDB, pandas, polars and sqlite3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar


def no_attribute(owner: str, name: str, hints: Mapping[str, str]) -> AttributeError:
    if name not in hints:
        return AttributeError(f"{owner} has no attribute {name!r}")
    # With an `obj` of its own, Python adds no guess to the hint.
    return AttributeError(f"{owner} has no attribute {name!r}; write {hints[name]}", name=name, obj=None)


class Hints:
    """A base class: the error for an attribute that does not exist says what to write."""

    _hints: ClassVar[Mapping[str, str]] = {}

    # Type checkers would take it for every attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # One that the class has is a property, which has raised the error.
            if name in self._hints and not hasattr(type(self), name):
                raise no_attribute(f"{type(self).__name__!r} object", name, self._hints)
            # Raises Python's error, or again that of the property.
            return super().__getattribute__(name)


def _by_name(hints: Mapping[str, str]) -> dict[str, str]:
    return {name: hint for names, hint in hints.items() for name in names.split()}


CONNECTION = _by_name(
    {
        "execute query": "con.sql(…)",
        "fetchdf fetch_df read_sql read_sql_query": "con.sql(…).df()",
        "fetch_arrow_table": "con.sql(…).arrow()",
        "fetchnumpy": "con.sql(…).numpy()",
        "description": "con.sql(…).schema",
        "rowcount": "con.sql(…).rows_changed",
        "read_parquet from_parquet": "con.sql(\"FROM 'x.parquet'\")",
        "read_csv read_csv_auto from_csv_auto": "con.sql(\"FROM 'x.csv'\")",
        "read_json read_json_auto": "con.sql(\"FROM 'x.json'\")",
        "from_df from_arrow": 'con.sql("FROM frame") with the variable frame',
        "executescript": "con.sql(…) for each statement",
        "checkpoint": 'con.sql("CHECKPOINT")',
        "append insert to_sql": 'con.write("t", frame, mode="append")',
        "view": 'con.table("t")',
        "list_tables": "con.tables()",
        "duplicate": "con.another()",
        "cursor": 'con.sql(…); quiver.dbapi.connect("store") has cursors',
    }
)

RESULT = _by_name(
    {
        "to_df to_pandas toPandas fetchdf fetch_df": "result.df()",
        "to_polars": "result.pl()",
        "to_arrow to_arrow_table fetch_arrow_table": "result.arrow()",
        "to_numpy fetchnumpy": "result.numpy()",
        "to_dict to_dicts to_pylist": "result.arrow().to_pylist()",
        "fetch_record_batch to_arrow_reader to_batches": "pyarrow.RecordBatchReader.from_stream(result), or `for batch in result`",
        "rows iterrows itertuples": "result.fetchall()",
        "fetchval scalar": "result.fetchone()[0]",
        "rowcount": "result.rows_changed",
        "description dtypes types": "result.schema",
        "shape": "result.arrow().shape",
        "head": "result.show(), or LIMIT in SQL",
        "filter project order sort sort_values limit aggregate groupby group_by join merge": 'con.sql("SELECT … FROM result …")',
        "describe": 'con.sql("SUMMARIZE …")',
        "create to_table": 'con.sql("CREATE TABLE t AS …")',
        "to_csv write_csv": "con.sql(\"COPY (SELECT …) TO 'x.csv'\")",
        "to_parquet write_parquet": "con.sql(\"COPY (SELECT …) TO 'x.parquet'\")",
    }
)

TABLE = {name: hint.replace("result", "table") for name, hint in RESULT.items()} | _by_name(
    {
        "rows iterrows itertuples": "table.select().fetchall()",
        "fetchval scalar": "table.select().fetchone()[0]",
        "rowcount": "len(table)",
        "shape": "len(table), len(table.columns)",
        "filter project order sort sort_values limit aggregate groupby group_by join merge": 'con.sql("SELECT … FROM t …")',
        "describe": 'con.sql("SUMMARIZE t")',
        "append insert insert_into": 'con.write("t", frame, mode="append")',
        "drop": 'con.sql("DROP TABLE t")',
    }
)

CURSOR = {name: hint.replace("result", "cursor.result") for name, hint in RESULT.items() if hint.startswith("result")} | {
    "executescript": "cursor.execute(…) for each statement",
    "commit": "cursor.connection.commit()",
    "rollback": "cursor.connection.rollback()",
}

_OPENED = ' with con = quiver.open("store")'
MODULE = {name: hint.replace("con.", "quiver.") if hint.startswith("con.sql") else hint + _OPENED for name, hint in CONNECTION.items()} | {
    name: f"`import quiver.{name}`" for name in ("dbapi", "sqlalchemy", "testing")
}


def of_members(kind: type, owner: str) -> dict[str, str]:
    """Hints for the attributes of another object."""
    return {name: f"{owner}.{name}{'()' if callable(value) else ''}" for name, value in vars(kind).items() if name[0] != "_"}


def of_module(connection: type) -> dict[str, str]:
    return {name: hint + _OPENED for name, hint in of_members(connection, "con").items()} | MODULE
