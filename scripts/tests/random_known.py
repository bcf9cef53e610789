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
    20261126: {
        # DuckDB's own mistakes. An EXISTS over `l > ALL (SELECT [1] FROM generate_series(2, 0))` is false there, although every row is in it.
        # A join moves its filter below DISTINCT ON. `ts + INTERVAL '1' MONTH` is computed once for it and for 30 days.
        *(101269, 93759, 199593),
        # DuckDB's decimals have 38 digits at most, and those behind the point are cut before a comparison, or before a cast.
        *(98602, 192442),
        # Windows, or DISTINCT ON, ordered by columns that are equal in all rows: each engine may take them in any order.
        *(63255, 66083, 90172, 113587, 134847),
        # A variance near 2, cut to a whole number.
        77646,
        # PostgreSQL refuses these too: a text (`nullif(NULL, NULL)`) beside a list, `NULL - NULL` beside an interval, DISTINCT beside ORDER BY of
        # another value, a timestamp and a NULL without a type.
        *(56800, 137471, 139155, 165431, 180924),
        # NULLs without a type: a slice of one beside a list of structs, a default of `lag` in a struct, an element of one beside a number, a
        # `trunc` of one. Two equal aggregates of constants, one of them in a subquery.
        *(44099, 46737, 82972, 97970, 135653, 189202),
        # `ORDER BY 0` in an aggregate. A window over batches of 64 rows, whose texts are counted as often as there are batches.
        *(88983, 189920),
    },
}
