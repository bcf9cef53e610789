"""`plans.py SCHEMA.sql TARGET QUERIES`: a plan per query of ibis/queries.py, or why it was refused.

QUERIES is the name of one of the dictionaries there.
"""

import re
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import ibis
import queries
from ibis_substrait.compiler.core import SubstraitCompiler

# Ibis knows no lengths of strings.
TYPES = {"bigint": "int64", "integer": "int32", "date": "date", "varchar": "string", "char": "string"}


def main() -> None:
    warnings.simplefilter("ignore", DeprecationWarning)
    schema, target, chosen = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    for name, query in getattr(queries, chosen).items():
        # New tables each time: views of tables are numbered as they are made, which must not hang on other queries.
        try:
            plan = SubstraitCompiler().compile(query(tables(schema.read_text())))
            (target / f"{name}.bin").write_bytes(plan.SerializeToString(deterministic=True))
        except Exception as refused:
            (target / f"{name}.refused").write_text(f"{type(refused).__name__}: {refused}")


def tables(schema: str) -> SimpleNamespace:
    made = {}
    for name, columns in re.findall(r"create table (\w+) \((.*?)\n\);", schema, re.DOTALL):
        pairs = re.findall(r"^ +(\w+) (\w+)(\([\d, ]+\))? not null", columns, re.MULTILINE)
        types = {column: "!" + TYPES.get(kind, f"{kind}{detail}") for column, kind, detail in pairs}
        made[name] = ibis.table(types, name=name)
    return SimpleNamespace(**made)


if __name__ == "__main__":
    main()
