"""Random expressions of a type, over the columns that are in scope. Both engines read them in the same way.

What they are known to read differently (docs/sql.md, What surprises) is left out: casts of fractions to integers, the scale of
quotients of decimals, DATE plus INTERVAL without a cast, text of doubles and of timestamps, differences of timestamps; and where each has
rules of its own for REAL (with decimals, and in functions) and for lists that are NULL.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from random import Random

from random_tables import CLOCKS, DATES, DOUBLES, INTERVALS, NESTED, TEXTS, TIMES
from random_tree import Node, filled

KINDS = ["INT", "DBL", "DEC", "STR", "DATE", "TS", "BOOL", "IVL", "LIST", "REC", "TZ", "CLOCK", "MAP", "DBLS", "NEST"]
# How often a kind is wanted where any would do.
WEIGHTS = [6, 4, 3, 5, 2, 2, 2, 1, 1, 1, 1, 1, 0.7, 0.7, 0.7]
TYPES = {
    "INT": "BIGINT", "DBL": "DOUBLE", "DEC": "DECIMAL(12,2)", "STR": "VARCHAR", "DATE": "DATE", "TS": "TIMESTAMP(6)", "BOOL": "BOOLEAN",
    "IVL": "INTERVAL", "LIST": "INTEGER[]", "REC": "STRUCT(a INTEGER, b VARCHAR)",
    "TZ": "TIMESTAMP WITH TIME ZONE", "CLOCK": "TIME", "MAP": "MAP(VARCHAR, INTEGER)", "DBLS": "DOUBLE[]",
    "NEST": "STRUCT(a DOUBLE, b INTEGER[])[]",
}  # fmt: skip
Column = tuple[str, str]

OF_EVERY_KIND = [
    "CASE WHEN {BOOL} THEN {T} ELSE {T} END", "CASE WHEN {BOOL} THEN {T} END", "CASE {INT} WHEN 1 THEN {T} WHEN {INT} THEN {T} ELSE {T} END",
    "coalesce({T}, {T})", "coalesce({T}, {T}, {T})", "nullif({T}, {T})", "CASE WHEN {BOOL} THEN {T} WHEN {BOOL} THEN NULL ELSE {T} END",
]  # fmt: skip

PRODUCTIONS = {
    "INT": [
        "({INT} + {INT})", "({INT} - {INT})", "({INT} * {SMALL})", "({INT} / {SMALL})", "({INT} % {SMALL})", "(- {INT})", "abs({INT})",
        "length({STR})", "strpos({STR}, {STR})", "ascii({STR})", "CAST({BOOL} AS INTEGER)", "CAST(extract(year FROM {DATE}) AS BIGINT)",
        "CAST(extract(month FROM {TS}) AS BIGINT)", "CAST(extract(day FROM {DATE}) AS BIGINT)", "CAST(extract(dow FROM {DATE}) AS BIGINT)",
        "CAST(date_part('hour', {TS}) AS BIGINT)", "CAST(date_part('doy', {DATE}) AS BIGINT)", "CAST(array_length({LIST}) AS BIGINT)", "({LIST})[{POS}]",
        "({REC})['a']", "greatest({INT}, {INT})", "least({INT}, {INT}, {INT})", "({INT} & {INT})", "({INT} | {INT})", "bit_length({STR})",
        "CAST({NUMERAL} AS INTEGER)", "TRY_CAST(translate({STR}, '.', 'q') AS INTEGER)", "({MAP})[{STR}]", "CAST(cardinality({MAP}) AS BIGINT)",
        "CAST(array_length({NEST}) AS BIGINT)",
    ],
    "DBL": [
        "({DBL} + {DBL})", "({DBL} - {DBL})", "({DBL} * 0.5e0)", "({DBL} / 4e0)", "CAST({INT} AS DOUBLE)", "CAST({DEC} AS DOUBLE)", "abs({DBL})",
        "floor({DBL})", "ceil({DBL})", "round({DBL})", "(- {DBL})", "greatest({DBL}, {DBL})", "least({DBL}, {DBL})", "trunc({DBL})", "power(CAST({DBL} AS DOUBLE), 2)",
        "({INT} * CAST({DBL} AS DOUBLE))", "({DEC} + CAST({DBL} AS DOUBLE))", "sqrt(abs(CAST({DBL} AS DOUBLE)))",
        "({DBLS})[{POS}]", "(({NEST})[{POS}])['a']",
    ],
    "DEC": [
        "({DEC} + {DEC})", "({DEC} - {DEC})", "CAST({DEC} * {SMALL} AS DECIMAL(12,2))", "abs({DEC})", "round({DEC}, 1)", "(- {DEC})",
        "CAST({INT} % 1000 AS DECIMAL(12,2))", "greatest({DEC}, {DEC})", "({DEC} + {SMALL})",
    ],
    "STR": [
        "({STR} || {STR})", "upper({STR})", "lower({STR})", "trim({STR})", "ltrim({STR})", "rtrim({STR})", "substr({STR}, {POS}, {POS})",
        "substring({STR} FROM {POS} FOR {POS})", "left({STR}, {POS})", "right({STR}, {POS})", "replace({STR}, {STR}, {STR})", "repeat({STR}, {POS})",
        "lpad({STR}, 5, 'xy')", "rpad({STR}, 5, 'xy')", "CAST({INT} AS VARCHAR)", "CAST({DATE} AS VARCHAR)", "CAST({BOOL} AS VARCHAR)",
        "concat({STR}, {STR})", "concat_ws('-', {STR}, {STR})", "split_part({STR}, 'a', {POS})", "translate({STR}, 'ab', 'xy')", "md5({STR})",
        "({REC})['b']", "reverse({STR})", "regexp_replace({STR}, '[a-c]+', 'Z')", "greatest({STR}, {STR})", "least({STR}, {STR})", "({STR} || {INT})",
        "CAST({DEC} AS VARCHAR)", "chr(96 + {POS})",
    ],
    "DATE": [
        "CAST({DATE} + INTERVAL '3' DAY AS DATE)", "CAST({DATE} + INTERVAL '1' MONTH AS DATE)", "CAST(date_trunc('month', {DATE}) AS DATE)",
        "CAST({TS} AS DATE)", "greatest({DATE}, {DATE})", "CAST(date_trunc('week', {TS}) AS DATE)", "CAST({DATE} - INTERVAL '1 year 1 day' AS DATE)",
    ],
    "TS": [
        "({TS} + {IVL})", "({TS} - {IVL})", "date_trunc('hour', {TS})", "CAST({DATE} AS TIMESTAMP)", "({TS} + INTERVAL '1' MONTH)", "least({TS}, {TS})",
        "date_trunc('year', {TS})", "CAST({TZ} AS TIMESTAMP)",
    ],
    "TZ": ["({TZ} + INTERVAL '90 minutes')", "({TZ} + INTERVAL '1' DAY)", "date_trunc('day', {TZ})", "CAST({TS} AS TIMESTAMP WITH TIME ZONE)", "greatest({TZ}, {TZ})", "({TZ} - INTERVAL '1' MONTH)"],
    "CLOCK": ["CAST({TS} AS TIME)", "least({CLOCK}, {CLOCK})"],
    "IVL": ["({IVL} + {IVL})", "({IVL} - {IVL})"],
    "LIST": ["[{INT}, {INT}]", "[{INT}]", "array_append({LIST}, {INT})", "array_prepend({INT}, {LIST})", "({LIST})[1:2]", "map_values({MAP})", "(({NEST})[{POS}])['b']"],
    "REC": ["{{'a': {INT}, 'b': {STR}}}"],
    "MAP": ["MAP {{'a': {INT}}}", "MAP {{'b': {INT}, 'a': {INT}}}"],
    # -0.0 and 0.0 inside of them are told apart where they are sorted.
    "DBLS": ["[{DBL} + 0e0]", "[{DBL} + 0e0, {DBL} + 0e0]", "({DBLS})[1:2]"],
    "NEST": ["[{{'a': {DBL} + 0e0, 'b': {LIST}}}]", "({NEST})[2:3]"],
    "BOOL": [
        "({BOOL} AND {BOOL})", "({BOOL} OR {BOOL})", "(NOT {BOOL})", "({BOOL} IS TRUE)", "({BOOL} IS NOT TRUE)", "({BOOL} IS NOT FALSE)",
        "({BOOL} = {BOOL})", "({STR} LIKE {PATTERN})", "({STR} NOT LIKE {PATTERN})", "({STR} ILIKE {PATTERN})", "starts_with({STR}, {STR})",
        "({INT} < {DEC})", "(CAST({DBL} AS DOUBLE) >= {DEC})", "({INT} = {DBL})", "({DBL} > {INT})", "({DEC} <> {INT})", "array_has({LIST}, {INT})", "isnan({DBL})",
        "({TS} >= {DATE})", "({BOOL} AND {BOOL})", "({BOOL} OR {BOOL})", "contains({STR}, {STR})",
    ],
}  # fmt: skip
COMPARISONS = [
    "({T} = {T})", "({T} <> {T})", "({T} < {T})", "({T} <= {T})", "({T} > {T})", "({T} >= {T})", "({T} IS NULL)", "({T} IS NOT NULL)",
    "({T} IS DISTINCT FROM {T})", "({T} IS NOT DISTINCT FROM {T})", "({T} BETWEEN {T} AND {T})", "({T} NOT BETWEEN {T} AND {T})",
    "({T} IN ({T}, {T}))", "({T} IN ({T}, {T}, NULL))", "({T} NOT IN ({T}, {T}))", "({T} NOT IN ({T}, NULL))", "({T} = {T})", "({T} < {T})",
]  # fmt: skip

Make = Callable[[str], Node | str]


class Expressions:
    def __init__(self, random: Random):
        self.random = random
        # Which of the constants are marked, as values that a statement may be given (`marked`).
        self.parameters_share = 0.0
        self.parameters = 0

    def kind(self) -> str:
        return self.random.choices(KINDS, WEIGHTS)[0]

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def expression(self, kind: str, columns: list[Column], depth: int) -> Node:
        if kind in ("SMALL", "POS", "PATTERN", "NUMERAL"):
            return Node("fixed", self.literal(kind))
        fitting = [name for name, its in columns if its == kind]
        if depth <= 0 or self.chance(0.3):
            # Mostly columns: constants are folded before anything is tried.
            # Columns may be aggregates and windows too, of which each has a copy that can be made smaller by itself.
            return Node(kind, deepcopy(self.random.choice(fitting)) if fitting and self.chance(0.85) else self.literal(kind))
        template = self.template(kind)
        if kind == "BOOL" and self.chance(0.12):
            return self.predicate_of_subquery(columns, depth - 1)
        if self.chance(0.04):
            return self.scalar_subquery(kind, columns, depth - 1)
        return self.filled(kind, template, columns, depth - 1)

    def template(self, kind: str) -> str:
        if kind == "BOOL" and self.chance(0.6):
            of = self.kind()
            return self.random.choice(COMPARISONS).replace("{T}", f"{{{of}}}")
        if self.chance(0.2):
            return self.random.choice(OF_EVERY_KIND).replace("{T}", f"{{{kind}}}")
        return self.random.choice(PRODUCTIONS[kind])

    def filled(self, kind: str, template: str, columns: list[Column], depth: int) -> Node:
        node = filled(kind, template, lambda of: self.expression(of, columns, depth))
        # Braces of a struct are doubled, so that they are not taken for a kind.
        node.parts = [part.replace("{{", "{").replace("}}", "}") if isinstance(part, str) else part for part in node.parts]
        return node

    def predicate_of_subquery(self, columns: list[Column], depth: int) -> Node:
        raise NotImplementedError

    def scalar_subquery(self, kind: str, columns: list[Column], depth: int) -> Node:
        raise NotImplementedError

    def literal(self, kind: str) -> str:
        return self.marked(TYPES[kind], self.constant(kind)) if kind in KINDS else self.constant(kind)

    def marked(self, sql_type: str, constant: str) -> str:
        """As `plain_and_prepared` finds it, where it may be a parameter."""
        if not self.parameters_share or not self.chance(self.parameters_share):
            return constant
        self.parameters += 1
        return f"⟦{self.parameters}|{sql_type}|{constant}⟧"

    def constant(self, kind: str) -> str:
        choice = self.random.choice
        if self.chance(0.12) and kind in KINDS:
            return "NULL" if self.chance(0.1) else f"CAST(NULL AS {TYPES[kind]})"
        match kind:
            case "INT":
                return str(choice([0, 1, 2, 3, -1, self.random.randrange(-10, 300)]))
            case "SMALL":
                return str(choice([1, 2, 3, 7, -2]))
            case "POS":
                return str(choice([1, 2, 3]))
            case "DBL":
                return choice([f"CAST('{choice(DOUBLES)}' AS DOUBLE)", f"{self.random.randrange(0, 40) / 4}e0"])
            case "DEC":
                return choice(["0.00", "1.00", "1.5", "2.25", "-1.50"])
            case "STR":
                return f"'{choice(TEXTS)}'"
            case "PATTERN":
                return f"'{choice(['a%', '%b', '%a%', '_', 'x_', '', '%', 'A__'])}'"
            case "NUMERAL":
                return f"'{choice([0, 7, -3, 250])}'"
            case "DATE":
                return f"DATE '{choice(DATES)}'"
            case "TS":
                return f"CAST('{choice(TIMES)}' AS TIMESTAMP(6))"
            case "BOOL":
                return choice(["true", "false"])
            case "TZ":
                return f"CAST('{choice(TIMES)}+00:00' AS TIMESTAMP WITH TIME ZONE)"
            case "CLOCK":
                return f"TIME '{choice(CLOCKS)}'"
            case "IVL":
                return f"INTERVAL '{choice(INTERVALS)}'"
            case "LIST" | "MAP" | "DBLS" | "NEST":
                return f"CAST({choice(NESTED[TYPES[kind]])} AS {TYPES[kind]})"
            case _:
                return f"{{'a': {choice([1, 2])}, 'b': {choice(['NULL', repr('a')])}}}"
