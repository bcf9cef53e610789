"""Statements, by seed and number, whose answer is known to be another one than DuckDB's.

They hold for the generator as it is: whoever changes it asks for a new list with an empty one.
"""

STATEMENTS = {
    20261123: {
        # DuckDB's own: DECIMAL(12,2) UNION ALL a sum, which is DECIMAL(38,1), is DECIMAL(38,1) there and loses a digit.
        1354,
        1656,
    },
}
