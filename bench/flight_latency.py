"""The additional cost of a query over the network, with clients in Python: a part of `server.py`.

The same query over the same rows: in this process by the package `quiver`, and at the server. All ways take turns, and what a way
adds is its time less that of the query in process in the same round. The server's own `elapsed_ms` is no base for this: it begins with
GetFlightInfo and ends with the last row of DoGet, so that the way between both calls is in it.
"""

import argparse
import itertools
import statistics
import time
from collections.abc import Callable

import adbc_driver_flightsql.dbapi
import pyarrow
import pyarrow.flight
import quiver
from flight_calls import asked, put, to_table

IN_PROCESS = "in process"
ALL_ROWS = 8_000_000
WARM_ROUNDS = 20


def latency(uri: str, options: argparse.Namespace, say: Callable[[str], None]) -> None:
    table = pyarrow.table({"value": pyarrow.array(range(ALL_ROWS), pyarrow.int64())})
    client = pyarrow.flight.connect(uri)
    put(client, to_table("timed", "replace"), table)
    with (
        quiver.open() as local,
        quiver.connect(uri) as remote,
        adbc_driver_flightsql.dbapi.connect(uri, autocommit=True) as adbc,
        adbc.cursor() as again,
        adbc.cursor() as anew,
    ):
        local.write("timed", table)
        sql = calibrated(local)
        numbers = itertools.count()
        ways = {
            IN_PROCESS: lambda: local.sql(sql).arrow(),
            "pyarrow.flight": lambda: by_flight(client, sql),
            "quiver.connect": lambda: remote.sql(sql).arrow(),
            # The driver caches prepared statements by their text, which saves half of the calls.
            "ADBC, same text": lambda: by_adbc(again, sql),
            "ADBC, new text": lambda: by_adbc(anew, f"{sql} -- {next(numbers)}"),
        }
        times = measured(ways, options.questions)
    say(
        f"latency, {options.questions:,} questions of {statistics.median(times[IN_PROCESS]):.2f} ms, one client, warm connections, in turn; ms"
    )
    say(f"  {'':16}{'median':>8}{'99th':>8}   added: median    99th percentile")
    for way, taken in times.items():
        line = f"  {way:16}{statistics.median(taken):8.2f}{percentile(taken, 99):8.2f}"
        if way != IN_PROCESS:
            added = [one - base for one, base in zip(taken, times[IN_PROCESS])]
            line += f"{statistics.median(added):16.2f}{percentile(added, 99):19.2f}"
        say(line)


def calibrated(local: quiver.Connection) -> str:
    """A query that takes about 1 ms in process."""
    rows = 20_000
    while True:
        sql = f"SELECT sum(value * 2.5e0) AS total FROM timed WHERE value < {rows}"
        taken = measured({IN_PROCESS: lambda: local.sql(sql).arrow()}, 30)[IN_PROCESS]
        if statistics.median(taken) >= 1 or rows >= ALL_ROWS:
            return sql
        rows = rows * 5 // 4


def by_flight(client: pyarrow.flight.FlightClient, sql: str) -> pyarrow.Table:
    (ticket,) = asked(client, sql)
    return client.do_get(ticket).read_all()


def by_adbc(cursor: adbc_driver_flightsql.dbapi.Cursor, sql: str) -> pyarrow.Table:
    cursor.execute(sql)
    return cursor.fetch_arrow_table()


def measured(ways: dict[str, Callable[[], pyarrow.Table]], questions: int) -> dict[str, list[float]]:
    """Milliseconds of each query. All ways must return the same rows."""
    times: dict[str, list[float]] = {way: [] for way in ways}
    expected = next(iter(ways.values()))().to_pydict()
    for number in range(-WARM_ROUNDS, questions):
        for way, run in ways.items():
            started = time.perf_counter()
            found = run()
            taken = (time.perf_counter() - started) * 1e3
            if found.to_pydict() != expected:
                raise SystemExit(f"{way} gave {found.to_pydict()} instead of {expected}")
            if number >= 0:
                times[way].append(taken)
    return times


def percentile(values: list[float], percent: int) -> float:
    return sorted(values)[len(values) * percent // 100]
