"""Ctrl-C ends a writing statement, in process and on a server, and none of its rows stays."""

import os
import signal
import threading
import time
import unittest

import pyarrow as pa
import quiver
from both import in_both_ways

# Runs for hours before it writes anything.
ENDLESS = "SELECT value AS a FROM generate_series(1, 1000000000000) AS g (value) WHERE value < 0"
RUNNING = "SELECT count(*) FROM system.queries WHERE statement LIKE '%generate_series(1, 1000000000000)%' AND statement NOT LIKE '%LIKE%'"


class Interrupted:
    def setUp(self):
        super().setUp()
        self.other = self.con.another()
        self.addCleanup(self.other.close)
        self.con.sql("CREATE OR REPLACE TABLE t (a BIGINT)")

    def interrupt(self, work):
        """Interrupts `work` while it runs."""

        def send():
            while self.running() == 0:
                time.sleep(0.02)
            os.kill(os.getpid(), signal.SIGINT)

        sender = threading.Thread(target=send)
        sender.start()
        with self.assertRaises(KeyboardInterrupt):
            work()
            time.sleep(1)
        sender.join()

    def running(self):
        return self.other.sql(RUNNING).fetchall()[0][0]

    def ended(self):
        """Threads of the engine may be in the middle of a batch."""
        for _ in range(500):
            if self.running() == 0:
                return True
            time.sleep(0.02)
        return False

    def test_a_statement_that_writes_leaves_nothing(self):
        for sql in [
            f"CREATE TABLE c AS {ENDLESS}",
            f"SELECT a INTO TABLE c FROM ({ENDLESS})",
            f"SELECT a INTO VOLATILE c FROM ({ENDLESS})",
            f"INSERT INTO t {ENDLESS}",
            f"UPDATE t SET a = (SELECT max(a) FROM ({ENDLESS}))",
        ]:
            with self.subTest(sql):
                self.con.sql("INSERT INTO t VALUES (7)")
                self.interrupt(lambda sql=sql: self.con.sql(sql))
                self.assertTrue(self.ended())
                self.assertNotIn("c", self.con.tables() + self.con.tables("temp"))
                self.assertEqual(self.rows("SELECT DISTINCT a FROM t"), [(7,)])

    def test_so_does_one_with_parameters(self):
        sql = f"INSERT INTO t SELECT a FROM ({ENDLESS}) WHERE a > ?"
        self.interrupt(lambda: self.con.sql(sql, [1]))
        self.interrupt(lambda: self.con.executemany(sql, [(1,), (2,)]))
        self.assertTrue(self.ended())
        self.assertEqual(self.rows("SELECT count(*) FROM t"), [(0,)])

    def test_a_transaction_has_nothing_of_a_statement_that_was_interrupted(self):
        self.con.begin()
        self.con.sql("INSERT INTO t VALUES (1)")
        self.interrupt(lambda: self.con.sql("INSERT INTO t SELECT value FROM generate_series(1, 1000000000000) AS g (value)"))
        self.assertTrue(self.ended())
        self.assertEqual(self.rows("SELECT a FROM t"), [(1,)])
        self.con.sql("INSERT INTO t VALUES (2)")
        self.con.commit()
        self.assertEqual(self.rows("SELECT a FROM t ORDER BY a"), [(1,), (2,)])

    def test_rows_that_are_being_written_leave_nothing(self):
        schema = pa.schema([("a", pa.int64())])

        def batches():
            for place in range(1_000_000):
                if place == 20:
                    os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.01)
                yield pa.record_batch([pa.array([place])], schema=schema)

        with self.assertRaises(KeyboardInterrupt):
            try:
                self.con.write("w", pa.RecordBatchReader.from_batches(schema, batches()))
            except quiver.Error:
                # In process, the library in between sees the signal, and raises its own error.
                time.sleep(1)
        self.assertNotIn("w", self.con.tables())
        self.assertEqual(self.rows("SELECT 1"), [(1,)])


globals().update(in_both_ways(Interrupted))

if __name__ == "__main__":
    unittest.main()
