"""What is asked about a random query: DuckDB's answer, or another query that must have the same one (NoREC and TLP of SQLancer)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

import duckdb
from random_answers import difference
from random_engines import World, quiver
from random_selects import SORTABLE, Selects
from random_tree import Node, fixed, listed

# Of an error that no statement may have.
FAULTS = re.compile(r"internal error|panicked|took longer than its limit|please report")


@dataclass
class Outcome:
    """`kind`: "same", "differs", "fault", or who refused it: "quiver", "duckdb", "both"."""

    kind: str
    text: str = ""


class Case:
    """`root` holds all that may be made smaller."""

    root: Node
    in_order: bool = False

    def queries(self) -> list[str]:
        """One or two, whose answers must be the same; the first is asked of DuckDB, too."""
        return [str(self.root)]

    def run(self, world: World) -> Outcome:
        queries = self.queries()
        try:
            answers = [world.in_quiver(query) for query in queries]
        except quiver.Error as error:
            said = f"{type(error).__name__}: {error}"
            if FAULTS.search(said):
                return Outcome("fault", said)
            return Outcome("quiver" if in_duckdb(world, queries) else "both", said)
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            return Outcome("fault", f"{type(error).__name__}: {error}")
        if len(answers) > 1 and (found := difference(answers[0], answers[1], False)):
            return Outcome("differs", f"the first: {found[0]}\nthe second: {found[1]}")
        try:
            expected = world.in_duckdb(queries[0])
        except duckdb.Error as error:
            return Outcome("duckdb", str(error))
        if found := difference(expected, answers[0], self.in_order):
            counts = f"{len(expected)} and {len(answers[0])} rows"
            return Outcome("differs", f"DuckDB: {found[0]}\nQuiver: {found[1]}\n{counts}")
        return Outcome("same")


def in_duckdb(world: World, queries: list[str]) -> bool:
    try:
        for query in queries:
            world.in_duckdb(query)
    except duckdb.Error:
        return False
    return True


class Beside(Case):
    def __init__(self, maker: Selects):
        self.root, self.order = maker.statement()

    @property
    def in_order(self) -> bool:
        """Not without the ORDER BY, where that was cut off."""
        return bool(self.order and self.order.parts)


class NoRec(Case):
    """The rows for which a condition is true, by WHERE, which is optimised, and as a value, which is not."""

    def __init__(self, maker: Selects):
        relation = maker.relation(2)
        self.root = fixed(relation.node, maker.condition(relation.columns, 3))

    def queries(self) -> list[str]:
        relation, condition = self.root.parts
        return [
            f"SELECT count(*) FROM {relation} WHERE {condition}",
            f"SELECT coalesce(sum(CASE WHEN {condition} THEN 1 ELSE 0 END), 0) FROM {relation}",
        ]


class Partitions(Case):
    """A condition is true, false or NULL: the rows of the three are all rows (ternary logic partitioning)."""

    def __init__(self, maker: Selects):
        relation = maker.relation(2)
        kinds = [maker.random.choice(SORTABLE) for _ in range(maker.random.randrange(1, 4))]
        items = listed([fixed(maker.expression(kind, relation.columns, 1), f" AS c{at}") for at, kind in enumerate(kinds)])
        self.root = fixed(items, relation.node, maker.condition(relation.columns, 3))
        self.of = maker.random.choice(["rows", "rows", "groups", "max", "having"])

    def queries(self) -> list[str]:
        items, relation, condition = self.root.parts
        whole = f"SELECT {items} FROM {relation}"
        conditions = [f"({condition})", f"NOT ({condition})", f"({condition}) IS NULL"]
        parts = [f"{whole} WHERE {one}" for one in conditions]
        together = " UNION ALL ".join(parts)
        match self.of:
            case "groups":
                return [f"SELECT DISTINCT {items} FROM {relation}", " UNION ".join(parts)]
            case "max":
                return [f"SELECT count(*), max(c0) FROM ({whole}) AS w", f"SELECT count(*), max(c0) FROM ({together}) AS w"]
            case "having":
                return [
                    f"SELECT c0, count(*) FROM ({whole}) AS w GROUP BY c0 HAVING count(*) > 1",
                    f"SELECT c0, count(*) FROM ({together}) AS w GROUP BY c0 HAVING NOT (count(*) <= 1)",
                ]
        return [whole, together]


def case(random: Random, maker: Selects) -> Case:
    return random.choices([Beside, NoRec, Partitions], [7, 1.5, 1.5])[0](maker)
