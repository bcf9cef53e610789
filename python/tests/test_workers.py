"""The pool of threads for calls and streams: it reuses threads, is bounded, and does not block the exit."""

import os
import subprocess
import sys
import threading
import unittest
from contextlib import ExitStack
from itertools import repeat

import quiver
import quiver.testing
from both import soon
from quiver.remote import workers
from quiver.remote.calls import Pump

# Ends with a call that would last for hours, and one thread that waits for work.
LEAVING = """
import sys, threading, time
import quiver

con = quiver.connect(sys.argv[1])
waiting = con.sql("SELECT count(*) FROM generate_series(1, 1000000000000) AS g (value) WHERE value < 0")
threading.Thread(target=waiting.fetchall, daemon=True).start()
time.sleep(0.5)
assert con.sql("SELECT 1").fetchall() == [(1,)]
print("ends")
"""


def kept():
    return {thread.ident for thread in threading.enumerate() if thread.name == "quiver-worker"}


class Workers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(quiver.testing.serve())

    def setUp(self):
        self.con = quiver.connect(self.server.uri)
        self.addCleanup(self.con.close)

    def test_statements_after_each_other_share_threads(self):
        # One thread for calls and one for rows, which may not be back in the pool yet when the next one is needed.
        self.assertTrue(soon(lambda: len(kept()) == len(workers._idle)))
        before = kept()
        for number in range(100):
            self.assertEqual(self.con.sql(f"SELECT {number}").fetchall(), [(number,)])
        self.assertLessEqual(len(kept() - before), 3)

    def test_many_at_once_leave_no_more_than_are_kept(self):
        with ExitStack() as open_ones:
            for _ in range(workers.KEPT_MAX + 4):
                result = self.con.sql("SELECT value FROM generate_series(1, 10000000) AS g (value)")
                self.assertIsNotNone(result.fetchone())
                open_ones.callback(result.close)
            self.assertGreaterEqual(len(kept()), workers.KEPT_MAX + 4)
        self.assertTrue(soon(lambda: len(kept()) <= workers.KEPT_MAX), len(kept()))

    def test_rows_whose_reader_went_without_a_word_are_cancelled(self):
        # A regression test: after a Ctrl-C while the collector called `stop`, the thread waited for ever, and the query went on.
        class Reader:
            pass

        reader, cancelled = Reader(), threading.Event()
        pump = Pump(reader, repeat(1).__next__, cancelled.set)
        pump.stop = lambda: None
        del reader
        self.assertTrue(cancelled.wait(20))

    def test_work_goes_to_nobody_who_is_stuck(self):
        going_on = threading.Event()
        self.addCleanup(going_on.set)
        for _ in range(2 * workers.KEPT_MAX):
            workers.start(going_on.wait)
        done = threading.Event()
        workers.start(done.set)
        self.assertTrue(done.wait(20))
        self.assertEqual(self.con.sql("SELECT 1").fetchall(), [(1,)])

    def test_a_forked_process_begins_its_own(self):
        self.assertEqual(self.con.sql("SELECT 1").fetchall(), [(1,)])
        self.assertTrue(soon(lambda: workers._idle))
        child = os.fork()
        if child == 0:
            # It opens no connection, because gRPC does not survive a fork.
            done = threading.Event()
            workers.start(done.set)
            os._exit(0 if done.wait(20) else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(self.con.sql("SELECT 2").fetchall(), [(2,)])

    def test_they_do_not_keep_the_interpreter_from_ending(self):
        command = [sys.executable, "-c", LEAVING, self.server.uri]
        surroundings = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(command, env=surroundings, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, "ends\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
