"""Real clients against the real server: ADBC's Flight SQL driver and pyarrow.flight."""

import datetime
import os
import subprocess
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path

import adbc_driver_flightsql.dbapi
import pyarrow
import pyarrow.compute
import pyarrow.flight
from quiver_server import Server, add_user, certificate
from quiver_shell import QUIVER


class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="quiver-test-")
        cls.addClassCleanup(directory.cleanup)
        cls.server = Server(Path(directory.name) / "store")
        cls.addClassCleanup(cls.server.end)


class Adbc(Served):
    def setUp(self):
        self.connection = self.connect(autocommit=True)
        self.cursor = self.connection.cursor()
        self.addCleanup(self.connection.close)
        self.addCleanup(self.cursor.close)

    def connect(self, db_kwargs=None, **options):
        return adbc_driver_flightsql.dbapi.connect(self.server.uri, db_kwargs={**self.db_kwargs(), **(db_kwargs or {})}, **options)

    def db_kwargs(self) -> dict[str, str]:
        return {}

    def rows(self, sql: str, parameters=None) -> list[tuple]:
        self.cursor.execute(sql, parameters)
        return self.cursor.fetchall()

    def table(self, name: str, columns: str) -> str:
        self.cursor.execute(f"CREATE TABLE {name} ({columns})")
        return name

    def test_a_query_gives_python_values(self):
        sql = (
            "SELECT 1 AS n, 'text' AS t, CAST(12.34 AS DECIMAL(10, 2)) AS d, DATE '2026-11-20' AS day, true AS flag, "
            "1.5e0 AS x, NULL AS nothing, TIMESTAMP '2026-11-20 14:00:00' AS at"
        )
        day, at = datetime.date(2026, 11, 20), datetime.datetime(2026, 11, 20, 14)
        self.assertEqual(self.rows(sql), [(1, "text", Decimal("12.34"), day, True, 1.5, None, at)])
        self.assertEqual([column[0] for column in self.cursor.description], ["n", "t", "d", "day", "flag", "x", "nothing", "at"])

    def test_a_large_result_is_an_arrow_table(self):
        self.cursor.execute("SELECT value AS n, 'row ' || value AS t FROM generate_series(1, 300000) AS g (value)")
        table = self.cursor.fetch_arrow_table()
        self.assertEqual(table.num_rows, 300_000)
        self.assertEqual(table.schema.field("t").type, pyarrow.string())
        self.assertEqual(pyarrow.compute.sum(table["n"]).as_py(), 300_000 * 300_001 // 2)

    def test_statements_have_run_when_execute_returns(self):
        self.cursor.execute("CREATE TABLE at_once (a BIGINT)")
        self.cursor.execute("INSERT INTO at_once VALUES (1), (2)")
        self.assertEqual(self.cursor.rowcount, 2)
        self.assertEqual(self.rows("SELECT count(*) FROM at_once"), [(2,)])

    def test_parameters_are_bound(self):
        self.assertEqual(self.rows("SELECT value FROM generate_series(1, 10) AS g (value) WHERE value > ? ORDER BY 1", [8]), [(9,), (10,)])
        self.assertEqual(self.rows("SELECT CAST($1 AS VARCHAR) || $2", ["a", "b"]), [("ab",)])

    def test_executemany_changes_a_row_for_each_parameter(self):
        name = self.table("many", "a BIGINT, b VARCHAR")
        self.cursor.executemany(f"INSERT INTO {name} VALUES (?, ?)", [(1, "one"), (2, "two"), (3, None)])
        self.assertEqual(self.cursor.rowcount, 3)
        self.assertEqual(self.rows(f"SELECT * FROM {name} ORDER BY a"), [(1, "one"), (2, "two"), (3, None)])

    def test_ingest_creates_appends_and_replaces(self):
        data = pyarrow.table({"a": list(range(1000)), "b": [f"text {n}" for n in range(1000)]})
        self.assertEqual(self.cursor.adbc_ingest("bulk", data, mode="create"), 1000)
        with self.assertRaises(adbc_driver_flightsql.dbapi.Error):
            self.cursor.adbc_ingest("bulk", data, mode="create")
        self.cursor.adbc_ingest("bulk", data, mode="append")
        self.assertEqual(self.rows("SELECT count(*), count(DISTINCT b) FROM bulk"), [(2000, 1000)])
        self.cursor.adbc_ingest("bulk", data.slice(0, 10), mode="replace")
        self.cursor.adbc_ingest("bulk", data.slice(10, 5), mode="create_append")
        self.cursor.execute("SELECT * FROM bulk ORDER BY a")
        self.assertEqual(self.cursor.fetch_arrow_table().to_pydict(), data.slice(0, 15).to_pydict())

    def test_a_transaction_commits_or_rolls_back(self):
        name = self.table("kept", "a BIGINT")
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"INSERT INTO {name} VALUES (1)")
            self.assertEqual(self.rows(f"SELECT count(*) FROM {name}"), [(0,)])
            connection.commit()
            cursor.execute(f"INSERT INTO {name} VALUES (2)")
            connection.rollback()
            cursor.execute(f"SELECT a FROM {name}")
            self.assertEqual(cursor.fetchall(), [(1,)])
        self.assertEqual(self.rows(f"SELECT a FROM {name}"), [(1,)])

    def test_a_cursor_that_has_outlived_its_transaction_says_what_to_do(self):
        name = self.table("outlived", "a BIGINT")
        insert = f"INSERT INTO {name} VALUES (?)"
        with self.connect() as connection:
            with connection.cursor() as cursor:
                cursor.execute(insert, [1])
                cursor.execute(insert, [2])
                connection.commit()
                # The driver keeps the statement prepared, which belongs to the transaction of before.
                with self.assertRaisesRegex(adbc_driver_flightsql.dbapi.Error, "a new cursor after each commit"):
                    cursor.execute(insert, [3])
            for number in [3, 4]:
                with connection.cursor() as cursor:
                    cursor.execute(insert, [number])
                connection.commit()
        self.assertEqual(self.rows(f"SELECT a FROM {name} ORDER BY a"), [(1,), (2,), (3,), (4,)])

    def test_the_current_catalog_and_schema_are_told_and_stay(self):
        self.assertEqual(self.connection.adbc_current_catalog, "quiver")
        self.assertEqual(self.connection.adbc_current_db_schema, "main")
        self.connection.adbc_current_db_schema = "main"
        with self.assertRaisesRegex(adbc_driver_flightsql.dbapi.Error, "name the schema with the table"):
            self.connection.adbc_current_db_schema = "other"
        self.assertEqual(self.connection.adbc_current_db_schema, "main")

    def test_the_second_of_two_that_change_a_row_fails(self):
        name = self.table("fought_over", "a BIGINT")
        self.cursor.execute(f"INSERT INTO {name} VALUES (1)")
        with self.connect() as one, self.connect() as other, one.cursor() as first, other.cursor() as second:
            first.execute(f"UPDATE {name} SET a = 10")
            second.execute(f"UPDATE {name} SET a = 20")
            one.commit()
            with self.assertRaisesRegex(adbc_driver_flightsql.dbapi.Error, "another transaction changed table"):
                other.commit()
        self.assertEqual(self.rows(f"SELECT a FROM {name}"), [(10,)])

    def test_an_error_says_what_to_do(self):
        with self.assertRaisesRegex(adbc_driver_flightsql.dbapi.Error, 'did you mean "sum"'):
            self.cursor.execute("SELECT sumn(1)")

    def test_an_error_in_the_middle_of_a_result_is_raised(self):
        self.cursor.execute("SELECT 1 / (200000 - value) FROM generate_series(1, 200000) AS g (value)")
        with self.assertRaises(Exception) as raised:
            self.cursor.fetch_arrow_table()
        self.assertIn("zero", str(raised.exception))
        self.assertEqual(self.rows("SELECT 1"), [(1,)])

    def test_a_statement_is_cancelled(self):
        self.cursor.execute("SELECT value FROM generate_series(1, 1000000000000) AS g (value)")
        reader = self.cursor.fetch_record_batch()
        reader.read_next_batch()
        self.cursor.adbc_cancel()
        with self.assertRaises(Exception):  # noqa: B017 - each driver has its own
            for _ in range(100_000):
                reader.read_next_batch()

    def test_the_schema_of_a_query_is_told_without_running_it(self):
        name = self.table("untouched", "a BIGINT")
        self.assertEqual(self.cursor.adbc_execute_schema(f"SELECT a, 'x' AS b FROM {name}").names, ["a", "b"])
        with self.assertRaises(adbc_driver_flightsql.dbapi.NotSupportedError):  # the driver's word for no columns
            self.cursor.adbc_execute_schema(f"INSERT INTO {name} VALUES (1)")
        self.assertEqual(self.rows(f"SELECT count(*) FROM {name}"), [(0,)])

    def switches(self) -> list[str | Path]:
        return []

    def plan(self, sql: str) -> bytes:
        command = [QUIVER, "plan", "--connect", self.server.uri, *self.switches(), "--format", "binary", "-c", sql]
        made = subprocess.run(command, capture_output=True, env={**os.environ, "QUIVER_PASSWORD": "secret word"})
        self.assertEqual(made.returncode, 0, made.stderr.decode())
        return made.stdout

    def test_a_substrait_plan_is_run_as_bytes(self):
        name = self.table("planned", "a BIGINT, b VARCHAR")
        self.cursor.execute(f"INSERT INTO {name} VALUES (1, 'one'), (2, 'two')")
        plan = self.plan(f"SELECT b, a * 10 AS ten FROM {name} ORDER BY a")
        self.cursor.execute(plan)
        self.assertEqual(self.cursor.fetchall(), [("one", 10), ("two", 20)])
        self.assertEqual([column[0] for column in self.cursor.description], ["b", "ten"])
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {name} WHERE a = 1")
            cursor.execute(plan)
            self.assertEqual(cursor.fetchall(), [("two", 20)])
            connection.rollback()
        with self.assertRaisesRegex(adbc_driver_flightsql.dbapi.Error, "Substrait plan"):
            self.cursor.execute(b"SELECT 1")
        self.assertEqual(self.rows("SELECT 1"), [(1,)])

    def test_a_session_keeps_its_settings_with_cookies(self):
        cookies = {adbc_driver_flightsql.DatabaseOptions.WITH_COOKIE_MIDDLEWARE.value: "true"}
        option = adbc_driver_flightsql.ConnectionOptions.OPTION_SESSION_OPTION_PREFIX.value + "batch_size"
        with self.connect(db_kwargs=cookies, autocommit=True) as connection, connection.cursor() as cursor:
            connection.adbc_connection.set_options(**{option: "512"})
            cursor.execute("SHOW batch_size")
            self.assertEqual(cursor.fetchall(), [("batch_size", "512")])
            self.assertEqual(connection.adbc_connection.get_option(option), "512")


