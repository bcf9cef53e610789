"""`plans.py SCHEMA.sql TARGET on|off QUERY.sql...`: a plan per query in TARGET, or why DataFusion refused it.

`on` optimises the query first, as `Serde.serialize_to_plan` does.
"""

import sys
from pathlib import Path

from datafusion import SessionContext
from datafusion.substrait import Producer


def main() -> None:
    schema, target, optimizer = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    context = SessionContext()
    for statement in schema.read_text().split(";"):
        if statement.strip():
            context.sql(statement).collect()
    for query in map(Path, sys.argv[4:]):
        try:
            frame = context.sql(query.read_text())
            logical = frame.optimized_logical_plan() if optimizer == "on" else frame.logical_plan()
            plan = Producer.to_substrait_plan(logical, context).encode()
            (target / f"{query.stem}.bin").write_bytes(plan)
        except Exception as refused:
            (target / f"{query.stem}.refused").write_text(str(refused))


if __name__ == "__main__":
    main()
