"""`make bench-server`: results, points, ingest and idle connections of `quiver serve`, all on the loopback, in one run.

Streams are measured beside a minimal pyarrow.flight server that hands out the same rows from memory; rounds of the two are
interleaved. Clients run on the same cores as the servers, so the numbers are those of both together.
"""

import argparse
import json
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow
import pyarrow.compute
import pyarrow.flight

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "scripts" / "tests"))

from quiver_server import Server  # noqa: E402

# What HTTP/2 begins with, and a frame of no settings: without a request a connection of a client.
HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
TEXT = "some text of an everyday length, number "


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=float, default=1e9, help="size of the tables that are streamed")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--questions", type=int, default=2000, help="questions for the latency")
    parser.add_argument("--seconds", type=float, default=5, help="of each measurement of points")
    parser.add_argument("--idle", type=int, default=10_000, help="connections that do nothing")
    parser.add_argument("--only", choices=["streams", "latency", "points", "idle"])
    parser.add_argument("--dir", type=Path, help="where the store is made (default: a temporary directory)")
    options = parser.parse_args()
    allow_files(options.idle + 1000)
    scratch = Path(tempfile.mkdtemp(prefix="quiver-server-", dir=options.dir))
    server = Server(scratch / "store")
    try:
        for name, part in {"streams": streams, "latency": latency, "points": points, "idle": idle}.items():
            if options.only in (None, name):
                part(server, options)
    finally:
        server.end()
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


def allow_files(wanted: int) -> None:
    """Also of the server, which inherits it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))


# Streams


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
    """Of 0 to 60 bytes and NULL, so that some stand in their views and others do not."""
    some = [(TEXT + TEXT)[: number % 61] if number % 10 else None for number in range(610)]
    rows = int(size_bytes / 2 / (sum(len(text or "") for text in some) / len(some) + 4))
    drawn = pyarrow.compute.multiply(pyarrow.compute.random(rows, initializer=7), len(some))
    texts = pyarrow.array(some).take(drawn.cast(pyarrow.int32(), safe=False))
    return pyarrow.table({"a": texts, "b": texts})


def streams(server: Server, options: argparse.Namespace) -> None:
    client = pyarrow.flight.connect(server.uri)
    process = subprocess.Popen([sys.executable, HERE / "flight_baseline.py"], stdout=subprocess.PIPE, text=True)
    try:
        baseline = pyarrow.flight.connect(f"grpc://127.0.0.1:{process.stdout.readline().strip()}")
        for name, make in {"fixed": fixed, "strings": strings, "mixed": mixed}.items():
            table = make(options.bytes)
            stream(name, table, client, baseline, options.rounds)
    finally:
        process.terminate()
        process.wait()


def stream(name: str, table: pyarrow.Table, client, baseline, rounds: int) -> None:
    seconds = put(client, pyarrow.flight.FlightDescriptor.for_command(json.dumps({"table": name, "mode": "create"})), table)
    into_memory = put(baseline, pyarrow.flight.FlightDescriptor.for_path(name), table)
    gigabytes = table.nbytes / 1e9
    print(f"{name}: {table.num_rows:,} rows, {gigabytes:.2f} GB")
    print(f"  DoPut into durable segments {gigabytes / seconds:.2f} GB/s (into the memory of pyarrow.flight {gigabytes / into_memory:.2f})")
    views = pyarrow.flight.FlightCallOptions(headers=[(b"x-quiver-view-types", b"true")])
    ways = {
        "pyarrow.flight, from memory": lambda: count(baseline, pyarrow.flight.Ticket(name.encode())),
        "Quiver, the table": lambda: count(client, pyarrow.flight.Ticket(json.dumps({"table": name}).encode())),
        "Quiver, SELECT *": lambda: sum(count(client, ticket) for ticket in asked(client, f"SELECT * FROM {name}")),
    }
    if name != "fixed":
        ways["Quiver, as views"] = lambda: count(client, pyarrow.flight.Ticket(json.dumps({"table": name}).encode()), views)
    times: dict[str, list[float]] = {way: [] for way in ways}
    for way, run in ways.items():
        if run() != table.num_rows:
            raise SystemExit(f"{way} gave other than {table.num_rows} rows")
    for _ in range(rounds):
        for way, run in ways.items():
            started = time.perf_counter()
            run()
            times[way].append(time.perf_counter() - started)
    first = next(iter(ways))
    for way, taken in times.items():
        ratio = "" if way == first else f", {min(times[first]) / min(taken):.2f} times as fast, of medians " \
            f"{statistics.median(times[first]) / statistics.median(taken):.2f}"
        print(f"  {way:28} {gigabytes / min(taken):5.2f} GB/s, median {gigabytes / statistics.median(taken):5.2f}{ratio}")


def put(client, descriptor, table: pyarrow.Table) -> float:
    """Until the server has said that it has all of it; of Quiver that is after the commit."""
    started = time.perf_counter()
    writer, answers = client.do_put(descriptor, table.schema)
    writer.write_table(table, max_chunksize=64 * 1024)
    writer.done_writing()
    answers.read()
    writer.close()
    return time.perf_counter() - started


def count(client, ticket, options=None) -> int:
    """Reads all of it and keeps none."""
    return sum(chunk.data.num_rows for chunk in client.do_get(ticket, options or pyarrow.flight.FlightCallOptions()) if chunk.data)


def asked(client, sql: str) -> list[pyarrow.flight.Ticket]:
    """One for each part that the result has."""
    return [endpoint.ticket for endpoint in client.get_flight_info(statement(sql)).endpoints]


def statement(sql: str) -> pyarrow.flight.FlightDescriptor:
    """CommandStatementQuery in an Any, as protobuf has it."""
    def field(number: int, content: bytes) -> bytes:
        length, size = bytearray(), len(content)
        while size >= 0x80:
            length.append(size & 0x7F | 0x80)
            size >>= 7
        length.append(size)
        return bytes([number << 3 | 2]) + bytes(length) + content

    kind = b"type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery"
    return pyarrow.flight.FlightDescriptor.for_command(field(1, kind) + field(2, field(1, sql.encode())))


# Latency


def latency(server: Server, options: argparse.Namespace) -> None:
    """What the server's own report does not have of the time that a client waits: both calls, on a warm connection."""
    client = pyarrow.flight.connect(server.uri)
    rows = calibrated(client)
    total, inside = [], []
    for _ in range(options.questions):
        started = time.perf_counter()
        report = json.loads(last_metadata(client, asked(client, f"SELECT sum(value * 2.5e0) FROM timed WHERE value < {rows}")))
        total.append((time.perf_counter() - started) * 1e3)
        inside.append(report["elapsed_ms"])
    added = sorted(whole - own for whole, own in zip(total, inside))
    print(f"latency, {options.questions} questions of {statistics.median(inside):.2f} ms (median of what the server reports):")
    print(f"  added by connection, calls and client: median {statistics.median(added):.2f} ms, 99th percentile {added[len(added) * 99 // 100]:.2f} ms")


