"""Transactions, begun by a method or in SQL."""

import os
import signal
import threading
import unittest
from unittest import mock

import pyarrow as pa
import quiver
from both import Connected, Remote, in_both_ways

SCHEMA = pa.schema([("a", pa.int64())])


def breaking_off(rows=100_000):
    """A reader that fails after some rows."""

    def batches():
        yield pa.record_batch([pa.array(range(rows))], schema=SCHEMA)
        raise ValueError("the disk of somebody else")

    return pa.RecordBatchReader.from_batches(SCHEMA, batches())


class Transactions:
    def setUp(self):
        super().setUp()
        self.con.sql("CREATE OR REPLACE TABLE kept (a BIGINT)")
        self.other = self.con.another()
        self.addCleanup(self.other.close)

    def begin_in_sql(self):
        self.con.sql("BEGIN")

    def ways_to_begin(self):
        return [self.begin_in_sql, self.con.begin]

    def count(self):
        """The number of rows that other sessions see."""
        return self.other.sql("SELECT count(*) FROM kept").fetchone()[0]

    def test_all_that_a_connection_writes_is_in_its_transaction(self):
        for begin in self.ways_to_begin():
            with self.subTest(begin.__name__):
                begin()
                self.assertTrue(self.con.in_transaction)
                self.con.sql("INSERT INTO kept VALUES (1)")
                self.con.sql("INSERT INTO kept VALUES (?)", [2])
                self.con.executemany("INSERT INTO kept VALUES (?)", [(3,), (4,)])
                self.assertEqual(self.con.write("kept", {"a": [5, 6]}, mode="append"), 2)
                self.con.write("made", {"a": [1]}, mode="create_append")
                self.assertEqual(self.rows("SELECT count(*) FROM kept"), [(6,)])
                self.assertEqual(len(self.con.table("kept")), 6)
                self.assertEqual(self.count(), 0)
                self.assertNotIn("made", self.other.tables())
                self.con.sql("ROLLBACK")
                self.assertFalse(self.con.in_transaction)
                self.assertEqual(self.rows("SELECT count(*) FROM kept"), [(0,)])

    def test_what_was_begun_in_one_way_is_ended_in_either(self):
        for number, begin in enumerate(self.ways_to_begin() * 2, start=1):
            end = self.con.commit if number > 2 else lambda: self.con.sql("COMMIT")
            begin()
            self.con.write("kept", {"a": [1]}, mode="append")
            end()
            self.assertFalse(self.con.in_transaction)
            self.assertEqual(self.count(), number)
            begin()
            self.con.rollback()
            self.con.sql("INSERT INTO kept VALUES (2)")
            self.con.sql("DELETE FROM kept WHERE a = 2")
        for end in (self.con.commit, self.con.rollback):
            with self.assertRaisesRegex(quiver.ProgrammingError, "no transaction is open"):
                end()

    def test_a_second_transaction_leaves_the_first_one_alone(self):
        for begin in self.ways_to_begin():
            begin()
            with self.assertRaisesRegex(quiver.ProgrammingError, "open already"):
                self.con.begin()
            self.con.sql("INSERT INTO kept VALUES (1)")
            self.con.commit()
        self.assertEqual(self.count(), 2)

    def test_savepoints_do_not_end_a_transaction(self):
        for begin in self.ways_to_begin():
            begin()
            self.con.sql("SAVEPOINT here")
            self.con.write("kept", {"a": [1]}, mode="append")
            self.con.sql("ROLLBACK TO SAVEPOINT here")
            self.assertTrue(self.con.in_transaction)
            self.con.sql("RELEASE SAVEPOINT here")
            self.assertTrue(self.con.in_transaction)
            self.con.commit()
        self.assertEqual(self.count(), 0)

    def test_after_a_statement_that_failed_there_is_only_rollback(self):
        for begin in self.ways_to_begin():
            begin()
            self.con.sql("INSERT INTO kept VALUES (1)")
            with self.assertRaises(quiver.ProgrammingError):
                self.con.sql("SELECT nothing_like_it")
            self.assertTrue(self.con.in_transaction)
            for use in (lambda: self.con.write("kept", {"a": [1]}, mode="append"), lambda: self.con.sql("SELECT 1")):
                with self.assertRaisesRegex(quiver.ProgrammingError, "ROLLBACK"):
                    use()
            self.con.rollback()
            self.assertFalse(self.con.in_transaction)
        self.assertEqual(self.count(), 0)

    def test_rows_that_broke_off_are_not_committed(self):
        for begin in self.ways_to_begin():
            for end in (self.con.commit, lambda: self.con.sql("COMMIT")):
                with self.subTest(begin.__name__):
                    begin()
                    with self.assertRaisesRegex(quiver.ProgrammingError, "the disk of somebody else"):
                        self.con.write("kept", breaking_off(), mode="append")
                    self.assertTrue(self.con.in_transaction)
                    with self.assertRaisesRegex(quiver.ProgrammingError, "rolled back"):
                        end()
                    self.assertFalse(self.con.in_transaction)
                    self.assertEqual(self.count(), 0)

    def test_ctrl_c_ends_a_write_that_does_not_end(self):
        stopped = threading.Event()

        def endless():
            while not stopped.wait(0.01):
                yield pa.record_batch([pa.array(range(10))], schema=SCHEMA)

        for begin in (lambda: None, *self.ways_to_begin()):
            begin()
            with self.assertRaises(KeyboardInterrupt):
                threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
                self.con.write("kept", pa.RecordBatchReader.from_batches(SCHEMA, endless()), mode="append")
            if self.con.in_transaction:
                self.con.rollback()
            self.assertEqual(self.rows("SELECT count(*) FROM kept"), [(0,)])
        stopped.set()

    def test_a_table_that_is_not_there_leaves_the_transaction_alone(self):
        for begin in self.ways_to_begin():
            begin()
            self.con.sql("INSERT INTO kept VALUES (1)")
            with self.assertRaisesRegex(quiver.ProgrammingError, 'table "missing" does not exist'):
                self.con.table("missing")
            self.con.commit()
        self.assertEqual(self.count(), 2)

    def test_a_block_that_ends_its_transaction_itself_is_let(self):
        with self.con.transaction():
            self.con.sql("INSERT INTO kept VALUES (1)")
            self.con.sql("COMMIT")
        with self.assertRaises(ZeroDivisionError), self.con.transaction():
            self.con.sql("ROLLBACK")
            raise ZeroDivisionError
        self.assertEqual(self.count(), 1)


