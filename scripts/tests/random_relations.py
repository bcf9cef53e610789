"""What stands behind FROM: tables, joins of every kind, rows of VALUES, series, and queries in parentheses or with a name."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from random_expressions import Column, Expressions
from random_tables import Table
from random_tree import Node, fixed, listed, optional

# Rows that a join without a key may give; more take seconds at a batch size of 1.
PAIRS_MAX = 4_000
JOINS = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "INNER JOIN", "LEFT OUTER JOIN"]


@dataclass
class Relation:
    node: Node
    columns: list[Column]
    # Rows that are equal in these are equal in all columns.
    keys: list[Column]
    rows: int
    # The tables it is made of, under their names, where it is made of nothing else.
    tables: list[tuple[str, Table]] = field(default_factory=list)


class Relations(Expressions):
    def __init__(self, random: Random, tables: list[Table]):
        super().__init__(random)
        self.tables = tables
        self.names = 0
        self.common: list[tuple[str, list[str]]] = []

    def new_name(self, start: str = "r") -> str:
        self.names += 1
        return f"{start}{self.names}"

    def relation(self, depth: int, joins_max: int = 2) -> Relation:
        relation = self.single(depth)
        for _ in range(self.random.choice([0, 0, 1, 1, joins_max]) if joins_max else 0):
            relation = self.joined(relation, self.single(depth - 1), depth)
        return relation

    def single(self, depth: int) -> Relation:
        choice = self.random.random()
        if self.common and choice < 0.3:
            name, kinds = self.random.choice(self.common)
            alias = self.new_name()
            return self.of_query(fixed(f"{name} AS {alias}"), alias, kinds)
        if choice < 0.1 and depth > 0:
            query, kinds = self.query(None, depth - 1)
            alias = self.new_name()
            return self.of_query(fixed("(", query, f") AS {alias}"), alias, kinds)
        if choice < 0.14:
            return self.values()
        if choice < 0.17:
            alias, count = self.new_name(), self.random.randrange(0, 9)
            column = (f"{alias}.x", "INT")
            return Relation(Node("relation", f"generate_series({self.random.randrange(3)}, {count}) AS {alias}(x)"), [column], [column], 9)
        if choice < 0.19 and (found := self.elements()):
            return found
        return self.table()

    def elements(self) -> Relation | None:
        """Of the lists of a table, a row for each element."""
        table = self.random.choice(self.tables)
        lists = [name for name, _, kind in table.columns if kind == "LIST"]
        if not lists:
            return None
        alias = self.new_name()
        return self.of_query(fixed(f"(SELECT unnest({lists[0]}) AS c0, id AS c1 FROM {table.name}) AS {alias}"), alias, ["INT", "INT"])

    def table(self) -> Relation:
        table = self.random.choices(self.tables, [5 if table.name != "big" else 2 for table in self.tables])[0]
        alias = self.new_name()
        columns = [(f"{alias}.{name}", kind) for name, _, kind in table.columns]
        node = Node("relation", f"{table.name} AS {alias}")
        return Relation(node, columns, [(f"{alias}.id", "INT")], 10_000 if table.name == "big" else 30, [(alias, table)])

    def of_query(self, node: Node, alias: str, kinds: list[str]) -> Relation:
        columns = [(f"{alias}.c{at}", kind) for at, kind in enumerate(kinds)]
        return Relation(Node("relation", node), columns, columns, 1000)

    def values(self) -> Relation:
        alias, kinds = self.new_name(), [self.kind() for _ in range(self.random.randrange(1, 4))]
        rows = [listed([self.literal(kind) for kind in kinds], least=len(kinds)) for _ in range(self.random.randrange(1, 6))]
        names = ", ".join(f"c{at}" for at in range(len(kinds)))
        node = fixed("(VALUES ", listed([fixed("(", row, ")") for row in rows]), f") AS {alias}({names})")
        return self.of_query(node, alias, kinds)

    def query(self, kinds: list[str] | None, depth: int) -> tuple[Node, list[str]]:
        raise NotImplementedError

    def joined(self, left: Relation, right: Relation, depth: int) -> Relation:
        if (left_table := left.tables) and right.tables and len(left_table) == 1 and self.chance(0.25):
            if found := self.joined_by_names(left, right):
                return found
        # What USING has merged has no table's name, and would be ambiguous.
        if {a for a, _ in left.columns if "." not in a} & {b.split(".")[1] for b, _ in right.columns}:
            return left
        join = self.random.choice(JOINS)
        pairs = [(a, b) for a, its in left.columns for b, kind in right.columns if kind == its]
        ids = [(a, b) for a, b in pairs if a.endswith(".id") and b.endswith(".id")]
        keys, both = left.keys + right.keys, left.columns + right.columns
        small = left.rows * right.rows <= PAIRS_MAX
        if join == "CROSS JOIN":
            if small:
                return Relation(Node("relation", left.node, " CROSS JOIN ", right.node), both, keys, left.rows * right.rows)
            join = "JOIN"
        conditions: list[Node | str] = []
        if not small or self.chance(0.7):
            chosen = ids or pairs if not small else pairs
            if chosen:
                a, b = self.random.choice(chosen)
                operator = self.random.choice(["=", "=", "=", "IS NOT DISTINCT FROM"])
                conditions.append(f"{a} {operator} {b}")
        if not small and not conditions:
            return left
        if not conditions or self.chance(0.3):
            conditions.append(self.condition(both, min(depth, 2)))
        on = fixed(" ON ", listed(conditions, " AND "))
        rows = max(left.rows, right.rows) * 3 if conditions else left.rows * right.rows
        return Relation(Node("relation", left.node, f" {join} ", right.node, on), both, keys, rows)

    def joined_by_names(self, left: Relation, right: Relation) -> Relation | None:
        """USING and NATURAL: a column of both comes once, and is named without a table."""
        [(a, first)], [(b, second)] = left.tables, right.tables
        theirs = {name: kind for name, _, kind in second.columns}
        shared = [name for name, _, kind in first.columns if theirs.get(name) == kind]
        if left.rows * right.rows > PAIRS_MAX and "id" not in shared:
            return None
        if self.chance(0.3):
            node = Node("relation", left.node, f" NATURAL {self.random.choice(['JOIN', 'LEFT JOIN'])} ", right.node)
            merged = shared
        else:
            merged = self.random.sample(shared, self.random.randrange(1, len(shared) + 1))
            if left.rows * right.rows > PAIRS_MAX and "id" not in merged:
                merged.append("id")
            node = Node("relation", left.node, f" {self.random.choice(JOINS[:4])} ", right.node, f" USING ({', '.join(merged)})")
        one = [(name, kind) for name, _, kind in first.columns if name in merged]
        rest = [(f"{a}.{name}", kind) for name, _, kind in first.columns if name not in merged]
        rest += [(f"{b}.{name}", kind) for name, _, kind in second.columns if name not in merged]
        keys = one + [key for key in left.keys + right.keys if "id" not in merged]
        return Relation(node, one + rest, keys, 300)

    def condition(self, columns: list[Column], depth: int) -> Node:
        return self.expression("BOOL", columns, max(1, depth))

    def where(self, columns: list[Column], depth: int, share: float = 0.6) -> Node:
        if not self.chance(share):
            return optional()
        conditions = [self.condition(columns, depth) for _ in range(self.random.choice([1, 1, 2]))]
        if depth > 0 and self.chance(0.2):
            return optional(" WHERE ", listed([*conditions[1:], self.predicate_of_subquery(columns, 1)], " AND "))
        return optional(" WHERE ", listed(conditions, self.random.choice([" AND ", " AND ", " OR "])))
