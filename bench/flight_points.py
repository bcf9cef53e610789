"""A process whose connections query single rows, for `server.py`: `flight_points.py URI CONNECTIONS KEYS SECONDS KIND`.

Each connection is a thread with the ADBC driver, which works outside of Python. Waits for a line on its input, and
prints the milliseconds of each question as JSON.
"""

import json
import random
import sys
import threading
import time

import adbc_driver_flightsql.dbapi as adbc


def main() -> int:
    uri, connections, keys, seconds, kind = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
    opened = [adbc.connect(uri, autocommit=True) for _ in range(connections)]
    cursors = [connection.cursor() for connection in opened]
    for cursor in cursors:
        ask(cursor, kind, 1)
    print("ready", flush=True)
    sys.stdin.readline()
    taken: list[list[float]] = [[] for _ in cursors]
    until = time.perf_counter() + seconds
    threads = [threading.Thread(target=work, args=(cursor, kind, keys, until, times)) for cursor, times in zip(cursors, taken)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps([time for times in taken for time in times]))
    for cursor, connection in zip(cursors, opened):
        cursor.close()
        connection.close()
    return 0


def work(cursor, kind: str, keys: int, until: float, times: list[float]) -> None:
    random_keys = random.Random(id(cursor))
    while (started := time.perf_counter()) < until:
        ask(cursor, kind, random_keys.randrange(keys))
        times.append((time.perf_counter() - started) * 1e3)


def ask(cursor, kind: str, key: int) -> None:
    if kind == "prepared":
        # The text is always the same, so the driver prepares it once and binds the value.
        cursor.execute("SELECT v FROM points WHERE id = ?", (key,))
    else:
        cursor.execute(f"SELECT v FROM points WHERE id = {key}")
    rows = cursor.fetchall()
    if rows != [(key * 3,)]:
        raise SystemExit(f"row {key} is {rows}")


if __name__ == "__main__":
    raise SystemExit(main())
