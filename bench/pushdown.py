"""`make bench-pushdown`: a query on one column of a wide table of another node, and what crosses each boundary for it.

The workload of nativeNDP's Figures 3 to 5: tables of n x n doubles, SUM, AVG and STDDEV of one column and a filter. Each runs in an engine
of this process over `quiver serve` at the three levels of `SET pushdown`, beside a client that reads the table from CSV and one that
fetches it over Flight. Everything is on one machine and its loopback: a network would only make the others slower. Rounds of all ways are
interleaved. Every answer is held against numpy's.
"""

import argparse
import json
import math
import re
import resource
import shutil
import socket
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy
import pyarrow
import pyarrow.csv
import pyarrow.flight

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "scripts" / "tests"), str(HERE.parent / "python")]

import quiver  # noqa: E402
from quiver_server import Server  # noqa: E402

LEVELS = ("off", "filter", "full")
# What comes of each from the column that is summed and the one that is filtered by.
QUERIES = {
    "SUM": ("SELECT sum(c1) FROM {table}", lambda one, two: [one.sum()]),
    "AVG": ("SELECT avg(c1) FROM {table}", lambda one, two: [one.mean()]),
    "STDDEV": ("SELECT stddev(c1) FROM {table}", lambda one, two: [one.std(ddof=1)]),
    "filter": ("SELECT c1 FROM {table} WHERE c2 > 0.99", lambda one, two: list(one[two > 0.99])),
}
CSV, FETCH = "client reads CSV", "client fetches"
METRICS = ("node_bytes_touched", "node_bytes_returned", "bytes_sent", "bytes_on_wire")
# Frames that say no more than that others were read come a little later.
SETTLED_S = 0.2
# Of a message that is put.
CHUNK_BYTES = 16 << 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,3162,10000", help="rows and columns of the tables")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--slow-rounds", type=int, default=2, help="of the ways that read the whole table, from 5,000 columns on")
    parser.add_argument("--pandas", action="store_true", help="read the CSV with pandas as well, which takes minutes for the largest")
    parser.add_argument("--no-csv", action="store_true")
    parser.add_argument("--json", type=Path, help="write all numbers here too")
    parser.add_argument("--dir", type=Path, help="where store and CSV files are made (default: a temporary directory)")
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, most) if most > 0 else 4096, most))
    scratch = Path(tempfile.mkdtemp(prefix="quiver-pushdown-", dir=options.dir))
    server = Server(scratch / "store")
    proxy = Proxy(server.uri)
    numbers = []
    try:
        for size in (int(size) for size in options.sizes.split(",")):
            numbers.append(Table(size, scratch, server.uri, proxy, options).measured())
    finally:
        server.end()
        shutil.rmtree(scratch, ignore_errors=True)
    if options.json:
        options.json.write_text(json.dumps(numbers, indent=1))
    return 0


class Proxy:
    """Passes bytes on and counts them: all that a socket has of a call, with the headers of gRPC and the frames of HTTP/2."""

    def __init__(self, uri: str):
        self.target = split(uri)
        self.up = self.down = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.uri = f"grpc://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(self.target)
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.pump, args=(client, server, "up"), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, "down"), daemon=True).start()

    def pump(self, source: socket.socket, sink: socket.socket, way: str) -> None:
        try:
            while data := source.recv(1 << 20):
                setattr(self, way, getattr(self, way) + len(data))
                sink.sendall(data)
        except OSError:
            pass
        sink.close()

    def counted(self, run) -> tuple[int, int]:
        """To the server and from it, while `run` does."""
        time.sleep(SETTLED_S)
        before = self.up, self.down
        run()
        time.sleep(SETTLED_S)
        return self.up - before[0], self.down - before[1]


def split(uri: str) -> tuple[str, int]:
    host, port = uri.split("://")[1].rsplit(":", 1)
    return host, int(port)


