"""`plans.py SCHEMA.sql TARGET QUERY.sql...`: a plan per query in TARGET, or why DuckDB refused it.

Optimised, as DuckDB does when not told otherwise: what it writes of a query that is not optimised counts columns
which the plan does not leave out, and DuckDB itself cannot run it. The order of joins is chosen by what the tables
hold, which is TPC-H at scale 0.01. What it knows of least and greatest values it must not use: such a plan (customers
up to number 1499, who alone have orders) is right for these rows only.
"""

import sys
from pathlib import Path

import duckdb
import duckdb_extension_substrait

TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]


def main() -> None:
    schema, target = Path(sys.argv[1]), Path(sys.argv[2])
    filled = target / "tpch.db"
    with connect(filled) as connection:
        fill(connection, schema.read_text())
    for query in map(Path, sys.argv[3:]):
        # An internal error of the extension makes a connection useless, so each query has its own.
        with connect(filled) as connection:
            try:
                plan = connection.execute("call get_substrait(?)", [query.read_text()]).fetchone()[0]
                (target / f"{query.stem}.bin").write_bytes(plan)
            except duckdb.Error as refused:
                (target / f"{query.stem}.refused").write_text(str(refused))
    filled.unlink()


def connect(file: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(str(file), config={"allow_unsigned_extensions": "true", "threads": "1"})
    extension = next(Path(duckdb_extension_substrait.__file__).parent.glob("extensions/*/*.duckdb_extension"))
    connection.execute(f"load '{extension}'")
    connection.execute("set disabled_optimizers = 'statistics_propagation'")
    return connection


def fill(connection: duckdb.DuckDBPyConnection, schema: str) -> None:
    connection.execute("create schema made")
    connection.execute("call dbgen(sf=0.01, schema='made')")
    connection.execute(schema)
    for table in TABLES:
        connection.execute(f"insert into {table} from made.{table}")
    connection.execute("drop schema made cascade")


if __name__ == "__main__":
    main()
