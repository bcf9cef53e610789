"""`expressions.py SCHEMA.sql TARGET`: expressions over lineitem as pyarrow sends them (`ExtendedExpression`).

Each is a file of its own; `expressions.json` says what they are, the same in SQL, and what pyarrow refused.
"""

import datetime
import functools
import json
import operator
import re
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.substrait

TYPES = {"bigint": pa.int64(), "integer": pa.int32(), "date": pa.date32(), "varchar": pa.string(), "char": pa.string()}

c = pc.field
DAY = datetime.date(1994, 1, 1)

# File, what it is, condition or columns in SQL, and the expression or columns in pyarrow.
FILTERS = [
    ("equal_string", "a string is equal", "l_returnflag = 'R'", c("l_returnflag") == "R"),
    ("not_equal_string", "a string is not equal", "l_shipmode <> 'AIR'", c("l_shipmode") != "AIR"),
    ("less_integer", "an integer is less than one", "l_linenumber < 4", c("l_linenumber") < 4),
    (
        "less_decimal",
        "a decimal is less than one of another precision",
        "l_quantity < 24.00",
        c("l_quantity") < Decimal("24.00"),
    ),
    ("less_decimal_integer", "a decimal is less than an integer", "l_quantity < 24", c("l_quantity") < 24),
    (
        "between_dates",
        "a date is in a year",
        "l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01'",
        (c("l_shipdate") >= DAY) & (c("l_shipdate") < datetime.date(1995, 1, 1)),
    ),
    ("columns", "two columns are compared", "l_commitdate < l_receiptdate", c("l_commitdate") < c("l_receiptdate")),
    (
        "and_or",
        "and within or",
        "(l_returnflag = 'R' and l_linenumber < 4) or l_shipmode = 'AIR'",
        ((c("l_returnflag") == "R") & (c("l_linenumber") < 4)) | (c("l_shipmode") == "AIR"),
    ),
    (
        "or_chain",
        "six comparisons in a chain of or",
        " or ".join(f"l_suppkey = {key}" for key in range(1, 7)),
        # pyarrow declares extensions twice over with each level, so with 40 it takes all memory.
        functools.reduce(operator.or_, (c("l_suppkey") == key for key in range(1, 7))),
    ),
    ("not", "not", "not (l_returnflag = 'R')", ~(c("l_returnflag") == "R")),
    ("in_strings", "is_in of strings", "l_shipmode in ('MAIL', 'SHIP')", c("l_shipmode").isin(["MAIL", "SHIP"])),
    (
        "in_integers",
        "is_in of integers",
        "l_linenumber in (1, 3, 5)",
        c("l_linenumber").isin(pa.array([1, 3, 5], pa.int32())),
    ),
    ("not_in", "not is_in", "l_shipmode not in ('MAIL', 'SHIP')", ~c("l_shipmode").isin(["MAIL", "SHIP"])),
    ("is_null", "is_null", "l_comment is null", c("l_comment").is_null()),
    ("is_valid", "is_valid", "l_comment is not null", c("l_comment").is_valid()),
    (
        "equal_null",
        "compared with a null of its type",
        "l_comment = cast(null as varchar)",
        c("l_comment") == pa.scalar(None, pa.string()),
    ),
    ("starts_with", "starts_with", "l_comment like 'fur%'", pc.starts_with(c("l_comment"), "fur")),
    ("ends_with", "ends_with", "l_comment like '%ly'", pc.ends_with(c("l_comment"), "ly")),
    ("contains", "match_substring", "l_comment like '%special%'", pc.match_substring(c("l_comment"), "special")),
    (
        "contains_any_case",
        "match_substring that ignores case",
        "l_shipmode ilike '%air%'",
        pc.match_substring(c("l_shipmode"), "air", ignore_case=True),
    ),
    ("like", "match_like", "l_comment like '%special%requests%'", pc.match_like(c("l_comment"), "%special%requests%")),
    ("xor", "xor", "(l_linenumber < 4) <> (l_tax > 0.05)", pc.xor(c("l_linenumber") < 4, c("l_tax") > Decimal("0.05"))),
    ("true", "the constant true", "true", pc.scalar(True)),
]
PROJECTIONS = [
    (
        "revenue",
        "decimals multiplied and subtracted, overflow unchecked",
        {"revenue": "l_extendedprice * (1.00 - l_discount)"},
        {"revenue": pc.multiply(c("l_extendedprice"), pc.subtract(pc.scalar(Decimal("1.00")), c("l_discount")))},
    ),
    (
        "integers",
        "integers added, multiplied and subtracted, overflow is an error",
        {"number": "(l_orderkey + 1) * 2 - l_partkey"},
        {"number": (c("l_orderkey") + 1) * 2 - c("l_partkey")},
    ),
    (
        "integers_of_two_sizes",
        "an int32 is added to an int64",
        {"number": "l_orderkey + l_linenumber"},
        {"number": c("l_orderkey") + c("l_linenumber")},
    ),
    (
        "divide",
        "integers divided (towards zero)",
        {"quotient": "(l_orderkey - l_orderkey % 7) / 7"},
        {"quotient": c("l_orderkey") / 7},
    ),
    ("negate_abs", "negate and abs", {"number": "abs(-l_linenumber)"}, {"number": pc.abs(pc.negate(c("l_linenumber")))}),
    ("bitwise", "bitwise and", {"bits": "l_orderkey & 3"}, {"bits": pc.bit_wise_and(c("l_orderkey"), 3)}),
    (
        "cast_unsafe",
        "int64 to int32, unsafe",
        {"key": "cast(l_orderkey as integer)"},
        {"key": c("l_orderkey").cast(pa.int32(), safe=False)},
    ),
    (
        "cast_to_double",
        "int32 and decimal to double, unsafe",
        {"line": "cast(l_linenumber as double)", "quantity": "cast(l_quantity as double)"},
        {
            "line": c("l_linenumber").cast(pa.float64(), safe=False),
            "quantity": c("l_quantity").cast(pa.float64(), safe=False),
        },
    ),
    (
        "cast_to_string",
        "a date to a string, unsafe",
        {"day": "cast(l_shipdate as varchar)"},
        {"day": c("l_shipdate").cast(pa.string(), safe=False)},
    ),
    ("cast_safe", "int32 to double, safe", {"line": "cast(l_linenumber as double)"}, {"line": c("l_linenumber").cast(pa.float64())}),
    (
        "functions_of_doubles",
        "sqrt, ln, floor, round and power",
        {
            "root": "sqrt(cast(l_quantity as double))",
            "logarithm": "ln(cast(l_quantity as double))",
            "down": "floor(cast(l_tax as double))",
            "squared": "power(cast(l_quantity as double), 2.0)",
        },
        {
            "root": pc.sqrt(c("l_quantity").cast(pa.float64(), safe=False)),
            "logarithm": pc.ln(c("l_quantity").cast(pa.float64(), safe=False)),
            "down": pc.floor(c("l_tax").cast(pa.float64(), safe=False)),
            "squared": pc.power(c("l_quantity").cast(pa.float64(), safe=False), 2.0),
        },
    ),
    (
        "case",
        "case_when",
        {"kind": "case when l_linenumber < 4 then l_shipmode else 'late' end"},
        {"kind": pc.case_when(pc.make_struct(c("l_linenumber") < 4), c("l_shipmode"), pc.scalar("late"))},
    ),
    (
        "if_else",
        "if_else",
        {"number": "case when l_linenumber < 4 then l_quantity else l_tax end"},
        {"number": pc.if_else(c("l_linenumber") < 4, c("l_quantity"), c("l_tax"))},
    ),
    ("coalesce", "coalesce", {"comment": "coalesce(l_comment, 'none')"}, {"comment": pc.coalesce(c("l_comment"), pc.scalar("none"))}),
    (
        "two_columns",
        "a column as it is and a sum, under new names",
        {"key": "l_orderkey", "charge": "l_tax + l_discount"},
        {"key": c("l_orderkey"), "charge": pc.add(c("l_tax"), c("l_discount"))},
    ),
    ("upper", "utf8_upper, known to Arrow only", {"mode": "upper(l_shipmode)"}, {"mode": pc.utf8_upper(c("l_shipmode"))}),
    ("length", "utf8_length, known to Arrow only", {"characters": "length(l_comment)"}, {"characters": pc.utf8_length(c("l_comment"))}),
    ("year", "year, known to Arrow only", {"year": "extract(year from l_shipdate)"}, {"year": pc.year(c("l_shipdate"))}),
    (
        "join_strings",
        "binary_join_element_wise, known to Arrow only",
        {"flags": "l_returnflag || '-' || l_linestatus"},
        {"flags": pc.binary_join_element_wise(c("l_returnflag"), c("l_linestatus"), "-")},
    ),
    (
        "substring",
        "utf8_slice_codeunits",
        {"start": "substring(l_shipmode, 1, 2)"},
        {"start": pc.utf8_slice_codeunits(c("l_shipmode"), 0, 2)},
    ),
    ("days", "dates subtracted", {"days": "l_receiptdate - l_shipdate"}, {"days": c("l_receiptdate") - c("l_shipdate")}),
]


