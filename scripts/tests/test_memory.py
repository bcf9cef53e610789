"""A server with 1 GiB for all queries stays under 1.5 GiB of memory of its own, whatever a user sends.

What is known to ask for much, and then calls of all functions with huge arguments, drawn by a seed: `make test` runs hundreds of
them, `make test-long` thousands (MEMORY_CALLS=, MEMORY_SEED=). What a statement answers is of no interest here, but it answers
soon, with a sentence where it is refused, and the server lives.
"""

import os
import random
import re
import subprocess
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import adbc_driver_flightsql
import adbc_driver_flightsql.dbapi as flight_sql
import pyarrow as pa
import pyarrow.parquet as parquet
from adbc_driver_manager import Error
from quiver_server import Server
from quiver_shell import QUIVER

MIB = 1 << 20
MESSAGE_MAX = adbc_driver_flightsql.DatabaseOptions.WITH_MAX_MSG_SIZE.value
LIMIT = 1536
# To protect the machine, where a test is about to fail anyway.
KILLED_ABOVE = 3000
TIMEOUT_MS = 3000
# Between a limit of time and an answer: some steps of functions cannot be ended.
ANSWER_S = 20
ROWS = 200_000

TABLE = f"""
CREATE TABLE t AS SELECT value AS a, 'text ' || value AS s, [value, value + 1] AS l, value * 1.5e0 AS d,
to_timestamp(value * 1000) AS w FROM generate_series(1, {ROWS}) AS g(value)
"""

FUNCTIONS = "SELECT DISTINCT routine_name AS name FROM information_schema.routines WHERE function_type <> 'TABLE'"

GREEDY = [
    "SELECT count(*) FROM (SELECT generate_series(1, 100000000000))",
    "SELECT array_length(array_repeat('abc', 2000000000))",
    "SELECT length(repeat('x', 2000000000))",
    "SELECT lpad('x', 1000000000)",
    "SELECT range(1, 100000000000)[1]",
    "SELECT max(array_length(generate_series(1, 1000000 * a))) FROM t",
    "SELECT max(length(lpad(s, 100000000))) FROM t",
    "SELECT max(length(repeat(s, 1000000))) FROM t",
    "SELECT length(string_agg(repeat('x', 100000), ',')) FROM t",
    "SELECT length(string_agg(repeat(s, 10000), ',')) FROM t",
    "SELECT array_length(array_agg(generate_series(1, 100000))) FROM t",
    "SELECT array_length(array_agg(repeat(s, 10000))) FROM t",
    "SELECT repeat('x', 1000000000) || s FROM t",
    "SELECT count(*) FROM (SELECT unnest(range(1, 10000000)) FROM t)",
    "SELECT max(length(array_to_string(array_repeat(s, 1000000), ','))) FROM t",
    "SELECT max(length(replace(repeat('a', 100000), 'a', repeat('b', 100000)))) FROM t",
    f"SELECT '{'x' * MIB}', s FROM t",
    f"SELECT max(length(CASE WHEN a > 7 THEN '{'x' * MIB}' ELSE s END)) FROM t",
    f"SELECT array_length(array_agg('{'x' * MIB}')) FROM t",
    "SELECT max(length(x)) FROM (" + " FROM (".join(["SELECT x || x AS x"] * 15) + " FROM (SELECT repeat(s, 20000) AS x FROM t" + ")" * 16,
    "SELECT length(x) FROM (" + " FROM (".join(["SELECT x || x AS x"] * 15) + " FROM (SELECT repeat('x', 200000) AS x" + ")" * 16,
    "SELECT length(concat(" + ", ".join(["upper(x)"] * 1000) + ")) FROM (SELECT repeat('x', 3000000) AS x)",
    "SELECT length(concat(" + ", ".join(["repeat('x', 3000000)"] * 1000) + "))",
    "SELECT levenshtein(repeat('x', 60000), repeat('y', 60000))",
]

