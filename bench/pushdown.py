"""`make bench-pushdown`: a query on one column of a wide table of another node, and the bytes that cross each boundary.

The workload of nativeNDP's Figures 3 to 5: tables of n x n doubles, SUM, AVG and STDDEV of one column and a filter. Each runs in an engine
of this process over `quiver serve` at the three levels of `SET pushdown`, beside clients that read the table from CSV, all of it or the
columns that a query needs, and one that fetches it over Flight. Everything is on one machine and its loopback: a network would only make
the others slower. Rounds of all ways are interleaved. Every answer is held against numpy's.

What is the same for each query is done once a round and counted for each: reading the CSV, and fetching. The file is in the page cache,
as it was just written. pyarrow reads it in blocks of 256 rows at least: its own 1 MiB is five rows of the largest table, and it would
make an array of each column of each block.
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
from concurrent.futures import ThreadPoolExecutor
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
CSV, CSV_COLUMNS, FETCH = "client reads CSV", "client reads c1, c2 of CSV", "client fetches"
CSV_PANDAS, CSV_PANDAS_COLUMNS = "pandas reads CSV", "pandas reads c1, c2 of CSV"
BASES = (CSV, CSV_COLUMNS, FETCH)
# Which take about as long for the whole table as for one column of it.
QUICK = ("pushdown = filter", "pushdown = full", "SQL sent to the server")
METRICS = ("node_bytes_touched", "node_bytes_returned", "bytes_sent", "bytes_on_wire")
# Frames that say no more than that others were read come a little later.
SETTLED_S = 0.2
# Of a message that is put.
CHUNK_BYTES = 16 << 20
# From so many columns on the ways that are not quick have fewer rounds.
MANY_COLUMNS = 5_000
# What one thread makes of the CSV at a time, and a value of it with its comma.
PIECE_BYTES, VALUE_BYTES = 8 << 20, 20
# Of the CSV, that pyarrow reads at a time.
BLOCK_ROWS = 256


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,3162,10000", help="rows and columns of the tables")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--slow-rounds", type=int, default=2, help="of the ways that read the whole table, from 5,000 columns on")
    parser.add_argument("--pandas", action="store_true", help="read the CSV with pandas as well, once; it takes minutes for the largest")
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
    """A proxy that counts bytes: everything that a call sends over the socket, with the headers of gRPC and the frames of HTTP/2."""

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
        """The bytes to and from the server while `run` runs."""
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
            write_csv(table, self.csv)
        del table
        self.here, self.counted = {level: quiver.open() for level in LEVELS}, quiver.open()
        started = time.perf_counter()
        create(self.here["full"], self.name, uri)
        self.told_s = time.perf_counter() - started
        for level, connection in self.here.items():
            connection.sql(f"SET pushdown = {level}")
            if level != "full":
                create(connection, self.name, uri)
        # The description of a node's table is cached for half a minute, and this connection has not requested it yet.
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

    def read_csv(self, columns: list[str] | None = None) -> pyarrow.Table:
        read = pyarrow.csv.ReadOptions(block_size=max(1 << 20, BLOCK_ROWS * VALUE_BYTES * self.size))
        return pyarrow.csv.read_csv(self.csv, read_options=read, convert_options=pyarrow.csv.ConvertOptions(include_columns=columns))

    def read_csv_by_pandas(self, columns: list[str] | None = None) -> pyarrow.Table:
        import pandas

        frame = pandas.read_csv(self.csv, usecols=columns)
        return pyarrow.table({column: frame[column].to_numpy() for column in ("c1", "c2")})

    def fetch(self) -> pyarrow.Table:
        return self.client.do_get(pyarrow.flight.Ticket(json.dumps({"table": self.name}).encode())).read_all()

    def readers(self) -> dict:
        """Ways that get a table, of which every query is computed here."""
        readers = {}
        if not self.options.no_csv:
            readers |= {CSV: self.read_csv, CSV_COLUMNS: lambda: self.read_csv(["c1", "c2"])}
            if self.options.pandas:
                readers |= {CSV_PANDAS: self.read_csv_by_pandas, CSV_PANDAS_COLUMNS: lambda: self.read_csv_by_pandas(["c1", "c2"])}
        return readers | {FETCH: self.fetch}

    def asked(self) -> dict:
        """Ways that ask for each query."""
        asked = {f"pushdown = {level}": lambda query, level=level: values(self.here[level], query, self.name) for level in LEVELS}
        return asked | {"SQL sent to the server": lambda query: values(self.there, query, self.name)}

    # Numbers

    def measured(self) -> dict:
        cells = self.size * self.size
        print(
            f"\n{self.size:,} x {self.size:,} doubles, {cells * 8 / 1e6:,.0f} MB"
            + ("" if self.options.no_csv else f", {self.csv.stat().st_size / 1e6:,.0f} MB as CSV")
        )
        print(
            f"  the table is made known in {self.told_s * 1e3:,.1f} ms and {self.told_bytes:,} bytes, "
            "once in half a minute and not in a query's time"
        )
        times = self.timed()
        self.print_times(times)
        crossing = {query: {level: self.boundaries(query, level) for level in self.levels_of(query)} for query in QUERIES}
        self.print_boundaries(crossing)
        for connection in (*self.here.values(), self.counted, self.there):
            connection.close()
        self.csv.unlink(missing_ok=True)
        return {"size": self.size, "told_s": self.told_s, "told_bytes": self.told_bytes, "seconds": times, "bytes": crossing}

    def levels_of(self, query: str) -> tuple[str, ...]:
        """The whole table crosses for each query, and that takes seconds for the largest: it is shown once."""
        return LEVELS if self.size < MANY_COLUMNS or query == "SUM" else LEVELS[1:]

    def timed(self) -> dict[str, dict[str, list[float]]]:
        """Seconds by query and way."""
        readers, asked = self.readers(), self.asked()
        expected = {query: floats(computed(self.one, self.two)) for query, (_, computed) in QUERIES.items()}
        taken: dict[str, dict[str, list[float]]] = {query: {way: [] for way in (*readers, *asked)} for query in QUERIES}
        # One more run, for warming up, which is not counted.
        for turn in range(self.options.rounds + 1):
            for way, read in readers.items():
                if not self.is_due(way, turn):
                    continue
                read_s, table = seconds(read)
                one, two = table["c1"].to_numpy(), table["c2"].to_numpy()
                del table
                for query, (_, computed) in QUERIES.items():
                    computed_s, found = seconds(lambda: floats(computed(one, two)))
                    check(f"{way}, {query}", found, expected[query])
                    taken[query][way] += [read_s + computed_s] * (turn > 0)
            for query in QUERIES:
                for way, ask in asked.items():
                    if not self.is_due(way, turn):
                        continue
                    asked_s, found = seconds(lambda: ask(query))
                    check(f"{way}, {query}", found, expected[query])
                    taken[query][way] += [asked_s] * (turn > 0)
        return taken

    def is_due(self, way: str, turn: int) -> bool:
        if way in (CSV_PANDAS, CSV_PANDAS_COLUMNS):
            return turn == 1
        if self.size < MANY_COLUMNS or way in QUICK:
            return True
        # Nothing is left to warm up: what they read was just written.
        return 0 < turn <= self.options.slow_rounds

    def print_times(self, times: dict) -> None:
        print(f"  {'milliseconds, best and median':32}" + "".join(f"{query:>22}" for query in times))
        for way in next(iter(times.values())):
            cells = [f"{min(times[query][way]) * 1e3:>11,.2f}{statistics.median(times[query][way]) * 1e3:>11,.2f}" for query in times]
            print(f"  {way:32}" + "".join(cells))
        for base in (base for base in BASES if base in next(iter(times.values()))):
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


def write_csv(table: pyarrow.Table, path: Path) -> None:
    """As pyarrow writes it, by two threads."""

    def written(rows: pyarrow.Table, has_header: bool = False) -> pyarrow.Buffer:
        sink = pyarrow.BufferOutputStream()
        pyarrow.csv.write_csv(rows, sink, pyarrow.csv.WriteOptions(include_header=has_header, batch_size=max(1, rows.num_rows)))
        return sink.getvalue()

    rows = max(1, PIECE_BYTES // (VALUE_BYTES * table.num_columns))
    with path.open("wb") as file, ThreadPoolExecutor(2) as pool:
        file.write(written(table.slice(0, 0), has_header=True))
        for piece in pool.map(written, (table.slice(start, rows) for start in range(0, table.num_rows, rows))):
            file.write(piece)


def seconds(run) -> tuple:
    started = time.perf_counter()
    found = run()
    return time.perf_counter() - started, found


def floats(found) -> list[float]:
    return [float(value) for value in found]


def check(what: str, found: list[float], expected: list[float]) -> None:
    if len(found) != len(expected) or not all(map(close, sorted(found), sorted(expected))):
        raise SystemExit(f"{what} gave {found[:5]} and not {expected[:5]}")


def close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9)


if __name__ == "__main__":
    raise SystemExit(main())
