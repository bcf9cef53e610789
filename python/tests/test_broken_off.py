"""A result that failed never looks like one with fewer rows, whatever method reads it afterwards."""

import json
import os
import signal
import threading
import time
import unittest
from collections import deque
from contextlib import suppress
from functools import partial

import pyarrow as pa
import quiver
import quiver.testing
from both import Connected, InProcess, in_both_ways
from quiver.remote.calls import Pump

# Many batches, and an error at their end.
LATE = "SELECT 1 / (200000 - value) FROM generate_series(1, 200000) AS g (value)"
ENDLESS = "SELECT max(value * 7 % 13) FROM generate_series(1, 1000000000000) AS g (value)"
ENDLESS_ROWS = "SELECT value FROM generate_series(1, 1000000000000) AS g (value)"
ROWS = 60_000


def iterated(result):
    deque(result, 0)


def one_by_one(result):
    deque(iter(result.fetchone, None), 0)


def some(result):
    deque(iter(lambda: result.fetchmany(1000), []), 0)


FORMS = [quiver.Result.arrow, quiver.Result.df, quiver.Result.fetchall, iterated, one_by_one, some]


class BrokenOff:
    def test_an_error_is_raised_again_in_every_form(self):
        for first in FORMS:
            with self.subTest(first.__name__):
                result = self.con.sql(LATE)
                for form in [first, first, *FORMS, quiver.Result.pl, quiver.Result.numpy, pa.table]:
                    with self.assertRaisesRegex(quiver.DataError, "(?i)zero"):
                        form(result)

    def test_an_error_is_raised_again_by_whoever_had_the_rows(self):
        batches = iter(self.con.sql(LATE))
        for _ in range(2):
            with self.assertRaisesRegex(quiver.DataError, "(?i)zero"):
                deque(batches, 0)

    def test_an_error_that_another_library_met_is_raised_again(self):
        result = self.con.sql(LATE)
        reader = pa.RecordBatchReader.from_stream(result)
        for _ in range(2):
            with self.assertRaisesRegex(Exception, "(?i)zero"):
                reader.read_all()
        for form in (quiver.Result.arrow, quiver.Result.fetchall, iterated, pa.table):
            with self.assertRaisesRegex(quiver.DataError, "(?i)zero"):
                form(result)

    def test_a_query_that_somebody_ended_is_not_complete(self):
        result = self.con.sql(ENDLESS_ROWS)
        result.fetchone()
        with self.con.another() as other:
            running = "SELECT query_id FROM system.queries WHERE statement = ?"
            ((number,),) = other.sql(running, [ENDLESS_ROWS]).fetchall()
            other.sql(f"KILL {number}")
        for _ in range(3):
            with self.assertRaises(quiver.CancelledError):
                iterated(result)

    def interrupted(self, read, *args):
        with self.assertRaises(KeyboardInterrupt):
            threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
            read(*args)

    def test_what_was_interrupted_is_not_complete(self):
        for query, read in [(ENDLESS, quiver.Result.arrow), (ENDLESS_ROWS, quiver.Result.fetchall)]:
            with self.subTest(read.__name__):
                result = self.con.sql(query)
                self.interrupted(read, result)
                for again in FORMS:
                    with self.assertRaisesRegex(quiver.InterfaceError, "interrupted|closed"):
                        again(result)
        self.assertEqual(self.rows("SELECT 1"), [(1,)])

    def test_rows_that_an_interrupt_lost_are_missed(self):
        """Ctrl-C may come between any two calls, also after a row was taken and before it was returned."""
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, signal.default_int_handler))
        for read, last_of in [
            (lambda result: iter(result), lambda batch: batch.column(0)[-1].as_py()),
            (lambda result: iter(result.fetchone, None), lambda row: row[0]),
            (lambda result: iter(partial(result.fetchmany, 3), []), lambda rows: rows[-1][0]),
        ]:
            for round_number in range(100):
                result, seen = self.con.sql(ENDLESS_ROWS), deque(maxlen=1)
                with suppress(KeyboardInterrupt):
                    # Python drops an exception during a finalizer, so the signal is sent once more.
                    signal.setitimer(signal.ITIMER_REAL, 0.002 + round_number * 2e-5, 0.5)
                    for rows in read(result):
                        seen.append(rows)
                signal.setitimer(signal.ITIMER_REAL, 0)
                try:
                    following = result.fetchone()
                except quiver.InterfaceError as refusal:
                    self.assertRegex(str(refusal), "interrupted")
                    for again in FORMS:
                        with self.assertRaisesRegex(quiver.InterfaceError, "interrupted|closed"):
                            again(result)
                else:
                    self.assertEqual(following[0], 1 + (last_of(seen[0]) if seen else 0))
                result.close()

    def test_what_was_interrupted_in_another_library_is_not_complete(self):
        result = self.con.sql(ENDLESS)
        with self.assertRaises(KeyboardInterrupt):
            threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
            with suppress(pa.ArrowException):
                pa.table(result)
            for _ in range(10):
                time.sleep(0.05)
        for again in FORMS:
            with self.assertRaises(quiver.InterfaceError):
                again(result)

    def test_what_is_closed_is_not_complete(self):
        for read in FORMS:
            result = self.con.sql(ENDLESS_ROWS)
            result.fetchone()
            result.close()
            with self.subTest(read.__name__), self.assertRaisesRegex(quiver.InterfaceError, "the result is closed"):
                read(result)

    def test_rows_that_were_kept_stay(self):
        result = self.con.sql("SELECT 1 AS a")
        self.assertEqual(result.fetchall(), [(1,)])
        result.close()
        self.assertEqual(result.arrow().to_pydict(), {"a": [1]})
        self.assertEqual(result.df()["a"].tolist(), [1])


