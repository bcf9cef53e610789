"""`make bench`: the 22 queries of TPC-H on Quiver and on DuckDB, in one run, interleaved.

Both engines hold the same generated data in their own format, both use the same number of threads,
both are warm (one run of each query before the measured ones), and all results are compared row by
row. A wrong result makes the exit status 1, however fast it was.
"""

import argparse
import hashlib
import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "scripts"))

import datasets  # noqa: E402
import report  # noqa: E402
from compare import differences  # noqa: E402
from engines import QUIVER, DuckDB, QueryFailed, Quiver  # noqa: E402
from report import text_report  # noqa: E402

Q11_FRACTION = "0.0001000000"


def main() -> int:
    options = parse_arguments()
    queries = read_queries(options.queries, options.scale)
    parquet = datasets.tpch_parquet(options.scale)
    scratch = Path(tempfile.mkdtemp(prefix="quiver-bench-"))
    engines, loads = [], {}
    try:
        store, loads["Quiver"] = load_quiver(parquet, options)
        engines.append(Quiver(store, options.threads, scratch))
        if not options.no_duckdb:
            database, loads["DuckDB"] = load_duckdb(parquet, options)
            engines.append(DuckDB(database, options.threads, scratch))
        for engine in engines:
            engine.watch_memory()
        measured = {number: measure(number, sql, engines, options.rounds) for number, sql in queries.items()}
        memory = {engine.name: engine.peak_memory() for engine in engines}
    finally:
        for engine in engines:
            engine.close()
        shutil.rmtree(scratch, ignore_errors=True)

    loads["Quiver"]["open_ms"] = open_quiver(store)
    if not options.no_duckdb:
        loads["DuckDB"]["open_ms"] = open_duckdb(database)
    result = {"machine": machine(options), "loads": loads, "memory": memory, "queries": measured}
    result["geometric_mean"] = geometric_mean(measured)
    save(f"tpch-sf{float(options.scale):g}", text_report(result), result, options)
    wrong = [number for number, query in measured.items() if query.get("problems")]
    return 1 if wrong else 0


def parse_arguments() -> argparse.Namespace:
    parser = common_arguments(__doc__, "engine")
    parser.add_argument("--no-duckdb", action="store_true", help="Quiver alone; results are then not compared")
    return parser.parse_args()


