"""Unread results and leases are released on the server."""

import json
import threading
import time
import unittest
from unittest import mock

import pyarrow as pa
import pyarrow.flight as flight
import quiver
import quiver.testing

ROWS = pa.table({"a": range(100_000)})


class Releasing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(quiver.testing.serve(switches=["--hand-off", "*"]))
        cls.asking = cls.enterClassContext(flight.connect(cls.server.uri))

    def setUp(self):
        self.con = quiver.connect(self.server.uri)
        self.addCleanup(self.con.close)
        self.con.write("t", ROWS, mode="replace")
        self.check_left("results_waiting", 0)

    def left(self, what):
        (answer,) = self.asking.do_action(flight.Action("stats", b""))
        return json.loads(answer.body.to_pybytes())[what]

    def check_left(self, what, number):
        """Waits, because the release happens in the background."""
        until = time.monotonic() + 20
        while self.left(what) != number and time.monotonic() < until:
            time.sleep(0.02)
        self.assertEqual(self.left(what), number)

    def test_a_result_that_is_closed_waits_no_more(self):
        result = self.con.sql("SELECT * FROM t")
        self.assertEqual(self.left("results_waiting"), 1)
        result.close()
        self.check_left("results_waiting", 0)
        with self.assertRaisesRegex(quiver.InterfaceError, "the result is closed"):
            result.fetchall()

    def test_a_result_that_nobody_has_waits_no_more(self):
        for _ in range(20):
            self.con.sql("SELECT * FROM t WHERE a > ?", [1])
        kept = self.con.sql("SELECT 7")
        self.check_left("results_waiting", 1)
        self.assertEqual(kept.fetchall(), [(7,)])

    def test_columns_are_asked_for_without_a_result(self):
        table = self.con.table("t")
        for _ in range(20):
            self.assertEqual(table.columns, ["a"])
            self.con.table("t")
        self.assertEqual(self.left("results_waiting"), 0)

    def test_columns_are_those_of_the_rows(self):
        kinds = {
            "i": pa.array([1], pa.int8()),
            "t": ["x"],
            "at": pa.array([1], pa.timestamp("ns", "UTC")),
            "list": [[1.5]],
            "s": [{"a": "y"}],
        }
        self.con.write("typed", kinds | {"block": pa.FixedShapeTensorArray.from_numpy_ndarray(ROWS["a"].to_numpy()[:4].reshape(1, 2, 2))})
        table = self.con.table("typed")
        self.assertTrue(table.schema.equals(table.arrow().schema, check_metadata=True))

    def test_columns_are_those_that_the_transaction_has_made(self):
        with self.con.transaction():
            self.con.sql("CREATE TABLE fresh (a BIGINT, b VARCHAR)")
            self.assertEqual(self.con.table("fresh").columns, ["a", "b"])

    def test_a_connection_that_is_closed_leaves_nothing(self):
        other = quiver.connect(self.server.uri)
        results = [other.sql("SELECT * FROM t") for _ in range(20)]
        self.assertEqual(self.left("results_waiting"), 20)
        other.close()
        self.assertEqual(self.left("results_waiting"), 0)
        with self.assertRaises(quiver.InterfaceError):
            results[0].fetchall()

    def test_what_one_connection_leaves_unread_takes_nothing_from_another(self):
        with quiver.connect(self.server.uri) as other:
            kept = other.sql("SELECT 'kept'")
            greedy = [self.con.sql("SELECT 1") for _ in range(1_005)]
            self.assertEqual(kept.fetchall(), [("kept",)])
        self.assertEqual(greedy[-1].fetchall(), [(1,)])
        with self.assertRaisesRegex(quiver.ProgrammingError, "none of the results has this handle"):
            greedy[0].fetchall()

    def test_a_connection_may_be_closed_by_the_thread_that_releases(self):
        other = quiver.connect(self.server.uri)
        self.addCleanup(other.close)
        other.sql("SELECT 1").fetchall()
        releases, failed, stopped = other._backend._releases, [], threading.Event()

        def stop():
            try:
                releases.stop()
            except RuntimeError as error:
                failed.append(error)
            stopped.set()

        with mock.patch.object(releases, "_thread", threading.Thread(target=stop)):
            releases._thread.start()
            self.assertTrue(stopped.wait(20))
        self.assertEqual(failed, [])

    def test_a_lease_that_nobody_reads_is_released(self):
        with quiver.connect(self.server.uri, hand_off=True) as other:
            for _ in range(5):
                other.table("t").select()
            self.check_left("leases", 0)
            self.assertEqual(other.table("t").arrow().num_rows, ROWS.num_rows)


if __name__ == "__main__":
    unittest.main()
