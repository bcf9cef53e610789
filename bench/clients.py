"""`make bench-clients`: several clients that each run the 22 queries of TPC-H at the same time, Quiver beside DuckDB, each in this process.

Each client has a connection of its own and begins with another query; a round is done when the last client is. Results are not compared:
`make bench` does that, with the same queries and tables.
"""

import argparse
import concurrent.futures
import contextlib
import statistics
import sys
import time
from pathlib import Path

import duckdb
import report
import tpch

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / part) for part in ("python", "scripts")]

import datasets  # noqa: E402
import quiver  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--queries", help="such as 1,6 instead of all 22")
    parser.add_argument("--reuse-store", action="store_true", help="keep a store loaded by another build of Quiver")
    parser.add_argument("--clients", type=int, default=8)
    options = parser.parse_args()
    queries = list(tpch.read_queries(options.queries, options.scale).values())
    parquet = datasets.tpch_parquet(options.scale)
    store, _ = tpch.load_quiver(parquet, options)
    database, _ = tpch.load_duckdb(parquet, options)
    walls: dict[str, list[float]] = {"Quiver": [], "DuckDB": []}
    latencies: dict[str, list[float]] = {"Quiver": [], "DuckDB": []}
    with contextlib.ExitStack() as opened:
        # The connections of one process to a store have one engine.
        own = [opened.enter_context(quiver.open(store, threads=options.threads, read_only=True)) for _ in range(options.clients)]
        other = opened.enter_context(duckdb.connect(str(database), read_only=True, config={"threads": options.threads}))
        clients = {
            "Quiver": [lambda sql, con=con: con.sql(sql).arrow() for con in own],
            "DuckDB": [lambda sql, con=con: con.sql(sql).to_arrow_table() for con in [other.cursor() for _ in own]],
        }
        pool = opened.enter_context(concurrent.futures.ThreadPoolExecutor(options.clients))
        for runs in clients.values():
            one_client(runs[0], queries, 0)
        for _ in range(options.rounds):
            for name, runs in clients.items():
                first = [at * len(queries) // len(runs) for at in range(len(runs))]
                started = time.perf_counter()
                done = list(pool.map(one_client, runs, [queries] * len(runs), first))
                walls[name].append(time.perf_counter() - started)
                latencies[name] += [ms for client in done for ms in client]
    print(
        f"{options.clients} clients, {len(queries)} queries each, scale {options.scale}, {options.threads} threads, {options.rounds} rounds in turn"
    )
    print(report.machine_line(report.machine()))
    for name in walls:
        ms = sorted(latencies[name])
        print(
            f"{name:8}{min(walls[name]):8.2f} s at best, {statistics.median(walls[name]):.2f} s median;"
            f" a query {statistics.median(ms):.0f} ms median, {ms[len(ms) * 99 // 100]:.0f} ms p99"
        )
    print(f"ratio of the best: {min(walls['Quiver']) / min(walls['DuckDB']):.2f}")
    return 0


def one_client(run, queries: list[str], first: int) -> list[float]:
    """Milliseconds of each query, from the `first` one on."""
    latencies_ms = []
    for sql in queries[first:] + queries[:first]:
        started = time.perf_counter()
        run(sql)
        latencies_ms.append((time.perf_counter() - started) * 1e3)
    return latencies_ms


if __name__ == "__main__":
    sys.exit(main())
