"""Functions of users, beside what they stand in for, in one process and one run.

10,000,000 DOUBLEs are summed after `x * 1.5 + 2`: as an expression, as a function in SQL, as one in WebAssembly, as one in Python that gets
batches or the whole table, as a Python UDF of DuckDB that computes with pyarrow, and by numpy. All sums are compared. Then the time of an empty
call, in process and over Flight, the same functions on the server that has the table and on rows that are fetched from it, and the latencies of
queries beside calls.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))

import quiver  # noqa: E402

SOURCE = """
#include "quiver.h"
QUIVER_MODULE
QUIVER_FUNCTION(line) {
    const double *x = quiver_values(arguments->children[0]);
    double *line = quiver_result(result, arguments->length, sizeof(double), arguments->children[0]->buffers[0]);
    if (!line) return "there is no memory";
#pragma clang loop interleave_count(8)
    for (int64_t i = 0; i < arguments->length; i++) line[i] = x[i] * 1.5 + 2;
    return 0;
}
QUIVER_FUNCTION(nothing) {
    return quiver_result(result, arguments->length, sizeof(double), 0) ? 0 : "there is no memory";
}
"""

PYTHON = """
CREATE FUNCTION line_in_python(x DOUBLE) RETURNS DOUBLE LANGUAGE python IMMUTABLE AS $$
import numpy as np

def line_in_python(x):
    return np.asarray(x) * 1.5 + 2
$$;
CREATE FUNCTION total(t TABLE) RETURNS TABLE (total DOUBLE) LANGUAGE python AS $$
def total(t):
    return {"total": [sum(float((chunk.to_numpy() * 1.5 + 2).sum()) for chunk in t["x"].chunks)]}
$$;
CREATE FUNCTION nothing_in_python(x DOUBLE) RETURNS DOUBLE LANGUAGE python IMMUTABLE AS $$
def nothing_in_python(x):
    return x
$$;
"""
# As another program, so that the clients share no interpreter with those that are measured.
CALLERS = """
import sys, threading
sys.path.insert(0, sys.argv[1])
import quiver

def call(con):
    while True:
        con.sql("SELECT sum(line_in_python(x)) FROM part").fetchall()

for _ in range(int(sys.argv[3])):
    threading.Thread(target=call, args=(quiver.connect(sys.argv[2]),), daemon=True).start()
