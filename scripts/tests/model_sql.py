"""Random statements and queries that Quiver and DuckDB understand in the same way.

What they are known to read differently is left out: `/` and averages of integers and decimals, DATE plus INTERVAL
without a cast, sums of doubles in another order (all doubles are multiples of a quarter, so sums are exact).
"""

from random import Random

KINDS = ["BIGINT", "INTEGER", "DOUBLE", "DECIMAL(12,2)", "VARCHAR", "DATE", "TIMESTAMP(6)", "BOOLEAN"]
NUMBERS = {"BIGINT", "INTEGER", "DECIMAL(12,2)"}
TEXTS = ["", "x", "é", "a,b", 'quo"te', "it''s", "x1", "a text too long to lie in its view", "ÄÖ ß", "NULL"]

Columns = dict[str, str]


def first_columns() -> Columns:
    """Of both tables: all but the id can be dropped, renamed and joined by others."""
    return {"id": "BIGINT", "v": "BIGINT", "d": "DOUBLE", "p": "DECIMAL(12,2)", "s": "VARCHAR", "day": "DATE",
            "since": "TIMESTAMP(6)", "f": "BOOLEAN"}  # fmt: skip


def literal(random: Random, kind: str) -> str:
    if random.random() < 0.15:
        return "NULL"
    match kind:
        case "BIGINT":
            return str(random.choice([0, 1, -1, random.randrange(-500, 500), 2**45 + 1, -(2**40)]))
        case "INTEGER":
            return str(random.choice([0, random.randrange(-500, 500), 2**30]))
        case "DOUBLE":
            special = ["CAST('NaN' AS DOUBLE)", "CAST(0 AS DOUBLE)", "CAST('Infinity' AS DOUBLE)", "CAST(0 AS DOUBLE)"]
            return random.choice([*special, *[f"CAST('{random.randrange(-400, 400) / 4}' AS DOUBLE)"] * 6])
        case "DECIMAL(12,2)":
            return f"CAST('{random.choice([0, 999999, random.randrange(-500, 500)])}.{random.randrange(100):02}' AS DECIMAL(12,2))"
        case "VARCHAR":
            return f"'{random.choice(TEXTS)}'"
        case "DATE":
            return f"DATE '{random.choice([1969, 2020, 2024])}-0{random.randrange(1, 10)}-{random.randrange(10, 29)}'"
        case "TIMESTAMP(6)":
            clock = f"{random.randrange(10, 24)}:00:00.{random.randrange(10**6):06}"
            return f"CAST('{random.choice([1969, 2020])}-02-{random.randrange(10, 29)} {clock}' AS TIMESTAMP(6))"
        case _:
            return random.choice(["true", "false"])


def computed(random: Random, kind: str) -> str:
    """An expression on the column `value` of a series."""
    factor, null_every = random.choice([1, 3, 7, 11]), random.choice([2, 5, 9, 10**9])
    match kind:
        case "BIGINT":
            some = f"value * {factor} % {random.choice([3, 50, 1000])}"
        case "INTEGER":
            some = f"CAST(value * {factor} % 300 AS INTEGER)"
        case "DOUBLE":
            some = (
                "CASE value % 60 WHEN 7 THEN CAST('NaN' AS DOUBLE) WHEN 9 THEN CAST(0 AS DOUBLE) WHEN 11 THEN "
                f"CAST('-Infinity' AS DOUBLE) ELSE CAST(value * {factor} % 400 AS DOUBLE) * CAST('0.25' AS DOUBLE) END"
            )
        case "DECIMAL(12,2)":
            some = f"CAST((value * {factor} % 1000) || '.' || (10 + value % 90) AS DECIMAL(12,2))"
        case "VARCHAR":
            some = random.choice([f"'x' || (value % {factor * 5})", "'a longer text with the number ' || value", "''"])
        case "DATE":
            some = f"CAST('20' || (10 + value % 20) || '-0' || (1 + value % 9) || '-1' || (value * {factor} % 10) AS DATE)"
        case "TIMESTAMP(6)":
            some = f"CAST('2020-01-1' || (value % 10) || ' ' || (10 + value * {factor} % 14) || ':00:00.12345' || (value % 10) AS TIMESTAMP(6))"
        case _:
            some = f"value * {factor} % 3 = 0"
    return f"CASE WHEN value % {null_every} = 1 THEN NULL ELSE {some} END"


