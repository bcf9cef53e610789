"""`make bench-writes`: single rows, bulk appends and updates beside SQLite and DuckDB, in one run.

Every system runs SQL text, a statement per row, in a transaction of its own: Quiver's shell and DuckDB and SQLite in
this process. Rounds are interleaved, the best of each is reported, and `flush` is what this disk takes for one fsync.
"""

import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "scripts"))

import datasets  # noqa: E402
from engines import QUIVER  # noqa: E402

TEXT = "x" * 240


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500, help="single rows per round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bulk", type=int, default=10_000_000, help="rows of the bulk append")
    parser.add_argument("--dir", type=Path, help="where the databases are made (default: a temporary directory)")
    options = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="quiver-writes-", dir=options.dir))
    try:
        print(f"flush: {fsync_ms(scratch):.2f} ms")
        singles(scratch, options)
        bulk(scratch, options.bulk)
        updates(scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


def fsync_ms(scratch: Path) -> float:
    with open(scratch / "probe", "wb") as probe:
        times = []
        for _ in range(20):
            probe.write(b"x" * 512)
            probe.flush()
            started = time.perf_counter()
            os.fdatasync(probe.fileno())
            times.append(time.perf_counter() - started)
    return sorted(times)[len(times) // 2] * 1e3


def insert(row: int) -> str:
    return f"INSERT INTO t VALUES ({row}, '{TEXT}')"


def quiver(store: Path, script: str) -> float:
    """Seconds that the shell takes for the script, without starting and ending."""
    path = store.parent / "script.sql"
    times = []
    for text in ["SELECT 1;\n", script]:
        path.write_text(text)
        started = time.perf_counter()
        done = subprocess.run([QUIVER, "--store", store, "-q", "-f", path], capture_output=True, text=True)
        times.append(time.perf_counter() - started)
        if done.returncode != 0:
            raise SystemExit(f"quiver: {done.stderr}")
    return max(times[1] - times[0], 1e-9)


def singles(scratch: Path, options: argparse.Namespace) -> None:
    stores = {}
    for durability in ["sync", "async"]:
        stores[durability] = scratch / f"store-{durability}"
        quiver(stores[durability], f"CREATE TABLE t (id BIGINT, v VARCHAR) WITH (durability = '{durability}');\n")
    lite = {}
    for level in ["FULL", "OFF"]:
        lite[level] = sqlite3.connect(scratch / f"{level}.sqlite", isolation_level=None)
        lite[level].execute("PRAGMA journal_mode = WAL")
        lite[level].execute(f"PRAGMA synchronous = {level}")
        lite[level].execute("CREATE TABLE t (id BIGINT, v VARCHAR)")
    duck = duckdb.connect(str(scratch / "duck.db"))
    duck.execute("CREATE TABLE t (id BIGINT, v VARCHAR)")

    def run(execute) -> float:
        started = time.perf_counter()
        for row in range(options.rows):
            execute(insert(row))
        return time.perf_counter() - started

    script = "".join(f"{insert(row)};\n" for row in range(options.rows))
    systems = {
        "Quiver, sync": lambda: quiver(stores["sync"], script),
        "SQLite, WAL, FULL": lambda: run(lite["FULL"].execute),
        "DuckDB": lambda: run(duck.execute),
        "Quiver, async": lambda: quiver(stores["async"], script),
        "SQLite, WAL, OFF": lambda: run(lite["OFF"].execute),
    }
    best = dict.fromkeys(systems, float("inf"))
    for _ in range(options.rounds):
        for name, once in systems.items():
            best[name] = min(best[name], once())
    print(f"single rows of 256 bytes, a statement each, one writer, best of {options.rounds}:")
    for name, seconds in best.items():
        print(f"  {name:20} {options.rows / seconds:10,.0f} rows/s")


def bulk(scratch: Path, rows: int) -> None:
    query = f"SELECT value AS id, value * 7 % 1000003 AS k, CAST(value AS DOUBLE) / 3 AS v FROM generate_series(1, {rows}) AS g(value)"
    table = "CREATE TABLE big (id BIGINT, k BIGINT, v DOUBLE)"
    seconds = quiver(scratch / "bulk", f"{table};\nINSERT INTO big {query};\n")
    duck = duckdb.connect(str(scratch / "bulk.db"), config={"threads": 2})
    started = time.perf_counter()
    duck.execute(table)
    duck.execute(f"INSERT INTO big {query}")
    duck.execute("CHECKPOINT")
    print(f"bulk append of {rows:,} rows of 24 bytes: Quiver {rows * 24 / seconds / 1e9:.2f} GB/s, "
          f"DuckDB {rows * 24 / (time.perf_counter() - started) / 1e9:.2f} GB/s")


def updates(scratch: Path) -> None:
    parquet = datasets.tpch_parquet("1")
    store = scratch / "lineitem"
    subprocess.run([QUIVER, "import", "--store", store, "--table", "lineitem", parquet["lineitem"]],
                   check=True, capture_output=True)
    scan = ("SELECT sum(l_extendedprice * l_discount), sum(l_quantity), count(*) FROM lineitem "
            "WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1996-01-01';\n")

    def scan_seconds() -> float:
        return min(quiver(store, scan * 11) for _ in range(3)) / 11

    before = scan_seconds()
    update = quiver(store, "UPDATE lineitem SET l_quantity = l_quantity + 1 WHERE l_orderkey % 100 = 7;\n")
    after = scan_seconds()
    optimize = quiver(store, "OPTIMIZE TABLE lineitem;\n")
    compacted = scan_seconds()
    print(f"update of 1 % of lineitem: {update:.2f} s, scan {after / before:.2f} times as long; "
          f"OPTIMIZE TABLE {optimize:.2f} s, scan {compacted / before:.2f} times as long")


if __name__ == "__main__":
    raise SystemExit(main())