NUMBERS = "0 1 -1 2 7 1000 1000000 100000000 2147483647 -2147483648 9223372036854775807 -9223372036854775807 1.5 1e308 -1e0".split()
TEXTS = ["''", "'x'", "'%Y %m'", "'g'", "'(a|b)*'", "' '", "'é€😀'", "'2026-01-01'", "repeat('ab', 100000)", "repeat('a b ', 20000000)"]
LISTS = ["[]", "[1, 2, 3]", "['a', NULL]", "[[1, 2], [3]]", "range(1, 100000)", "range(1, 50000000)", "array_repeat('abc', 100000)", "l"]
OTHERS = "NULL TRUE DATE'2026-01-01' TIMESTAMP'2026-01-01' INTERVAL'1_day' {'a':1} MAP{'a':1} x->x (x,y)->x a s d w a s".split()


def arguments(chance: random.Random, depth: int, names: list[str]) -> str:
    def one() -> str:
        if depth > 0 and chance.random() < 0.2:
            return call(chance, depth - 1, names)
        return chance.choice(chance.choice([NUMBERS, NUMBERS, TEXTS, TEXTS, LISTS, OTHERS])).replace("_day", " day")

    return ", ".join(one() for _ in range(chance.choice([0, 1, 1, 2, 2, 2, 3, 3, 4])))


def call(chance: random.Random, depth: int, names: list[str]) -> str:
    return f"{chance.choice(names)}({arguments(chance, depth, names)})"


def statement(chance: random.Random, name: str, names: list[str]) -> str:
    made = f"{name}({arguments(chance, 2, names)})"
    return chance.choice(
        [
            f"SELECT {made} FROM (SELECT * FROM t LIMIT 3)",
            f"SELECT count(x) FROM (SELECT {made} AS x FROM t)",
            f"SELECT a % 7, count({made}) FROM t GROUP BY 1",
            f"SELECT a % 7, {made} FROM t GROUP BY ALL",
            f"SELECT {made} OVER (ORDER BY a ROWS 10 PRECEDING) FROM t LIMIT 5",
            f"SELECT count(*) FROM t WHERE {made} IS NULL",
            f"SELECT count(*) FROM {made}",
            f"VALUES ({made})".replace("(a", "(1"),
        ]
    )


def anonymous_mib(process: int) -> int:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"RssAnon:\s+(\d+)", status)
    return int(found[1]) // 1024 if found else 0


class Watched:
    """The server, and how much memory of its own it has come to."""

    def __init__(self, store: Path, *switches: str):
        self.server = Server(store, "--memory-limit", "1GiB", "--statement-timeout", f"{TIMEOUT_MS}ms", *switches)
        self.peak, self.is_over = 0, False
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self) -> None:
        while not self.is_over:
            self.peak = max(self.peak, anonymous_mib(self.server.process.pid))
            if self.peak > KILLED_ABOVE:
                self.server.process.kill()
            time.sleep(0.01)

    def run(self, sql: str) -> str:
        """What went wrong, empty for rows."""
        limits = {MESSAGE_MAX: str(64 * MIB)}
        # Without autocommit, a driver that is closed leaves its transaction open, and the server keeps 1,000 of them.
        with flight_sql.connect(self.server.uri, db_kwargs=limits, autocommit=True) as connection, connection.cursor() as cursor:
            try:
                cursor.execute(sql)
                reader = cursor.fetch_record_batch()
                while True:
                    reader.read_next_batch()
            except StopIteration:
                return ""
            except (Error, OSError, pa.ArrowException) as error:
                return str(error)

    def check(self, sql: str, at_once: int = 1) -> str:
        """What went wrong with one of as many as run at once."""
        self.peak, start = 0, time.monotonic()
        with ThreadPoolExecutor(at_once) as pool:
            error = "; ".join(dict.fromkeys(pool.map(self.run, [sql] * at_once)))
        took = time.monotonic() - start
        short = sql if len(sql) < 300 else f"{sql[:150]} … {sql[-100:]}"
        report = f"{short}: {self.peak} MiB, {took:.1f} s, {error[:300]}"
        if os.environ.get("MEMORY_REPORT"):
            print(report, flush=True)
        if self.server.process.poll() is not None:
            raise AssertionError(f"the server ended: {report}\n{self.server.said()[-2000:]}")
        assert self.peak < LIMIT, f"too much memory: {report}"
        assert took < ANSWER_S, f"no answer for too long: {report}"
        assert not re.search(r"internal error|panic|please report|unexpectedly", error, re.IGNORECASE), f"a poor error: {report}"
        return error

    def end(self) -> None:
        self.is_over = True
        self.thread.join()
        self.server.end()


