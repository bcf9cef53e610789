"""Random queries: SELECT with groups, windows and subqueries, set operations, WITH, and orders that leave nothing open."""

from __future__ import annotations

from random_expressions import KINDS, Column
from random_relations import Relation, Relations
from random_tree import Node, filled, fixed, listed, optional

AGGREGATES = {
    "INT": [
        "count(*)", "count({ANY})", "count(DISTINCT {EXACT})", "sum({INT})", "min({INT})", "max({INT})", "bit_and({INT})", "bit_or({INT})",
        "sum(DISTINCT {INT})", "count(*) FILTER (WHERE {BOOL})", "sum({INT}) FILTER (WHERE {BOOL})", "bit_xor({INT})",
    ],
    "DBL": [
        "min({DBL})", "max({DBL})", "avg(CAST({INT} AS DOUBLE))", "count(*) * 0.5e0", "median(CAST({INT} AS DOUBLE))",
        "sum(CAST({INT} % 1000 AS DOUBLE))", "max({DBL}) FILTER (WHERE {BOOL})", "quantile_cont(CAST({INT} AS DOUBLE), 0.25)",
        "var_samp(CAST({INT} % 100 AS DOUBLE))", "sum({DBL}) FILTER (WHERE abs({DBL}) < 1000e0)",
    ],
    "DEC": ["sum({DEC})", "min({DEC})", "max({DEC})", "sum(DISTINCT {DEC})"],
    "STR": ["min({STR})", "max({STR})", "string_agg({STR}, ',' ORDER BY {SAME})", "string_agg(DISTINCT {STR}, ';' ORDER BY {SAME})"],
    "DATE": ["min({DATE})", "max({DATE})"],
    "TS": ["min({TS})", "max({TS}) FILTER (WHERE {BOOL})"],
    "BOOL": ["bool_and({BOOL})", "bool_or({BOOL})", "(count({ANY}) > 1)"],
    "IVL": ["min({IVL})", "max({IVL})"],
    "TZ": ["min({TZ})", "max({TZ})"],
    "CLOCK": ["min({CLOCK})", "max({CLOCK})"],
    "LIST": ["min({LIST})", "max({LIST})", "array_agg({INT} ORDER BY {SAME})", "array_agg(DISTINCT {INT} ORDER BY {SAME})"],
    "REC": ["min({REC})", "max({REC})"],
    "MAP": ["min({MAP})", "max({MAP})"],
    "DBLS": ["min({DBLS})", "max({DBLS})", "array_agg({DBL} + 0e0 ORDER BY {SAME})"],
    "NEST": ["min({NEST})", "max({NEST})"],
}  # fmt: skip
# {T} is of the kind that is wanted; {KEYS} leaves no two rows that differ in one place.
WINDOWS = {
    "INT": [
        "row_number() OVER ({PART}ORDER BY {KEYS})", "rank() OVER ({PART}ORDER BY {SORT})", "dense_rank() OVER ({PART}ORDER BY {SORT})",
        "count({ANY}) OVER ({PART}ORDER BY {SORT})", "sum({INT}) OVER ({PART}ORDER BY {SORT})", "count(*) OVER ({PART})", "sum({INT}) OVER ({PART})",
        "sum({INT}) OVER ({PART}ORDER BY {KEYS} ROWS BETWEEN {POS} PRECEDING AND CURRENT ROW)", "ntile({POS}) OVER ({PART}ORDER BY {KEYS})",
        "count(*) OVER ({PART}ORDER BY {KEYS} ROWS BETWEEN {POS} PRECEDING AND {POS} FOLLOWING)",
        "sum({INT}) OVER (ORDER BY {INT} RANGE BETWEEN {POS} PRECEDING AND {POS} FOLLOWING)",
        "count({ANY}) FILTER (WHERE {BOOL}) OVER ({PART}ORDER BY {SORT})",
    ],
    "DBL": ["percent_rank() OVER ({PART}ORDER BY {SORT})", "cume_dist() OVER ({PART}ORDER BY {SORT})", "avg(CAST({INT} AS DOUBLE)) OVER ({PART})"],
    "ANY": [
        "lag({T}) OVER ({PART}ORDER BY {KEYS})", "lead({T}, {POS}) OVER ({PART}ORDER BY {KEYS})", "first_value({T}) OVER ({PART}ORDER BY {KEYS})",
        "last_value({T}) OVER ({PART}ORDER BY {KEYS} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
        "nth_value({T}, {POS}) OVER ({PART}ORDER BY {KEYS})", "lag({T}, 1, {T}) OVER ({PART}ORDER BY {KEYS})",
    ],
    "SORTED": ["min({T}) OVER ({PART}ORDER BY {SORT})", "max({T}) OVER ({PART})", "max({T}) OVER ({PART}ORDER BY {KEYS} ROWS {POS} PRECEDING)"],
}  # fmt: skip


