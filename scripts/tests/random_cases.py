"""What is asked about a random query: DuckDB's answer, or another query that must have the same one (NoREC and TLP of SQLancer)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import duckdb
from random_answers import Rows, cut, difference
from random_engines import World, quiver
from random_expressions import KINDS
from random_known import REFUSED
from random_selects import Selects
from random_tree import Node, fixed, listed

# Of an error that no statement may have.
FAULTS = re.compile(r"internal error|panicked|took longer than its limit|please report")
# Of types that what stands beside a parameter says; `timestamp - $1` is a difference of timestamps, as in PostgreSQL.
INFERRED = {"BIGINT", "VARCHAR", "BOOLEAN"}
MARK = re.compile(r"⟦(\d+)\|([^|]*)\|([^⟧]*)⟧")


@dataclass
class Outcome:
    """`kind`: "same", "differs", "fault", or who refused it: "quiver" with a message that is known, "refused" with another, "duckdb",
    "both". An answer that is "large", or "slow" so that a timeout ends it, is compared with nothing."""

    kind: str
    text: str = ""


class Case:
    """`root` holds all that may be made smaller."""

    root: Node
    in_order: bool = False

    def queries(self) -> list[str]:
        """One or two, whose answers must be the same; the first is asked of DuckDB, too."""
        return [str(self.root)]

    def script(self) -> list[str]:
        """All that is asked of Quiver."""
        return self.queries()

    def answers(self, world: World) -> list[Rows]:
        return [world.in_quiver(query) for query in self.queries()]

    def run(self, world: World) -> Outcome:
        queries = self.queries()
        try:
            answers = self.answers(world)
        except BaseException as error:
            return refusal(error, lambda: [world.in_duckdb(query) for query in queries])
        if len(answers) > 1 and (found := difference(answers[0], answers[1], False)):
            return Outcome("differs", f"the first: {found[0]}\nthe second: {found[1]}")
        try:
            expected = world.in_duckdb(queries[0])
        except duckdb.Error as error:
            return Outcome("duckdb", str(error))
        return compared(expected, cut(answers[0], world.cut_places), self.in_order)


def compared(expected: Rows, answer: Rows, in_order: bool) -> Outcome:
    if found := difference(expected, answer, in_order):
        return Outcome("differs", f"DuckDB: {found[0]}\nQuiver: {found[1]}\n{len(expected)} and {len(answer)} rows")
    return Outcome("same")


def refusal(error: BaseException, in_duckdb: Callable[[], object]) -> Outcome:
    text = f"{type(error).__name__}: {error}"
    is_panic = type(error).__name__ == "PanicException"
    if not is_panic and not isinstance(error, quiver.Error):
        raise error
    if (is_panic or FAULTS.search(text)) and not REFUSED.search(text):
        return Outcome("fault", text)
    try:
        in_duckdb()
    except duckdb.Error:
        return Outcome("both", text)
    return Outcome("quiver" if REFUSED.search(text) else "refused", text)


def plain_and_prepared(root: Node, types: bool = True) -> tuple[str, list[str]]:
    """Without parameters; and what makes a statement with parameters of it, runs it, and drops it."""
    text, values = str(root), {}

    def parameter(found: re.Match) -> str:
        number, sql_type, constant = found.groups()
        values.setdefault(number, (len(values) + 1, sql_type, constant))
        return f"${values[number][0]}"

    prepared = MARK.sub(parameter, text)
    plain = MARK.sub(lambda found: found[3] if found[2] == "BIGINT" else f"CAST({found[3]} AS {found[2]})", text)
    if not values:
        return plain, [plain]
    known = [sql_type for _, sql_type, _ in values.values()]
    declared = f"({', '.join(known)})" if types or not INFERRED.issuperset(known) else ""
    given = ", ".join(f"CAST({constant} AS {sql_type})" for _, sql_type, constant in values.values())
    return plain, [f"PREPARE p{declared} AS {prepared}", f"EXECUTE p({given})", "DEALLOCATE p"]


class Beside(Case):
    def __init__(self, maker: Selects):
        self.root, self.order = maker.statement()

    @property
    def in_order(self) -> bool:
        """Not without the ORDER BY, where that was cut off."""
        return bool(self.order and self.order.parts)


class Prepared(Beside):
    """Constants are values of parameters."""

    def __init__(self, maker: Selects):
        maker.parameters_share, self.types = 0.4, maker.chance(0.7)
        super().__init__(maker)

    def queries(self) -> list[str]:
        """DuckDB has no types in PREPARE."""
        return [plain_and_prepared(self.root)[0]]

    def script(self) -> list[str]:
        plain, prepared = plain_and_prepared(self.root, self.types)
        return [plain, *prepared]

    def answers(self, world: World) -> list[Rows]:
        plain, *prepared = self.script()
        return [world.in_quiver(plain), world.in_turn(prepared)]


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
        kinds = [maker.random.choice(KINDS) for _ in range(maker.random.randrange(1, 4))]
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