class Import(unittest.TestCase):
    def test_a_text_that_a_dictionary_repeats_takes_no_more_memory_than_the_limit(self):
        with tempfile.TemporaryDirectory() as directory:
            file, store = Path(directory) / "dictionary.parquet", Path(directory) / "store"
            texts = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000, pa.int32()), pa.array(["z" * 50_000_000]))
            parquet.write_table(pa.table({"s": texts}), file)
            del texts
            command = [QUIVER, "import", "--store", store, "--table", "t", "--memory-limit", "256M", file]
            with (Path(directory) / "error").open("w+") as said:
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
                # All of it is 5 TB of text. Memory grew by 170 MB a second from the first batch on.
                peak, deadline = 0, time.monotonic() + 5
                while process.poll() is None:
                    peak = max(peak, anonymous_mib(process.pid))
                    if peak > KILLED_ABOVE or time.monotonic() > deadline:
                        process.kill()
                    time.sleep(0.01)
                said.seek(0)
                error = said.read()
            self.assertLess(peak, 400, error)
            self.assertNotRegex(error, "internal error|panic")


class Memory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        store = Path(cls.directory.name) / "store"
        subprocess.run([QUIVER, "--store", store, "-c", TABLE], check=True, capture_output=True)
        listed = subprocess.run([QUIVER, "--store", store, "--format", "csv", "-c", FUNCTIONS], check=True, capture_output=True, text=True)
        cls.names = sorted({name for name in re.findall(r"^[a-z_0-9]+$", listed.stdout, re.MULTILINE)} - {"name"})
        cls.watched = Watched(store)

    @classmethod
    def tearDownClass(cls):
        cls.watched.end()
        cls.directory.cleanup()

    def test_what_is_known_to_ask_for_much_stays_within_the_limit(self):
        for sql in GREEDY:
            with self.subTest(sql[:200]):
                self.watched.check(sql)

    def test_two_at_once_that_ask_for_much_stay_within_the_limit(self):
        for sql in GREEDY:
            with self.subTest(sql[:200]):
                self.watched.check(sql, at_once=2)

    def test_lists_of_millions_of_constants_are_refused_with_what_to_do_instead(self):
        for sql in [
            "SELECT count(*) FROM t WHERE a IN (" + ",".join(str(i) for i in range(7_000_000)) + ")",
            "SELECT count(*) FROM (VALUES " + ",".join(f"({i})" for i in range(4_000_000)) + ") v(a)",
            "SELECT count(*) FROM t WHERE s <> 'user' AND a IN (" + ",".join(str(i) for i in range(6_000_000)) + ")",
        ]:
            with self.subTest(sql[:60]):
                self.assertRegex(self.watched.check(sql), "COPY|longer than its limit")

    def test_calls_with_huge_arguments_stay_within_the_limit(self):
        self.assertGreater(len(self.names), 300)
        seed = int(os.environ.get("MEMORY_SEED", "7"))
        chance = random.Random(seed)
        names = list(self.names)
        chance.shuffle(names)
        for at in range(int(os.environ.get("MEMORY_CALLS", "600"))):
            sql = statement(chance, names[at % len(names)], self.names)
            with self.subTest(sql, seed=seed):
                self.watched.check(sql)


if __name__ == "__main__":
    unittest.main()
