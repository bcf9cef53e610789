"""Errors of users, and their messages."""

import datetime
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import uuid
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pyarrow as pa
import quiver
import quiver.testing
from both import Connected, InProcess, in_both_ways

ENDLESS = "SELECT max(value * 7 % 13) FROM generate_series(1, 1000000000000) AS g (value)"
ENDLESS_ROWS = "SELECT value FROM generate_series(1, 1000000000000) AS g (value)"


class Wrong:
    def test_wrong_sql_is_shown_with_its_place(self):
        with self.assertRaises(quiver.ProgrammingError) as raised:
            self.con.sql("SELECT 1,\n  sumn(2)")
        self.assertEqual((raised.exception.line, raised.exception.column), (2, 3))
        self.assertEqual(raised.exception.hint, 'did you mean "sum"?')
        self.assertIn('; did you mean "sum"?', str(raised.exception))
        self.assertNotIn("did you mean", raised.exception.message)
        self.assertIn("(at line 2, column 3)", str(raised.exception))

    def test_what_is_not_there_is_named(self):
        with self.assertRaisesRegex(quiver.ProgrammingError, '"nowhere" does not exist'):
            self.con.table("nowhere")
        with self.assertRaisesRegex(quiver.ProgrammingError, "nowhere"):
            self.con.sql("SELECT * FROM nowhere")

    def test_kinds_of_errors_have_classes(self):
        self.con.sql("CREATE OR REPLACE TABLE held (a BIGINT PRIMARY KEY)")
        self.con.sql("INSERT INTO held VALUES (1)")
        with self.assertRaises(quiver.IntegrityError):
            self.con.sql("INSERT INTO held VALUES (1)")
        with self.assertRaises(quiver.ProgrammingError):
            self.con.sql("CREATE TABLE held (a BIGINT)")
        with self.assertRaises(quiver.NotSupportedError):
            self.con.sql("VACUUM held")

    def test_an_error_in_the_middle_of_the_rows_is_raised(self):
        result = self.con.sql("SELECT 1 / (200000 - value) FROM generate_series(1, 200000) AS g (value)")
        with self.assertRaisesRegex(quiver.Error, "(?i)zero"):
            result.arrow()
        result = self.con.sql("SELECT 1 / (200000 - value) FROM generate_series(1, 200000) AS g (value)")
        with self.assertRaisesRegex(Exception, "(?i)zero"):
            pa.table(result)
        self.assertEqual(self.rows("SELECT 1"), [(1,)])

    def test_a_delimiter_is_one_character(self):
        for delimiter in ("ab", "", "ü"):
            with self.assertRaisesRegex(quiver.ProgrammingError, "a delimiter is one character of ASCII"):
                self.con.import_("nothing.csv", delimiter=delimiter)

    def test_parameters_that_do_not_fit_are_refused(self):
        with self.assertRaisesRegex(quiver.ProgrammingError, "parameter 2 is object"):
            self.con.sql("SELECT ?, ?", [1, object()])
        with self.assertRaisesRegex(quiver.ProgrammingError, "1 parameter and was given 2 values"):
            self.con.sql("SELECT CAST(? AS BIGINT)", [1, 2])
        with self.assertRaisesRegex(quiver.ProgrammingError, "not str"):
            self.con.sql("SELECT ?", "text")
        for sql, values, why in [
            ("SELECT $a, :b", {"a": 1}, 'the parameter "b" has no value'),
            ("SELECT $a", {"a": 1, "b": 2}, 'the statement has no parameter "b"'),
            ("SELECT ?, :a", {"a": 1}, r"the statement has \?, and its parameters have names"),
            ("SELECT $1, :a", {"a": 1}, r"the statement has \$1, and its parameters have names"),
            ("SELECT :a", [1], r'the parameter :a has a name, and the values have none; give a dict: {"a": …}'),
            ("SELECT 1 WHERE 1 IN ?", [1], r"IN \? and = ANY \(\?\) take a list, and were given BIGINT; IN \(\?\) takes one value"),
            ("SELECT 1 WHERE 'x' IN ?", [[1]], r"VARCHAR IN BIGINT\[\] cannot be compared"),
            ("SELECT value FROM range(3) AS r (value) WHERE value IN (?)", [[1]], r"no BIGINT; .* write IN \? without parentheses"),
        ]:
            with self.subTest(sql), self.assertRaisesRegex(quiver.ProgrammingError, why):
                self.con.sql(sql, values)
        with self.assertRaisesRegex(quiver.ProgrammingError, "row 2 of the parameters has other names"):
            self.con.executemany("INSERT INTO typed VALUES (:a)", [{"a": 1}, {"b": 1}])
        with self.assertRaisesRegex(quiver.ProgrammingError, "a time zone and some have none"):
            now = datetime.datetime(2026, 11, 20)
            self.con.executemany("SELECT ?", [(now,), (now.replace(tzinfo=datetime.timezone.utc),)])
        with self.assertRaisesRegex(quiver.ProgrammingError, "parameter 1 is UUID"):
            self.con.sql("SELECT ?", [uuid.uuid4()])
        with self.assertRaisesRegex(quiver.ProgrammingError, "have no values"):
            self.con.executemany("INSERT INTO typed VALUES (1)", [(), ()])
        with self.assertRaisesRegex(quiver.NotSupportedError, "changes no rows"):
            self.con.executemany("SELECT ?", [(1,)])

    def test_what_is_no_statement_is_refused(self):
        for nothing in (1, b"SELECT 1", "SELECT '\ud800'", "", "SELECT 1; SELECT 2"):
            with self.subTest(nothing), self.assertRaises(quiver.ProgrammingError):
                self.con.sql(nothing)
        self.assertEqual(self.rows("SELECT 'a\0b' AS t"), [("a\0b",)])
        self.con.sql("CREATE OR REPLACE TABLE typed (a BIGINT)")
        with self.assertRaisesRegex(quiver.ProgrammingError, "is no BIGINT"):
            self.con.sql("INSERT INTO typed VALUES (?)", ["no number"])
        with self.assertRaisesRegex(quiver.ProgrammingError, "row 2 of the parameters has 2 values"):
            self.con.executemany("INSERT INTO typed VALUES (?)", [(1,), (2, 3)])
        self.assertEqual(self.rows("SELECT count(*) FROM typed"), [(0,)])

    def test_a_closed_connection_says_so(self):
        result = self.con.sql("SELECT 1")
        table = self.con.write("closing", pa.table({"a": [1]}), mode="replace") and self.con.table("closing")
        self.con.close()
        self.con.close()
        for use in (lambda: self.con.sql("SELECT 1"), table.arrow, result.explain, self.con.begin, self.con.another):
            with self.assertRaisesRegex(quiver.InterfaceError, "closed"):
                use()

    def test_ctrl_c_ends_a_query_and_not_the_connection(self):
        reads = [(ENDLESS, quiver.Result.fetchall), (ENDLESS_ROWS, quiver.Result.arrow), (ENDLESS_ROWS, lambda rows: deque(rows, 0))]
        for query, read in reads:
            with self.subTest(query), self.assertRaises(KeyboardInterrupt):
                interrupt = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
                interrupt.start()
                read(self.con.sql(query))
            self.assertEqual(self.rows("SELECT 1"), [(1,)])

    def test_a_result_that_is_closed_ends_its_query(self):
        with self.con.sql(ENDLESS_ROWS) as result:
            self.assertIsNotNone(result.fetchone())
        self.assertEqual(self.rows("SELECT 1"), [(1,)])

    def test_threads_share_a_connection(self):
        self.con.sql("CREATE OR REPLACE TABLE shared (a BIGINT)")

        def work(number):
            self.con.sql("INSERT INTO shared VALUES (?)", [number])
            counted = self.con.sql("SELECT count(*) FROM generate_series(1, 20000) AS g (value) WHERE value > ?", [number])
            return counted.fetchone()[0]

        with ThreadPoolExecutor(8) as threads:
            self.assertEqual(list(threads.map(work, range(40))), [20_000 - number for number in range(40)])
        self.assertEqual(self.rows("SELECT count(*), sum(a) FROM shared"), [(40, 780)])

    def test_information_schema_is_read_while_settings_change(self):
        # A SET and the views waited for each other's lock, and the session never answered again.
        self.con.sql("CREATE OR REPLACE VIEW seen AS SELECT * FROM information_schema.columns")
        for number in range(20):
            self.con.sql(f"CREATE OR REPLACE VIEW seen{number} AS SELECT * FROM seen")

        is_over = threading.Event()

        def read():
            for _ in range(30):
                self.rows("SELECT count(*) FROM information_schema.columns")

        def change():
            while not is_over.is_set():
                self.con.sql("SET quiver.statement_timeout_ms = 600000")

        threads = [threading.Thread(target=target, daemon=True) for target in (read, read, change)]
        for thread in threads:
            thread.start()
        for thread in threads[:2]:
            thread.join(60)
        is_over.set()
        threads[2].join(60)
        self.assertFalse(any(thread.is_alive() for thread in threads))
        self.con.sql("RESET quiver.statement_timeout_ms")
        for number in range(20):
            self.con.sql(f"DROP VIEW seen{number}")

    def test_a_forked_process_is_told_to_open_again(self):
        self.con.write("forked", pa.table({"a": [1]}), mode="replace")
        result = self.con.sql("SELECT a FROM forked")
        begun = self.con.sql(ENDLESS_ROWS)
        begun.fetchone()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            said = []
            for use in (lambda: self.con.sql("SELECT 1"), result.arrow, lambda: deque(begun, 0), lambda: self.con.in_transaction):
                try:
                    use()
                    said.append("nothing")
                except quiver.InterfaceError as error:
                    said.append(str(error))
                except BaseException as error:
                    said.append(repr(error))
            del result, begun
            self.con.close()
            os.write(writing, "\n".join(said).encode())
            os._exit(0)
        os.close(writing)
        with open(reading) as told:
            lines = told.read().split("\n")
        self.assertEqual(len(lines), 4)
        for line in lines:
            self.assertRegex(line, "forked from")
        os.waitpid(child, 0)
        begun.close()
        self.assertEqual(result.fetchall(), [(1,)])
        self.assertEqual(self.con.write("forked", pa.table({"a": [2]}), mode="append"), 1)


