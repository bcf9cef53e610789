"""`make bench-server`: results, latency, points, ingest and idle connections of `quiver serve`, all on the loopback, in one run.

Streams are measured beside a minimal pyarrow.flight server that hands out the same rows from memory, latency beside the same query in
process; rounds are interleaved. Clients run on the same cores as the servers, so the numbers are those of both together.
"""

import argparse
import json
import platform
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import adbc_driver_flightsql
import pyarrow
import pyarrow.flight

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "scripts" / "tests"), str(HERE.parent / "python")]

from flight_calls import asked, count, put, to_table  # noqa: E402
from flight_latency import latency, percentile  # noqa: E402
from flight_streams import streams  # noqa: E402
from quiver_server import Server  # noqa: E402
from quiver_shell import QUIVER  # noqa: E402
from report import machine, machine_line  # noqa: E402

# The HTTP/2 preface and an empty SETTINGS frame: a client's connection without a request.
HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
KEYS = 1_000_000
CONNECTIONS = (1, 8, 64)

Say = Callable[[str], None]


def main() -> int:
    options = parse_arguments()
    allow_files(options.idle + 1000)
    report = Report()
    scratch = Path(tempfile.mkdtemp(prefix="quiver-server-", dir=options.dir))
    server = Server(scratch / "store")
    parts = {
        "streams": lambda: streams(server.uri, options, report.say),
        "latency": lambda: latency(server.uri, options, report.say),
        "points": lambda: points(server.uri, options, report.say),
        "idle": lambda: idle(server, options, report.say),
    }
    try:
        for name, part in parts.items():
            if options.only in (None, name):
                part()
    finally:
        server.end()
        shutil.rmtree(scratch, ignore_errors=True)
    if options.save:
        report.save(f"server{'-' + options.only if options.only else ''}")
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=float, default=1e9, help="size of the tables that are streamed")
    parser.add_argument("--rounds", type=int, default=7, help="of each way to read a table")
    parser.add_argument("--questions", type=int, default=2000, help="questions for the latency, by each client")
    parser.add_argument("--seconds", type=float, default=5, help="of each measurement of points")
    parser.add_argument("--idle", type=int, default=10_000, help="connections that do nothing")
    parser.add_argument("--only", choices=["streams", "latency", "points", "idle"])
    parser.add_argument("--dir", type=Path, help="where the store is made (default: a temporary directory)")
    parser.add_argument("--save", action="store_true", help="write the report to bench/results/")
    return parser.parse_args()


class Report:
    """The measurements and their environment; lines are printed at once."""

    def __init__(self) -> None:
        self.machine, self.lines = machine(), []
        version = subprocess.run([QUIVER, "--version"], check=True, capture_output=True, text=True).stdout.strip()
        self.say("quiver serve and its clients, everything on one machine and its loopback")
        self.say(machine_line(self.machine))
        self.say(
            f"{version}, pyarrow {pyarrow.__version__}, adbc-driver-flightsql {adbc_driver_flightsql.__version__}, "
            f"Python {platform.python_version()}, Linux {platform.release()}"
        )
        self.say("")

    def say(self, line: str) -> None:
        print(line, flush=True)
        self.lines.append(line)

    def save(self, name: str) -> None:
        path = HERE / "results" / f"{name}-{self.machine['time'][:10]}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(self.lines) + "\n")
        print(f"saved to {path}", file=sys.stderr)


def allow_files(wanted: int) -> None:
    """Also of the server, which inherits it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))


# Points


def points(uri: str, options: argparse.Namespace, say: Say) -> None:
    ids = range(KEYS)
    table = pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64()), "v": pyarrow.array([key * 3 for key in ids], pyarrow.int64())})
    put(pyarrow.flight.connect(uri), to_table("points", "replace"), table)
    say(f"points: single rows of {KEYS:,} by their key, {options.seconds:g} s each, clients of ADBC (Python) on the same cores")
    for connections in CONNECTIONS:
        for kind in ["ad hoc", "prepared"]:
            taken = asked_points(uri, connections, options.seconds, kind)
            say(
                f"  {connections:3} connections, {kind:8} {len(taken) / options.seconds:8,.0f} per second, "
                f"median {statistics.median(taken):6.2f} ms, 99th percentile {percentile(taken, 99):7.2f} ms"
            )


def asked_points(uri: str, connections: int, seconds: float, kind: str) -> list[float]:
    """A process for every 16 connections: one of Python would be the bound."""
    shares = [min(16, connections - done) for done in range(0, connections, 16)]
    command = [sys.executable, str(HERE / "flight_points.py"), uri]
    workers = [
        subprocess.Popen([*command, str(share), str(KEYS), str(seconds), kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
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


def idle(server: Server, options: argparse.Namespace, say: Say) -> None:
    host, port = server.uri.split("://")[1].rsplit(":", 1)
    before = resident_bytes(server)
    connections = []
    try:
        for _ in range(options.idle):
            connection = socket.create_connection((host, int(port)))
            connection.sendall(HTTP2)
            connections.append(connection)
        # A connection is established only when the server has answered with its settings.
        for connection in connections:
            connection.settimeout(60)
            if len(connection.recv(9)) == 0:
                raise SystemExit("the server closed a connection that did nothing")
        client = pyarrow.flight.connect(server.uri)
        started = time.perf_counter()
        if sum(count(client, ticket) for ticket in asked(client, "SELECT 1")) != 1:
            raise SystemExit("the server did not answer beside idle connections")
        answered = (time.perf_counter() - started) * 1e3
        after = resident_bytes(server)
    finally:
        for connection in connections:
            connection.close()
    each = (after - before) / options.idle / 1024
    say(
        f"{options.idle:,} idle connections: the server has {after / 2**20:.0f} MiB, {before / 2**20:.0f} before them ({each:.1f} KiB each); "
        f"a question beside them, on a new connection, took {answered:.1f} ms"
    )


def resident_bytes(server: Server) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


if __name__ == "__main__":
    raise SystemExit(main())