print("they call", flush=True)
sys.stdin.read()
"""


def compiled(directory: Path) -> Path:
    module = directory / "line.wasm"
    include = HERE.parent / "engine" / "wasm" / "include"
    switches = "--target=wasm32 -O3 -msimd128 -mbulk-memory -nostdlib -Wl,--no-entry -x c -".split()
    subprocess.run(["clang", *switches, f"-I{include}", "-o", module], input=SOURCE, text=True, check=True)
    return module


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clients", type=int, default=8, help="that query, and as many that call")
    options = parser.parse_args()
    if not (shutil.which("clang") and shutil.which("wasm-ld")):
        print("clang and lld are missing: scripts/deps.sh clients installs them", file=sys.stderr)
        return 1
    values = np.random.default_rng(5).random(options.rows)
    with tempfile.TemporaryDirectory(prefix="quiver-bench-") as name:
        directory = Path(name)
        con = quiver.open(directory / "store")
        con.sql(f"SET threads = {options.threads}")
        con.write("t", pa.table({"x": values}))
        module = compiled(directory)
        con.sql(f"COPY BLOB line FROM '{module}'")
        create(con)
        con.sql("CREATE FUNCTION line_in_sql(x DOUBLE) RETURNS DOUBLE RETURN x * 1.5 + 2")
        other = duckdb.connect()
        other.sql(f"SET threads = {options.threads}")
        other.register("arrow", pa.table({"x": values}))
        other.sql("CREATE TABLE t AS SELECT * FROM arrow")
        other.create_function("line", lambda x: pc.add(pc.multiply(x, 1.5), 2.0), ["DOUBLE"], "DOUBLE", type="arrow")

        def ours(expression: str) -> float:
            return con.sql(f"SELECT sum({expression}) FROM t").arrow().column(0)[0].as_py()

        ways: dict[str, Callable[[], float]] = {
            "expression": lambda: ours("x * 1.5 + 2"),
            "function in SQL": lambda: ours("line_in_sql(x)"),
            "function in WebAssembly": lambda: ours("line(x)"),
            "function in Python, of batches": lambda: ours("line_in_python(x)"),
            "function in Python, of the table": lambda: con.sql("SELECT total FROM total('t')").arrow().column(0)[0].as_py(),
            "sum alone": lambda: ours("x"),
            "numpy": lambda: float((values * 1.5 + 2).sum()),
            "DuckDB, expression": lambda: other.sql("SELECT sum(x * 1.5 + 2) FROM t").fetchall()[0][0],
            "DuckDB, Python UDF": lambda: other.sql("SELECT sum(line(x)) FROM t").fetchall()[0][0],
        }
        best = dict.fromkeys(ways, float("inf"))
        sums: dict[str, float] = {}
        for _ in range(options.rounds):
            for way, run in ways.items():
                begin = time.perf_counter()
                sums[way] = run()
                best[way] = min(best[way], time.perf_counter() - begin)
        expected = sums["numpy"]
        for way, found in sums.items():
            if way != "sum alone" and abs(found - expected) > 1e-6 * abs(expected):
                raise SystemExit(f"{way}: {found} instead of {expected}")
        print(f"{options.rows:,} DOUBLEs, {options.threads} threads, {platform.machine()}, best of {options.rounds}")
        for way, seconds in best.items():
            print(f"| {way} | {seconds * 1e3:.1f} ms | {seconds / best['expression']:.2f} |")
        print_calls("in process", con)
        con.sql("CREATE TABLE part AS SELECT x FROM t LIMIT 100000")
        con.close()
        command = [
            HERE.parent / "bin" / "quiver",
            "serve",
            "--store",
            directory / "store",
            "--listen",
            "127.0.0.1:0",
            "--python",
            sys.executable,
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            uri = server.stdout.readline().split()[2]
            with quiver.connect(uri) as con:
                print_calls("over Flight", con)
            print_node(uri, module, options.rounds, expected)
            mixed_load(uri, options.clients)
            server.terminate()
    return 0


def create(con: quiver.Connection) -> None:
    con.sql("CREATE FUNCTION line(x DOUBLE) RETURNS DOUBLE LANGUAGE wasm IMMUTABLE AS BLOB line")
    con.sql("CREATE FUNCTION nothing(x DOUBLE) RETURNS DOUBLE LANGUAGE wasm IMMUTABLE AS BLOB line")
    for statement in PYTHON.split(";\n"):
        con.sql(statement) if statement.strip() else None


def print_node(uri: str, module: Path, rounds: int, expected: float) -> None:
    """The functions of an engine whose table is on the server: sent there, and called here on rows that come."""
    with quiver.open() as con:
        con.sql(f"CREATE EXTERNAL TABLE t STORED AS QUIVER LOCATION '{uri.replace('grpc', 'quiver')}/main.t'")
        con.sql(f"COPY BLOB line FROM '{module}'")
        create(con)
        queries = {
            "function in WebAssembly": "SELECT sum(line(x)) FROM t",
            "function in Python, of batches": "SELECT sum(line_in_python(x)) FROM t",
            "function in Python, of the table": "SELECT total FROM total('t')",
        }
        best: dict[tuple[str, str], float] = {}
        for _ in range(rounds):
            for way, query in queries.items():
                for level in ["full", "off"]:
                    con.sql(f"SET pushdown = {level}")
                    begin = time.perf_counter()
                    found = con.sql(query).arrow().column(0)[0].as_py()
                    seconds = time.perf_counter() - begin
                    best[way, level] = min(best.get((way, level), seconds), seconds)
                    if abs(found - expected) > 1e-6 * abs(expected):
                        raise SystemExit(f"{way} at {level}: {found} instead of {expected}")
        for way in queries:
            there, here = (best[way, level] * 1e3 for level in ["full", "off"])
            print(f"| {way}, table on a server | there {there:.1f} ms | here {here:.1f} ms | {there / here:.2f} |")


def print_calls(where: str, con: quiver.Connection) -> None:
    calls = []
    for expression in ["1.0", "nothing(1.0)", "nothing_in_python(1.0)"]:
        con.sql(f"SELECT {expression}").arrow()
        begin = time.perf_counter()
        for _ in range(500):
            con.sql(f"SELECT {expression}").arrow()
        calls.append((time.perf_counter() - begin) / 500 * 1e6)
    print(f"a statement {where}: {calls[0]:.0f} us; with an empty call in WebAssembly {calls[1]:.0f}, in Python {calls[2]:.0f}")


def mixed_load(uri: str, clients: int) -> None:
    """Queries of some clients, alone and beside as many that call a function in Python."""
    alone = latencies(uri, clients)
    command = [sys.executable, "-c", CALLERS, str(HERE.parent / "python"), uri, str(clients)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as callers:
        callers.stdout.readline()
        time.sleep(2)
        beside = latencies(uri, clients)
        callers.kill()
    for name, found in [("alone", alone), ("beside calls", beside)]:
        print(f"{clients} clients that query, {name}: p50 {np.percentile(found, 50):.1f} ms, p99 {np.percentile(found, 99):.1f} ms")


def latencies(uri: str, clients: int) -> list[float]:
    """In milliseconds."""
    found: list[float] = []
    until = time.perf_counter() + 10

    def query() -> None:
        with quiver.connect(uri) as con:
            while time.perf_counter() < until:
                begin = time.perf_counter()
                con.sql("SELECT sum(x * 1.5 + 2) FROM part").fetchall()
                found.append((time.perf_counter() - begin) * 1e3)

    threads = [threading.Thread(target=query) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


if __name__ == "__main__":
    sys.exit(main())