globals().update(in_both_ways(Wrong))


class WrongStore(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="quiver-test-")
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def test_a_store_that_is_not_there_is_not_made_for_reading(self):
        with self.assertRaises(quiver.Error) as raised:
            quiver.open(self.directory / "missing", read_only=True)
        self.assertIn("missing", str(raised.exception))
        self.assertFalse((self.directory / "missing").exists())

    def test_a_node_that_cannot_be_reached_is_the_network(self):
        with quiver.open() as con, self.assertRaisesRegex(quiver.OperationalError, "the node .* cannot be asked"):
            con.sql("CREATE EXTERNAL TABLE away STORED AS QUIVER LOCATION 'quiver+tls://127.0.0.1:1/main.nope'")

    def test_a_directory_of_something_else_is_no_store(self):
        (self.directory / "letters").mkdir()
        (self.directory / "letters" / "a.txt").write_text("dear")
        with self.assertRaises(quiver.OperationalError):
            quiver.open(self.directory / "letters")

    def test_a_store_that_another_process_writes_to_is_refused(self):
        store = self.directory / "store"
        with quiver.open(store):
            done = subprocess.run([quiver.testing.binary(), "--store", store, "-c", "SELECT 1"], capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0)
            again = "import quiver, sys; quiver.open(sys.argv[1])"
            done = subprocess.run([sys.executable, "-c", again, store], capture_output=True, text=True, env=self.environment())
            self.assertIn("quiver.errors.OperationalError", done.stderr)
        with quiver.open(store) as con:
            self.assertEqual(con.sql("SELECT 1").fetchall(), [(1,)])

    def test_a_store_that_another_process_writes_to_is_read_at_its_last_version(self):
        store = self.directory / "store"
        shell = [quiver.testing.binary(), "--store", store, "--format", "csv"]
        with subprocess.Popen(shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:

            def write(sql):
                print(sql, "\\echo done", sep="\n", file=writer.stdin, flush=True)
                while writer.stdout.readline() != "done\n":
                    self.assertIsNone(writer.poll())

            def count(con):
                return con.sql("SELECT count(*) FROM t").fetchall()

            write("CREATE TABLE t (a BIGINT); INSERT INTO t VALUES (7);")
            with quiver.open(store, read_only=True) as con:
                self.assertEqual(count(con), [(1,)])
                write("INSERT INTO t VALUES (8);")
                with quiver.open(store, read_only=True) as later, con.another() as same:
                    self.assertEqual([count(each) for each in (con, same, later)], [[(1,)], [(1,)], [(2,)]])
                with self.assertRaisesRegex(quiver.OperationalError, "read-only"):
                    con.sql("DELETE FROM t")
            writer.stdin.close()
        with quiver.open(store) as con:
            self.assertEqual(count(con), [(2,)])

    def test_opening_again_in_one_process_shares_the_store(self):
        store = self.directory / "store"
        with quiver.open(store) as one, quiver.open(store) as other:
            one.write("t", pa.table({"a": [1]}))
            self.assertEqual(other.tables(), ["t"])
            with self.assertRaisesRegex(quiver.InterfaceError, "other options"):
                quiver.open(store, read_only=True)
        with quiver.open(store, read_only=True) as con, self.assertRaises(quiver.OperationalError):
            con.sql("CREATE TABLE u (a BIGINT)")

    def test_a_connection_that_two_threads_close_leaves_the_others_alone(self):
        store = self.directory / "store"
        with quiver.open(store) as kept:
            for _ in range(20):
                other = quiver.open(store)
                with ThreadPoolExecutor(4) as threads:
                    list(threads.map(lambda _: other.close(), range(4)))
            self.assertEqual(kept.sql("SELECT 1").fetchall(), [(1,)])

    def test_a_store_without_a_path_goes_when_it_is_closed(self):
        with quiver.open(memory_limit="512MB", threads=1) as con:
            con.write("t", pa.table({"a": [1, 2]}))
            self.assertEqual(len(con.table("t")), 2)
        for path, hint in ((":memory:", "without a path"), ("grpc://db:31337", "quiver.connect"), ("quiver:///store", "the path alone")):
            with self.subTest(path), self.assertRaisesRegex(quiver.ProgrammingError, hint):
                quiver.open(path)
        self.assertFalse(Path("grpc:").exists() or Path(":memory:").exists())
        with self.assertRaisesRegex(quiver.ProgrammingError, '"much" is no size'):
            quiver.open(memory_limit="much")
        with self.assertRaisesRegex(quiver.ProgrammingError, '"-1" is no size'):
            quiver.open(memory_limit=-1)
        with self.assertRaisesRegex(quiver.ProgrammingError, "threads is 0"):
            quiver.open(threads=0)

    def test_a_process_ends_with_a_store_open_and_a_query_running(self):
        script = "import quiver, sys; rows = quiver.open(sys.argv[1]).sql(sys.argv[2]); rows.fetchone(); print('left')"
        command = [sys.executable, "-c", script, self.directory / "store", ENDLESS_ROWS]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=self.environment())
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "left\n", ""))

    def test_too_few_addresses_for_the_threads_are_an_error_and_not_the_end_of_the_process(self):
        script = "import quiver, resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)); quiver.open(sys.argv[1])"
        done = subprocess.run(
            [sys.executable, "-c", script, self.directory / "store"], capture_output=True, text=True, env=self.environment()
        )
        self.assertEqual(done.returncode, 1)
        self.assertRegex(
            done.stderr, r"quiver\.errors\..*the process may have 2.15 GB of address space, and needs .* raise the limit \(ulimit -v\)"
        )

    def environment(self):
        return os.environ | {"PYTHONPATH": str(Path(quiver.__file__).parents[1])}