class Table:
    """One size of the table, at the server and as CSV."""

    def __init__(self, size: int, scratch: Path, uri: str, proxy: Proxy, options: argparse.Namespace):
        self.size, self.proxy, self.options = size, proxy, options
        self.name = f"t{size}"
        random = numpy.random.default_rng(size)
        table = pyarrow.table({f"c{column}": random.random(size) for column in range(size)})
        self.one, self.two = table["c1"].to_numpy(), table["c2"].to_numpy()
        self.client = pyarrow.flight.connect(uri)
        self.put(table)
        self.csv = scratch / f"{self.name}.csv"
        if not options.no_csv:
            pyarrow.csv.write_csv(table, self.csv)
        del table
        self.here, self.counted = {level: quiver.open() for level in LEVELS}, quiver.open()
        started = time.perf_counter()
        create(self.here["full"], self.name, uri)
        self.told_s = time.perf_counter() - started
        for level, connection in self.here.items():
            connection.sql(f"SET pushdown = {level}")
            if level != "full":
                create(connection, self.name, uri)
        # What a node tells of a table is kept for half a minute, and this connection has not asked yet.
        self.told_bytes = sum(proxy.counted(lambda: create(self.counted, self.name, proxy.uri)))
        self.there = quiver.connect(uri)

    def put(self, table: pyarrow.Table) -> None:
        descriptor = pyarrow.flight.FlightDescriptor.for_command(json.dumps({"table": self.name, "mode": "create"}))
        writer, answers = self.client.do_put(descriptor, table.schema)
        writer.write_table(table, max_chunksize=max(1, CHUNK_BYTES // (8 * self.size)))
        writer.done_writing()
        answers.read()
        writer.close()

    # Ways

    def read_csv(self, query: str) -> list[float]:
        return self.computed(query, pyarrow.csv.read_csv(self.csv))

    def read_csv_by_pandas(self, query: str) -> list[float]:
        import pandas

        frame = pandas.read_csv(self.csv)
        return [float(value) for value in QUERIES[query][1](frame["c1"].to_numpy(), frame["c2"].to_numpy())]

    def fetch(self, query: str) -> list[float]:
        reader = self.client.do_get(pyarrow.flight.Ticket(json.dumps({"table": self.name}).encode()))
        return self.computed(query, reader.read_all())

    def computed(self, query: str, table: pyarrow.Table) -> list[float]:
        return [float(value) for value in QUERIES[query][1](table["c1"].to_numpy(), table["c2"].to_numpy())]

    def pushed(self, level: str):
        return lambda query: values(self.here[level], query, self.name)

    def asked(self, query: str) -> list[float]:
        return values(self.there, query, self.name)

    def ways(self) -> dict:
        ways = {} if self.options.no_csv else {CSV: self.read_csv}
        if self.options.pandas and not self.options.no_csv:
            ways["client reads CSV by pandas"] = self.read_csv_by_pandas
        ways[FETCH] = self.fetch
        ways |= {f"pushdown = {level}": self.pushed(level) for level in LEVELS}
        return ways | {"SQL sent to the server": self.asked}

    # Numbers

    def measured(self) -> dict:
        ways = self.ways()
        cells = self.size * self.size
        print(f"\n{self.size:,} x {self.size:,} doubles, {cells * 8 / 1e6:,.0f} MB"
              + ("" if self.options.no_csv else f", {self.csv.stat().st_size / 1e6:,.0f} MB as CSV"))
        print(f"  the table is made known in {self.told_s * 1e3:,.1f} ms and {self.told_bytes:,} bytes, once in half a minute and not in a query's time")
        times = {query: self.timed(query, ways) for query in QUERIES}
        self.print_times(times)
        crossing = {query: {level: self.boundaries(query, level) for level in LEVELS} for query in QUERIES}
        self.print_boundaries(crossing)
        for connection in (*self.here.values(), self.counted, self.there):
            connection.close()
        self.csv.unlink(missing_ok=True)
        return {"size": self.size, "told_s": self.told_s, "told_bytes": self.told_bytes, "seconds": times, "bytes": crossing}

    def timed(self, query: str, ways: dict) -> dict[str, list[float]]:
        expected = [float(value) for value in QUERIES[query][1](self.one, self.two)]
        taken: dict[str, list[float]] = {way: [] for way in ways}
        # One more, which warms up and is not counted.
        for turn in range(self.options.rounds + 1):
            for way, run in ways.items():
                is_slow = self.size >= 5_000 and way not in ("pushdown = filter", "pushdown = full", "SQL sent to the server")
                if is_slow and turn > self.options.slow_rounds:
                    continue
                started = time.perf_counter()
                found = run(query)
                seconds = time.perf_counter() - started
                check(f"{way}, {query}", found, expected)
                if turn > 0:
                    taken[way].append(seconds)
        return taken

    def print_times(self, times: dict) -> None:
        print(f"  {'milliseconds, best and median':32}" + "".join(f"{query:>22}" for query in times))
        for way in next(iter(times.values())):
            cells = [f"{min(times[query][way]) * 1e3:>11,.2f}{statistics.median(times[query][way]) * 1e3:>11,.2f}" for query in times]
            print(f"  {way:32}" + "".join(cells))
        for base in (CSV, FETCH):
            if base not in next(iter(times.values())):
                continue
            ratios = [statistics.median(times[query][base]) / statistics.median(times[query]["pushdown = full"]) for query in times]
            print(f"  {'full, times as fast as: ' + base:32}" + "".join(f"{ratio:>22,.0f}" for ratio in ratios))

    def boundaries(self, query: str, level: str) -> dict[str, int]:
        """Of the report of the node and of our own counters; and what the socket had, once the connection and its headers are warm."""
        self.counted.sql(f"SET pushdown = {level}")
        text = QUERIES[query][0].format(table=self.name)
        found = {}
        explained = "\n".join(row[1] for row in self.counted.sql(f"EXPLAIN ANALYZE {text}").fetchall())
        for metric in METRICS:
            found[metric] = sum(int(number) for number in re.findall(rf"{metric}=(\d+)", explained))
        up, down = self.proxy.counted(lambda: self.counted.sql(text).fetchall())
        return found | {"socket_up": up, "socket_down": down}

    def print_boundaries(self, crossing: dict) -> None:
        names = ["mapping -> engine", "engine -> wire", "plan sent", "wire -> client", "socket, to the server", "socket, from it"]
        print(f"  {'bytes':25}" + "".join(f"{name:>23}" for name in names))
        for query, levels in crossing.items():
            for level, bytes_ in levels.items():
                print(f"  {query + ', ' + level:25}" + "".join(f"{count:>23,}" for count in bytes_.values()))


def create(connection: quiver.Connection, name: str, uri: str) -> None:
    connection.sql(f"CREATE EXTERNAL TABLE {name} STORED AS QUIVER LOCATION '{uri.replace('grpc', 'quiver')}/{name}'")


def values(connection: quiver.Connection, query: str, table: str) -> list[float]:
    return [row[0] for row in connection.sql(QUERIES[query][0].format(table=table)).fetchall()]


def check(what: str, found: list[float], expected: list[float]) -> None:
    if len(found) != len(expected) or not all(map(close, sorted(found), sorted(expected))):
        raise SystemExit(f"{what} gave {found[:5]} and not {expected[:5]}")


def close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9)


if __name__ == "__main__":
    raise SystemExit(main())
