"""DuckDB in a process of its own, which reads statements line by line: the counterpart of the shell.

Reads JSON lines {"sql": ..., "result": path or null}; answers each with {"ms": ...} or {"error": ...}.
The time is until the whole result exists as Arrow, without making a Python object per value.
"""

import json
import sys
import time

import duckdb
import pyarrow


def main() -> None:
    database, threads = sys.argv[1:]
    connection = duckdb.connect(database, config={"threads": int(threads)})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            start = time.perf_counter()
            # sql() and not execute(): the latter copies the rows once more on the way to Arrow.
            table = connection.sql(request["sql"]).to_arrow_table()
            answer = {"ms": (time.perf_counter() - start) * 1000}
            if request["result"]:
                with pyarrow.ipc.new_file(request["result"], table.schema) as file:
                    file.write_table(table)
        except duckdb.Error as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
