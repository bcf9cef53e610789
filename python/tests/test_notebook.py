"""Notebooks and terminals."""

import io
import os
import tempfile
import unittest
from contextlib import redirect_stderr
from unittest import mock

import pyarrow as pa
import quiver
from both import Connected, InProcess, Remote
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from quiver import progress
from traitlets.config import Config


def setUpModule():
    """A shell that does not write its history into the user's home directory."""
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

    def test_a_variable_is_a_table_by_its_name(self):
        self.shell.user_ns["noted"] = pa.table({"a": [1, 2]})
        self.assertEqual(self.shell.run_line_magic("sql", "SELECT sum(a) FROM noted").fetchall(), [(3,)])

    def test_a_connection_that_is_a_variable_is_used(self):
        self.shell.user_ns["other"] = quiver.open()
        self.addCleanup(self.shell.user_ns["other"].close)
        self.shell.run_line_magic("sql", "other")
        self.assertEqual(self.shell.run_line_magic("sql", "SELECT count(*) FROM system.tables").fetchall(), [(0,)])
        self.assertIn("other", self.shell.run_line_magic("sql", "--connections"))
        self.shell.run_line_magic("sql", "mine")

    def test_the_last_of_several_statements_is_shown(self):
        script = "CREATE OR REPLACE TABLE several AS SELECT ';' AS a; -- one; two\nINSERT INTO several VALUES ('b');\nSELECT count(*) FROM several;"
        self.assertEqual(self.shell.run_cell_magic("sql", "", script).fetchall(), [(2,)])
        self.assertEqual(self.shell.run_line_magic("sql", "SELECT 1; SELECT 2").fetchall(), [(2,)])
        with self.assertRaisesRegex(UsageError, "no statement"):
            self.shell.run_cell_magic("sql", "", "-- nothing\n;")

    def test_a_query_is_saved_and_is_a_table_of_others(self):
        rows = self.shell.run_cell_magic(
            "sql", "--save numbers", "-- of one column\nSELECT value AS n FROM generate_series(1, 9) AS g (value) -- all;\n;"
        )
        self.assertEqual(len(rows.fetchall()), 9)
        self.shell.run_line_magic("sql", "--with numbers --save odd SELECT n FROM numbers WHERE n % 2 = 1")
        self.assertEqual(self.shell.run_line_magic("sql", "--with odd SELECT sum(n) FROM odd").fetchall(), [(25,)])
        self.shell.run_cell_magic("sql", "mine --with odd total <<", "WITH a AS (SELECT max(n) AS n FROM odd) SELECT n FROM a")
        self.assertEqual(self.shell.user_ns["total"].fetchall(), [(9,)])
        self.shell.run_line_magic("sql", "--with odd,numbers both << SELECT (SELECT count(*) FROM odd), count(*) FROM numbers")
        self.assertEqual(self.shell.user_ns["both"].fetchall(), [(5, 9)])
        self.shell.run_line_magic("sql", "--with numbers,,odd both << SELECT (SELECT count(*) FROM odd), count(*) FROM numbers")
        self.assertEqual(self.shell.user_ns["both"].fetchall(), [(5, 9)])
        with self.assertRaisesRegex(UsageError, "7 is no name of a variable"):
            self.shell.run_cell_magic("sql", "mine 7 <<", "SELECT 1")
        for line, why in [
            ("--with nobody SELECT 1", "no query saved as nobody"),
            ("--with odd DROP TABLE numbers", "are for queries"),
            ("--save two SELECT 1; SELECT 2", "several statements"),
            ("--save", "--save wants a name"),
            ("--with numbers, odd SELECT 1", "no space between them"),
            ("--with numbers ,odd SELECT 1", "no space between them"),
            ("--with odd --save numbers SELECT n FROM odd", "numbers would read itself"),
        ]:
            with self.subTest(line), self.assertRaisesRegex(UsageError, why):
                self.shell.run_line_magic("sql", line)

    def test_a_file_of_statements_is_run(self):
        file = self.files / "script.sql"
        file.write_text("CREATE OR REPLACE TABLE scripted AS SELECT 7 AS a;\nSELECT a FROM scripted;\n")
        self.assertEqual(self.shell.run_line_magic("sql", f"--file {file}").fetchall(), [(7,)])
        with self.assertRaisesRegex(UsageError, "cannot be read"):
            self.shell.run_line_magic("sql", f"--file {file}.missing")
        with self.assertRaisesRegex(UsageError, "and here are more"):
            self.shell.run_cell_magic("sql", f"--file {file}", "SELECT 1")

    def test_a_switch_that_is_not_there_is_refused_by_its_name(self):
        for line in ("--interact x SELECT 1", "-A 1 SELECT 1", "--no-execute SELECT 1"):
            with self.subTest(line), self.assertRaisesRegex(UsageError, f"%sql has no {line.split()[0]} here; it has --save"):
                self.shell.run_line_magic("sql", line)
        with self.assertRaisesRegex(UsageError, "%sql has no --section"):
            self.shell.run_cell_magic("sql", "mine --section x", "SELECT 1")
        self.assertEqual(self.shell.run_cell_magic("sql", "mine", "-- SELECT 2\nSELECT 1 -- --save it").fetchall(), [(1,)])

    def test_what_is_no_connection_is_refused(self):
        with self.assertRaisesRegex(UsageError, "no connection"):
            self.shell.run_line_magic("sql", "nonsense")