class Selects(Relations):
    def statement(self) -> tuple[Node, Node | None]:
        """A query, and the ORDER BY of its rows, if they have one."""
        common = [self.common_table() for _ in range(self.random.choice([0, 0, 0, 0, 1, 2]))]
        with_ = optional("WITH ", listed(common), " ") if common else ""
        kinds = [self.kind() for _ in range(self.random.randrange(1, 5))]
        if self.chance(0.08):
            return fixed(with_, self.star()), None
        if self.chance(0.55):
            return fixed(with_, self.query(kinds, 3)[0]), None
        query, order = self.query(kinds, 3, sorted_later=True)[0], self.order(len(kinds))
        return fixed(with_, query, order), order

    def common_table(self) -> Node:
        name = self.new_name("w")
        if self.chance(0.1):
            body = f"SELECT 1 AS c0 UNION ALL SELECT c0 + 1 FROM {name} WHERE c0 < {self.random.randrange(2, 12)}"
            self.common.append((name, ["INT"]))
            # The word belongs to the whole list.
            return fixed(f"RECURSIVE {name} AS ({body})") if len(self.common) == 1 else fixed(f"{name} AS (SELECT 1 AS c0)")
        query, kinds = self.query(None, 2)
        self.common.append((name, kinds))
        return fixed(f"{name} AS (", query, ")")

    def order(self, count: int) -> Node:
        """Over all columns, so that rows without an order among them are equal."""
        terms = [f"{self.random.choice([str(at + 1), f'c{at}'])}{self.direction()}" for at in self.random.sample(range(count), count)]
        return optional(" ORDER BY ", ", ".join(terms), self.limit(0.5))

    def direction(self) -> str:
        return self.random.choice(["", "", " DESC", " ASC"]) + self.random.choice(["", "", " NULLS FIRST", " NULLS LAST"])

    def limit(self, share: float) -> Node:
        if not self.chance(share):
            return optional()
        count, skipped = (self.marked("BIGINT", str(self.random.choice(some))) for some in ([0, 1, 2, 5, 20, 1000], [0, 1, 3, 9000]))
        return optional(f" LIMIT {count}", optional(f" OFFSET {skipped}") if self.chance(0.4) else optional())

    def query(self, kinds: list[str] | None, depth: int, sorted_later: bool = False) -> tuple[Node, list[str]]:
        """With columns c0, c1, …"""
        inner = kinds is None
        kinds = kinds or [self.kind() for _ in range(self.random.randrange(1, 4))]
        choice = self.random.random()
        if choice < 0.12 and depth > 0:
            operator = self.random.choice(["UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"])
            first, second = self.query(kinds, depth - 1, sorted_later)[0], self.query(kinds, depth - 1, sorted_later)[0]
            return Node("query", "(", first, f") {operator} (", second, ")"), kinds
        if 0.12 <= choice < 0.15 and not sorted_later:
            return Node("query", self.first_of_each(kinds, depth)), kinds
        if choice < 0.45:
            query = self.grouped(kinds, depth, sorted_later)
        else:
            query = self.plain(kinds, depth, sorted_later)
        if inner and self.chance(0.12) and "DBL" not in kinds:
            query = fixed(query, self.order(len(kinds)))
        return Node("query", query), kinds

    def items(self, kinds: list[str], columns: list, depth: int, sorted_later: bool) -> Node:
        """-0.0 and 0.0 are told apart where rows are sorted: a sum with 0 is never -0.0."""
        made = []
        for at, kind in enumerate(kinds):
            expression = self.expression(kind, columns, depth)
            made.append(fixed("(", expression, f") + 0e0 AS c{at}") if kind == "DBL" and sorted_later else fixed(expression, f" AS c{at}"))
        return listed(made)

    def plain(self, kinds: list[str], depth: int, sorted_later: bool) -> Node:
        relation = self.relation(depth)
        columns: list = list(relation.columns)
        qualify = optional()
        if self.chance(0.25) and relation.rows <= 20_000:
            windows = [(self.window(kind, relation), kind) for kind in self.random.choices(kinds, k=2)]
            columns += windows * 3
            if self.chance(0.2):
                qualify = optional(
                    " QUALIFY ", self.window("INT", relation), f" {self.random.choice(['<=', '>', '='])} {self.random.choice([1, 2, 5])}"
                )
        distinct = optional("DISTINCT ") if self.chance(0.15) else optional()
        items = self.items(kinds, columns, self.random.choice([0, 1, 2, 3]), sorted_later)
        return fixed("SELECT ", distinct, items, " FROM ", relation.node, self.where(relation.columns, depth), qualify)

    def first_of_each(self, kinds: list[str], depth: int) -> Node:
        """DISTINCT ON, with an order in which no two rows are the same."""
        relation = self.relation(depth)
        by = plain(self.random.choice(relation.columns))
        terms = [by, *map(plain, relation.keys)]
        order = ", ".join(f"{term}{self.direction()}" for term in terms)
        items = self.items(kinds, relation.columns, 1, False)
        return fixed(
            f"SELECT DISTINCT ON ({by}) ", items, " FROM ", relation.node, self.where(relation.columns, depth), f" ORDER BY {order}"
        )

    def star(self) -> Node:
        relation = self.relation(1)
        return fixed("SELECT * FROM ", relation.node, self.where(relation.columns, 2))

    def grouped(self, kinds: list[str], depth: int, sorted_later: bool) -> Node:
        relation = self.relation(depth)
        keys = self.keys(relation)
        by, can_group = self.group_by(keys)
        columns: list = [(f"grouping({text})", "INT") for text, _ in keys if can_group] + [(text, kind) for text, kind in keys] * 3
        for kind in [*kinds, "INT"]:
            columns += [(self.aggregate(kind, relation.columns), kind)] * 2
        having = optional(" HAVING ", self.condition(columns, 2)) if self.chance(0.3) else optional()
        # A constant alone would make no group of no rows.
        count = "" if keys or by else optional(" HAVING count(*) >= 0") if not having.parts else having
        items = self.items(kinds, columns, self.random.choice([0, 1, 2]), sorted_later)
        return fixed("SELECT ", items, " FROM ", relation.node, self.where(relation.columns, depth, 0.4), by, count or having)

    def keys(self, relation: Relation) -> list[Column]:
        keys: dict[str, str] = {}
        for _ in range(self.random.choice([0, 1, 1, 2, 3])):
            kind = self.random.choice(KINDS)
            fitting = [name for name, its in relation.columns if its == kind]
            if fitting and self.chance(0.8):
                keys[self.random.choice(fitting)] = kind
            elif fitting:
                keys[
                    str(
                        self.filled(
                            kind, self.random.choice(["coalesce({T}, {T})", "({T})"]).replace("{T}", f"{{{kind}}}"), relation.columns, 0
                        )
                    )
                ] = kind
        return [(text, kind) for text, kind in keys.items() if "." in text or text.isidentifier()]

    def group_by(self, keys: list[Column]) -> tuple[Node | str, bool]:
        if not keys:
            return "", False
        texts = [text for text, _ in keys]
        choice = self.random.random()
        if choice < 0.65:
            return fixed(" GROUP BY ", ", ".join(texts)), False
        if choice < 0.75:
            return fixed(f" GROUP BY ROLLUP ({', '.join(texts)})"), True
        if choice < 0.85:
            return fixed(f" GROUP BY CUBE ({', '.join(texts)})"), True
        sets = [self.random.sample(texts, self.random.randrange(len(texts) + 1)) for _ in range(self.random.randrange(1, 4))]
        # A key in no set could not stand in the SELECT list.
        sets.append(texts)
        return fixed(" GROUP BY GROUPING SETS (", ", ".join(f"({', '.join(one)})" for one in sets), ")"), True

    def aggregate(self, kind: str, columns: list[Column]) -> Node:
        return self.of_template(kind, self.random.choice(AGGREGATES[kind]), columns, [])

    def window(self, kind: str, relation: Relation) -> Node:
        some = WINDOWS.get(kind, []) * 2 + WINDOWS["ANY"] + WINDOWS["SORTED"]
        template = self.random.choice(some).replace("{T}", f"{{{kind}}}")
        return self.of_template(kind, template, relation.columns, relation.keys)

    def of_template(self, kind: str, template: str, columns: list, keys: list[Column]) -> Node:
        """With the placeholders that only aggregates and windows have."""
        last: list[str] = []

        def part(of: str) -> Node | str:
            match of:
                case "SAME":
                    return fixed(last[-1], self.direction())
                case "KEYS":
                    first = [self.random.choice(columns)] if self.chance(0.6) else []
                    return ", ".join(f"{plain(column)}{self.direction()}" for column in first + keys)
                case "SORT":
                    return f"{plain(self.random.choice(columns))}{self.direction()}"
                case "PART":
                    return f"PARTITION BY {plain(self.random.choice(columns))} " if self.chance(0.5) else ""
                case "EXACT":
                    of = self.random.choice([kind for kind in KINDS if kind not in ("DBL", "IVL")])
                case "ANY":
                    of = self.random.choice(KINDS)
            made = self.expression(of, columns, self.random.choice([0, 0, 1]))
            last.append(str(made))
            return made

        return filled(kind, template, part)

    # Subqueries

    def predicate_of_subquery(self, columns: list, depth: int) -> Node:
        outer = [column for column in columns if isinstance(column[0], str)]
        relation = self.relation(0, joins_max=0)
        where = self.where(relation.columns, 1)
        correlated = self.correlation(relation, outer)
        if self.chance(0.35):
            word = self.random.choice(["EXISTS", "NOT EXISTS"])
            return Node("BOOL", f"({word} (SELECT 1 FROM ", relation.node, self.both(where, correlated), "))")
        kind = self.random.choice(["INT", "STR", "DEC", "DATE", "DBL", "LIST", "REC"])
        needle, inner = self.expression(kind, columns, depth - 1), self.expression(kind, relation.columns, 1)
        if relation.rows > 1000:
            correlated = ""
        operator = self.random.choice(["IN", "IN", "NOT IN", "NOT IN", "= ANY", "<> ALL", "> ALL", "< ANY"])
        return Node("BOOL", "(", needle, f" {operator} (SELECT ", inner, " FROM ", relation.node, self.both(where, correlated), "))")

    def scalar_subquery(self, kind: str, columns: list, depth: int) -> Node:
        relation = self.relation(0, joins_max=0)
        correlated = self.correlation(relation, [column for column in columns if isinstance(column[0], str)])
        aggregate, where = self.aggregate(kind, relation.columns), self.both(self.where(relation.columns, 1), correlated)
        return Node(kind, "(SELECT ", aggregate, " FROM ", relation.node, where, ")")

    def correlation(self, relation: Relation, outer: list[Column]) -> str:
        pairs = [(a, b) for a, kind in relation.columns for b, its in outer if kind == its and "." in b and "(" not in b]
        if not pairs or not self.chance(0.4) or relation.rows > 1000:
            return ""
        a, b = self.random.choice(pairs)
        return f"{a} = {b}"

    def both(self, where: Node, correlated: str) -> Node:
        if not correlated:
            return where
        return optional(where, f" AND {correlated}") if where.parts and " OR " not in str(where) else optional(f" WHERE {correlated}")


def plain(column: Column) -> str:
    name, kind = column
    return f"({name} + 0)" if kind == "DBL" else str(name)
