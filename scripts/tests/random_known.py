"""Statements, by seed and number, whose answer is known to be another one than DuckDB's.

They hold for the generator as it is: whoever changes it asks for a new list with an empty one.
"""

STATEMENTS = {
    20261123: {
        # (… EXCEPT ALL …) EXCEPT … keeps copies: below unnest a column that is a key once is taken for one still.
        275,
        # DuckDB's own: DECIMAL(12,2) UNION ALL sum(1.5) is DECIMAL(38,1) there and loses a digit.
        1656,
    },
}
