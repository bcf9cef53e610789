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
    # So do these: `string_agg(DISTINCT 'a', ';' ORDER BY k)`, `sum($1)` in PREPARE, and `sum(CASE WHEN true THEN NULL END)`.
    "In an aggregate with DISTINCT, ORDER BY expressions must appear in argument list",
    "cannot be computed of a NULL or a parameter without a type",
]
REFUSED = re.compile("|".join(REFUSALS))

# By seed and number. They hold for the generator as it is: whoever changes it asks for a new list with an empty one.
STATEMENTS: dict[int, set[int]] = {
    # DuckDB's own mistakes: `EXISTS (SELECT 1 FROM t WHERE l > ALL (SELECT [1] FROM generate_series(2, 0)))` is false there, although
    # every row is in it. `greatest(round(sum(p), 1), 2.25)` of a decimal column `p` is 2.3 there, and 28.75
    # EXCEPT a `sum(1.5)` is 28.8, and so it is in UNION and EXCEPT (15843, 16555, 20607, 111776, 117972, 125521).
    # 113587 orders two windows by columns that are equal in all rows: each engine may take the rows in any order.
    20261126: {4992, 15843, 16555, 20607, 101269, 102934, 111776, 113587, 117972, 125521},
}
