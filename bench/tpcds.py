"""`make bench-tpcds`: the 99 queries of TPC-DS on Quiver and on DuckDB, in one run, interleaved, all results compared.

Tables and queries are made once by DuckDB's extension for TPC-DS, which PyPI has for another version of DuckDB than the one that is measured:
that one gets an environment of its own.
"""

import functools
import shutil
import subprocess
import sys
import tempfile
import venv
from fractions import Fraction
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / part) for part in ("python", "scripts")]

import datasets  # noqa: E402
import quiver  # noqa: E402
from compare import row_differences  # noqa: E402
from engines import DuckDB, Quiver  # noqa: E402
from report import machine_line  # noqa: E402
from tpch import common_arguments, geometric_mean, load_duckdb, load_quiver, machine, measure, save  # noqa: E402

GENERATOR = ["duckdb==1.5.5", "duckdb-extension-tpcds==1.5.5"]
WORST = 15
# Quiver divides decimals into decimals of some more digits, and DuckDB into doubles; several queries compute further with them.
QUOTIENTS_RELATIVE = Fraction(1, 10**6)


def main() -> int:
    parser = common_arguments(__doc__, "engine")
    parser.set_defaults(rounds=3)
    options = parser.parse_args()
    files = generated(options.scale)
    numbers = [int(number) for number in options.queries.split(",")] if options.queries else range(1, 100)
    queries = {number: (files / f"q{number:02}.sql").read_text() for number in numbers}
    tables = {path.stem: path for path in sorted(files.glob("*.parquet"))}
    compare = functools.partial(row_differences, relative=QUOTIENTS_RELATIVE)
    scratch = Path(tempfile.mkdtemp(prefix="quiver-bench-"))
    engines = []
    try:
        store, of_store = load_quiver(tables, options, "tpcds-quiver")
        database, of_database = load_duckdb(tables, options, "tpcds-duckdb")
        engines = [Quiver(store, options.threads, scratch), DuckDB(database, options.threads, scratch)]
        measured = {number: measure(number, sql, engines, options.rounds, compare) for number, sql in queries.items()}
    finally:
        for engine in engines:
            engine.close()
        shutil.rmtree(scratch, ignore_errors=True)
    result = {"machine": machine(options), "loads": {"Quiver": of_store, "DuckDB": of_database}, "queries": measured}
    result["geometric_mean"] = geometric_mean(measured)
    result["planning"] = planning(store, queries, options.threads)
    save(f"tpcds-sf{float(options.scale):g}", text_report(result), result, options)
    return 1 if any(query["problems"] for query in measured.values()) else 0


def generated(scale: str) -> Path:
    """The directory with the tables and queries of that scale."""
    target = datasets.cache_dir() / f"tpcds-sf{float(scale):g}"
    if target.is_dir():
        return target
    environment = datasets.cache_dir() / "venv-tpcds"
    python = environment / "bin" / "python"
    ready = environment / ".ready"
    if not ready.exists():
        venv.create(environment, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *GENERATOR], check=True)
        ready.touch()
    print(f"making TPC-DS at scale {scale} in {target}", file=sys.stderr)
    with datasets.whole_directory(target) as making:
        subprocess.run([python, HERE / "tpcds_data.py", scale, making], check=True)
    return target


def planning(store: Path, queries: dict[int, str], threads: int) -> dict[int, tuple[float, float]]:
    """Milliseconds of planning and of the whole statement, of the fastest of three runs after two: optimised plans are kept by then."""
    shares = {}
    with quiver.open(store, threads=threads, read_only=True) as con:
        for number, sql in queries.items():
            runs = []
            for _ in range(5):
                result = con.sql(sql.rstrip().rstrip(";"))
                result.arrow()
                runs.append((result.stats.elapsed_ms, result.stats.planning_ms))
            elapsed_ms, planning_ms = min(runs[2:])
            shares[number] = (planning_ms, elapsed_ms)
    return shares


def text_report(result: dict) -> str:
    described = result["machine"]
    lines = [
        f"TPC-DS scale {described['scale']}, {described['threads']} threads each, warm, interleaved, best of {described['rounds']}; times in ms",
        machine_line(described),
        "",
    ]
    timed = {}
    for number, query in result["queries"].items():
        if query["problems"]:
            lines.append(f"Q{number}: {query['problems'][0]}")
        else:
            timed[number] = [min(times) for times in query["times_ms"].values()]
    sums = [sum(times[engine] for times in timed.values()) for engine in (0, 1)]
    lines.append(f"{len(timed)} of {len(result['queries'])} results equal; sums {sums[0]:.0f} and {sums[1]:.0f} ms")
    lines.append(
        f"geometric mean of Quiver / DuckDB: {result['geometric_mean']['best']:.2f} (of medians: {result['geometric_mean']['median']:.2f})"
    )
    over = [number for number, (ours, theirs) in timed.items() if ours > 1.5 * theirs]
    lines += [f"over 1.5: {len(over)} queries", "", f"{'query':<8} {'Quiver':>8} {'DuckDB':>8} {'ratio':>6}"]
    for number, (ours, theirs) in sorted(timed.items(), key=lambda item: item[1][1] / item[1][0])[:WORST]:
        lines.append(f"Q{number:<7} {ours:8.1f} {theirs:8.1f} {ours / theirs:6.2f}")
    of_planning, of_all = (sum(times) for times in zip(*result["planning"].values()))
    most = max(result["planning"].items(), key=lambda item: item[1][0] / item[1][1])
    over_tenth = sum(planning_ms > elapsed_ms / 10 for planning_ms, elapsed_ms in result["planning"].values())
    lines.append(
        f"planning: {of_planning:.0f} of Quiver's {of_all:.0f} ms; over a tenth in {over_tenth} queries, most in Q{most[0]}:"
        f" {most[1][0]:.1f} of {most[1][1]:.1f} ms"
    )
    for name, load in result["loads"].items():
        lines.append(f"{name}: loaded in {load['load_s']:.1f} s, {load['size_bytes'] / 2**30:.2f} GiB")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
