"""The examples of docs/objects.md run, one after the other."""

import contextlib
import re
import tempfile
import unittest
from pathlib import Path

import quiver

PAGE = Path(__file__).resolve().parents[2] / "docs" / "objects.md"


class ObjectsPage(unittest.TestCase):
    def test_every_example_runs(self):
        page = PAGE.read_text()
        blocks = list(re.finditer(r"^```(sql|python)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
        self.assertGreater(len(blocks), 6)
        directory = self.enterContext(tempfile.TemporaryDirectory(prefix="quiver-test-"))
        self.enterContext(contextlib.chdir(directory))
        Path("spectrum.fits").write_bytes(b"SIMPLE  =                    T" * 100)
        with quiver.open() as con:
            con.sql("CREATE USER ann PASSWORD 'of the page' ADMIN")
            for block in blocks:
                with self.subTest(text=block[2]):
                    if block[1] == "python":
                        exec(compile(block[2], str(PAGE), "exec"), {"con": con})
                        continue
                    for statement in re.sub(r"--.*", "", block[2]).split(";"):
                        if statement.strip():
                            result = con.sql(statement)
                            if result.is_query:
                                result.fetchall()
        self.assertEqual(Path("copy.fits").read_bytes(), Path("spectrum.fits").read_bytes())


if __name__ == "__main__":
    unittest.main()
