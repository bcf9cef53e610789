"""Random tables for both engines: every kind of value that is treated specially somewhere, in segments, deleted, and still in logs."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from random_tree import Node, fixed, listed

# name, type, kind of expression
COLUMNS = [
    ("k", "INTEGER", "INT"), ("n", "SMALLINT", "INT"), ("v", "BIGINT", "INT"), ("d", "DOUBLE", "DBL"), ("r", "REAL", "DBL"),
    ("z", "DOUBLE", "DBL"), ("p", "DECIMAL(12,2)", "DEC"), ("s", "VARCHAR", "STR"), ("t", "VARCHAR", "STR"), ("day", "DATE", "DATE"),
    ("since", "TIMESTAMP(6)", "TS"), ("f", "BOOLEAN", "BOOL"), ("g", "INTERVAL", "IVL"), ("l", "INTEGER[]", "LIST"),
    ("m", "STRUCT(a INTEGER, b VARCHAR)", "REC"), ("tz", "TIMESTAMP WITH TIME ZONE", "TZ"), ("tm", "TIME", "CLOCK"),
    ("dict", "MAP(VARCHAR, INTEGER)", "MAP"), ("x", "DOUBLE[]", "DBLS"), ("nest", "STRUCT(a DOUBLE, b INTEGER[])[]", "NEST"),
]  # fmt: skip
TEXTS = ["", "a", "b", "abc", "Abc", "x1", "é", "a%b", "a,b", "it''s", " pad ", "a text too long to lie in its view", "NULL", "nan"]
DOUBLES = ["NaN", "Infinity", "-Infinity", "0.0", "-0.0", "0.25", "1.5", "-1.5", "2", "100.75"]
DATES = ["1969-12-31", "2000-02-29", "2020-01-01", "2020-03-31", "2024-02-29", "2024-12-30"]
TIMES = ["1969-12-31 23:59:59.999999", "2020-01-01 00:00:00", "2020-03-29 01:30:00.5", "2024-02-29 12:00:00", "2024-02-29 12:34:56.789012"]
CLOCKS = ["00:00:00", "12:34:56", "23:59:59.999999"]
INTERVALS = ["1 day", "24 hours", "-1 day", "1 month", "90 minutes", "31 days", "1 year 2 days"]
LISTS = ["[]", "[1]", "[2]", "[1, 2]", "[NULL]", "[1, NULL]", "[2, 1, 3]"]
NAN = "CAST('NaN' AS DOUBLE)"
MAPS = ["MAP {}", "MAP {'a': 1}", "MAP {'a': NULL}", "MAP {'a': 1, 'b': 2}", "MAP {'b': 2, 'a': 1}", "MAP {'': 0}"]
DOUBLE_LISTS = ["[]", "[1e0]", f"[{NAN}]", "[NULL]", f"[1e0, {NAN}]", "[1e0, NULL]", "[0.5e0, 1e0]", "[CAST('Infinity' AS DOUBLE)]"]
NESTS = [
    "[]",
    "[NULL]",
    "[{'a': 1e0, 'b': [1]}]",
    f"[{{'a': {NAN}, 'b': []}}]",
    "[{'a': NULL, 'b': [NULL]}]",
    "[{'a': 1e0, 'b': NULL}, NULL]",
]
NESTED = {"INTEGER[]": LISTS, "MAP(VARCHAR, INTEGER)": MAPS, "DOUBLE[]": DOUBLE_LISTS, "STRUCT(a DOUBLE, b INTEGER[])[]": NESTS}


@dataclass
class Table:
    name: str
    columns: list[tuple[str, str, str]]
    """The name of each column, its type and its kind."""


def value(random: Random, sql_type: str, null_share: float) -> str:
    if random.random() < null_share:
        return "NULL"
    match sql_type:
        case "INTEGER" | "SMALLINT":
            return str(random.choice([0, 1, 2, 3, random.randrange(-9, 10), random.randrange(-300, 300)]))
        case "BIGINT":
            return str(random.choice([0, 1, 2, random.randrange(-20, 20), random.randrange(-(10**6), 10**6), 2**40 + random.randrange(3)]))
        case "DOUBLE" | "REAL":
            some = random.choice([random.choice(DOUBLES), str(random.randrange(-40, 40) / 4)])
            return f"CAST('{some}' AS {sql_type})"
        case "VARCHAR":
            return f"'{random.choice(TEXTS)}'"
        case "DATE":
            return f"DATE '{random.choice(DATES)}'"
        case "TIMESTAMP(6)":
            return f"CAST('{random.choice(TIMES)}' AS TIMESTAMP(6))"
        case "TIMESTAMP WITH TIME ZONE":
            return f"CAST('{random.choice(TIMES)}{random.choice(['+00:00', '+05:30'])}' AS TIMESTAMP WITH TIME ZONE)"
        case "TIME":
            return f"TIME '{random.choice(CLOCKS)}'"
        case "BOOLEAN":
            return random.choice(["true", "false"])
        case "INTERVAL":
            return f"INTERVAL '{random.choice(INTERVALS)}'"
        case nested if nested in NESTED:
            return f"CAST({random.choice(NESTED[nested])} AS {nested})"
        case "STRUCT(a INTEGER, b VARCHAR)":
            a, b = value(random, "INTEGER", 0.3), value(random, "VARCHAR", 0.3)
            return f"{{'a': {a}, 'b': {b}}}"
        case _:
            return f"CAST('{random.choice(['0.00', '1.00', '-1.50', '2.25', '99.99', f'{random.randrange(-900, 900)}.75'])}' AS {sql_type})"


def tables(random: Random) -> list[Table]:
    """Some columns have the same name in several tables, for USING and NATURAL, and others do not."""
    made = []
    for name in random.sample(["aa", "zz", "mid"], 3) + ["big"]:
        chosen = [column for column in COLUMNS if random.random() < (0.8 if name != "big" else 0.6)]
        random.shuffle(chosen)
        named = [(f"{column}_{name}" if random.random() < 0.7 else column, sql_type, kind) for column, sql_type, kind in chosen]
        named.insert(random.randrange(len(named) + 1), ("id", "INTEGER", "INT"))
        made.append(Table(name, named))
    return made


def created(random: Random, table: Table) -> tuple[str, str]:
    """The statement for Quiver, and for DuckDB."""
    columns = ", ".join(f"{name} {sql_type}" for name, sql_type, _ in table.columns)
    plain = [name for name, _, kind in table.columns if kind in ("INT", "STR", "DATE", "DEC")]
    order = f" ORDER BY ({random.choice(plain)})" if random.random() < 0.3 else ""
    order += " WITH (durability = 'async')" if random.random() < 0.2 else ""
    return f"CREATE TABLE {table.name} ({columns}){order}", f"CREATE TABLE {table.name} ({columns})"


def rows_of_values(random: Random, table: Table, ids: range, null_share: float) -> Node:
    rows = []
    for number in ids:
        values = [str(number) if name == "id" else value(random, sql_type, null_share) for name, sql_type, _ in table.columns]
        rows.append(f"({', '.join(values)})")
    return fixed(f"INSERT INTO {table.name} VALUES ", listed(rows))


def rows_of_series(random: Random, table: Table, first: int, last: int) -> Node:
    """Many rows, of few different ones: several zones and row groups."""
    columns = []
    for name, sql_type, _ in table.columns:
        if name == "id":
            columns.append("CAST(g.value AS INTEGER)")
            continue
        cases = [f"WHEN {at} THEN {value(random, sql_type, 0.2)}" for at in range(random.randrange(2, 9))]
        columns.append(f"CAST(CASE g.value % {random.randrange(5, 13)} {' '.join(cases)} END AS {sql_type})")
    return fixed(f"INSERT INTO {table.name} SELECT {', '.join(columns)} FROM generate_series({first}, {last}) AS g(value)")


def filling(random: Random, tables: list[Table]) -> list[tuple[Node, bool]]:
    """Statements, and whether DuckDB takes them too."""
    made: list[tuple[Node, bool]] = []
    for table in tables:
        null_share = random.choice([0.05, 0.2, 0.5])
        first, batches = 1, random.randrange(1, 4)
        if table.name == "big":
            made.append((rows_of_series(random, table, 1, 9000 + random.randrange(2000)), True))
            made.append((fixed(f"DELETE FROM big WHERE id BETWEEN {random.randrange(9000)} AND 8500"), True))
            first, batches = 20_001, 1
        for batch in range(batches):
            last = first + random.randrange(1, 14)
            made.append((rows_of_values(random, table, range(first, last), null_share), True))
            first = last
            if batch + 1 < batches or random.random() < 0.3:
                made.append((fixed("CHECKPOINT"), False))
        if random.random() < 0.5:
            made.append((fixed(f"DELETE FROM {table.name} WHERE id % {random.randrange(3, 7)} = 0"), True))
    return made
