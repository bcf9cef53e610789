"""`make bench-groups`: groups, ranks and joins in one process, Quiver beside DuckDB's native tables, all results compared.

The ten questions about groups and the five about joins are those of db-benchmark (h2o.ai, later DuckDB Labs), on tables made as it makes them:
`rows` rows, 100 groups, or `rows` / 100. Questions about ranks and sets of groups come after them. With `--switch` each question also runs with an
optimisation of Quiver off.
"""

import argparse
import math
import statistics
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy
import pyarrow
import pyarrow.compute
import report

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import quiver

GROUPS = 100
QUESTIONS = {
    "1": "SELECT id1, sum(v1) AS v1 FROM x GROUP BY id1",
    "2": "SELECT id1, id2, sum(v1) AS v1 FROM x GROUP BY id1, id2",
    "3": "SELECT id3, sum(v1) AS v1, avg(v3) AS v3 FROM x GROUP BY id3",
    "4": "SELECT id4, avg(v1) AS v1, avg(v2) AS v2, avg(v3) AS v3 FROM x GROUP BY id4",
    "5": "SELECT id6, sum(v1) AS v1, sum(v2) AS v2, sum(v3) AS v3 FROM x GROUP BY id6",
    "6": "SELECT id4, id5, median(v3) AS median_v3, stddev(v3) AS sd_v3 FROM x GROUP BY id4, id5",
    "7": "SELECT id3, max(v1) - min(v2) AS range_v1_v2 FROM x GROUP BY id3",
    "8": "SELECT id6, v3 FROM (SELECT id6, v3, row_number() OVER (PARTITION BY id6 ORDER BY v3 DESC) AS n FROM x WHERE v3 IS NOT NULL) AS r WHERE n <= 2",
    "9": "SELECT id2, id4, pow(corr(v1, v2), 2) AS r2 FROM x GROUP BY id2, id4",
    "10": "SELECT id1, id2, id3, id4, id5, id6, sum(v3) AS v3, count(*) AS n FROM x GROUP BY id1, id2, id3, id4, id5, id6",
    "join tiny": "SELECT x.*, tiny.id4 AS tiny_id4, tiny.v2 AS v4 FROM j AS x JOIN tiny USING (id1)",
    "join small": "SELECT x.*, small.id4 AS small_id4, small.v2 AS v4 FROM j AS x JOIN small USING (id2)",
    "join small, left": "SELECT x.*, small.id4 AS small_id4, small.v2 AS v4 FROM j AS x LEFT JOIN small USING (id2)",
    "join small, by text": "SELECT x.*, small.id4 AS small_id4, small.v2 AS v4 FROM j AS x JOIN small USING (id5)",
    "join big": "SELECT x.*, big.v2 AS v4 FROM j AS x JOIN big USING (id3)",
    "largest 2 of 100 groups": "SELECT id4, v3 FROM x QUALIFY row_number() OVER (PARTITION BY id4 ORDER BY v3 DESC) <= 2",
    "largest 100 of 100 groups": "SELECT id4, v3 FROM x QUALIFY rank() OVER (PARTITION BY id4 ORDER BY v3 DESC) <= 100",
    "first row of each group": "SELECT * FROM x QUALIFY row_number() OVER (PARTITION BY id6 ORDER BY v3, id1, id2, id3, id4, id5, v1, v2) = 1",
    "largest 2 of groups of a row": "SELECT id3, id6, v3 FROM x QUALIFY row_number() OVER (PARTITION BY id3, id6 ORDER BY v3 DESC) <= 2",
    "rollup of 3": "SELECT id1, id4, v2, sum(v1) AS v1, avg(v3) AS v3 FROM x GROUP BY ROLLUP (id1, id4, v2)",
    "cube of 3": "SELECT id4, v1, v2, count(*) AS n, avg(v3) AS v3 FROM x GROUP BY CUBE (id4, v1, v2)",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--switch", action="append", default=[], help="such as quiver.rank_limits: also without it")
    parser.add_argument("--only", help="the questions whose names contain this")
    options = parser.parse_args()
    questions = {name: sql for name, sql in QUESTIONS.items() if not options.only or options.only in name}
    ways = ["Quiver", "DuckDB", *(f"{switch} off" for switch in options.switch)]
    with tempfile.TemporaryDirectory(prefix="quiver-bench-") as directory:
        with quiver.open(Path(directory) / "store", threads=options.threads) as con, duckdb.connect(f"{directory}/duckdb") as other:
            other.sql(f"SET threads = {options.threads}")
            for name, table in tables(options.rows):
                con.write(name, table)
                other.register("made", table)
                other.sql(f"CREATE TABLE {name} AS SELECT * FROM made")
            print(f"{options.rows:,} rows, {options.threads} threads each, warm, best of {options.rounds} in turn; ms")
            print(report.machine_line(report.machine()))
            print(f"{'':30}{''.join(f'{way:>26}' if ' off' in way else f'{way:>12}' for way in ways)}{'ratio':>8}")
            ratios, wrong = {}, []
            for name, sql in questions.items():
                times, problem = measure(sql, ways, con, other, options)
                ratios[name] = times["Quiver"] / times["DuckDB"]
                numbers = "".join(f"{times[way]:26.1f}" if " off" in way else f"{times[way]:12.1f}" for way in ways)
                print(f"{name:30}{numbers}{ratios[name]:8.2f}{'  ' + problem if problem else ''}", flush=True)
                wrong += [name] if problem else []
            mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios.values()))
            print(f"{'geometric mean':30}{'':{12 * 2 + 26 * len(options.switch)}}{mean:8.2f}")
    return 1 if wrong else 0


