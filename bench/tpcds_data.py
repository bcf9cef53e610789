"""Writes the tables of TPC-DS as Parquet files, and its 99 queries; run by `tpcds.py` in an environment with DuckDB's extension for it."""

import sys
from pathlib import Path

import duckdb
import duckdb_extension_tpcds


def main(scale: str, target: Path) -> None:
    extension = next(Path(duckdb_extension_tpcds.__file__).parent.rglob("tpcds.duckdb_extension"))
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"LOAD '{extension}'")
    connection.execute(f"CALL dsdgen(sf={float(scale):g})")
    for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
        connection.execute(f"COPY {table} TO '{target / table}.parquet'")
    for number, query in connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall():
        (target / f"q{number:02}.sql").write_text(query)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