def field(tag: int, value: bytes) -> bytes:
    """A text of a message of protobuf."""
    length, rest = bytearray(), len(value)
    while rest > 127:
        length.append(rest & 127 | 128)
        rest >>= 7
    return bytes([tag << 3 | 2, *length, rest]) + value


class Plain(Served):
    def setUp(self):
        self.client = self.connect()
        self.addCleanup(self.client.close)

    def connect(self) -> pyarrow.flight.FlightClient:
        return pyarrow.flight.connect(self.server.uri)

    def put(self, descriptor, table) -> bytes:
        writer, answers = self.client.do_put(descriptor, table.schema)
        writer.write_table(table)
        writer.done_writing()
        answer = answers.read()
        writer.close()
        return answer.to_pybytes()

    def create(self, name: str, table: pyarrow.Table) -> None:
        self.put(pyarrow.flight.FlightDescriptor.for_command(f'{{"table": "{name}", "mode": "create"}}'), table)

    def test_what_is_put_is_got(self):
        table = pyarrow.table({"a": [1, 2, None], "b": ["x", None, "z"], "c": [[1], None, []], "d": [b"1", b"2", None]})
        self.create("put", table)
        path = pyarrow.flight.FlightDescriptor.for_path("put")
        self.assertEqual(self.put(path, table), b'{"rows_written":3}')
        info = self.client.get_flight_info(path)
        self.assertEqual(info.total_records, 6)
        got = self.client.do_get(info.endpoints[0].ticket).read_all()
        self.assertEqual(got.to_pydict(), pyarrow.concat_tables([table, table]).to_pydict())
        self.assertEqual(self.client.get_schema(path).schema.names, table.column_names)

    def test_a_part_is_got_by_json_and_the_report_comes_last(self):
        self.create("part", pyarrow.table({"a": list(range(100_000)), "b": [str(n) for n in range(100_000)]}))
        reader = self.client.do_get(pyarrow.flight.Ticket(b'{"table": "part", "columns": ["b"], "rows": [500, 503]}'))
        chunks = list(reader)
        rows = [value for chunk in chunks for value in chunk.data.column(0).to_pylist()]
        self.assertEqual(rows, ["500", "501", "502"])
        self.assertIn(b'"bytes_touched":', chunks[-1].app_metadata.to_pybytes())

    def test_views_and_compression_are_there_for_who_asks(self):
        self.create("asked", pyarrow.table({"t": ["a text that is longer than a view holds"] * 5000}))
        ticket = pyarrow.flight.Ticket(b'{"table": "asked"}')
        headers = [(b"x-quiver-view-types", b"true"), (b"x-quiver-compression", b"zstd")]
        views = self.client.do_get(ticket, pyarrow.flight.FlightCallOptions(headers=headers)).read_all()
        self.assertEqual(views.schema.field("t").type, pyarrow.string_view())
        self.assertEqual(views.num_rows, 5000)
        self.assertEqual(self.client.do_get(ticket).read_all().schema.field("t").type, pyarrow.string())

    def test_tables_are_listed(self):
        self.create("listed", pyarrow.table({"a": [1]}))
        paths = [flight.descriptor.path for flight in self.client.list_flights()]
        self.assertIn([b"main", b"listed"], paths)
        self.assertEqual(list(self.client.list_flights(b"nowhere")), [])

    def test_actions_are_done(self):
        self.create("acted", pyarrow.table({"a": [1]}))
        self.assertIn("compact", [action.type for action in self.client.list_actions()])
        self.assertEqual(list(self.client.do_action(pyarrow.flight.Action("compact", b"acted"))), [])
        self.assertEqual(list(self.client.do_action(pyarrow.flight.Action("checkpoint", b""))), [])
        (stats,) = self.client.do_action(pyarrow.flight.Action("stats", b""))
        self.assertIn(b'"sessions":', stats.body.to_pybytes())

    def test_a_substrait_plan_is_sent_by_hand(self):
        self.create("by_hand", pyarrow.table({"a": [1, 2, 3]}))
        (made,) = self.client.do_action(pyarrow.flight.Action("substrait_plan", b'{"sql": "SELECT a FROM by_hand WHERE a > 1 ORDER BY a"}'))
        kind = b"type.googleapis.com/arrow.flight.protocol.sql.CommandStatementSubstraitPlan"
        command = field(1, kind) + field(2, field(1, field(1, made.body.to_pybytes())))
        descriptor = pyarrow.flight.FlightDescriptor.for_command(command)
        self.assertEqual(self.client.get_schema(descriptor).schema.names, ["a"])
        info = self.client.get_flight_info(descriptor)
        self.assertEqual(self.client.do_get(info.endpoints[0].ticket).read_all().to_pydict(), {"a": [2, 3]})
        header = (b"x-quiver-plan-binding", b'{"segments": {"main.by_hand": []}}')
        info = self.client.get_flight_info(descriptor, pyarrow.flight.FlightCallOptions(headers=[header]))
        self.assertEqual(self.client.do_get(info.endpoints[0].ticket).read_all().num_rows, 0)

    def test_a_token_of_a_handshake_is_taken(self):
        header = self.client.authenticate_basic_token("ada", "secret word")
        options = pyarrow.flight.FlightCallOptions(headers=[header])
        self.assertNotEqual(list(self.client.list_actions(options)), [])

    def test_what_is_not_there_is_not_found(self):
        with self.assertRaisesRegex(pyarrow.ArrowKeyError, "does not exist"):
            self.put(pyarrow.flight.FlightDescriptor.for_path("nowhere"), pyarrow.table({"a": [1]}))


