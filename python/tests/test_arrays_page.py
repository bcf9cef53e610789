"""The examples of docs/arrays.md run, one after the other."""

import contextlib
import re
import tempfile
import unittest
from pathlib import Path

import quiver

PAGE = Path(__file__).resolve().parents[2] / "docs" / "arrays.md"


class ArraysPage(unittest.TestCase):
    def test_every_example_runs(self):
        blocks = list(re.finditer(r"^```(sql|python)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL))
        self.assertGreater(len(blocks), 5)
        directory = self.enterContext(tempfile.TemporaryDirectory(prefix="quiver-test-"))
        self.enterContext(contextlib.chdir(directory))
        with quiver.open() as con:
            variables = {"con": con}
            for block in blocks:
                with self.subTest(text=block[2]):
                    if block[1] == "python":
                        exec(compile(block[2], str(PAGE), "exec"), variables)
                        continue
                    for statement in re.sub(r"--.*", "", block[2]).split(";"):
                        if statement.strip():
                            result = con.sql(statement)
                            if result.is_query:
                                result.fetchall()
            self.assertIn("chunks=1 of 49", str(con.sql("EXPLAIN SELECT avg(value) FROM region('temp', [0:64, 0:64, 0])").fetchall()))


if __name__ == "__main__":
    unittest.main()
