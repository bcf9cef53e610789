"""The examples of docs/kernels.md give the results on the page."""

import re
import unittest
from pathlib import Path

import quiver

PAGE = Path(__file__).resolve().parents[2] / "docs" / "kernels.md"


def pieces() -> list[tuple[int, str, str, list[str]]]:
    """SQL statements with the lines of their results, and blocks of Python, with their first lines."""
    found = []
    page = PAGE.read_text()
    for block in re.finditer(r"^```(sql|python)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        line = page[: block.start()].count("\n") + 2
        if block[1] == "python":
            found.append((line, "python", block[2], []))
            continue
        for statement in re.finditer(r"((?:^(?!--).*\n)*?^.*;\n)((?:^--.*\n)*)", block[2], re.MULTILINE):
            at = line + block[2][: statement.start()].count("\n")
            found.append((at, "sql", statement[1], [row.removeprefix("-- ") for row in statement[2].splitlines()]))
    return found


class KernelsPage(unittest.TestCase):
    def test_every_example_gives_what_the_page_says(self):
        with quiver.open() as con:
            names = {"con": con}
            for line, language, text, expected in pieces():
                with self.subTest(line=line, text=text):
                    if language == "python":
                        exec(compile("\n" * (line - 1) + text, str(PAGE), "exec"), names)
                        continue
                    result = con.sql(text)
                    rows = [str(row) for row in result.fetchall()] if result.is_query else []
                    if expected:
                        self.assertEqual(rows, expected)

    def test_the_page_has_examples_of_both_languages(self):
        found = pieces()
        self.assertGreater(sum(language == "sql" and bool(expected) for _, language, _, expected in found), 8)
        self.assertGreater(sum(language == "python" for _, language, _, _ in found), 2)