def calibrated(client) -> int:
    """How many rows a question has that takes about 1 ms."""
    all_rows = 8_000_000
    table = pyarrow.table({"value": pyarrow.array(range(all_rows), pyarrow.int64())})
    put(client, pyarrow.flight.FlightDescriptor.for_command(json.dumps({"table": "timed", "mode": "replace"})), table)
    rows = 20_000
    while rows < all_rows:
        times = [json.loads(last_metadata(client, asked(client, f"SELECT sum(value * 2.5e0) FROM timed WHERE value < {rows}")))["elapsed_ms"] for _ in range(30)]
        if statistics.median(times) >= 1:
            break
        rows = rows * 5 // 4
    return rows


def last_metadata(client, tickets: list[pyarrow.flight.Ticket]) -> bytes:
    """Of a result that has one part."""
    (ticket,) = tickets
    chunks = list(client.do_get(ticket))
    return chunks[-1].app_metadata.to_pybytes()


# Points


def points(server: Server, options: argparse.Namespace) -> None:
    keys = 1_000_000
    client = pyarrow.flight.connect(server.uri)
    ids = range(keys)
    table = pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64()), "v": pyarrow.array([key * 3 for key in ids], pyarrow.int64())})
    put(client, pyarrow.flight.FlightDescriptor.for_command(json.dumps({"table": "points", "mode": "replace"})), table)
    print(f"points: single rows of {keys:,} by their key, clients of ADBC on the same cores")
    for connections in [1, 8, 64]:
        for kind in ["ad hoc", "prepared"]:
            taken = sorted(asked_points(server.uri, connections, keys, options.seconds, kind))
            rate, p99 = len(taken) / options.seconds, taken[len(taken) * 99 // 100]
            print(f"  {connections:3} connections, {kind:8} {rate:8,.0f} per second, median {statistics.median(taken):6.2f} ms, 99th percentile {p99:7.2f} ms")


def asked_points(uri: str, connections: int, keys: int, seconds: float, kind: str) -> list[float]:
    """A process for every 16 connections: one of Python would be the bound."""
    shares = [min(16, connections - done) for done in range(0, connections, 16)]
    command = [sys.executable, str(HERE / "flight_points.py"), uri]
    workers = [
        subprocess.Popen([*command, str(share), str(keys), str(seconds), kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for share in shares
    ]
    for worker in workers:
        if worker.stdout.readline() != "ready\n":
            raise SystemExit("a client of points did not begin")
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    taken = [time for worker in workers for time in json.loads(worker.stdout.readline())]
    for worker in workers:
        worker.stdin.close()
        worker.wait()
    return taken


# Idle connections


def idle(server: Server, options: argparse.Namespace) -> None:
    host, port = server.uri.split("://")[1].rsplit(":", 1)
    before = resident_bytes(server)
    connections = []
    try:
        for _ in range(options.idle):
            connection = socket.create_connection((host, int(port)))
            connection.sendall(HTTP2)
            connections.append(connection)
        # Each is answered with the server's settings: only then it is there.
        for connection in connections:
            connection.settimeout(60)
            if len(connection.recv(9)) == 0:
                raise SystemExit("the server closed a connection that did nothing")
        client = pyarrow.flight.connect(server.uri)
        started = time.perf_counter()
        last_metadata(client, asked(client, "SELECT 1"))
        answered = (time.perf_counter() - started) * 1e3
        after = resident_bytes(server)
    finally:
        for connection in connections:
            connection.close()
    each = (after - before) / options.idle / 1024
    print(f"{options.idle:,} idle connections: the server has {after / 2**20:.0f} MiB, {before / 2**20:.0f} before them ({each:.1f} KiB each); "
          f"a question beside them took {answered:.1f} ms")


def resident_bytes(server: Server) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


if __name__ == "__main__":
    raise SystemExit(main())