globals().update(in_both_ways(Transactions))


class OwnTransaction(Connected, Remote):
    def test_a_write_that_fails_takes_nothing_else_along(self):
        """The write has its own transaction, and other threads use the connection meanwhile."""
        self.con.sql("CREATE TABLE beside (a BIGINT)")

        def batches():
            yield pa.record_batch([pa.array([1])], schema=SCHEMA)
            self.con.sql("INSERT INTO beside VALUES (1)")
            raise ValueError("no more")

        with self.assertRaisesRegex(quiver.ProgrammingError, "no more"):
            self.con.write("fails", pa.RecordBatchReader.from_batches(SCHEMA, batches()))
        self.assertEqual(self.rows("SELECT count(*) FROM beside"), [(1,)])
        self.assertNotIn("fails", self.con.tables())

    def test_who_looks_while_a_transaction_is_ended_does_not_keep_it_open(self):
        backend = self.con._backend
        end = backend._end

        def looked_at(*arguments, **named):
            looking = threading.Thread(target=lambda: self.con.in_transaction)
            looking.start()
            looking.join(0.3)
            end(*arguments, **named)

        for finish in (self.con.commit, self.con.rollback):
            self.con.sql("BEGIN")
            with mock.patch.object(backend, "_end", looked_at):
                finish()
            self.assertFalse(self.con.in_transaction)


if __name__ == "__main__":
    unittest.main()
