"""Answers of two engines, or of one engine to two queries: whether they are the same rows."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

Rows = list[tuple]
DIGITS = 9


def plain(value: Any) -> Any:
    """As Python compares it: intervals are as long as they are, with months of 30 days, as both engines compare them."""
    match value:
        case dict():
            return {name: plain(inner) for name, inner in value.items()} or []
        case [*pairs] if pairs and all(type(pair) is tuple for pair in pairs):
            # A map of Quiver; that of DuckDB is a dict, and of both one without keys is an empty list here.
            return {key: plain(inner) for key, inner in pairs}
        case list() | tuple() if not hasattr(value, "nanoseconds"):
            return [plain(inner) for inner in value]
        case tuple():
            return timedelta(days=value.months * 30 + value.days, microseconds=value.nanoseconds / 1000)
        case date() if not isinstance(value, datetime):
            return datetime(value.year, value.month, value.day)
    return value


def sort_key(value: Any) -> tuple:
    """Numbers of every type among each other; with fewer digits than they have, so that doubles nearly equal lie together."""
    match value:
        case None:
            return (0,)
        case bool():
            return (1, value)
        case int() | float() | Decimal():
            number = float(value)
            exact = 0 if isinstance(value, float) else value
            return (3,) if math.isnan(number) else (2, float(f"{number:.{DIGITS - 1}g}") + 0.0, exact)
        case dict():
            return (4, [(name, sort_key(inner)) for name, inner in value.items()])
        case list():
            return (5, [sort_key(inner) for inner in value])
        case datetime() | time() | timedelta():
            return (6, str(type(value)), value)
    return (7, str(value))


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        if a is None or b is None or isinstance(a, (str, bool)) or isinstance(b, (str, bool)):
            return False
        a, b = float(a), float(b)
        return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=10**-DIGITS, abs_tol=10**-DIGITS)
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(map(equal, a.values(), b.values()))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    return a == b


def cut(rows: Rows, places: dict[int, int]) -> Rows:
    """With so many digits behind the point in some columns."""
    with localcontext(prec=80):
        return [tuple(with_places(value, places.get(column)) for column, value in enumerate(row)) for row in rows]


def with_places(value: Any, places: int | None) -> Any:
    if places is None or not isinstance(value, Decimal):
        return value
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def difference(a: Rows, b: Rows, in_order: bool) -> tuple[Rows, Rows] | None:
    """The rows of each that the other does not have, or the first that are in another place."""
    first, second = ([[plain(value) for value in row] for row in rows] for rows in (a, b))
    if not in_order:
        first, second = (sorted(rows, key=lambda row: [sort_key(value) for value in row]) for rows in (first, second))
    if len(first) == len(second) and all(len(x) == len(y) and all(map(equal, x, y)) for x, y in zip(first, second)):
        return None
    if in_order:
        at = next(
            (at for at, (x, y) in enumerate(zip(first, second)) if not (len(x) == len(y) and all(map(equal, x, y)))), min(len(a), len(b))
        )
        return first[at : at + 5], second[at : at + 5]
    keys = [{str([sort_key(value) for value in row]) for row in rows} for rows in (first, second)]
    only = [[row for row in rows if str([sort_key(value) for value in row]) not in keys[1 - at]] for at, rows in enumerate((first, second))]
    return (only[0][:5], only[1][:5]) if only[0] or only[1] else (first[:5], second[:5])