def changed(random: Random, name: str, kind: str) -> str:
    """A new value for the column out of the old one."""
    match kind:
        case "BIGINT" | "INTEGER":
            # Kept small: a sum that overflows is an error here and a HUGEINT there.
            other = f"CAST({name} % 1000 + {random.randrange(-50, 50)} AS {kind})"
        case "DOUBLE":
            # No -0.0: Quiver tells it from 0.0 where rows are sorted or counted as distinct.
            other = f"CASE WHEN {name} = 0 THEN {name} ELSE -{name} END"
        case "DECIMAL(12,2)":
            other = f"CAST({name} + {random.randrange(100)}.25 AS DECIMAL(12,2))"
        case "VARCHAR":
            other = f"CASE WHEN length({name}) > 40 THEN 'short' ELSE {name} || 'é1' END"
        case "DATE":
            other = f"CAST({name} + INTERVAL '{random.randrange(1, 40)} days' AS DATE)"
        case "TIMESTAMP(6)":
            other = f"{name} + INTERVAL '{random.randrange(1, 90)} minutes'"
        case _:
            other = f"NOT {name}"
    return random.choice([other, other, literal(random, kind)])


def condition(random: Random, columns: Columns, top_id: int, table: str = "", depth: int = 0) -> str:
    prefix = f"{table}." if table else ""
    choice = random.random()
    if depth < 2 and choice < 0.2:
        parts = [condition(random, columns, top_id, table, depth + 1) for _ in range(2)]
        return f"({random.choice([' AND ', ' OR ']).join(parts)})"
    if depth < 2 and choice < 0.25:
        return f"NOT {condition(random, columns, top_id, table, depth + 2)}"
    if choice < 0.6:
        return id_condition(random, f"{prefix}id", top_id)
    name, kind = random.choice(list(columns.items()))
    return column_condition(random, prefix + name, kind)


def id_condition(random: Random, name: str, top_id: int) -> str:
    at = random.randrange(top_id + 1)
    return random.choice(
        [
            f"{name} = {at}",
            f"{name} BETWEEN {at} AND {at + random.randrange(300)}",
            f"{name} % {random.randrange(2, 30)} = {random.randrange(5)}",
            f"{name} IN ({', '.join(str(random.randrange(top_id + 1)) for _ in range(random.randrange(1, 9)))})",
            f"{name} > {max(0, top_id - random.randrange(500))}",
        ]
    )


def column_condition(random: Random, name: str, kind: str) -> str:
    if kind == "BOOLEAN":
        return random.choice([name, f"NOT {name}", f"{name} IS NULL", f"{name} IS NOT TRUE"])
    if kind == "VARCHAR" and random.random() < 0.4:
        return f"{name} LIKE '{random.choice(['x%', '%1', '%a%', 'x_', ''])}'"
    operator = random.choice(["=", "<", "<=", ">", ">=", "<>", "IS DISTINCT FROM"])
    constant = literal(random, kind)
    some = [f"{name} {operator} {constant}"] * 6 + [f"{name} IS NULL", f"{name} IS NOT NULL"]
    some.append(f"{name} BETWEEN {literal(random, kind)} AND {constant}")
    some.append(f"{name} NOT IN ({constant}, {literal(random, kind)})")
    return random.choice(some)


def aggregate(random: Random, name: str, kind: str) -> str:
    some = [f"count({name})"]
    if kind != "DOUBLE":
        some.append(f"count(DISTINCT {name})")
    if kind != "BOOLEAN":
        some += [f"min({name})", f"max({name})"]
    if kind in NUMBERS:
        some.append(f"sum({name})")
    if kind == "DOUBLE":
        some += [f"sum({name}) FILTER (WHERE abs({name}) < 1000000)", f"avg({name}) FILTER (WHERE abs({name}) < 1000000)"]
    if kind == "INTEGER":
        some.append(f"avg(CAST({name} AS DOUBLE))")
    return random.choice(some)