class Secured(Served):
    """All that clients do, over TLS and as a user."""

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="quiver-test-")
        cls.addClassCleanup(directory.cleanup)
        cls.store = Path(directory.name) / "store"
        cls.cert, key = certificate(Path(directory.name))
        add_user(cls.store, "ada", "secret word", "--admin")
        add_user(cls.store, "bob", "other word")
        cls.server = Server(cls.store, "--tls-cert", cls.cert, "--tls-key", key)
        cls.addClassCleanup(cls.server.end)

    def adbc(self, user: str = "ada", password: str = "secret word"):
        """A connection that ends with the test."""
        login = {"username": user, "password": password, adbc_driver_flightsql.DatabaseOptions.TLS_ROOT_CERTS.value: self.cert.read_text()}
        connection = adbc_driver_flightsql.dbapi.connect(self.server.uri, db_kwargs=login, autocommit=True)
        self.addCleanup(connection.close)
        return connection


class AdbcSecured(Secured, Adbc):
    def db_kwargs(self) -> dict[str, str]:
        roots = adbc_driver_flightsql.DatabaseOptions.TLS_ROOT_CERTS.value
        return {"username": "ada", "password": "secret word", roots: self.cert.read_text()}

    def switches(self) -> list[str | Path]:
        return ["--user", "ada", "--tls-ca", self.cert]

    def test_it_is_reached_over_tls(self):
        self.assertRegex(self.server.uri, r"^grpc\+tls://")

    def test_a_wrong_password_and_an_unknown_authority_are_refused(self):
        with self.assertRaisesRegex(adbc_driver_flightsql.dbapi.Error, "password is wrong"):
            self.connect({"password": "guess"})
        with self.assertRaises(adbc_driver_flightsql.dbapi.Error):
            adbc_driver_flightsql.dbapi.connect(self.server.uri, db_kwargs={"username": "ada", "password": "secret word"})

    def test_what_may_not_be_read_is_not_there(self):
        name = self.table("hers", "a BIGINT")
        with self.connect({"username": "bob", "password": "other word"}, autocommit=True) as connection, connection.cursor() as cursor:
            with self.assertRaises(adbc_driver_flightsql.dbapi.Error):
                cursor.execute(f"SELECT * FROM {name}")
            found = str(connection.adbc_get_objects(depth="tables").read_all().to_pylist())
            self.assertNotIn(name, found)
            self.cursor.execute(f"GRANT SELECT ON TABLE {name} TO bob")
            cursor.execute(f"SELECT * FROM {name}")
            self.assertEqual(cursor.fetchall(), [])
            with self.assertRaises(adbc_driver_flightsql.dbapi.Error):
                cursor.execute(f"INSERT INTO {name} VALUES (1)")


class Token(pyarrow.flight.ClientMiddlewareFactory):
    """Sends a token with every call."""

    class Sends(pyarrow.flight.ClientMiddleware):
        def __init__(self, token: str):
            self.token = token

        def sending_headers(self):
            return {"authorization": f"Bearer {self.token}"}

    def __init__(self):
        self.token = None

    def start_call(self, info):
        return self.Sends(self.token) if self.token else None


class PlainSecured(Secured, Plain):
    def connect(self) -> pyarrow.flight.FlightClient:
        token = Token()
        client = pyarrow.flight.connect(self.server.uri, tls_root_certs=self.cert.read_bytes(), middleware=[token])
        _, header = client.authenticate_basic_token("ada", "secret word")
        token.token = header.decode().removeprefix("Bearer ")
        return client

    def test_nothing_is_answered_without_a_name(self):
        with pyarrow.flight.connect(self.server.uri, tls_root_certs=self.cert.read_bytes()) as client:
            with self.assertRaises(pyarrow.flight.FlightUnauthenticatedError):
                list(client.list_actions())
            with self.assertRaises(pyarrow.flight.FlightUnauthenticatedError):
                list(client.list_flights())


if __name__ == "__main__":
    unittest.main()
