"""DB-API 2.0."""

import gc
import os
import signal
import threading
import unittest
import weakref
from pathlib import Path

import quiver
from both import InProcess, Remote, in_threads
from quiver import dbapi


class DbApi:
    def connect(self, **options):
        connection = dbapi.connect(self.place, **self.login, **options)
        self.addCleanup(connection.close)
        return connection

    def test_the_module_says_what_it_is(self):
        self.assertEqual((dbapi.apilevel, dbapi.paramstyle, dbapi.threadsafety), ("2.0", "qmark", 2))
        self.assertTrue(issubclass(dbapi.ProgrammingError, dbapi.DatabaseError))
        self.assertIs(self.connect().Error, quiver.Error)

    def test_nothing_is_kept_before_commit(self):
        one, other = self.connect(), self.connect()
        cursor = one.cursor()
        cursor.execute("CREATE TABLE waited (a BIGINT, b VARCHAR)")
        one.commit()
        cursor.execute("INSERT INTO waited VALUES (?, ?)", (1, "one"))
        self.assertEqual(cursor.rowcount, 1)
        seen = other.cursor()
        self.assertEqual(seen.execute("SELECT count(*) FROM waited").fetchone(), (0,))
        other.commit()
        one.commit()
        self.assertEqual(seen.execute("SELECT a, b FROM waited").fetchall(), [(1, "one")])
        cursor.executemany("INSERT INTO waited VALUES (?, ?)", [(2, "two"), (3, None)])
        self.assertEqual(cursor.rowcount, 2)
        one.rollback()
        self.assertEqual(cursor.execute("SELECT count(*) FROM waited").fetchone(), (1,))

    def test_a_cursor_describes_its_columns(self):
        cursor = self.connect(autocommit=True).cursor()
        self.assertIsNone(cursor.description)
        cursor.execute("SELECT 1 AS n, 'x' AS t, CAST(1.5 AS DECIMAL(10, 2)) AS d, DATE '2026-11-20' AS day")
        self.assertEqual([column[0] for column in cursor.description], ["n", "t", "d", "day"])
        kinds = [dbapi.NUMBER, dbapi.STRING, dbapi.NUMBER, dbapi.DATETIME]
        self.assertTrue(all(column[1] == kind for column, kind in zip(cursor.description, kinds, strict=True)))
        self.assertEqual(cursor.description[2][4:6], (10, 2))
        cursor.execute("CREATE TABLE IF NOT EXISTS described (a BIGINT)")
        self.assertIsNone(cursor.description)
        with self.assertRaises(dbapi.ProgrammingError):
            cursor.fetchone()

    def test_rows_are_fetched_one_some_and_all(self):
        cursor = self.connect(autocommit=True).cursor()
        cursor.execute("SELECT value FROM generate_series(1, 10) AS g (value) ORDER BY value")
        self.assertEqual(cursor.fetchone(), (1,))
        self.assertEqual(cursor.fetchmany(2), [(2,), (3,)])
        self.assertEqual(next(iter(cursor)), (4,))
        self.assertEqual(next(cursor), (5,))
        self.assertEqual(len(cursor.fetchall()), 5)
        self.assertIsNone(cursor.fetchone())
        self.assertEqual(list(cursor), [])

    def test_rows_are_counted_where_some_were_changed(self):
        cursor = self.connect(autocommit=True).cursor()
        cursor.execute("CREATE OR REPLACE TABLE counted (a BIGINT)")
        self.assertEqual(cursor.rowcount, -1)
        self.assertEqual(cursor.executemany("INSERT INTO counted VALUES (?)", [(1,), (2,)]).rowcount, 2)
        self.assertEqual(cursor.execute("DELETE FROM counted WHERE a > ?", (5,)).rowcount, 0)
        self.assertEqual(cursor.execute("SELECT a FROM counted").rowcount, -1)

    def test_commit_in_sql_ends_the_transaction(self):
        connection = self.connect()
        cursor = connection.cursor()
        cursor.execute("CREATE OR REPLACE TABLE ended (a BIGINT)")
        cursor.execute("COMMIT")
        cursor.execute("INSERT INTO ended VALUES (1)")
        connection.rollback()
        self.assertEqual(cursor.execute("SELECT count(*) FROM ended").fetchone(), (0,))

    def test_a_block_whose_commit_fails_closes_its_connection(self):
        with self.assertRaises(dbapi.DatabaseError), self.connect() as connection:
            with self.assertRaises(dbapi.ProgrammingError):
                connection.cursor().execute("SELECT nothing_like_it")
        with self.assertRaisesRegex(dbapi.InterfaceError, "closed"):
            connection.cursor()

    def test_a_closed_cursor_and_a_closed_connection_say_so(self):
        connection = self.connect()
        cursor, other = connection.cursor(), connection.cursor()
        other.execute("SELECT 1")
        cursor.close()
        with self.assertRaisesRegex(dbapi.InterfaceError, "cursor is closed"):
            cursor.execute("SELECT 1")
        connection.close()
        calls = [connection.cursor, connection.commit, connection.rollback, lambda: other.execute("SELECT 1")]
        calls += [other.fetchone, other.fetchmany, other.fetchall, lambda: next(other), other.fetch_arrow_table]
        for call in calls:
            with self.assertRaisesRegex(dbapi.InterfaceError, "connection is closed"):
                call()
        other.close()
        connection.close()

    def test_threads_that_share_a_connection_lose_no_rows(self):
        connection = self.connect()
        connection.cursor().execute("CREATE OR REPLACE TABLE shared (a BIGINT)")
        connection.commit()
        together = threading.Barrier(6)

        def write(_):
            together.wait()
            for number in range(3):
                connection.cursor().execute("INSERT INTO shared VALUES (?)", (number,))
            connection.commit()

        for round_of in range(1, 4):
            self.assertEqual(in_threads(write, 6), [None] * 6)
            connection.rollback()
            self.assertEqual(connection.cursor().execute("SELECT count(*) FROM shared").fetchone(), (18 * round_of,))

    def test_a_forked_process_waits_for_no_thread_of_its_parent(self):
        connection = self.connect()
        held, going_on = threading.Event(), threading.Event()

        def busy():
            with connection._lock:
                held.set()
                going_on.wait(60)

        thread = threading.Thread(target=busy)
        thread.start()
        self.assertTrue(held.wait(20))
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            uses = [connection.commit, connection.rollback, connection.cursor, lambda: setattr(connection, "autocommit", True)]
            told = 0
            for use in uses:
                try:
                    use()
                except quiver.InterfaceError as error:
                    told += "forked from" in str(error)
            os._exit(0 if told == len(uses) else 1)
        going_on.set()
        thread.join()
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_an_error_that_is_kept_keeps_nothing_of_who_made_it(self):
        class Large:
            pass

        connection = self.connect()

        def fails():
            large = Large()
            with self.assertRaises(quiver.ProgrammingError):
                connection.cursor().execute("SELECT nothing_like_it")
            return weakref.ref(large)

        large = fails()
        gc.collect()
        self.assertIsNone(large())

    def test_of_threads_that_begin_one_does(self):
        connection = self.connect().quiver
        together = threading.Barrier(4)

        def begin(_):
            together.wait()
            connection.begin()

        for _ in range(5):
            refused = [error for error in in_threads(begin, 4) if error is not None]
            self.assertEqual([type(error) for error in refused], [dbapi.ProgrammingError] * 3)
            self.assertIn("open already", str(refused[0]))
            connection.sql("SELECT 1").fetchall()
            connection.rollback()

    def test_classes_tell_what_is_wrong(self):
        cursor = self.connect(autocommit=True).cursor()
        cursor.execute("CREATE OR REPLACE TABLE classes (a TINYINT NOT NULL PRIMARY KEY CHECK (a < 100))")
        cursor.execute("INSERT INTO classes VALUES (1)")
        numbers = "(VALUES (1)) AS numbers (a)"
        wrong = {
            dbapi.DataError: ["SELECT 1 / 0", f"SELECT a / 0 FROM {numbers}", "SELECT CAST('x' AS BIGINT)", "SELECT CAST(300 AS TINYINT)"]
            + [f"SELECT a + 9223372036854775807 FROM {numbers}", "SELECT DATE '2026-13-45'", "INSERT INTO classes VALUES ('x')"]
            + ["UPDATE classes SET a = a * 1000", "SELECT regexp_like('a', '(')"],
            dbapi.IntegrityError: [
                "INSERT INTO classes VALUES (1)",
                "INSERT INTO classes VALUES (NULL)",
                "INSERT INTO classes VALUES (100)",
            ],
            dbapi.ProgrammingError: [
                "SELEC 1",
                "SELECT missing",
                "SELECT * FROM missing",
                "CREATE TABLE classes (a BIGINT)",
                "SELECT sqrt('x')",
            ],
            dbapi.NotSupportedError: ["CREATE INDEX i ON classes (a)"],
        }
        for kind, statements in wrong.items():
            for statement in statements:
                with self.subTest(statement), self.assertRaises(dbapi.Error) as raised:
                    cursor.execute(statement).fetchall()
                self.assertIs(type(raised.exception), kind, statement)

    def test_of_two_that_change_a_row_the_second_may_try_again(self):
        one, other = self.connect(), self.connect()
        one.cursor().execute("CREATE OR REPLACE TABLE fought (a BIGINT)")
        one.cursor().execute("INSERT INTO fought VALUES (1)")
        one.commit()
        one.cursor().execute("UPDATE fought SET a = 2")
        other.cursor().execute("UPDATE fought SET a = 3")
        one.commit()
        with self.assertRaises(dbapi.OperationalError) as raised:
            other.commit()
        self.assertIs(type(raised.exception), quiver.ConflictError)

    def test_a_commit_that_cannot_be_says_what_failed_first(self):
        connection = self.connect()
        cursor = connection.cursor()
        with self.assertRaises(dbapi.ProgrammingError):
            cursor.execute("SELECT nothing_like_it")
        with self.assertRaisesRegex(dbapi.ProgrammingError, "ROLLBACK"):
            cursor.execute("SELECT 1")
        with self.assertRaisesRegex(dbapi.ProgrammingError, "rolled back.*nothing_like_it") as raised:
            connection.commit()
        self.assertIn("nothing_like_it", str(raised.exception.__cause__))
        self.assertEqual(cursor.execute("SELECT 1").fetchall(), [(1,)])
        connection.commit()

    def test_a_number_of_rows_that_is_none_leaves_the_rows_there(self):
        cursor = self.connect(autocommit=True).cursor()
        cursor.execute("SELECT value FROM generate_series(1, 3) AS g (value)")
        for wrong in ("x", -1, 1.5):
            with self.assertRaisesRegex(dbapi.ProgrammingError, "no number of rows"):
                cursor.fetchmany(wrong)
        self.assertEqual(len(cursor.fetchmany(5)), 3)

    def test_types_are_themselves(self):
        self.assertEqual(dbapi.STRING, dbapi.STRING)
        self.assertNotEqual(dbapi.STRING, dbapi.NUMBER)
        self.assertEqual(dbapi.DateFromTicks(0).year, 1970 if dbapi.TimestampFromTicks(0).year == 1970 else 1969)


class DbApiInProcess(DbApi, InProcess):
    def test_a_path_may_be_a_path(self):
        connection = dbapi.connect(Path(self.place))
        self.addCleanup(connection.close)
        self.assertEqual(connection.cursor().execute("SELECT 1").fetchall(), [(1,)])
        with self.assertRaisesRegex(dbapi.InterfaceError, "text or a path"):
            dbapi.connect(5)


class DbApiRemote(DbApi, Remote):
    pass


if __name__ == "__main__":
    unittest.main()
