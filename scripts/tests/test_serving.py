"""`quiver serve` as a process: where it listens, who is refused, how it ends, and tokens that outlive it."""

import subprocess
import tempfile
import unittest
from pathlib import Path

import adbc_driver_flightsql.dbapi
from quiver_server import Server, add_user
from quiver_shell import QUIVER


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


if __name__ == "__main__":
    unittest.main()
