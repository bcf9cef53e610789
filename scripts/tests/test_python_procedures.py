"""Procedures in Python: they run statements in the transaction and with the rights of who calls them."""

import sys
import tempfile
import threading
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import quiver  # noqa: E402
from quiver_server import Server, add_user  # noqa: E402

PAY = """
def pay(session, payer, payee, amount):
    session.sql("UPDATE accounts SET amount = amount - $1 WHERE name = $2", [amount, payer])
    changed = session.sql("UPDATE accounts SET amount = amount + $1 WHERE name = $2", [amount, payee])
    if changed.column(0)[0].as_py() == 0:
        raise ValueError(f"there is no {payee}")
    return session.sql("SELECT name, amount FROM accounts ORDER BY name")
"""


class PythonProcedures(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="quiver-test-")
        self.addCleanup(directory.cleanup)
        self.store = Path(directory.name) / "store"
        self.con = quiver.open(self.store)
        self.addCleanup(lambda: self.con.close())
        self.con.sql("CREATE TABLE accounts (name VARCHAR PRIMARY KEY, amount BIGINT CHECK (amount >= 0))")
        self.con.sql("INSERT INTO accounts VALUES ('ann', 100), ('bob', 50)")

    def create(self, signature: str, source: str) -> None:
        self.con.sql(f"CREATE OR REPLACE PROCEDURE {signature} LANGUAGE python AS $$\n{source}\n$$")

    def create_pay(self) -> None:
        self.create("pay(payer VARCHAR, payee VARCHAR, amount BIGINT) RETURNS TABLE (name VARCHAR, amount BIGINT)", PAY)

    def rows(self, sql: str, params=None) -> list:
        return self.con.sql(sql, params).fetchall()

    def error(self, sql: str) -> str:
        with self.assertRaises(quiver.Error) as caught:
            self.con.sql(sql).arrow()
        return str(caught.exception)

    def amounts(self) -> list:
        return self.rows("SELECT name, amount FROM accounts ORDER BY name")

    def test_all_its_statements_take_effect_or_none(self):
        self.create_pay()
        self.assertEqual(self.rows("CALL pay('ann', 'bob', 30)"), [("ann", 70), ("bob", 80)])
        self.assertEqual(self.rows("CALL pay($1, $2, $3)", ["bob", "ann", 10]), [("ann", 80), ("bob", 70)])
        self.assertIn("there is no eve", self.error("CALL pay('ann', 'eve', 30)"))
        error = self.error("CALL pay('ann', 'bob', 500)")
        self.assertIn("amount >= 0", error)
        self.assertEqual(self.amounts(), [("ann", 80), ("bob", 70)])

    def test_it_is_a_part_of_the_transaction_that_is_open(self):
        self.create_pay()
        self.con.sql("BEGIN")
        self.assertEqual(self.rows("CALL pay('ann', 'bob', 30)"), [("ann", 70), ("bob", 80)])
        self.con.sql("ROLLBACK")
        self.assertEqual(self.amounts(), [("ann", 100), ("bob", 50)])

    def test_an_error_of_a_statement_cannot_be_caught_away(self):
        self.create(
            "stubborn()",
            """
def stubborn(session):
    session.sql("INSERT INTO accounts VALUES ('eve', 1)")
    for query in ["SELECT * FROM nowhere", "INSERT INTO accounts VALUES ('joe', 1)"]:
        try:
            session.sql(query)
        except Exception:
            pass
""",
        )
        self.assertIn("nowhere", self.error("CALL stubborn()"))
        self.assertEqual(self.amounts(), [("ann", 100), ("bob", 50)])

    def test_rows_are_read_where_they_lie_and_written_in_bulk(self):
        self.con.sql("CREATE TABLE points AS SELECT a, a * 0.5 AS b, a::VARCHAR AS c FROM range(200000) AS r(a)")
        self.create(
            "halves()",
            """
def halves(session):
    points = session.sql("SELECT * FROM points")
    few = session.sql("SELECT c FROM points WHERE a < 3 ORDER BY a")
    for a in range(300):
        assert session.sql("SELECT b, c FROM points WHERE a = ?", [a]).to_pylist() == [{"b": a / 2, "c": str(a)}]
    assert few["c"].to_pylist() == ["0", "1", "2"], few
    assert session.write("halves", points.slice(0, 100000)) == 100000
    session.write("halves", points.slice(100000), "append")
    session.write("names", {"name": ["x"]}, "replace", schema="main")
""",
        )
        self.con.sql("CALL halves()")
        self.assertEqual(self.rows("SELECT count(*) FROM (SELECT * FROM halves EXCEPT SELECT * FROM points) AS d"), [(0,)])
        self.assertEqual(self.rows("SELECT count(*), sum(b) FROM halves"), self.rows("SELECT count(*), sum(b) FROM points"))
        self.assertEqual(self.rows("SELECT * FROM names"), [("x",)])

    def test_files_are_forgotten_on_both_sides_after_an_error_too(self):
        # More files than a process keeps. The engine forgot them at an error, and the process did not: a later read was one of another file.
        for table in range(125):
            self.con.sql(f"CREATE TABLE many{table} AS SELECT a * 1000 + {table} AS v FROM range(2000) AS r(a)")
        self.create(
            "reads(fails BOOLEAN)",
            """
def reads(session, fails):
    for table in range(125) if fails else reversed(range(125)):
        values = session.sql(f"SELECT v FROM many{table}")["v"].to_pylist()
        assert sorted(values) == [a * 1000 + table for a in range(2000)], table
    if fails:
        session.sql("SELECT * FROM nowhere")
""",
        )
        self.assertIn("nowhere", self.error("CALL reads(true)"))
        self.con.sql("CALL reads(false)")

    def test_values_of_many_kinds_are_parameters(self):
        self.create(
            "check_values()",
            """
import datetime, decimal
import pyarrow as pa

def check_values(session):
    for value in [None, True, 7, 0.5, "it's", b"x", datetime.date(2026, 11, 29), decimal.Decimal("1.50"), [1, 2], {"a": 1}]:
        found = session.sql("SELECT $1 AS v", [value])["v"][0].as_py()
        assert found == value, (found, value)
    assert session.sql("SELECT array_length($1) AS n", [pa.array([1, 2, 3])])["n"].to_pylist() == [3]
    assert session.sql("SELECT 1 AS one").num_rows == 1
    assert session.sql("CREATE TABLE made (a BIGINT)").num_rows == 0
""",
        )
        self.con.sql("CALL check_values()")
        self.assertEqual(self.rows("SELECT * FROM made"), [])

    def test_procedures_and_functions_call_each_other(self):
        self.create_pay()
        self.con.sql(
            "CREATE FUNCTION doubled(x BIGINT) RETURNS BIGINT LANGUAGE python AS $$\nimport numpy\ndef doubled(x):\n    return numpy.asarray(x) * 2\n$$"
        )
        self.create(
            "twice(payer VARCHAR, amount BIGINT)",
            """
def twice(session, payer, amount):
    amount = session.sql("SELECT doubled($1) AS d", [amount])["d"][0].as_py()
    session.sql("CALL pay($1, 'bob', $2)", [payer, amount])
""",
        )
        # More of them than calls that may run at once: four for each thread.
        self.con.close()
        self.con = quiver.open(self.store, threads=1)
        threads = [threading.Thread(target=self.in_another_session, args=("CALL twice('ann', 1)",)) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.amounts(), [("ann", 90), ("bob", 60)])

    def test_procedures_call_each_other_to_some_depth(self):
        self.create("down(n BIGINT)", 'def down(session, n):\n    if n > 1: session.sql("CALL down($1)", [n - 1])')
        self.con.sql("CALL down(6)")
        self.assertIn("procedures call each other", self.error("CALL down(17)"))

    def test_the_source_is_for_its_owner(self):
        self.con.close()
        add_user(self.store, "root", "secret", "--admin")
        server = Server(self.store, "--python", sys.executable)
        self.addCleanup(server.end)
        with quiver.connect(server.uri, user="root", password="secret") as root:
            self.con = root
            self.create("fails()", "def fails(session):\n    secret = 7; raise ValueError('no good')")
            self.assertIn("secret = 7", self.error("CALL fails()"))
            root.sql("CREATE USER ann PASSWORD 'ann'")
            root.sql("GRANT EXECUTE ON FUNCTION fails TO ann")
            with quiver.connect(server.uri, user="ann", password="ann") as ann:
                with self.assertRaises(quiver.Error) as caught:
                    ann.sql("CALL fails()").fetchall()
                self.assertIn("no good", str(caught.exception))
                self.assertNotIn("secret", str(caught.exception))

    def test_a_call_is_stopped_also_after_it_made_a_temporary_table(self):
        self.create(
            "lasting()",
            """
def lasting(session):
    session.write("mine", {"a": [1]}, schema="temp")
    session.sql("SELECT count(*) FROM range(100000) AS a(x), range(100000) AS b(y) WHERE x * y % 7 = 3")
""",
        )
        self.con.sql("SET statement_timeout = 500")
        self.assertIn("500", self.error("CALL lasting()"))
        self.con.sql("SET statement_timeout = 0")

    def test_a_session_ends_with_its_call(self):
        self.create(
            "lends() RETURNS TABLE (said VARCHAR)",
            """
lent = []
def lends(session):
    said = "nothing"
    if lent:
        try:
            lent[0].sql("SELECT 1")
        except RuntimeError as error:
            said = str(error)
    lent.append(session)
    return {"said": [said]}
""",
        )
        self.rows("CALL lends()")
        self.assertIn("has ended", self.rows("CALL lends()")[0][0])

    def test_many_rows_of_many_types_are_written(self):
        self.create(
            "writes()",
            """
import pyarrow as pa
def writes(session):
    words = pa.array(["one", "two", None] * 100000)
    table = {"n": range(300000), "word": words.dictionary_encode(), "list": pa.array([[1], None, []] * 100000), "none": pa.nulls(300000, pa.float64())}
    session.write("many", table)
    assert session.sql("SELECT word, list FROM many ORDER BY n LIMIT 3").to_pylist() == [
        {"word": "one", "list": [1]}, {"word": "two", "list": None}, {"word": None, "list": []}]
""",
        )
        self.con.sql("CALL writes()")
        found = self.rows("SELECT count(*), count(word), sum(list[1]), count(none), count(DISTINCT word) FROM many")
        self.assertEqual(found, [(300000, 200000, 100000, 0, 2)])

    def in_another_session(self, sql: str) -> None:
        with quiver.open(self.store, threads=1) as session:
            session.sql(sql)

    def test_what_a_transaction_does_not_have_is_refused(self):
        for statement in ["COMMIT", "SET threads = 1", "GRANT SELECT ON accounts TO x", "SELECT 1; SELECT 2", "SELEC 1", ""]:
            self.create("refused()", f"def refused(session):\n    session.sql({statement!r})")
            with self.subTest(statement):
                self.assertTrue(self.error("CALL refused()"))
        for call in [
            "session.sql(7)",
            "session.sql('SELECT 1', {'a': 1})",
            "session.write('t', 7)",
            "session.write('t', {'a': [1]}, 'some')",
        ]:
            self.create("refused()", f"def refused(session):\n    {call}")
            with self.subTest(call):
                self.assertIn("line 3", self.error("CALL refused()"))
        self.assertEqual(self.amounts(), [("ann", 100), ("bob", 50)])

    def test_what_it_returns_is_declared(self):
        self.create("none()", "def none(session):\n    return 7")
        self.assertIn("declares no RETURNS TABLE", self.error("CALL none()"))
        self.create("rows() RETURNS TABLE (a BIGINT)", "def rows(session):\n    return {'b': [1]}")
        self.assertIn("no column a", self.error("CALL rows()"))
        self.assertEqual(self.error("CREATE PROCEDURE p() LANGUAGE wasm AS BLOB b").count("LANGUAGE wasm"), 1)
        for clauses in ["p() RETURNS TABLE", "p() RETURNS BIGINT", "p(t TABLE)", "p() STRICT"]:
            with self.subTest(clauses):
                self.assertTrue(self.error(f"CREATE PROCEDURE {clauses} LANGUAGE python AS $$\ndef p(session): pass\n$$"))

    def test_a_process_that_ends_takes_its_changes_back(self):
        for source, expected in [
            ("    import os\n    os._exit(3)", "ended"),
            ("    while True: pass", "took longer"),
        ]:
            self.create("ends()", f"def ends(session):\n    session.sql(\"INSERT INTO accounts VALUES ('eve', 1)\")\n{source}")
            self.con.sql("SET function_timeout_ms = 300")
            self.assertIn(expected, self.error("CALL ends()"))
            self.assertEqual(self.amounts(), [("ann", 100), ("bob", 50)])

    def test_the_time_of_statements_is_not_the_procedures(self):
        self.create(
            "slow()",
            "def slow(session):\n    for _ in range(3): session.sql('SELECT count(*) FROM range(40000000) AS r(a) WHERE a % 7 = 3')",
        )
        self.con.sql("CALL slow()")
        self.con.sql("SET function_timeout_ms = 60")
        self.con.sql("CALL slow()")

    def test_a_function_that_is_no_procedure_runs_no_statements(self):
        source = """
import json, os, struct, time
import pyarrow as pa
def forged(x):
    schema = pa.schema([]).serialize().to_pybytes()
    text = json.dumps({"request": {"text": "SELECT 1", "line": 1, "columns": [0, len(schema)]}}).encode()
    os.pwrite(5, schema + text, 0)
    os.write(3, struct.pack("<QQ", len(schema), len(text)))
    # The result would be written over the request before it is read.
    time.sleep(60)
    return x
"""
        self.con.sql(f"CREATE FUNCTION forged(x BIGINT) RETURNS BIGINT LANGUAGE python AS $$\n{source}\n$$")
        self.assertIn("only a procedure runs statements", self.error("SELECT forged(1)"))

    def test_a_procedure_of_the_client_is_shipped_by_its_source(self):
        @self.con.procedure(returns={"name": "VARCHAR"})
        def remove_poor(session, least: int):
            removed = session.sql("SELECT name FROM accounts WHERE amount < $1", [least])
            session.sql("DELETE FROM accounts WHERE amount < $1", [least])
            return removed

        self.assertEqual(self.rows("CALL remove_poor(60)"), [("bob",)])
        self.assertEqual(self.amounts(), [("ann", 100)])
        listed = self.rows("SELECT name, kind, language, returns FROM system.functions")
        self.assertEqual(listed, [("remove_poor", "procedure", "python", 'TABLE ("name" VARCHAR)')])
        self.con.sql("DROP PROCEDURE remove_poor")
        self.assertIn("does not exist", self.error("CALL remove_poor(60)"))

    def test_it_has_the_rights_of_who_calls_it(self):
        self.con.close()
        add_user(self.store, "root", "secret", "--admin")
        server = Server(self.store, "--python", sys.executable)
        self.addCleanup(server.end)
        with quiver.connect(server.uri, user="root", password="secret") as root:
            self.con = root
            self.create_pay()
            root.sql("CREATE USER ann PASSWORD 'ann'")
            root.sql("GRANT EXECUTE ON FUNCTION pay TO ann")
            with quiver.connect(server.uri, user="ann", password="ann") as ann:
                with self.assertRaisesRegex(quiver.Error, "line 4 of procedure pay fails"):
                    ann.sql("CALL pay('ann', 'bob', 30)").fetchall()
                root.sql("GRANT SELECT, UPDATE ON TABLE accounts TO ann")
                self.assertEqual(ann.sql("CALL pay('ann', 'bob', 30)").fetchall(), [("ann", 70), ("bob", 80)])
            audited = self.rows("SELECT count(*) FROM system.audit WHERE user_name = 'ann' AND statement LIKE 'UPDATE accounts%'")
            self.assertGreaterEqual(audited[0][0], 3)

    def test_with_security_definer_it_has_the_rights_of_its_creator(self):
        self.con.close()
        add_user(self.store, "root", "secret", "--admin")
        server = Server(self.store, "--python", sys.executable)
        self.addCleanup(server.end)
        source = """
def find_rich(session, least):
    rich = session.sql("SELECT name FROM accounts WHERE amount >= $1", [least])
    session.write("requests", {"name": rich["name"]}, "append")
    if least < 0:
        session.write("made", {"name": rich["name"]}, "create")
    return {"name": rich["name"]}
"""
        with quiver.connect(server.uri, user="root", password="secret") as root:
            root.sql("CREATE TABLE requests (name VARCHAR)")
            root.sql(
                f"CREATE PROCEDURE find_rich(least BIGINT) RETURNS TABLE (name VARCHAR) SECURITY DEFINER LANGUAGE python AS $${source}$$"
            )
            root.sql("CREATE USER ann PASSWORD 'ann'")
            root.sql("GRANT EXECUTE ON PROCEDURE find_rich TO ann")
            with quiver.connect(server.uri, user="ann", password="ann") as ann:
                self.assertEqual(ann.sql("CALL find_rich(60)").fetchall(), [("ann",)])
                with self.assertRaisesRegex(quiver.Error, "a write that may create a table in a procedure with SECURITY DEFINER"):
                    ann.sql("CALL find_rich(-1)").fetchall()
                for table in ["accounts", "requests"]:
                    with self.assertRaisesRegex(quiver.Error, "does not exist"):
                        ann.sql(f"SELECT * FROM {table}").fetchall()
            self.assertEqual(root.sql("SELECT name FROM requests").fetchall(), [("ann",)])


if __name__ == "__main__":
    unittest.main()
