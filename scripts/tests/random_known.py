"""What is known: messages with which Quiver may refuse what DuckDB takes, and statements that have another answer than DuckDB's."""

import re

# Words of each message. A statement that is refused in other words is a failure.
REFUSALS = [
    # docs/sql.md (Refused) has them.
    "a subquery in ON of an outer join may be about the columns of the side alone that is filled",
    "a subquery looks at the row outside of it where it cannot",
    "a subquery that looks at the query around it other than by x = y is not supported",
    "a subquery that looks at a row further outside than that of the query around it is not supported",
    "a window function with an offset, a default or a number that differs from row to row is not supported",
    "HAVING without GROUP BY takes aggregates, and no columns by themselves",
    "FULL or RIGHT JOIN … USING with .* in a subquery, or a field of it is not supported",
    # PostgreSQL refuses this too: `||` wants a text on one side.
    "Cannot infer common string type for string concat operation",
    # And these: `string_agg(DISTINCT 'a', ';' ORDER BY k)`, `sum($1)` in PREPARE, `sum(CASE WHEN true THEN NULL END)`, `ORDER BY NULL RANGE 1 PRECEDING`.
    "In an aggregate with DISTINCT, ORDER BY expressions must appear in argument list",
    "cannot be computed of a NULL or a parameter without a type",
    "RANGE with an offset orders by a number, a date or a timestamp, and not by NULL",
]
REFUSED = re.compile("|".join(REFUSALS))

# By seed and number. They hold for the generator as it is: whoever changes it asks for a new list with an empty one.
STATEMENTS: dict[int, set[int]] = {
    # 101269 is DuckDB's own mistake: `EXISTS (SELECT 1 FROM t WHERE l > ALL (SELECT [1] FROM generate_series(2, 0)))` is false there, although
    # every row is in it. 63255, 113587 and 134847 order windows by columns that are equal in all rows: each engine may take them in any order.
    # As in PostgreSQL, 137471 compares a `nullif(NULL, NULL)`, which is a text, with a list, 139155 and 165431 a `NULL - NULL` with an
    # interval, and 56800 has DISTINCT beside ORDER BY of another value. 135653 and 189202 have two
    # equal aggregates of a constant, in a query with GROUPING SETS and in a subquery of it, and 82972 a trunc(NULL) of no type. 77646 cuts a
    # variance near 2.
    20261126: {56800, 63255, 77646, 82972, 101269, 113587, 134847, 135653, 137471, 139155, 165431, 189202},
}