def tables(rows: int):
    random = numpy.random.default_rng(108)

    def texts(numbers, width: int) -> pyarrow.Array:
        known, places = numpy.unique(numbers, return_inverse=True)
        return pyarrow.array([f"id{number:0{width}d}" for number in known]).take(pyarrow.array(places))

    def some(groups: int):
        return random.integers(1, groups + 1, rows)

    few, many = GROUPS, max(1, rows // GROUPS)
    x = {"id1": texts(some(few), 3), "id2": texts(some(few), 3), "id3": texts(some(many), 10), "id4": some(few), "id5": some(few)}
    x |= {"id6": some(many), "v1": some(5), "v2": some(15), "v3": numpy.round(random.random(rows) * 100, 6)}
    yield "x", pyarrow.table(x)
    # Nine of ten keys of the left side are in the right one, and the other way round.
    sizes = [max(1, rows // 1_000_000), max(1, rows // 1_000), rows]
    known = [random.permutation(numpy.arange(1, size * 11 // 10 + 2)) for size in sizes]
    left, right = [keys[: len(keys) * 10 // 11] for keys in known], [keys[len(keys) // 11 :] for keys in known]
    j = {f"id{at + 1}": random.choice(keys, rows) if len(keys) < rows else random.permutation(keys)[:rows] for at, keys in enumerate(left)}
    j |= {f"id{at + 4}": texts(j[f"id{at + 1}"], 1) for at in range(3)}
    yield "j", pyarrow.table(j | {"v1": numpy.round(random.random(len(j["id1"])) * 100, 6)})
    for at, (name, keys) in enumerate(zip(["tiny", "small", "big"], right)):
        key = {f"id{at + 1}": keys, f"id{at + 4}": texts(keys, 1)}
        if name == "tiny":
            key = {"id1": keys, "id4": texts(keys, 1)}
        if name == "small":
            key |= {"id4": texts(keys, 2)}
        yield name, pyarrow.table(key | {"v2": numpy.round(random.random(len(keys)) * 100, 6)})


def measure(sql: str, ways: list[str], con, other, options) -> tuple[dict[str, float], str]:
    """The best milliseconds of each way, and what is wrong with a result."""
    best, sums, problem = {}, None, ""
    for number in range(options.rounds + 1):
        for way in ways:
            switch = way.removesuffix(" off") if way.endswith(" off") else None
            if switch:
                con.sql(f"SET {switch} = false")
            started = time.perf_counter()
            table = other.sql(sql).to_arrow_table() if way == "DuckDB" else con.sql(sql).arrow()
            taken = (time.perf_counter() - started) * 1e3
            if switch:
                con.sql(f"SET {switch} = true")
            # The first run warms up, and its result is compared.
            if number:
                best[way] = min(best.get(way, math.inf), taken)
                continue
            found = digest(table)
            sums = sums or found
            if len(found) != len(sums) or not all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(found, sums)):
                problem = f"WRONG: {way} has {found}, not {sums}"
    return best, problem


def digest(table: pyarrow.Table) -> list[float]:
    """How many rows there are, and of each column the sum, or the lengths of its texts."""
    sums = [float(table.num_rows)]
    for column in table.columns:
        numbers = pyarrow.compute.binary_length(column.cast(pyarrow.large_string())) if is_text(column.type) else column
        numbers = numbers.cast(pyarrow.float64())
        sums += [float(pyarrow.compute.sum(numbers).as_py() or 0), float(column.null_count)]
    return sums


def is_text(data_type: pyarrow.DataType) -> bool:
    return pyarrow.types.is_string(data_type) or pyarrow.types.is_large_string(data_type) or pyarrow.types.is_string_view(data_type)


if __name__ == "__main__":
    sys.exit(main())