globals().update(in_both_ways(BrokenOff))


class ForeignThread(Connected, InProcess):
    """Libraries pull rows on threads of their own, while the waiting thread may hold Python's lock."""

    def test_a_thread_of_another_library_is_told_of_errors(self):
        result = self.con.sql(LATE)
        reader = pa.RecordBatchReader.from_stream(result)
        failures = []

        def pull():
            for _ in range(2):
                try:
                    reader.read_all()
                except Exception as error:
                    failures.append(str(error))

        thread = threading.Thread(target=pull)
        thread.start()
        thread.join(60)
        self.assertEqual(len(failures), 2)
        self.assertTrue(all("zero" in failure.lower() for failure in failures), failures)

    def test_a_connection_that_closes_ends_a_query_that_gives_no_rows(self):
        reader = pa.RecordBatchReader.from_stream(self.con.sql(ENDLESS))
        with self.opened():
            threading.Timer(0.3, self.con.close).start()
            with self.assertRaisesRegex(Exception, "the connection is closed"):
                reader.read_all()


class HandOff(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(quiver.testing.serve(switches=["--hand-off", "*"]))
        self.con = self.enterContext(quiver.connect(self.server.uri, hand_off=True))
        # Each insert makes a file.
        self.con.write("mapped", {"n": list(range(ROWS))})
        self.con.write("mapped", {"n": list(range(ROWS))}, mode="append")

    def test_a_table_whose_files_cannot_be_mapped_is_not_empty(self):
        result = self.con.table("mapped").select()
        segments = self.server.store.resolve() / "segments"
        away = segments.rename(segments.with_name("away"))
        try:
            with self.assertRaises(quiver.OperationalError):
                result.arrow()
        finally:
            away.rename(segments)
        for form in (quiver.Result.arrow, quiver.Result.fetchall, iterated):
            with self.assertRaises(quiver.OperationalError):
                form(result)
        self.assertEqual(self.con.table("mapped").arrow().num_rows, 2 * ROWS)

    def test_a_table_whose_lease_ends_is_not_shorter(self):
        self.con.sql("INSERT INTO mapped VALUES (-1)")
        result = self.con.table("mapped").select()
        batches = iter(result)
        next(batches)
        source = result._source
        self.con._backend._do_action("release_lease", source._lease["lease"].encode())
        for again in (batches, batches, result):
            with self.assertRaisesRegex(quiver.ProgrammingError, "lease"):
                iterated(again)
        self.assertIn("ticket", json.dumps(source._lease))

    def test_files_that_were_mapped_stay_when_the_lease_ends(self):
        source = self.con.table("mapped").select()._source
        first = source.next_batch()
        self.con._backend._do_action("release_lease", source._lease["lease"].encode())
        self.con.sql("DROP TABLE mapped")
        self.assertEqual((first.num_rows, source.read_all(None).num_rows), (ROWS, ROWS))


class StoppedPump(unittest.TestCase):
    def test_a_stream_that_was_stopped_is_not_at_its_end(self):
        pump = Pump(self, lambda: 1, lambda: None)
        self.assertEqual(pump.next(), 1)
        pump.stop()
        for _ in range(2):
            with self.assertRaisesRegex(quiver.InterfaceError, "closed"):
                pump.next()


if __name__ == "__main__":
    unittest.main()
