"""Long queries report progress; short ones cause no requests."""

import threading
import unittest
from unittest import mock

import pyarrow as pa
import pyarrow.flight as flight
import quiver
from both import in_both_ways
from quiver.remote import progress

# Reads the table twice, and then works for long.
LONG = "SELECT count(*) FROM scanned AS one, scanned AS other WHERE one.a * other.a % 1000003 = -1"


class Enough(Exception):
    pass


def askers():
    return [thread for thread in threading.enumerate() if thread.name == "quiver-progress"]


class Told:
    def test_a_long_query_tells_how_far_it_is(self):
        self.con.write("scanned", pa.table({"a": range(100_000)}), mode="replace")
        seen = []

        def look(rows_scanned, rows_total):
            seen.append((rows_scanned, rows_total))
            if rows_scanned:
                raise Enough

        with self.assertRaises(Enough):
            self.con.sql(LONG)._source.read_all(look)
        rows_scanned, rows_total = seen[-1]
        self.assertLessEqual(rows_scanned, rows_total)
        self.assertEqual(askers(), [])
        self.assertEqual(self.rows("SELECT count(*) FROM scanned"), [(100_000,)])

    def test_rows_are_the_same_for_who_looks(self):
        query = "SELECT value FROM generate_series(1, 100000) AS g (value) ORDER BY value DESC"
        looked = self.con.sql(query)._source.read_all(lambda *_: None)
        self.assertEqual(looked, self.con.sql(query)._source.read_all(None))

    def test_an_error_is_raised_to_who_looks(self):
        late = self.con.sql("SELECT 1 / (200000 - value) FROM generate_series(1, 200000) AS g (value)")
        with self.assertRaisesRegex(quiver.DataError, "(?i)zero"):
            late._source.read_all(lambda *_: None)
        self.assertEqual(askers(), [])


globals().update(in_both_ways(Told))


class Watch(unittest.TestCase):
    def at_once(self):
        self.enterContext(mock.patch.multiple(progress, FIRST_S=0, EVERY_S=0.001))
        self.enterContext(mock.patch.object(progress, "TICK_S", 0))

    def test_a_short_query_is_not_asked_about(self):
        with mock.patch.object(progress, "FIRST_S", 1000), progress.polling(self.fail, self.fail) as tick:
            for _ in range(1000):
                tick()
            self.assertEqual(askers(), [])

    def test_the_last_answer_is_shown_by_who_waits_and_no_question_outlives_the_query(self):
        self.at_once()
        answers, seen = iter([None, (1, 10), None, (5, 10)]), []

        def look(*told):
            seen.append((told, threading.current_thread()))

        with progress.polling(lambda: next(answers, (7, 10)), look) as tick:
            while not seen or seen[-1][0] != (7, 10):
                tick()
        self.assertEqual({thread for _, thread in seen}, {threading.current_thread()})
        self.assertEqual(askers(), [])

    def test_a_question_that_fails_is_not_asked_again_and_not_told_of(self):
        self.at_once()
        asked = []

        def ask():
            asked.append(1)
            raise pa.ArrowNotImplementedError("there is no action")

        with progress.polling(ask, self.fail) as tick:
            while not asked or askers():
                tick()
            tick()
        self.assertEqual(asked, [1])

    def test_a_question_that_took_too_long_is_asked_again(self):
        self.at_once()
        answers, seen = iter([flight.FlightTimedOutError("too late")]), []

        def ask():
            if error := next(answers, None):
                raise error
            return 1, 2

        with progress.polling(ask, lambda *told: seen.append(told)) as tick:
            while not seen:
                tick()
        self.assertEqual(seen[-1], (1, 2))

    def test_it_ends_with_an_error_as_well(self):
        self.at_once()
        with self.assertRaises(Enough), progress.polling(lambda: (1, 2), lambda *_: None) as tick:
            tick()
            raise Enough
        self.assertEqual(askers(), [])


if __name__ == "__main__":
    unittest.main()