class ClosedUnderReaders:
    def test_a_connection_that_closes_ends_what_is_being_read(self):
        result = self.con.sql(ENDLESS_ROWS)
        batches = iter(result)
        next(batches)
        self.con.close()
        with self.assertRaisesRegex(quiver.InterfaceError, "closed"):
            for _ in range(100):
                next(batches)


globals().update(in_both_ways(ClosedUnderReaders))


class InterruptedReader(Connected, InProcess):
    def test_ctrl_c_is_seen_where_another_library_reads(self):
        threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
        with self.assertRaises(KeyboardInterrupt):
            # The library in between raises its own error, and Python raises KeyboardInterrupt right after it.
            with suppress(pa.ArrowInvalid):
                pa.table(self.con.sql(ENDLESS))
            for _ in range(1_000_000):
                pass

    def test_a_connection_that_closes_ends_what_another_library_reads(self):
        reader = pa.RecordBatchReader.from_stream(self.con.sql(ENDLESS_ROWS))
        reader.read_next_batch()
        self.con.close()
        with self.assertRaisesRegex(Exception, "closed"):
            for _ in range(100):
                reader.read_next_batch()


class NoServer(unittest.TestCase):
    def test_a_program_that_is_not_there_is_named(self):
        with mock.patch.dict(os.environ, QUIVER_BIN="/nowhere/quiver"), self.assertRaisesRegex(quiver.OperationalError, "QUIVER_BIN names"):
            self.enterContext(quiver.testing.serve())

    def test_a_server_that_is_not_there_is_named(self):
        with self.assertRaises(quiver.OperationalError) as raised:
            quiver.connect("grpc://127.0.0.1:1")
        self.assertEqual(raised.exception.hint, "check the address, and that `quiver serve` runs there")

    def test_a_server_without_tls_says_how_it_is_reached(self):
        with (
            quiver.testing.serve() as server,
            self.assertRaisesRegex(quiver.OperationalError, "a server without TLS is reached by grpc://"),
        ):
            quiver.connect(server.uri.replace("grpc://", "grpc+tls://"))

    def test_an_address_that_is_none_is_refused(self):
        for uri in ("localhost:31337", "http://localhost:1", "grpc://localhost", "grpc://localhost:port"):
            with self.subTest(uri), self.assertRaisesRegex(quiver.ProgrammingError, "write grpc://host:port"):
                quiver.connect(uri)

    def test_certificates_without_tls_are_refused(self):
        with self.assertRaisesRegex(quiver.ProgrammingError, "grpc\\+tls"):
            quiver.connect("grpc://127.0.0.1:1", tls_ca=__file__)

    def test_a_connection_ends_well_when_its_server_is_gone(self):
        with quiver.testing.serve() as server:
            con = quiver.connect(server.uri)
        with self.assertRaises(quiver.OperationalError):
            con.sql("SELECT 1")
        con.close()
