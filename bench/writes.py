"""`make bench-writes`: single rows, bulk appends and updates beside SQLite and DuckDB, in one run.

A row is a transaction of its own. Quiver's sessions are tasks of one process, the writers of SQLite and DuckDB threads of
this one; statements and rows are made before the clock starts. Rounds are interleaved, the best of each is reported, and
`flush` is what this disk takes for one fdatasync.
"""

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import duckdb

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "scripts"))

import datasets  # noqa: E402
from engines import QUIVER, Quiver  # noqa: E402

TEXT = "x" * 240
STATEMENTS: list[str] = []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000, help="durable single rows per round")
    parser.add_argument("--puts", type=int, default=50_000, help="single rows per round that wait for no disk")
    parser.add_argument("--only", choices=["singles", "bulk", "updates"], help="one of the three parts")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scans", type=int, default=21, help="rounds of each scan before and after the update")
    parser.add_argument("--bulk", type=int, default=10_000_000, help="rows of the bulk append")
    parser.add_argument("--dir", type=Path, help="where the databases are made (default: a temporary directory)")
    options = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="quiver-writes-", dir=options.dir))
    try:
        print(f"flush: {fsync_ms(scratch):.2f} ms")
        parts = {
            "singles": lambda: singles(scratch, options),
            "bulk": lambda: bulk(scratch, options.bulk),
            "updates": lambda: updates(scratch, options.scans),
        }
        for name, part in parts.items():
            if options.only in (None, name):
                part()
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