def main() -> None:
    schema, target = lineitem(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    described = []
    for file, says, condition, expression in FILTERS:
        sql = f"select * from lineitem where {condition}"
        described.append(write(target, file, "filter", says, sql, {"filter": expression}, schema))
    for file, says, columns, expressions in PROJECTIONS:
        sql = f"select {', '.join(f'{column} as {name}' for name, column in columns.items())} from lineitem"
        described.append(write(target, file, "projection", says, sql, expressions, schema))
    (target / "expressions.json").write_text(json.dumps(described, indent=1) + "\n")


def lineitem(schema: str) -> pa.Schema:
    columns = re.search(r"create table lineitem \((.*?)\n\);", schema, re.DOTALL)[1]
    fields = []
    for column, kind, detail in re.findall(r"^ +(\w+) (\w+)(\([\d, ]+\))? not null", columns, re.MULTILINE):
        type_ = pa.decimal128(15, 2) if (kind, detail) == ("decimal", "(15, 2)") else TYPES[kind]
        fields.append(pa.field(column, type_, nullable=False))
    return pa.schema(fields)


def write(target: Path, file: str, kind: str, says: str, sql: str, expressions: dict, schema: pa.Schema) -> dict:
    """Functions that Substrait does not have are named by Arrow's own extension only if nothing else is possible."""
    entry = {"kind": kind, "says": says, "sql": sql}
    refused = []
    for extensions in (False, True):
        try:
            data = pa.substrait.serialize_expressions(
                list(expressions.values()), list(expressions), schema, allow_arrow_extensions=extensions
            )
        except pa.ArrowException as error:
            refused.append(str(error))
            continue
        (target / f"{file}.bin").write_bytes(data)
        return {"file": f"{file}.bin", "names": list(expressions), **entry, "arrow_extensions": extensions}
    return {"file": None, "name": file, **entry, "refused": list(dict.fromkeys(refused))}


if __name__ == "__main__":
    main()