def common_arguments(description: str, measured: str) -> argparse.ArgumentParser:
    """The options of every measurement over TPC-H; `measured` names what each query runs on."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5, help=f"measured runs of each query on each {measured}")
    parser.add_argument("--queries", help="such as 1,6 instead of all 22")
    parser.add_argument("--json", type=Path, help="write every number to this file")
    parser.add_argument("--reuse-store", action="store_true", help="keep a store loaded by another build of Quiver")
    parser.add_argument("--save", action="store_true", help="write the report to bench/results/")
    return parser


def read_queries(chosen: str | None, scale: str) -> dict[int, str]:
    numbers = [int(number) for number in chosen.split(",")] if chosen else range(1, 23)
    queries = {number: (HERE / "queries" / f"q{number:02}.sql").read_text() for number in numbers}
    if 11 in queries:
        assert Q11_FRACTION in queries[11]
        queries[11] = queries[11].replace(Q11_FRACTION, f"{0.0001 / float(scale):.10f}")
    return queries


# --- loading: kept in the cache directory, described by a JSON file written when it is whole ---


def load_quiver(parquet: dict[str, Path], options, name: str = "bench-quiver") -> tuple[Path, dict]:
    # Any build may lay data out differently, so a store is reused only by the build that wrote it.
    build = hashlib.sha256(QUIVER.read_bytes()).hexdigest()[:16]
    store = datasets.cache_dir() / f"{name}-sf{float(options.scale):g}"

    def load() -> None:
        for table, path in parquet.items():
            command = [QUIVER, "import", "--store", store, "--table", table, path]
            if subprocess.run(command, stdout=subprocess.DEVNULL).returncode != 0:
                sys.exit(f"bench: {path} could not be imported")

    return store, load_once("Quiver", store, build, options.reuse_store, load)


def load_duckdb(parquet: dict[str, Path], options, name: str = "bench-duckdb") -> tuple[Path, dict]:
    import duckdb

    database = datasets.cache_dir() / f"{name}-sf{float(options.scale):g}.db"

    def load() -> None:
        with duckdb.connect(str(database), config={"threads": options.threads}) as connection:
            for table, path in parquet.items():
                connection.execute(f"create table {table} as from read_parquet('{path}')")
            connection.execute("checkpoint")

    return database, load_once("DuckDB", database, duckdb.__version__, False, load)


def load_once(name: str, target: Path, version: str, any_version: bool, load) -> dict:
    description = target.with_name(target.name + ".loaded.json")
    if target.exists() and description.exists():
        loaded = json.loads(description.read_text())
        if loaded["version"] == version or any_version:
            return loaded
    description.unlink(missing_ok=True)
    if target.is_dir():
        shutil.rmtree(target)
    target.unlink(missing_ok=True)
    Path(f"{target}.wal").unlink(missing_ok=True)
    print(f"loading {name}: {target}", file=sys.stderr)
    start = time.perf_counter()
    load()
    loaded = {"version": version, "load_s": time.perf_counter() - start, "size_bytes": size_of(target)}
    description.write_text(json.dumps(loaded))
    return loaded


def size_of(path: Path) -> int:
    files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
    return sum(file.stat().st_blocks * 512 for file in files)


# --- measuring ---


def measure(number: int, sql: str, engines: list, rounds: int, compare=differences) -> dict:
    """One warm-up each, then the engines in turn, so that a slow minute of the machine hits both."""
    query: dict = {"times_ms": {engine.name: [] for engine in engines}, "problems": []}
    try:
        for engine in engines:
            engine.run(sql)
        if len(engines) == 2:
            query["rows"] = len(engines[0].rows()[1])
            query["problems"] = compare(sql, engines[0].rows(), engines[1].rows())
        for _ in range(rounds):
            for engine in engines:
                query["times_ms"][engine.name].append(engine.run(sql))
    except QueryFailed as failure:
        query["problems"].append(f"{engine.name}: {failure}")
    print(f"Q{number}: {'; '.join(query['problems'][:3]) or 'ok'}", file=sys.stderr)
    return query


def open_quiver(store: Path) -> float:
    """The time from process start to the first answer and exit, as a person at a shell sees it."""
    return best_ms(lambda: subprocess.run([QUIVER, "--store", store, "-c", "select 1"], check=True, stdout=subprocess.DEVNULL))


def open_duckdb(database: Path) -> float:
    """Inside a running Python, so without process start."""
    import duckdb

    def once() -> None:
        with duckdb.connect(str(database)) as connection:
            connection.execute("select 1").fetchall()

    return best_ms(once)


def best_ms(action, times: int = 5) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        taken.append((time.perf_counter() - start) * 1000)
    return min(taken)


def geometric_mean(measured: dict) -> dict | None:
    """Of the ratios Quiver / DuckDB over the queries both answered; from best and from median times."""
    pairs = [list(query["times_ms"].values()) for query in measured.values()]
    pairs = [pair for pair in pairs if len(pair) == 2 and all(pair)]
    if not pairs:
        return None
    return {
        name: math.exp(statistics.fmean(math.log(pick(quiver) / pick(duckdb)) for quiver, duckdb in pairs))
        for name, pick in [("best", min), ("median", statistics.median)]
    }


# --- reporting ---


def machine(options) -> dict:
    return {"scale": options.scale, "threads": options.threads, "rounds": options.rounds} | report.machine()


def save(name: str, text: str, result: dict, options) -> None:
    print(text)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1))
    if options.save:
        path = HERE / "results" / f"{name}-{result['machine']['time'][:10]}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n")
        print(f"saved to {path}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
