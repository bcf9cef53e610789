"""Objects by their tags, beside SQLite and DuckDB: building, sizes and searches, in one process and one run.

1,000,000 objects have 16 tags each, of 200 names, with 1,000 integer values, and three kinds of searches: one value of a tag (Q1), one
of each of four tags (Q2), one value and a range of a tenth of the values of another tag (Q3). All answers are compared.
"""

from __future__ import annotations

import argparse
import json
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))

import quiver  # noqa: E402

NAMES = 200
VALUES = 1_000
RANGE = VALUES // 10

Condition = list[tuple[str, int, int]]
"""Tag, least and greatest value."""


class Data:
    def __init__(self, objects: int, tags_each: int):
        random = np.random.default_rng(99)
        self.objects, self.tags_each = objects, tags_each
        self.keys = np.empty((objects, tags_each), np.int16)
        for first in range(0, objects, 50_000):
            rows = min(50_000, objects - first)
            shuffled = random.random((rows, NAMES), dtype=np.float32)
            self.keys[first : first + rows] = np.argpartition(shuffled, tags_each - 1, axis=1)[:, :tags_each]
        self.values = random.integers(0, VALUES, (objects, tags_each), dtype=np.int64)

    def table(self) -> pa.Table:
        """A row for each object: its name, no bytes, and a map of tags."""
        names = pa.array([f"k{key}" for key in range(NAMES)])
        keys = pa.DictionaryArray.from_arrays(pa.array(self.keys.ravel().astype(np.int32)), names).cast(pa.string())
        offsets = np.arange(0, self.objects * self.tags_each + 1, self.tags_each, dtype=np.int32)
        tags = pa.MapArray.from_arrays(pa.array(offsets), keys, pa.array(self.values.ravel()))
        ids = pa.array([f"o{number}" for number in range(self.objects)])
        return pa.table({"name": ids, "content": pa.array([b""] * self.objects, pa.binary()), "tags": tags})

    def queries(self, number: int) -> dict[str, list[Condition]]:
        random = np.random.default_rng(4)
        queries: dict[str, list[Condition]] = {"Q1": [], "Q2": [], "Q3": []}
        for _ in range(number):
            row = int(random.integers(self.objects))
            columns = random.permutation(self.tags_each)[:4]
            exact = [(f"k{self.keys[row, at]}", int(self.values[row, at]), int(self.values[row, at])) for at in columns]
            name, value, _ = exact[-1]
            low = max(0, min(VALUES - RANGE, value - RANGE // 2))
            queries["Q1"].append(exact[:1])
            queries["Q2"].append(exact)
            queries["Q3"].append([exact[0], (name, low, low + RANGE - 1)] if len(exact) > 1 else exact)
        return queries


class Quiver:
    """Objects are blobs without bytes."""

    name = "Quiver"

    def __init__(self, directory: Path):
        self.path = directory / "store"
        self.con = quiver.open(self.path)

    def build(self, data: Data) -> None:
        rows = data.table()
        began = time.perf_counter()
        self.con.register("rows", rows)
        self.con.sql("COPY BLOBS FROM rows")
        self.build_s = time.perf_counter() - began
        self.con.unregister("rows")
        named = self.con.sql("SELECT object_id, CAST(substr(name, 2) AS BIGINT) AS number FROM system.blobs").numpy()
        # Rows of a query come in any order, and so do the ids.
        self.first = int(named["object_id"].min())
        self.numbers = np.zeros(int(named["object_id"].max()) - self.first + 1, np.int64)
        self.numbers[named["object_id"] - self.first] = named["number"]
        self.ids = np.zeros(data.objects, np.int64)
        self.ids[named["number"]] = named["object_id"]
        sizes = {path: path.stat().st_size for path in self.path.glob("segments/*/*")}
        self.index_bytes = sum(size for path, size in sizes.items() if path.name.endswith(".index.arrow"))
        self.all_bytes = sum(sizes.values())
        self.con.close()
        began = time.perf_counter()
        self.con = quiver.open(self.path)
        self.open_ms = (time.perf_counter() - began) * 1e3

    def find(self, condition: Condition) -> list[int]:
        return self.con.find_ids({tag: low if low == high else (low, high) for tag, low, high in condition})

    def numbers_of(self, found: list[int]) -> list[int]:
        return self.numbers[np.array(found, np.int64) - self.first].tolist()

    def tag(self, numbers: list[int]) -> None:
        self.con.tag(pa.table({"object_id": pa.array(self.ids[numbers]), "reviewed": pa.array([1] * len(numbers))}))


class Sqlite:
    """A row for each tag without rowid, an index over tag, value and object, and EXISTS for each further condition."""

    name = "SQLite"

    def __init__(self, directory: Path):
        self.path = directory / "meta.sqlite"
        self.con = sqlite3.connect(self.path, isolation_level=None)
        for pragma in ("page_size=4096", "journal_mode=OFF", "synchronous=OFF", "cache_size=-1000000", "temp_store=MEMORY"):
            self.con.execute(f"pragma {pragma}")

    def build(self, data: Data) -> None:
        began = time.perf_counter()
        self.con.execute("CREATE TABLE attr (object_id INTEGER, key INTEGER, value INTEGER, PRIMARY KEY (object_id, key)) WITHOUT ROWID")
        self.con.execute("BEGIN")
        objects = np.repeat(np.arange(data.objects), data.tags_each)
        keys, values = data.keys.ravel(), data.values.ravel()
        for first in range(0, len(objects), 1_600_000):
            part = slice(first, first + 1_600_000)
            rows = zip(objects[part].tolist(), keys[part].tolist(), values[part].tolist(), strict=True)
            self.con.executemany("INSERT INTO attr VALUES (?, ?, ?)", rows)
        self.con.execute("COMMIT")
        rows_bytes = self.path.stat().st_size
        self.con.execute("CREATE INDEX ix ON attr (key, value, object_id)")
        self.build_s = time.perf_counter() - began
        self.all_bytes = self.path.stat().st_size
        self.index_bytes = self.all_bytes - rows_bytes
        self.con.close()
        began = time.perf_counter()
        self.con = sqlite3.connect(self.path, isolation_level=None)
        self.con.execute("pragma cache_size=-1500000")
        self.con.execute("pragma mmap_size=4000000000")
        self.con.execute("SELECT 1 FROM attr LIMIT 1").fetchall()
        self.open_ms = (time.perf_counter() - began) * 1e3

    def numbers_of(self, found: list[int]) -> list[int]:
        return found

    def find(self, condition: Condition) -> list[int]:
        tests = ["a.key = ? AND a.value BETWEEN ? AND ?" if low != high else "a.key = ? AND a.value = ?" for _, low, high in condition]
        others = [
            f" AND EXISTS (SELECT 1 FROM attr b WHERE b.object_id = a.object_id AND {test.replace('a.', 'b.')})" for test in tests[1:]
        ]
        values = [value for tag, low, high in condition for value in ((int(tag[1:]), low) if low == high else (int(tag[1:]), low, high))]
        sql = f"SELECT object_id FROM attr a WHERE {tests[0]}{''.join(others)}"
        return [number for (number,) in self.con.execute(sql, values)]

    def tag(self, numbers: list[int]) -> None:
        self.con.execute("BEGIN")
        self.con.executemany("INSERT INTO attr VALUES (?, ?, 1)", ((number, NAMES) for number in numbers))
        self.con.execute("COMMIT")


class DuckDB:
    """Rows sorted by tag, value and object, so that its zone maps prune."""

    name = "DuckDB"

    def __init__(self, directory: Path):
        self.path = directory / "meta.duckdb"
        self.con = duckdb.connect(self.path, config={"threads": 2})

    def build(self, data: Data) -> None:
        rows = pa.table(
            {
                "object_id": np.repeat(np.arange(data.objects, dtype=np.int32), data.tags_each),
                "key": data.keys.ravel(),
                "value": data.values.ravel().astype(np.int32),
            }
        )
        began = time.perf_counter()
        self.con.register("given", rows)
        self.con.execute("CREATE TABLE attr AS SELECT * FROM given ORDER BY key, value, object_id")
        self.con.execute("CHECKPOINT")
        self.build_s = time.perf_counter() - began
        self.con.unregister("given")
        self.all_bytes, self.index_bytes = self.path.stat().st_size, 0
        self.con.close()
        began = time.perf_counter()
        self.con = duckdb.connect(self.path, config={"threads": 2})
        self.open_ms = (time.perf_counter() - began) * 1e3

    def numbers_of(self, found: list[int]) -> list[int]:
        return found

    def find(self, condition: Condition) -> list[int]:
        parts = ["SELECT object_id FROM attr WHERE key = ? AND value BETWEEN ? AND ?"] * len(condition)
        values = [value for tag, low, high in condition for value in (int(tag[1:]), low, high)]
        return [number for (number,) in self.con.execute(" INTERSECT ".join(parts), values).fetchall()]

    def tag(self, numbers: list[int]) -> None:
        given = pa.table({"object_id": pa.array(numbers, pa.int32()), "key": [NAMES] * len(numbers), "value": [1] * len(numbers)})
        self.con.register("given", given)
        self.con.execute("INSERT INTO attr SELECT * FROM given")
        self.con.unregister("given")


def rate(find: Callable[[Condition], list[int]], queries: list[Condition]) -> float:
    began = time.perf_counter()
    for query in queries:
        find(query)
    return len(queries) / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--tags", type=int, default=16, help="tags of each object")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    data = Data(args.objects, args.tags)
    with tempfile.TemporaryDirectory(prefix="quiver-bench-") as directory:
        engines: list[Any] = [made(Path(directory)) for made in (Quiver, Sqlite, DuckDB)]
        for engine in engines:
            engine.build(data)
        queries = data.queries(2_000)
        report: dict[str, dict[str, float]] = {engine.name: {} for engine in engines}
        for kind, of_kind in queries.items():
            for query in of_kind[:20]:
                answers = [sorted(engine.numbers_of(engine.find(query))) for engine in engines]
                if any(answer != answers[0] for answer in answers):
                    raise SystemExit(f"{kind}: the answers to {query} differ")
            for _ in range(args.rounds):
                for engine in engines:
                    some = of_kind if engine.name != "DuckDB" else of_kind[:100]
                    report[engine.name][kind] = max(report[engine.name].get(kind, 0), rate(engine.find, some))
        step = max(1, args.objects // 100_000)
        for first in range(min(args.rounds, step)):
            numbers = list(range(first, args.objects, step))[:100_000]
            for engine in engines:
                began = time.perf_counter()
                engine.tag(numbers)
                tags_per_s = len(numbers) / (time.perf_counter() - began)
                report[engine.name]["tags added per s"] = max(report[engine.name].get("tags added per s", 0), tags_per_s)
        for engine in engines:
            of_engine = report[engine.name]
            of_engine["build s"], of_engine["open ms"] = engine.build_s, engine.open_ms
            of_engine["index MB"], of_engine["all MB"] = engine.index_bytes / 1e6, engine.all_bytes / 1e6
            of_engine["index bytes per tag"] = engine.index_bytes / (args.objects * args.tags)
            engine.con.close()
    print(f"{args.objects:,} objects with {args.tags} tags each, {platform.machine()}, best of {args.rounds} rounds in turn\n")
    columns = ["build s", "index MB", "all MB", "index bytes per tag", "open ms", "Q1", "Q2", "Q3", "tags added per s"]
    print("| | " + " | ".join(columns) + " |\n|" + "---|" * (len(columns) + 1))
    for name, of_engine in report.items():
        cells = [f"{of_engine[column]:,.2f}" if of_engine[column] < 100 else f"{of_engine[column]:,.0f}" for column in columns]
        print(f"| {name} | " + " | ".join(cells) + " |")
    if args.json:
        args.json.write_text(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