def aggregates(random: Random, columns: Columns, count: int, prefix: str = "") -> str:
    chosen = random.choices(list(columns.items()), k=count)
    listed = [f"{aggregate(random, prefix + name, kind)} AS x{at}" for at, (name, kind) in enumerate(chosen)]
    return ", ".join(["count(*) AS n", *listed])


def query(random: Random, tables: dict[str, Columns], top_id: int) -> str:
    """One whose rows come in an order that it gives itself."""
    table = random.choice(list(tables))
    columns = tables[table]
    where = f" WHERE {condition(random, columns, top_id)}" if random.random() < 0.6 else ""
    names = list(columns)
    some = ", ".join(dict.fromkeys(["id", *random.sample(names, min(3, len(names)))]))
    by = random.choice(names)
    match random.randrange(10):
        case 0:
            return f"SELECT {some} FROM {table}{where} ORDER BY id"
        case 1 | 2:
            return f"SELECT {aggregates(random, columns, 5)} FROM {table}{where}"
        case 3:
            keys = ", ".join(random.sample([name for name in names if name != "id"], min(2, len(names) - 1)) or ["id"])
            order = ", ".join(f"{key} NULLS LAST" for key in keys.split(", "))
            return f"SELECT {keys}, {aggregates(random, columns, 3)} FROM {table}{where} GROUP BY {keys} ORDER BY {order}"
        case 4:
            way = random.choice(["", " DESC"])
            return f"SELECT {some} FROM {table}{where} ORDER BY {by}{way} NULLS LAST, id LIMIT {random.randrange(1, 50)}"
        case 5:
            return f"SELECT DISTINCT {by} FROM {table}{where} ORDER BY {by} NULLS LAST"
        case 6:
            return window(random, table, columns, where)
        case 7:
            a, b = tables
            where = f" WHERE {condition(random, columns, top_id)}" if where else ""
            return f"SELECT id FROM {table}{where} {random.choice(['EXCEPT', 'INTERSECT'])} SELECT id FROM {a if table == b else b} ORDER BY id"
        case 8:
            return semi_join(random, tables, top_id)
        case _:
            return join(random, tables, top_id)


def window(random: Random, table: str, columns: Columns, where: str) -> str:
    by, other = random.choice(list(columns)), random.choice(list(columns))
    return (
        f"SELECT id, row_number() OVER (PARTITION BY {by} ORDER BY {other} NULLS LAST, id) AS w1, "
        f"lag({other}) OVER (ORDER BY id) AS w2, count({by}) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS w3, "
        f"dense_rank() OVER (ORDER BY {by} DESC NULLS LAST) AS w4 FROM {table}{where} ORDER BY id"
    )


def semi_join(random: Random, tables: dict[str, Columns], top_id: int) -> str:
    a, b = random.sample(list(tables), 2)
    inner = f"SELECT id + {random.randrange(3)} FROM {b} WHERE {condition(random, tables[b], top_id)}"
    return f"SELECT {aggregates(random, tables[a], 3)} FROM {a} WHERE id {random.choice(['IN', 'NOT IN'])} ({inner})"


def join(random: Random, tables: dict[str, Columns], top_id: int) -> str:
    a, b = tables
    kind = random.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
    shared = [name for name, kind in tables[a].items() if tables[b].get(name) == kind and name not in ("id", "f")]
    on = f"x.id = y.id + {random.randrange(4)}"
    if shared and random.random() < 0.5:
        name = random.choice(shared)
        on = f"x.{name} = y.{name} AND x.id % 200 = y.id % 200"
    where = f" WHERE {condition(random, tables[a], top_id, 'x')}" if random.random() < 0.5 else ""
    left, right = aggregates(random, tables[a], 2, "x."), aggregate(random, "y.id", "BIGINT")
    return f"SELECT {left}, {right} AS y0 FROM {a} x {kind} {b} y ON {on}{where}"