class Sessions:
    """Sessions of one Quiver process that insert a row a statement; see engine/tests/suite/insert_speed.rs."""

    def __init__(self, store: Path):
        environment = dict(os.environ, BENCH_STORE=str(store))
        self.process = subprocess.Popen(
            [insert_program(), "--ignored", "--exact", "--nocapture", "insert_speed::insert_single_rows"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=HERE.parent / "engine",
        )

    def seconds(self, sends: str, durability: str, sessions: int, rows: int) -> float:
        self.process.stdin.write(f"{sends} {durability} {sessions} {rows}\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("seconds "):
                return float(line.split()[1])
        raise SystemExit("the program that inserts has ended")

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def insert_program() -> str:
    """The binary with the engine's tests; built if it is not there."""
    command = [
        HERE.parent / "scripts" / "with_target.sh",
        "cargo",
        "test",
        "--release",
        "--locked",
        "--workspace",
        "--no-run",
        "--message-format=json",
    ]
    built = subprocess.run(command, cwd=HERE.parent, check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in built.splitlines():
        artifact = json.loads(line) if line.startswith("{") else {}
        if artifact.get("target", {}).get("name") == "suite" and "/engine" in artifact["manifest_path"] and artifact.get("executable"):
            return artifact["executable"]
    raise SystemExit("cargo has built no tests of the engine")


class Lite:
    """SQLite with a write-ahead log; each writer is a thread with a connection of its own."""

    def __init__(self, path: Path, synchronous: str):
        self.path, self.synchronous = path, synchronous
        self.connect().execute("CREATE TABLE t (id BIGINT, v VARCHAR)")

    def connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=60, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {self.synchronous}")
        return connection

    def seconds(self, sends: str, writers: int, rows: int) -> float:
        connections = [self.connect() for _ in range(writers)]
        return seconds_of([lambda c=connection: put_all(c, sends, rows) for connection in connections])


class Duck:
    def __init__(self, path: Path):
        self.connection = duckdb.connect(str(path), config={"threads": 2})
        self.connection.execute("CREATE TABLE t (id BIGINT, v VARCHAR)")

    def seconds(self, sends: str, writers: int, rows: int) -> float:
        cursors = [self.connection.cursor() for _ in range(writers)]
        return seconds_of([lambda c=cursor: put_all(c, sends, rows) for cursor in cursors])


def put_all(connection, sends: str, rows: int) -> None:
    if sends == "sql":
        for statement in STATEMENTS[:rows]:
            connection.execute(statement)
    else:
        for row in range(rows):
            connection.execute("INSERT INTO t VALUES (?, ?)", (row, TEXT))


def seconds_of(writers: list) -> float:
    threads = [threading.Thread(target=writer) for writer in writers]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - started


def singles(scratch: Path, options: argparse.Namespace) -> None:
    STATEMENTS.extend(f"INSERT INTO t VALUES ({row}, '{TEXT}')" for row in range(options.puts))
    sessions = Sessions(scratch / "store")
    full, off, duck = Lite(scratch / "full.sqlite", "FULL"), Lite(scratch / "off.sqlite", "OFF"), Duck(scratch / "duck.db")
    rows, puts, few = options.rows, options.puts, max(options.rows // 16, 1)
    tables = {
        "durable, a statement as text each, one writer": (
            rows,
            {
                "Quiver, sync": lambda: sessions.seconds("sql", "sync", 1, rows),
                "Quiver, sync, planned": lambda: sessions.seconds("planned", "sync", 1, rows),
                "SQLite, FULL": lambda: full.seconds("sql", 1, rows),
                "DuckDB": lambda: duck.seconds("sql", 1, rows),
            },
        ),
        "durable, a statement as text each, 16 writers": (
            16 * few,
            {
                "Quiver, sync": lambda: sessions.seconds("sql", "sync", 16, few),
                "SQLite, FULL": lambda: full.seconds("sql", 16, few),
            },
        ),
        "not waiting for the disk, a statement as text each": (
            puts,
            {
                "Quiver, async": lambda: sessions.seconds("sql", "async", 1, puts),
                "SQLite, OFF": lambda: off.seconds("sql", 1, puts),
            },
        ),
        "not waiting for the disk, a batch or bound values each": (
            puts,
            {
                "Quiver, async": lambda: sessions.seconds("batch", "async", 1, puts),
                "SQLite, OFF": lambda: off.seconds("values", 1, puts),
            },
        ),
    }
    for what, (count, systems) in tables.items():
        best = dict.fromkeys(systems, float("inf"))
        for _ in range(options.rounds):
            for name, once in systems.items():
                best[name] = min(best[name], once())
        print(f"single rows of 256 bytes, {what}, best of {options.rounds}:")
        for name, seconds in best.items():
            ratio = seconds / best[next(iter(systems))]
            print(f"  {name:22} {count / seconds:10,.0f} rows/s" + ("" if ratio == 1 else f", Quiver {ratio:.2f} times as many"))
    sessions.close()


def bulk(scratch: Path, rows: int) -> None:
    query = f"SELECT value AS id, value * 7 % 1000003 AS k, CAST(value AS DOUBLE) / 3 AS v FROM generate_series(1, {rows}) AS g(value)"
    table = "CREATE TABLE big (id BIGINT, k BIGINT, v DOUBLE)"
    seconds = quiver(scratch / "bulk", f"{table};\nINSERT INTO big {query};\n")
    duck = duckdb.connect(str(scratch / "bulk.db"), config={"threads": 2})
    started = time.perf_counter()
    duck.execute(table)
    duck.execute(f"INSERT INTO big {query}")
    duck.execute("CHECKPOINT")
    print(
        f"bulk append of {rows:,} rows of 24 bytes: Quiver {rows * 24 / seconds / 1e9:.2f} GB/s, "
        f"DuckDB {rows * 24 / (time.perf_counter() - started) / 1e9:.2f} GB/s"
    )


SCANS = {
    "filter and sums": "SELECT sum(l_extendedprice * l_discount), sum(l_quantity), count(*) FROM lineitem "
    "WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1996-01-01'",
    "groups": "SELECT l_returnflag, l_linestatus, sum(l_quantity), avg(l_extendedprice), count(*) FROM lineitem "
    "GROUP BY l_returnflag, l_linestatus",
    "one column": "SELECT max(l_orderkey % 7) FROM lineitem",
}


def updates(scratch: Path, rounds: int) -> None:
    """Stores of the same rows: as they were imported, with 1 % of them updated, then compacted, and rewritten in full."""
    parquet = datasets.tpch_parquet("1")
    stores = {name: scratch / f"lineitem-{name}" for name in ["imported", "updated", "compacted", "rewritten"]}
    for store in stores.values():
        subprocess.run([QUIVER, "import", "--store", store, "--table", "lineitem", parquet["lineitem"]], check=True, capture_output=True)
    update = "UPDATE lineitem SET l_quantity = l_quantity + 1 WHERE l_orderkey % 100 = 7;\n"
    seconds = min(quiver(stores[name], update) for name in ["updated", "compacted"])
    optimize = quiver(stores["compacted"], "OPTIMIZE TABLE lineitem;\n")
    quiver(stores["rewritten"], update)
    full = quiver(stores["rewritten"], "OPTIMIZE TABLE lineitem FULL;\n")
    print(
        f"update of 1 % of lineitem: {seconds:.2f} s, OPTIMIZE TABLE {optimize:.2f} s, FULL {full:.2f} s; the shortest of {rounds} scans:"
    )
    shells = {name: Quiver(store, 2, scratch, read_only=True) for name, store in stores.items()}
    for what, scan in SCANS.items():
        best = dict.fromkeys(shells, float("inf"))
        for shell in shells.values():
            shell.run(scan)
        for _ in range(rounds):
            for name, shell in shells.items():
                best[name] = min(best[name], shell.run(scan))
        print(
            f"  {what:16} {best['imported']:6.1f} ms, updated {best['updated'] / best['imported']:.2f} times as long, "
            f"compacted {best['compacted'] / best['imported']:.2f}, rewritten {best['rewritten'] / best['imported']:.2f}"
        )
    for shell in shells.values():
        shell.close()


if __name__ == "__main__":
    raise SystemExit(main())
