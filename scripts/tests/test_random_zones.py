"""Random queries over one table of many zones have the answers of DuckDB.

The tables of test_random_queries.py have few zones. Here filters that are made while a query runs (`min` and `max`, ORDER BY with LIMIT,
joins) exclude most zones: `SELECT min(id), max(id + 1) FROM t` once lost the rows that `min(id)` did not need. `ZONE_QUERIES` and
`RANDOM_SEED` ask for another run.
"""

import os
import tempfile
import unittest
from random import Random

import duckdb
from random_answers import difference
from random_engines import AS_QUIVER, quiver, rows_of

ROWS = 300_000
MANY = f"""CREATE TABLE z AS SELECT g AS id, {ROWS} - g AS d, (g * 7919) % 100003 AS r, g / 20000 AS k,
    CASE WHEN g % 7 > 0 THEN (g * 31) % 1009 END AS n, 'x' || CAST((g * 37) % 9973 AS VARCHAR) AS s,
    CASE g % 11 WHEN 0 THEN CAST('NaN' AS DOUBLE) WHEN 2 THEN -0e0 WHEN 3 THEN 0e0 WHEN 4 THEN NULL
        ELSE CAST((g * 17) % 5003 AS DOUBLE) / 8 - 200 END AS f,
    CAST((g * 3) % 1000 AS DECIMAL(12,2)) AS p, DATE '2020-01-01' + CAST(g / 4000 AS INTEGER) AS day, g % 3 = 0 AS b,
    CASE WHEN g > 170000 THEN {ROWS} + g * 11 % 70001 END AS late FROM generate_series(1, {ROWS}) AS t(g)"""
FEW = """CREATE TABLE j AS SELECT x * x * 37 AS id, (x * 13) % 1000 AS n, x AS y, 'x' || CAST((x * 41) % 9973 AS VARCHAR) AS s,
    CAST((x * 29) % 5003 AS DOUBLE) / 8 - 200 AS f, DATE '2020-01-05' + CAST(x AS INTEGER) AS day FROM generate_series(1, 60) AS t(x)"""
NUMBERS = ["id", "d", "r", "k", "n", "p"]
COLUMNS = [*NUMBERS, "s", "day", "late"]
COMPUTED = ["(id + 1)", "(-d)", "(r * 2 - n)", "upper(s)", "(id % 5000)", "abs(d - 1000)", "coalesce(n, -5)", "CASE WHEN b THEN id END",
            "date_trunc('month', day)", "nullif(k, 3)", "(length(s) > 4)", "sqrt(r)", "(n > 500 AND id - 5 > 1000)", "round(p / 3, 1)", "(s LIKE 'x1%')",
            "(k IN (1, 2))", "date_part('doy', day)", "(day + 3)", "greatest(n, k)", "(s || 'a')", "(n IS NULL)", "-abs(r - 700)", "floor(p / 7)",
            "(NOT b)", "left(s, 3)", "((id - 9) * (k - 3))", "ln(id)"]  # fmt: skip
CONDITIONS = ["id % 2 = 0", "id > 170000", "r < 30000", "n IS NULL", "n = 77", "b", "NOT b", "k IN (3, 7, 11)", "s LIKE 'x1%'",
              "day < DATE '2020-02-03'", "f > 0", "f IS NOT NULL"]  # fmt: skip
KEYS = ["z.id = j.id", "z.n = j.n", "z.id = j.id AND z.r > j.y", "z.day = j.day AND z.n = j.n", "z.s = j.s AND z.k < 5",
        "z.f = j.f AND z.k = 2", "z.n + 1 = j.n AND z.k = 4"]  # fmt: skip
SETS = [
    "SELECT id FROM j",
    "SELECT n FROM j WHERE y > 10",
    "SELECT id FROM z WHERE k = 2 ORDER BY d LIMIT 20",
    "SELECT max(id) FROM z GROUP BY k",
]


