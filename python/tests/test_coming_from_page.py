"""The SQL of docs/coming-from.md runs, and gives DuckDB's answers where the page has both."""

import os
import re
import tempfile
import unittest
from pathlib import Path

import duckdb
import quiver

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming-from.md"
EXPRESSIONS, QUERIES = "**Expressions**", "**Queries:**"
STATEMENT = re.compile("(?:SELECT|FROM|DESCRIBE|SUMMARIZE|COPY|PIVOT) [^…]*")


def section(begin: str, end: str) -> str:
    return PAGE.read_text().split(begin)[1].split(end)[0]


def rows(text: str) -> list[tuple[list[str], list[str]]]:
    """The code in the two cells of each row of a table."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return [(re.findall("`([^`]+)`", left), re.findall("`([^`]+)`", right)) for left, right in lines]


def is_statement(code: str) -> bool:
    return STATEMENT.fullmatch(code) is not None


class ComingFromPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(os.chdir, Path.cwd())
        os.chdir(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="quiver-test-")))
        cls.con = cls.enterClassContext(quiver.open())
        cls.duckdb = cls.enterClassContext(duckdb.connect())
        for statement in re.search(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)[1].split(";")[:-1]:
            cls.con.sql(statement)
            cls.duckdb.execute(statement)

    def answer(self, statement: str) -> list[tuple]:
        return [tuple(row) for row in self.con.sql(statement).fetchall()]

    def both(self, theirs: str, ours: str) -> None:
        with self.subTest(theirs):
            self.assertEqual(self.answer(ours), self.duckdb.sql(theirs).fetchall())

    def test_expressions_have_duckdbs_answers(self):
        pairs = rows(section(EXPRESSIONS, QUERIES))
        self.assertGreater(len(pairs), 3)
        for theirs, ours in pairs:
            for their, our in zip(theirs, ours, strict=True):
                self.both(f"SELECT {their} FROM sales", f"SELECT {our} FROM sales")

    def test_what_has_another_spelling_is_not_known_under_duckdbs(self):
        for theirs, _ in rows(section(EXPRESSIONS, QUERIES)):
            for their in theirs:
                with self.subTest(their):
                    if their == "id / 2":  # divides integers here
                        continue
                    with self.assertRaises(quiver.Error):
                        self.answer(f"SELECT {their} FROM sales")

    def test_queries_have_duckdbs_answers(self):
        pairs = [(theirs[0], ours[0]) for theirs, ours in rows(section(QUERIES, "## From psql")) if ours and is_statement(ours[0])]
        pairs = [(theirs, ours) for theirs, ours in pairs if "random()" not in ours]
        self.assertGreater(len(pairs), 2)
        for theirs, ours in pairs:
            self.both(theirs, ours)

    def test_queries_for_who_knows_pandas_run(self):
        statements = [code for _, codes in rows(section("## From pandas", "A table has no index")) for code in codes if is_statement(code)]
        self.assertGreater(len(statements), 25)
        for statement in statements:
            with self.subTest(statement):
                result = self.con.sql(statement)
                if result.is_query:
                    result.fetchall()


if __name__ == "__main__":
    unittest.main()
