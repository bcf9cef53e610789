"""`quiver serve` as a process: where it listens, who is refused, how it ends, and tokens that outlive it."""

import resource
import subprocess
import tempfile
import unittest
from contextlib import contextmanager
from pathlib import Path

import adbc_driver_flightsql.dbapi
from quiver_server import Server, add_user
from quiver_shell import QUIVER


@contextmanager
def files_of_at_most(size: int, server: Server):
    """No file of the server grows beyond that meanwhile: the system refuses the write, and sends SIGXFSZ."""
    before = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, before)


class Process(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="quiver-test-")
        self.addCleanup(directory.cleanup)
        self.store = Path(directory.name) / "store"

    def test_it_says_where_it_listens_and_ends_well_when_told(self):
        server = Server(self.store)
        self.assertRegex(server.first_line, r"^listening on grpc://127\.0\.0\.1:[1-9]\d* with the store .*\n$")
        with adbc_driver_flightsql.dbapi.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE t AS SELECT 7 AS a")
        status, rest = server.end()
        self.assertEqual(status, 0, server.said())
        self.assertRegex(rest, r"^draining: .*\n$")
        shown = subprocess.run([QUIVER, "--store", self.store, "--format", "csv", "-c", "SELECT a FROM t"], capture_output=True, text=True)
        self.assertEqual(shown.stdout, "a\n7\n")

    def test_it_refuses_what_other_machines_could_reach(self):
        refused = subprocess.run(
            [QUIVER, "serve", "--store", self.store, "--listen", "0.0.0.0:0"], capture_output=True, text=True, timeout=60
        )
        self.assertEqual(refused.returncode, 1)
        self.assertIn("--tls-cert FILE and --tls-key FILE", refused.stderr)

    def test_a_token_for_a_program_outlives_the_server(self):
        add_user(self.store, "ada", "secret word", "--admin")
        token = subprocess.run(
            [QUIVER, "--store", self.store, "user", "token", "ada"], capture_output=True, text=True, check=True
        ).stdout.strip()
        header = {"adbc.flight.sql.authorization_header": f"Bearer {token}"}
        for _ in range(2):
            server = Server(self.store)
            self.addCleanup(server.process.kill)
            with (
                adbc_driver_flightsql.dbapi.connect(server.uri, db_kwargs=header, autocommit=True) as connection,
                connection.cursor() as cursor,
            ):
                cursor.execute("SELECT 1")
                self.assertEqual(cursor.fetchall(), [(1,)])
            self.assertEqual(server.end()[0], 0)

    def test_a_second_server_on_a_store_is_refused(self):
        server = Server(self.store)
        self.addCleanup(server.end)
        second = subprocess.run(
            [QUIVER, "serve", "--store", self.store, "--listen", "127.0.0.1:0"], capture_output=True, text=True, timeout=60
        )
        self.assertEqual(second.returncode, 1)

    def test_a_file_that_may_not_grow_is_an_error_of_its_statement_and_not_the_end_of_the_server(self):
        rows = "SELECT value || repeat('x', 100) AS s FROM generate_series(1, 100000) AS g(value)"
        subprocess.run([QUIVER, "--store", self.store, "-c", f"CREATE TABLE t AS {rows}; CREATE TABLE l (a BIGINT)"], check=True)
        server = Server(self.store, "--memory-limit", "8MiB", "--threads", "1")
        self.addCleanup(server.process.kill)
        growing = [f"INSERT INTO t {rows}", "INSERT INTO l VALUES (7)", "SELECT count(DISTINCT s) FROM t", "OPTIMIZE TABLE t FULL"]
        with adbc_driver_flightsql.dbapi.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
            with files_of_at_most(1 << 20, server):
                for sql in growing[:3]:
                    with self.assertRaisesRegex(adbc_driver_flightsql.dbapi.Error, "disk is full.*free some space"):
                        cursor.execute(sql)
                        cursor.fetchall()
                cursor.execute("SELECT count(*) FROM t")
                self.assertEqual(cursor.fetchall(), [(100_000,)])
            for sql in growing:
                cursor.execute(sql)
            cursor.execute("SELECT count(*), (SELECT count(*) FROM l) FROM t")
            self.assertEqual(cursor.fetchall(), [(200_000, 1)])
        self.assertEqual(server.end()[0], 0, server.said())

    def test_an_error_reaches_its_client_also_where_it_cannot_be_logged(self):
        server = Server(self.store)
        self.addCleanup(server.process.kill)
        with adbc_driver_flightsql.dbapi.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
            for sql in ["CREATE TABLE t (a BIGINT)", "INSERT INTO t VALUES (1)"]:
                cursor.execute(sql)
            # The log lines of the server go to a file, too.
            with files_of_at_most(0, server):
                for _ in range(3):
                    with self.assertRaisesRegex(adbc_driver_flightsql.dbapi.Error, "open the store again"):
                        cursor.execute("INSERT INTO t VALUES (2)")
            cursor.execute("SELECT a FROM t")
            self.assertEqual(cursor.fetchall(), [(1,)])
        self.assertEqual(server.end()[0], 0, server.said())


if __name__ == "__main__":
    unittest.main()