class Queries:
    """Each kind gives a query, and whether its rows are in order."""

    def __init__(self, random: Random):
        self.random, self.one = random, random.choice

    def next(self) -> tuple[str, bool]:
        return self.one(
            [self.extremes, self.first, self.joined, self.first_joined, self.within, self.grouped, self.distinct, self.above, self.ranked]
        )()

    def extremes(self) -> tuple[str, bool]:
        return f"SELECT {self.several(self.aggregate)} FROM z{self.where()}", False

    def first(self) -> tuple[str, bool]:
        return (
            f"SELECT id, {self.value()}, {self.value()} FROM z{self.where()} ORDER BY {self.several(self.key)}, id LIMIT {self.limit()}",
            True,
        )

    def joined(self) -> tuple[str, bool]:
        of_both = lambda: self.one(["count(*)", "min(z.id)", "max(z.id + 0)", "max(j.y)", "min(z.s)", "sum(j.y)", "max(z.d)"])  # noqa: E731
        return f"SELECT {self.several(of_both)} FROM z {self.join()} j ON {self.one(KEYS)}", False

    def first_joined(self) -> tuple[str, bool]:
        key = self.one(["z.d", "z.id DESC", "j.y", "z.r", "z.n DESC", "z.k, z.d"])
        return f"SELECT z.id, j.y, z.d FROM z {self.join()} j ON {self.one(KEYS)} ORDER BY {key}, z.id, j.y LIMIT {self.limit()}", True

    def within(self) -> tuple[str, bool]:
        return (
            f"SELECT {self.several(self.aggregate)} FROM z WHERE {self.one(['id', 'n', 'd'])} {self.one(['IN', 'NOT IN'])} ({self.one(SETS)})",
            False,
        )

    def grouped(self) -> tuple[str, bool]:
        order = self.one(["2", "2 DESC", "k DESC", "3"])
        return (
            f"SELECT k, {self.aggregate()}, {self.aggregate()} FROM z{self.where()} GROUP BY k ORDER BY {order}, k LIMIT {self.limit()}",
            True,
        )

    def distinct(self) -> tuple[str, bool]:
        value = self.value()
        return self.one([
            f"SELECT {value} AS v, {self.aggregate()} FROM z{self.where()} GROUP BY {value} ORDER BY v NULLS FIRST LIMIT {self.limit()}",
            f"SELECT DISTINCT {value} AS v FROM z{self.where()} ORDER BY v NULLS LAST LIMIT {self.limit()}",
            f"SELECT DISTINCT ON (k) k, id FROM z{self.where()} ORDER BY k, {self.key()}, id",
        ]), True  # fmt: skip

    def above(self) -> tuple[str, bool]:
        of_query = lambda: self.one(["min(a)", "max(a)", "max(b + 0)", "min(c)", "count(*)", "max(a + 1)"])  # noqa: E731
        end = self.one(["", " ORDER BY d, id LIMIT 10", " ORDER BY d, id LIMIT 30000", " UNION ALL SELECT id, y, NULL FROM j"])
        query = f"SELECT {self.one(NUMBERS)} AS a, {self.one(NUMBERS)} AS b, {self.one(['s', 'day'])} AS c FROM z{self.where()}{end}"
        return f"SELECT {self.several(of_query)} FROM ({query}) AS x", False

    def ranked(self) -> tuple[str, bool]:
        rank = f"row_number() OVER (PARTITION BY k ORDER BY {self.key()}, id)"
        return (
            f"SELECT * FROM (SELECT k, id, {self.value()} AS e, {rank} AS w FROM z{self.where()}) AS x WHERE w <= 3 ORDER BY k, w LIMIT 40",
            True,
        )

    def several(self, part) -> str:
        return ", ".join(part() for _ in range(self.random.randint(1, 3)))

    def value(self) -> str:
        return self.one(COLUMNS if self.random.random() < 0.7 else COMPUTED)

    def key(self) -> str:
        return f"{self.value()} {self.one(['ASC', 'DESC'])} NULLS {self.one(['FIRST', 'LAST'])}"

    def aggregate(self) -> str:
        call = f"{self.one(['min', 'max'])}({self.value()})"
        call = self.one(
            [call, call, call, self.one(["count(*)", "sum(id)", "count(DISTINCT k)", "max(f + 0)", "min(f + 0)", "bool_or(b)"])]
        )
        return call if self.random.random() < 0.8 else f"{call} FILTER (WHERE {self.one(CONDITIONS)})"

    def where(self) -> str:
        return self.one(["", f" WHERE {self.one(CONDITIONS)}", f" WHERE {self.one(CONDITIONS)} AND {self.one(CONDITIONS)}"])

    def join(self) -> str:
        return self.one(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])

    def limit(self) -> str:
        return self.one(["1", "5", "100", "20 OFFSET 3"])


class RandomZones(unittest.TestCase):
    def test_queries_that_exclude_zones_while_they_run_have_the_answers_of_duckdb(self):
        random = Random(int(os.environ.get("RANDOM_SEED") or 20261127))
        queries = Queries(random)
        with tempfile.TemporaryDirectory() as directory, quiver.open(f"{directory}/store") as store, duckdb.connect() as beside:
            for statement in AS_QUIVER:
                beside.execute(statement)
            for statement in (MANY, FEW):
                store.sql(statement)
                beside.execute(statement)
            for number in range(int(os.environ.get("ZONE_QUERIES") or 250)):
                store.sql(f"SET threads = {random.choice([1, 2, 2, 5])}")
                query, in_order = queries.next()
                with self.subTest(number=number, query=query):
                    found = difference(beside.execute(query).fetchall(), rows_of(store.sql(query)), in_order)
                    self.assertIsNone(found)


if __name__ == "__main__":
    unittest.main()
