"""Statements that change rows: of a copy of a table, which has the same rows in both engines afterwards."""

from __future__ import annotations

import re

import duckdb
from random_cases import Case, Outcome, compared, plain_and_prepared, refusal
from random_engines import World
from random_expressions import Column
from random_relations import Relation
from random_selects import Selects
from random_tables import Table, rows_of_values
from random_tree import Node, fixed, listed, optional

# What the copies are called; they have columns of the same names.
COPY, ALIAS = "copied", "cc"
SMALLER = {"SMALLINT": 1_000, "INTEGER": 1_000_000}
ENDS = ["", "CHECKPOINT", f"OPTIMIZE TABLE {COPY} FULL", "COMMIT", "ROLLBACK"]
CAST = re.compile(r"CAST\(('[^']*') AS [^()]*(?:\([\d,]+\))?[^()]*\)")


class Changes(Case):
    def __init__(self, maker: Selects):
        random = maker.random
        maker.parameters_share = random.choice([0, 0, 0.3])
        self.table = random.choices(maker.tables, [8 if table.name != "big" else 1 for table in maker.tables])[0]
        self.has_key, self.types = maker.chance(0.5), maker.chance(0.7)
        self.before = random.choice(["", "CHECKPOINT"])
        self.end = random.choice(ENDS)
        self.root = listed([self.change(maker) for _ in range(random.randrange(1, 4))], ";\n")

    def script(self) -> list[str]:
        return [in_quiver for statements, _ in self.steps() for in_quiver in statements]

    def steps(self) -> list[tuple[list[str], str]]:
        """For Quiver, and for DuckDB."""
        columns = ", ".join(
            f"{name} {sql_type}{' PRIMARY KEY' if name == 'id' and self.has_key else ''}" for name, sql_type, _ in self.table.columns
        )
        steps = [([text], text) for text in (f"CREATE TABLE {COPY} ({columns})", f"INSERT INTO {COPY} SELECT * FROM {self.table.name}")]
        steps += [([self.before], "")] * bool(self.before)
        is_transaction = self.end in ("COMMIT", "ROLLBACK")
        steps += [(["BEGIN"], "BEGIN")] * is_transaction
        for change in self.root.parts:
            plain, prepared = plain_and_prepared(change, self.types)
            steps.append((prepared, plain))
        all_rows = ([f"SELECT * FROM {COPY}"], f"SELECT * FROM {COPY}")
        steps.append(all_rows)
        if self.end:
            steps += [([self.end], self.end if is_transaction else ""), all_rows]
        return steps

    def run(self, world: World) -> Outcome:
        try:
            return self.same_rows(world)
        finally:
            world.forget(COPY)

    def same_rows(self, world: World) -> Outcome:
        for in_quiver, in_duckdb in self.steps():
            try:
                answer = world.in_turn(in_quiver)
            except BaseException as error:
                return refusal(error, lambda: world.in_duckdb(in_duckdb))
            try:
                expected = world.in_duckdb(in_duckdb) if in_duckdb else []
            except duckdb.Error as error:
                return Outcome("duckdb", str(error))
            is_counted = bool(in_duckdb) and not in_duckdb.startswith(("CREATE", "BEGIN", "COMMIT", "ROLLBACK"))
            outcome = compared(expected, answer, False) if is_counted else Outcome("same")
            if outcome.kind != "same":
                return Outcome(outcome.kind, f"{outcome.text}\nafter {in_quiver}")
        return Outcome("same")

    # The statements

    def change(self, maker: Selects) -> Node:
        kinds = [self.inserted, self.values, self.updated, self.updated, self.deleted, self.merged]
        return maker.random.choice([*kinds, self.upserted] if self.has_key else kinds)(maker)

    def columns(self, of: str = ALIAS) -> list[Column]:
        return [(f"{of}.{name}", kind) for name, _, kind in self.table.columns]

    def assigned(self, maker: Selects, name: str, columns: list[Column]) -> Node:
        """A value that fits into the column."""
        sql_type, kind = next((sql_type, kind) for other, sql_type, kind in self.table.columns if other == name)
        made = maker.expression(kind, columns, maker.random.choice([0, 1, 2]))
        return fixed("CAST((", made, f") % {SMALLER[sql_type]} AS {sql_type})") if sql_type in SMALLER else made

    def some_names(self, maker: Selects) -> list[str]:
        names = [name for name, _, _ in self.table.columns if name != "id"]
        return maker.random.sample(names, maker.random.randrange(1, min(4, len(names)) + 1))

    def settings(self, maker: Selects, columns: list[Column]) -> Node:
        return listed([fixed(f"{name} = ", self.assigned(maker, name, columns)) for name in self.some_names(maker)])

    def values(self, maker: Selects) -> Node:
        first = maker.random.randrange(50_000, 10**6)
        rows = rows_of_values(maker.random, Table(COPY, self.table.columns), range(first, first + maker.random.randrange(1, 4)), 0.2)
        if maker.chance(0.5):
            # Texts, which are cast to what the columns are.
            rows.parts[-1] = listed([CAST.sub(r"\1", str(row)) for row in rows.parts[-1].parts])
        return rows

    def inserted(self, maker: Selects) -> Node:
        relation, names = (maker.table() if self.has_key else maker.relation(1)), self.some_names(maker)
        id_ = f"{relation.keys[0][0]} + 100000" if self.has_key else self.assigned(maker, "id", relation.columns)
        values = [self.assigned(maker, name, relation.columns) for name in names]
        start = f"INSERT INTO {COPY} (id, {', '.join(names)}) SELECT "
        return fixed(start, id_, ", ", listed(values, least=len(values)), " FROM ", relation.node, maker.where(relation.columns, 1))

    def upserted(self, maker: Selects) -> Node:
        relation, names = maker.table(), self.some_names(maker)
        values = listed([self.assigned(maker, name, relation.columns) for name in names], least=len(names))
        start = f"INSERT INTO {COPY} (id, {', '.join(names)}) SELECT {relation.keys[0][0]}, "
        new = [column for column in self.columns("excluded") if column[0].split(".")[1] in [*names, "id"]]
        columns = new + self.columns(COPY)
        action: Node | str = "NOTHING"
        if maker.chance(0.7):
            action = fixed("UPDATE SET ", self.settings(maker, columns), maker.where(columns, 0, 0.4))
        return fixed(start, values, " FROM ", relation.node, maker.where(relation.columns, 1, 1.0), " ON CONFLICT (id) DO ", action)

    def updated(self, maker: Selects) -> Node:
        start = f"UPDATE {COPY} AS {ALIAS} SET "
        if maker.chance(0.5):
            return fixed(start, self.settings(maker, self.columns()), maker.where(self.columns(), 2, 0.8))
        relation = maker.table()
        both = self.columns() + relation.columns
        return fixed(start, self.settings(maker, both), " FROM ", relation.node, self.of_one(maker, relation, both))

    def of_one(self, maker: Selects, relation: Relation, columns: list[Column]) -> Node:
        more = optional(" AND ", maker.condition(columns, 2)) if maker.chance(0.6) else optional()
        return fixed(f" WHERE {ALIAS}.id = {relation.keys[0][0]}", more)

    def deleted(self, maker: Selects) -> Node:
        if maker.chance(0.6):
            return fixed(f"DELETE FROM {COPY} AS {ALIAS}", maker.where(self.columns(), 2, 0.9))
        relation = maker.table()
        return fixed(
            f"DELETE FROM {COPY} AS {ALIAS} USING ", relation.node, self.of_one(maker, relation, self.columns() + relation.columns)
        )

    def merged(self, maker: Selects) -> Node:
        relation = maker.table()
        both, id_ = self.columns() + relation.columns, relation.keys[0][0]
        whens = [(" WHEN MATCHED", both), (" WHEN NOT MATCHED", relation.columns), (" WHEN NOT MATCHED BY SOURCE", self.columns())]
        made = []
        for when, columns in maker.random.choices(whens, k=maker.random.randrange(1, 5)):
            condition = optional(" AND ", maker.condition(columns, 1)) if maker.chance(0.5) else optional()
            made.append(fixed(when, condition, " THEN ", self.action(maker, when, columns, id_)))
        start = f"MERGE INTO {COPY} AS {ALIAS} USING "
        return fixed(start, relation.node, f" ON {ALIAS}.id = {id_}", listed(made, ""))

    def action(self, maker: Selects, when: str, columns: list[Column], id_: str) -> Node | str:
        if maker.chance(0.1):
            return "DO NOTHING"
        if when.endswith("NOT MATCHED"):
            names = self.some_names(maker)
            values = [self.assigned(maker, name, columns) for name in names]
            return fixed(f"INSERT (id, {', '.join(names)}) VALUES ({id_}, ", listed(values, least=len(values)), ")")
        return "DELETE" if maker.chance(0.3) else fixed("UPDATE SET ", self.settings(maker, columns))
