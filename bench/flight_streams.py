"""Writes and reads tables of 1 GB, compared with a minimal pyarrow.flight server with the same rows in memory: a part of `server.py`."""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.compute
import pyarrow.flight
from flight_calls import asked, count, put, to_table

BASELINE = Path(__file__).resolve().parent / "flight_baseline.py"
TEXT = "some text of an everyday length, number "


def fixed(size_bytes: float) -> pyarrow.Table:
    rows = int(size_bytes / 64)
    number = pyarrow.compute.random(rows, initializer=7)
    columns = {f"d{n}": number for n in range(4)}
    whole = pyarrow.array(range(0, rows * 7, 7), pyarrow.int64())
    columns |= {f"i{n}": whole for n in range(4)}
    return pyarrow.table(columns)


def strings(size_bytes: float) -> pyarrow.Table:
    rows = int(size_bytes / 2 / (len(TEXT) + 12))
    texts = pyarrow.array([f"{TEXT}{number:08}" for number in range(rows)])
    return pyarrow.table({"a": texts, "b": texts})


def mixed(size_bytes: float) -> pyarrow.Table:
    """Texts of 0 to 60 bytes and NULLs, so that some are inlined in their views and others are not."""
    some = [(TEXT + TEXT)[: number % 61] if number % 10 else None for number in range(610)]
    rows = int(size_bytes / 2 / (sum(len(text or "") for text in some) / len(some) + 4))
    drawn = pyarrow.compute.multiply(pyarrow.compute.random(rows, initializer=7), len(some))
    texts = pyarrow.array(some).take(drawn.cast(pyarrow.int32(), safe=False))
    return pyarrow.table({"a": texts, "b": texts})


def streams(uri: str, options: argparse.Namespace, say: Callable[[str], None]) -> None:
    client = pyarrow.flight.connect(uri)
    process = subprocess.Popen([sys.executable, BASELINE], stdout=subprocess.PIPE, text=True)
    try:
        baseline = pyarrow.flight.connect(f"grpc://127.0.0.1:{process.stdout.readline().strip()}")
        for name, make in {"fixed": fixed, "strings": strings, "mixed": mixed}.items():
            stream(name, make(options.bytes), client, baseline, options.rounds, say)
    finally:
        process.terminate()
        process.wait()


def stream(name: str, table: pyarrow.Table, client, baseline, rounds: int, say: Callable[[str], None]) -> None:
    seconds = put(client, to_table(name, "create"), table)
    into_memory = put(baseline, pyarrow.flight.FlightDescriptor.for_path(name), table)
    gigabytes = table.nbytes / 1e9
    say(f"{name}: {table.num_rows:,} rows, {gigabytes:.2f} GB, {rounds} rounds")
    say(f"  DoPut into durable segments {gigabytes / seconds:.2f} GB/s (into the memory of pyarrow.flight {gigabytes / into_memory:.2f})")
    views = pyarrow.flight.FlightCallOptions(headers=[(b"x-quiver-view-types", b"true")])
    by_path = pyarrow.flight.Ticket(json.dumps({"table": name}).encode())
    ways = {
        "pyarrow.flight, from memory": lambda: count(baseline, pyarrow.flight.Ticket(name.encode())),
        "Quiver, the table": lambda: count(client, by_path),
        "Quiver, SELECT *": lambda: sum(count(client, ticket) for ticket in asked(client, f"SELECT * FROM {name}")),
    }
    if name != "fixed":
        ways["Quiver, as views"] = lambda: count(client, by_path, views)
    for way, run in ways.items():
        if run() != table.num_rows:
            raise SystemExit(f"{way} gave other than {table.num_rows} rows")
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, run in ways.items():
            started = time.perf_counter()
            run()
            times[way].append(time.perf_counter() - started)
    first = times[next(iter(ways))]
    for way, taken in times.items():
        best, median = min(taken), statistics.median(taken)
        line = f"  {way:28} {gigabytes / best:5.2f} GB/s, median {gigabytes / median:5.2f}"
        if taken is not first:
            line += f", {min(first) / best:.2f} times as fast, of medians {statistics.median(first) / median:.2f}"
        say(line)
