"""What Quiver is known to answer wrongly or to refuse, and is to be mended: the generator leaves it out for as long as it stands here."""

OPEN = frozenset({
    # `NULL NOT IN (SELECT …)`, with a constant on the left, keeps rows.
    "NOT IN of a constant",
    # `p = round(p, 1)` compares DECIMAL(13,2) with DECIMAL(12,1), and says that it cannot.
    "round of a decimal has two types",
})  # fmt: skip

# Statements, by seed and number, whose answer is known to be another one than DuckDB's. They hold for the generator as it is:
# whoever changes it asks for a new list with an empty one.
STATEMENTS = {
    20261123: {
        # CAST(timestamp AS TIME) below HAVING: bounds of the time of day are taken from those of the timestamps (an internal error).
        423,
        # (CASE WHEN … THEN a_struct END)['field'] where the CASE is NULL gives the field of the struct.
        1187,
        # DuckDB's own: DECIMAL(12,2) UNION ALL sum(1.5) is DECIMAL(38,1) there and loses a digit.
        1656,
    },
}
