"""Are two results of one query the same? Row by row, with only the differences of type allowed.

One side is Quiver's CSV text, the other DuckDB's typed values, which say how to read the text. If
the other is CSV text too, the texts must be the same.
"""

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction

RELATIVE_TOLERANCE = Fraction(1, 10**9)
# Quiver divides decimals into decimals and DuckDB into doubles. A decimal column (the same number
# of digits after the point in every row) may be off by one in its last digit, if it has this many.
DECIMAL_PLACES_MIN = 4


def differences(sql: str, quiver, other, other_name: str = "DuckDB") -> list[str]:
    """Empty when equal. Each side is (column names, rows)."""
    names, texts = quiver
    expected_names, expected = other
    if [name.lower() for name in names] != [name.lower() for name in expected_names]:
        return [f"columns are {names}, {other_name} has {expected_names}"]
    if len(texts) != len(expected):
        return [f"{len(texts)} rows, {other_name} has {len(expected)}"]
    slack = slack_of(texts, names)

    # In the order given, by the ORDER BY columns alone: ties may come in any order.
    keys = [expected_names.index(name) for name in order_by_columns(sql)]
    for number, (row, wanted) in enumerate(zip(texts, expected), 1):
        for at in keys:
            if not same(row[at], wanted[at], slack[at]):
                return [f"row {number} is out of order: {names[at]} {row[at]}, {other_name} {wanted[at]}"]

    return row_differences(sql, quiver, other, other_name)


def row_differences(_sql: str, quiver, other, other_name: str = "DuckDB", relative: Fraction = RELATIVE_TOLERANCE) -> list[str]:
    """As a set of whole rows, whatever the columns are called. `relative` is what doubles may differ by."""
    names, texts = quiver
    _, expected = other
    if len(texts) != len(expected):
        return [f"{len(texts)} rows, {other_name} has {len(expected)}"]
    slack = slack_of(texts, names)
    found = []
    for row, wanted in zip(sorted_rows(texts, expected), sorted_rows(expected, expected)):
        for at, name in enumerate(names):
            if not same(row[at], wanted[at], slack[at], relative):
                found.append(f"{name}: {row[at]!r}, {other_name} {wanted[at]!r}")
    return found


def slack_of(texts, names) -> list[Fraction]:
    return [last_digit([row[at] for row in texts]) for at in range(len(names))]


def order_by_columns(sql: str) -> list[str]:
    """Names after the last ORDER BY; in these queries they are output columns."""
    match = re.search(r"\border by\b([^()]*)$", sql, re.IGNORECASE)
    if not match:
        return []
    keys = re.split(r"\blimit\b", match[1].rstrip().rstrip(";"), flags=re.IGNORECASE)[0]
    return [key.split()[0] for key in keys.split(",")]


def sorted_rows(rows, typed_rows):
    """Sorted by the exactly comparable columns first, so that rounding cannot reorder the rows."""
    if not typed_rows:
        return rows
    inexact = [isinstance(value, (float, Decimal)) for value in typed_rows[0]]
    order = sorted(range(len(inexact)), key=lambda at: inexact[at])

    def key(row):
        return [(row[at] is None, 0 if row[at] is None else Fraction(row[at]) if inexact[at] else str(row[at])) for at in order]

    return sorted(rows, key=key)


def last_digit(texts) -> Fraction:
    places = {len(text.partition(".")[2]) for text in texts if text is not None}
    if len(places) == 1 and all(re.fullmatch(r"-?\d+\.\d+", text) for text in texts if text is not None):
        (count,) = places
        if count >= DECIMAL_PLACES_MIN:
            return Fraction(1, 10**count)
    return Fraction(0)


def same(text, value, slack: Fraction, relative: Fraction = RELATIVE_TOLERANCE) -> bool:
    if text is None or value is None:
        # CSV has one spelling for NULL and for an empty string.
        return text is None and value in (None, "")
    if not isinstance(value, (int, float, Decimal)):
        return text == str(value)
    try:
        number, wanted = Fraction(Decimal(text)), Fraction(value)
    except (InvalidOperation, ValueError, OverflowError):
        return text.lower() == str(value).lower()
    if isinstance(value, float):
        return abs(number - wanted) <= max(abs(wanted) * relative, slack)
    return number == wanted
