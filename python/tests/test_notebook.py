"""Notebooks and terminals."""

import io
import os
import tempfile
import unittest
from contextlib import redirect_stderr
from unittest import mock

import pyarrow as pa
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import quiver
from both import Connected, InProcess, Remote
from quiver import progress


def setUpModule():
    """A shell that writes no history into the home of who runs the tests."""
    directory = tempfile.TemporaryDirectory(prefix="quiver-test-")
    unittest.addModuleCleanup(directory.cleanup)
    unittest.enterModuleContext(mock.patch.dict(os.environ, IPYTHONDIR=directory.name))
    shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
    shell.run_line_magic("load_ext", "quiver")
    unittest.addModuleCleanup(InteractiveShell.clear_instance)


class Magic:
    def setUp(self):
        self.shell = InteractiveShell.instance()
        self.shell.run_line_magic("sql", f"{self.address()} --alias mine")
        self.addCleanup(self.shell.run_line_magic, "sql", "--close mine")

    def test_a_line_and_a_cell_are_statements(self):
        result = self.shell.run_line_magic("sql", "SELECT 1 AS a")
        self.assertEqual(result.fetchall(), [(1,)])
        self.shell.run_cell_magic("sql", "", "CREATE OR REPLACE TABLE celled AS\nSELECT 2 AS a;\n")
        self.shell.run_cell_magic("sql", "kept <<", "SELECT a FROM celled")
        self.assertEqual(self.shell.user_ns["kept"].fetchall(), [(2,)])
        self.shell.run_line_magic("sql", "line << SELECT 3")
        self.assertEqual(self.shell.user_ns["line"].fetchall(), [(3,)])

    def test_a_transaction_is_begun_and_ended_by_a_word(self):
        self.shell.run_line_magic("sql", "CREATE OR REPLACE TABLE worded (a BIGINT)")
        self.shell.run_line_magic("sql", "BEGIN")
        self.shell.run_line_magic("sql", "INSERT INTO worded VALUES (1)")
        self.shell.run_line_magic("sql", "rollback;")
        self.assertEqual(self.shell.run_line_magic("sql", "SELECT count(*) FROM worded").fetchall(), [(0,)])

    def test_a_variable_is_written_as_a_table(self):
        self.shell.user_ns["fresh_rows"] = pa.table({"a": [1, 2]})
        self.shell.run_line_magic("sql", "--persist-replace fresh_rows")
        self.shell.run_line_magic("sql", "--append fresh_rows")
        self.assertEqual(self.shell.run_line_magic("sql", "SELECT count(*) FROM fresh_rows").fetchall(), [(4,)])

    def test_a_connection_that_is_a_variable_is_used(self):
        self.shell.user_ns["other"] = quiver.open()
        self.addCleanup(self.shell.user_ns["other"].close)
        self.shell.run_line_magic("sql", "other")
        self.assertEqual(self.shell.run_line_magic("sql", "SELECT count(*) FROM system.tables").fetchall(), [(0,)])
        self.assertIn("other", self.shell.run_line_magic("sql", "--connections"))
        self.shell.run_line_magic("sql", "mine")

    def test_what_is_no_connection_is_refused(self):
        with self.assertRaisesRegex(UsageError, "no connection"):
            self.shell.run_line_magic("sql", "nonsense")


class MagicInProcess(Magic, InProcess):
    def address(self):
        return f"quiver:///{self.place}"


class MagicRemote(Magic, Remote):
    def address(self):
        self.shell.user_ns["served"] = self.opened()
        self.addCleanup(self.shell.user_ns["served"].close)
        return "served"


class ProgressBar(Connected, InProcess):
    def test_a_bar_shows_what_was_scanned_and_goes_at_the_end(self):
        said = io.StringIO()
        with redirect_stderr(said):
            bar = progress.Bar()
            bar.look(1, 10)
            self.assertEqual(said.getvalue(), "")
            bar.started -= 2
            bar.look(5, 10)
            bar.clear()
        self.assertIn("###############               ]  50% of 10 rows scanned, 2 s", said.getvalue())
        self.assertTrue(said.getvalue().endswith(" \r"))

    def test_nobody_is_shown_a_bar_who_does_not_look(self):
        with redirect_stderr(io.StringIO()) as said, progress.shown(None) as look:
            self.assertIsNone(look)
        self.assertEqual(said.getvalue(), "")


class Looks(Connected, InProcess):
    def test_things_say_what_they_are(self):
        self.assertRegex(repr(self.con), r"^<quiver.Connection to quiver:////.*store>$")
        self.con.write("looked_at", pa.table({"a": [1]}))
        self.assertEqual(repr(self.con.table("looked_at")), "<quiver.Table main.looked_at>")
        self.assertEqual(repr(self.con.sql("SELECT 1 AS a")), "<quiver.Result of 'SELECT 1 AS a': a>")
        self.assertEqual(repr(self.con.sql("INSERT INTO looked_at VALUES (2)")), "<quiver.Result: 1 row>")
        self.assertIn("<th>a<br>", self.con.table("looked_at")._repr_html_())


if __name__ == "__main__":
    unittest.main()
