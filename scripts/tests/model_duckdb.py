"""A store and a DuckDB database that are given the same random statements: each step of the model test.

Transactions, savepoints and versions are copies of the tables in DuckDB, so that it answers queries and nothing of
its own transactions or constraints is under test.
"""

import math
import tempfile
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random

import duckdb
from model_sql import KINDS, Columns, changed, computed, condition, first_columns, id_condition, literal, query
from quiver_shell import Failed, Shell

VERSIONS_KEPT = 6
ROWS_MAX = 12_000
STEPS = {
    "insert_values": 22, "insert_series": 10, "insert_select": 4, "overwrite": 1, "update": 14, "update_from": 3, "delete": 9,
    "delete_using": 2, "merge": 6, "on_conflict": 8, "truncate": 1, "violate": 2, "begin_or_end": 12, "savepoint": 5,
    "alter": 5, "restore": 2, "upkeep": 5, "travel": 7, "reopen": 1, "crash": 2, "look": 26,
}  # fmt: skip


class Differs(Exception):
    """Both answers, where they are not the same."""


class Model:
    def __init__(self, seed: int, directory: Path):
        self.random = Random(seed)
        self.quiver = Shell(directory / "store")
        self.duckdb = duckdb.connect()
        self.script = (directory / "statements.sql").open("w")
        self.tables: dict[str, Columns] = {"a": first_columns(), "b": first_columns()}
        self.top_id = 0
        self.names = 0
        self.is_open = False
        self.has_savepoint = False
        self.may_conflict = False
        self.defaults: dict[str, dict[str, str]] = {"a": {}, "b": {}}
        self.kept: dict[str, dict[str, Columns]] = {}
        for table, key, order in [("a", " PRIMARY KEY", ""), ("b", "", " ORDER BY (id)")]:
            columns = ", ".join(f"{name} {kind}" for name, kind in self.tables[table].items())
            self.both(f"CREATE TABLE {table} ({columns.replace('BIGINT', 'BIGINT' + key, 1)}){order}", f"CREATE TABLE {table} ({columns})")

    # Statements

    def both(self, sql: str, in_duckdb: str | None = None) -> None:
        self.only_quiver(sql)
        self.duckdb.execute(in_duckdb or sql)

    def only_quiver(self, sql: str) -> list[list[str | None]]:
        self.script.write(f"{sql};\n")
        self.script.flush()
        return self.quiver.run(sql)

    def same(self, sql: str, in_duckdb: str | None = None) -> None:
        found = self.only_quiver(sql)
        cursor = self.duckdb.execute(in_duckdb or sql)
        expected = cursor.fetchall()
        for at, (line, row) in enumerate(zip(found, expected)):
            if not (len(line) == len(row) and all(map(equal, line, row))):
                raise Differs(f"{sql}\nrow {at} of Quiver: {line}\nrow {at} of DuckDB: {row}")
        if len(found) != len(expected):
            raise Differs(f"{sql}\n{len(found)} rows of Quiver, {len(expected)} of DuckDB")

    # Copies of tables in DuckDB

    def keep(self, label: str) -> None:
        for table in self.tables:
            self.duckdb.execute(f"CREATE OR REPLACE TABLE {label}_{table} AS FROM {table}")
        self.kept[label] = {table: dict(columns) for table, columns in self.tables.items()}
        self.kept[label]["defaults"] = {table: dict(defaults) for table, defaults in self.defaults.items()}

    def go_back(self, label: str, tables: list[str] | None = None) -> None:
        for table in tables or list(self.tables):
            self.duckdb.execute(f"CREATE OR REPLACE TABLE {table} AS FROM {label}_{table}")
            self.tables[table] = dict(self.kept[label][table])
            self.defaults[table] = dict(self.kept[label]["defaults"][table])
            for name, default in self.defaults[table].items():
                self.duckdb.execute(f"ALTER TABLE {table} ALTER COLUMN {name} SET DEFAULT {default}")

    def versions(self) -> list[str]:
        return [label for label in self.kept if label.startswith("version_")]

    def remember(self) -> None:
        if self.is_open or self.random.random() > 0.2:
            return
        [[version, time]] = self.only_quiver("SELECT version, committed_at FROM system.snapshots ORDER BY version DESC LIMIT 1")
        self.keep(f"version_{version}")
        self.kept[f"version_{version}"]["time"] = time
        if len(self.versions()) > VERSIONS_KEPT:
            gone = self.random.choice(self.versions())
            del self.kept[gone]
            for table in self.tables:
                self.duckdb.execute(f"DROP TABLE {gone}_{table}")

    # Steps

    def step(self) -> None:
        [name] = self.random.choices(list(STEPS), weights=list(STEPS.values()))
        self.script.write(f"-- {name}\n")
        getattr(self, name)()
        for table in self.tables:
            if self.count(table) > ROWS_MAX:
                self.both(f"DELETE FROM {table} WHERE id < {self.top_id - 2000}")
        self.remember()

    def count(self, table: str) -> int:
        return self.duckdb.execute(f"SELECT count(*) FROM {table}").fetchone()[0]

    def table(self) -> str:
        return self.random.choice(list(self.tables))

    def some(self, table: str, alias: str = "") -> str:
        return condition(self.random, self.tables[table], self.top_id, alias)

    def below(self, end: int) -> int:
        return self.random.randrange(end)

    def others(self, table: str) -> list[str]:
        return [name for name in self.tables[table] if name != "id"]

    def insert_values(self) -> None:
        table, count = self.table(), self.random.choice([1, 1, 1, 2, 9])
        names = ["id", *self.random.sample(self.others(table), k=self.random.choice([0, len(self.others(table))]))]
        rows = []
        for _ in range(count):
            values = [literal(self.random, self.tables[table][name]) for name in names[1:]]
            rows.append(f"({', '.join([str(self.top_id), *values])})")
            self.top_id += 1
        self.both(f"INSERT INTO {table} ({', '.join(names)}) VALUES {', '.join(rows)}")

    def series(self, table: str, first: int, last: int) -> str:
        """Columns in the table's order."""
        chosen = [f"{computed(self.random, kind)} AS {name}" for name, kind in self.tables[table].items() if name != "id"]
        return f"SELECT {', '.join(['value AS id', *chosen])} FROM generate_series({first}, {last}) AS g(value)"

    def new_ids(self, count: int) -> tuple[int, int]:
        first = self.top_id
        self.top_id += count
        return first, self.top_id - 1

    def insert_series(self) -> None:
        table, most = self.table(), self.random.choice([5, 50, 50, 500, 3000, 10_000])
        self.insert_all(table, self.series(table, *self.new_ids(1 + self.below(most))))

    def insert_all(self, table: str, source: str, tail: str = "", in_duckdb: str | None = None) -> None:
        names = ", ".join(["id", *self.others(table)])
        self.both(f"INSERT INTO {table} ({names}) {source}{tail}", in_duckdb or f"INSERT INTO {table} ({names}) {source}")

    def insert_select(self) -> None:
        table, source = self.table(), self.table()
        values = []
        for name in self.others(table):
            kind = self.tables[table][name]
            same = [other for other, its in self.tables[source].items() if its == kind and other != "id"]
            values.append(self.random.choice(same) if same else literal(self.random, kind))
        ids = f"{self.top_id} + row_number() OVER (ORDER BY id)"
        self.insert_all(table, f"SELECT {', '.join([ids, *values])} FROM {source} WHERE {self.some(source)}")
        self.top_id += self.count(source) + 1

    def overwrite(self) -> None:
        table = self.table()
        source = self.series(table, *self.new_ids(1 + self.below(400)))
        self.both(f"INSERT OVERWRITE {table} {source}", f"TRUNCATE {table}; INSERT INTO {table} {source}")
        self.may_conflict = True

    def assignments(self, table: str) -> str:
        chosen = self.random.sample(self.others(table), k=min(len(self.others(table)), 1 + self.below(3)))
        return ", ".join(f"{name} = {changed(self.random, name, self.tables[table][name])}" for name in chosen)

    def update(self) -> None:
        table = self.table()
        if self.others(table):
            self.both(f"UPDATE {table} SET {self.assignments(table)} WHERE {self.some(table)}")

    def update_from(self) -> None:
        table, other = self.table(), self.table()
        columns = [(name, kind) for name, kind in self.tables[table].items() if name != "id"]
        pairs = [(name, its) for name, kind in columns for its, its_kind in self.tables[other].items() if kind == its_kind]
        if pairs:
            name, its = self.random.choice(pairs)
            on = f"{table}.id = o.id + {self.below(3)} AND {self.some(other, 'o')}"
            self.both(f"UPDATE {table} SET {name} = o.{its} FROM {other} AS o WHERE {on}")

    def delete(self) -> None:
        table = self.table()
        self.both(f"DELETE FROM {table} WHERE {self.some(table)}")

    def delete_using(self) -> None:
        table, other = self.table(), self.table()
        on = f"{table}.id = o.id + {self.below(3)} AND {id_condition(self.random, 'o.id', self.top_id)}"
        self.both(f"DELETE FROM {table} USING {other} AS o WHERE {on}")

    def near(self, most: int) -> tuple[int, int]:
        """Ids of which some are there and some are not."""
        first = max(0, self.top_id - self.below(most * 2))
        last = first + self.below(most)
        self.top_id = max(self.top_id, last + 1)
        return first, last

    def merge(self) -> None:
        table = self.table()
        source = self.series(table, *self.near(300))
        names = ["id", *self.others(table)]
        matched = [f"WHEN MATCHED AND s.id % {2 + self.below(5)} = 0 THEN DELETE"] if self.below(2) else []
        if len(names) > 1:
            matched.append(f"WHEN MATCHED THEN UPDATE SET {', '.join(f'{name} = s.{name}' for name in names[1:])}")
        if self.below(4):
            values = ", ".join(f"s.{name}" for name in names)
            matched.append(f"WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) VALUES ({values})")
        if not self.below(5) or not matched:
            matched.append(f"WHEN NOT MATCHED BY SOURCE AND {id_condition(self.random, 't.id', self.top_id)} THEN DELETE")
        self.both(f"MERGE INTO {table} AS t USING ({source}) AS s ON t.id = s.id {' '.join(matched)}")

    def on_conflict(self) -> None:
        source = self.series("a", *self.near(self.random.choice([2, 30, 600])))
        names = ["id", *self.others("a")]
        new = f"WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) VALUES ({', '.join(f's.{name}' for name in names)})"
        merge = f"MERGE INTO a AS t USING ({source}) AS s ON t.id = s.id"
        if len(names) == 1 or self.below(2):
            self.insert_all("a", source, " ON CONFLICT (id) DO NOTHING", f"{merge} {new}")
            return
        chosen = self.random.sample(names[1:], k=min(2, len(names) - 1))
        where = id_condition(self.random, "a.id", self.top_id)
        update = f" ON CONFLICT (id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in chosen)} WHERE {where}"
        matched = f"WHEN MATCHED AND {where.replace('a.id', 't.id')} THEN UPDATE SET {', '.join(f'{name} = s.{name}' for name in chosen)}"
        self.insert_all("a", source, update, f"{merge} {matched} {new}")

    def truncate(self) -> None:
        self.both(f"TRUNCATE TABLE {self.table()}")
        self.may_conflict = True

    def violate(self) -> None:
        """A key that is there: the whole statement is refused, and ends the shell and its transaction."""
        found = self.duckdb.execute("SELECT id FROM a ORDER BY hash(id) LIMIT 1").fetchone()
        if not found:
            return
        try:
            self.only_quiver(f"INSERT INTO a (id) VALUES ({self.top_id}), ({found[0]})")
        except Failed as error:
            if "a_pkey" not in str(error):
                raise
        else:
            raise Differs(f"the key {found[0]} was accepted twice")
        self.ended("-- ended by the error")

    def begin_or_end(self) -> None:
        if not self.is_open:
            self.only_quiver("BEGIN")
            self.keep("begin")
            self.is_open, self.has_savepoint, self.may_conflict = True, False, False
            return
        if self.below(3) == 0:
            self.is_open = False
            self.only_quiver("ROLLBACK")
            self.go_back("begin")
            return
        try:
            self.only_quiver("COMMIT")
            self.is_open = False
        except Failed as error:
            if not (self.may_conflict and "another transaction changed table" in str(error)):
                raise
            self.ended("-- ended by a conflict")

    def savepoint(self) -> None:
        if self.is_open and self.has_savepoint and self.below(2):
            self.only_quiver("ROLLBACK TO SAVEPOINT p")
            self.go_back("savepoint")
        elif self.is_open:
            self.only_quiver("SAVEPOINT p")
            self.keep("savepoint")
            self.has_savepoint = True

    def alter(self) -> None:
        table, action = self.table(), self.below(3)
        columns, others = self.tables[table], self.others(table)
        self.names += 1
        new = f"c{self.names}"
        if action == 0 and len(others) < 10:
            kind = self.random.choice(KINDS)
            default = literal(self.random, kind) if self.below(2) else "NULL"
            self.both(f"ALTER TABLE {table} ADD COLUMN {new} {kind} DEFAULT {default}")
            columns[new] = kind
            self.defaults[table][new] = default
        elif action == 1 and len(others) > 3:
            gone = self.random.choice(others)
            self.both(f"ALTER TABLE {table} DROP COLUMN {gone}")
            del columns[gone]
            self.defaults[table].pop(gone, None)
        elif others:
            old = self.random.choice(others)
            self.both(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")
            self.tables[table] = {new if name == old else name: kind for name, kind in columns.items()}
            self.defaults[table] = {new if name == old else name: default for name, default in self.defaults[table].items()}

    def restore(self) -> None:
        if self.versions():
            label, table = self.random.choice(self.versions()), self.table()
            self.only_quiver(f"RESTORE TABLE {table} TO VERSION {label.removeprefix('version_')}")
            self.go_back(label, [table])
            self.may_conflict = True  # with a compaction in the background

    def upkeep(self) -> None:
        if not self.is_open:
            self.only_quiver(self.random.choice(["CHECKPOINT", "OPTIMIZE TABLE a", "OPTIMIZE TABLE b FULL", "OPTIMIZE TABLE b", "FLUSH"]))

    def travel(self) -> None:
        if not self.versions():
            return
        label, table = self.random.choice(self.versions()), self.table()
        version, time = label.removeprefix("version_"), self.kept[label]["time"]
        clause = f"FOR VERSION AS OF {version}"
        if self.below(2):
            # Another version may have been committed in the same moment, by a compaction too.
            last = f"SELECT max(version) FROM system.snapshots WHERE committed_at <= TIMESTAMPTZ '{time}'"
            if self.only_quiver(last) == [[version]]:
                clause = f"FOR SYSTEM_TIME AS OF '{time}'"
        names = ", ".join(self.kept[label][table])
        self.same(f"SELECT {names} FROM {table} {clause} ORDER BY id", f"SELECT {names} FROM {label}_{table} ORDER BY id")

    def reopen(self) -> None:
        self.quiver.close()
        self.ended("-- closed and opened")

    def crash(self) -> None:
        self.quiver.kill()
        self.ended("-- killed and opened")

    def ended(self, how: str) -> None:
        self.script.write(f"{how}\n")
        if self.is_open:
            self.is_open = False
            self.go_back("begin")
        self.quiver.open()
        self.whole_tables()

    def look(self) -> None:
        if self.below(8) == 0:
            self.whole_tables()
        else:
            self.same(query(self.random, self.tables, self.top_id))

    def whole_tables(self) -> None:
        for table, columns in self.tables.items():
            self.same(f"SELECT {', '.join(columns)} FROM {table} ORDER BY id")


def equal(text: str | None, value) -> bool:
    """A field of Quiver's CSV and the value DuckDB has in its place."""
    if text is None or value is None:
        return text is None and value is None
    match value:
        case bool():
            return text == ("true" if value else "false")
        case int() | Decimal():
            return Decimal(text) == value
        case float():
            number = float(text)
            return number == value or (math.isnan(number) and math.isnan(value))
        case datetime():
            return datetime.fromisoformat(text) == value
        case date():
            return date.fromisoformat(text) == value
    return text == value


def run(seed: int, steps: int) -> None:
    """On a difference the statements and the store stay, and the error says where."""
    directory = Path(tempfile.mkdtemp(prefix=f"quiver-model-{seed}-"))
    model = Model(seed, directory)
    step = 0
    try:
        for step in range(steps):
            model.step()
        model.whole_tables()
    except (Differs, Failed, duckdb.Error) as error:
        message = f"MODEL_SEED={seed}, step {step}: {error}\nthe statements and the store are in {directory}"
        raise AssertionError(message) from error
    finally:
        model.script.close()
    model.quiver.close()