class MagicInProcess(Magic, InProcess):
    def address(self):
        return f"quiver:///{self.place}"

    def test_options_of_a_store_follow_its_path(self):
        with tempfile.TemporaryDirectory(prefix="quiver-test-") as directory:
            quiver.open(f"{directory}/store").close()
            self.shell.run_line_magic("sql", f"quiver:///{directory}/store?read_only=true&threads=1")
            with self.assertRaisesRegex(quiver.OperationalError, "open read-only"):
                self.shell.run_line_magic("sql", "CREATE TABLE refused (a INT)")
            self.shell.run_line_magic("sql", f"--close quiver:///{directory}/store?read_only=true&threads=1")
            self.assertEqual(os.listdir(directory), ["store"])
        for query, why in (
            ("readonly=true", 'no option "readonly"'),
            ("read_only=maybe", "neither"),
            ("threads=x", "no number"),
            ("frames=maybe", "neither"),
        ):
            with self.subTest(query), self.assertRaisesRegex(UsageError, why):
                self.shell.run_line_magic("sql", f"quiver:///{self.place}?{query}")


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
            bar.update(1, 10)
            self.assertEqual(said.getvalue(), "")
            bar.started -= 2
            bar.update(5, 10)
            bar.clear()
        self.assertIn("###############               ]  50% of 10 rows scanned, 2 s", said.getvalue())
        self.assertTrue(said.getvalue().endswith(" \r"))

    def test_a_query_that_scans_no_table_has_no_share_of_it(self):
        said = io.StringIO()
        with redirect_stderr(said):
            bar = progress.Bar()
            bar.started -= 2
            bar.update(0, 0)
            bar.update(0, 0)
            bar.update(7_000, 0)
        self.assertEqual(said.getvalue(), "\rrunning, 2 s\r7,000 rows scanned, 2 s")

    def test_nobody_is_shown_a_bar_who_does_not_look(self):
        with redirect_stderr(io.StringIO()) as said, progress.progress_bar(None) as look:
            self.assertIsNone(look)
        self.assertEqual(said.getvalue(), "")


class Looks(Connected, InProcess):
    def test_things_say_what_they_are(self):
        self.assertRegex(repr(self.con), r"^<quiver.Connection to quiver:////.*store>$")
        self.con.write("looked_at", pa.table({"a": [1]}))
        self.assertEqual(repr(self.con.table("looked_at")), "<quiver.Table main.looked_at>")
        result = self.con.sql("SELECT 1 AS a")
        self.assertEqual(repr(result), "+---+\n| a |\n+---+\n| 1 |\n+---+\n(1 row)")
        self.assertEqual(next(iter(result)).num_rows, 1)
        self.assertEqual(repr(result), "<quiver.Result of 'SELECT 1 AS a': a>")
        self.assertEqual(repr(self.con.sql("INSERT INTO looked_at VALUES (2)")), "<quiver.Result: 1 row>")
        self.assertIn("<th>a<br>", self.con.table("looked_at")._repr_html_())


if __name__ == "__main__":
    unittest.main()
