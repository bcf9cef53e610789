"""The examples of docs/tiers.md run, with a directory of this machine."""

import re
import tempfile
import unittest
from pathlib import Path

import quiver

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tiers.md"


class TiersPage(unittest.TestCase):
    def test_every_example_runs(self):
        disk = self.enterContext(tempfile.TemporaryDirectory(prefix="quiver-test-"))
        blocks = re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 3)
        with quiver.open() as con:
            con.write("measurements", {"a": list(range(1000))})
            for statement in (
                re.sub(r"--.*", "", ";".join(blocks)).replace("/mnt/large/quiver", disk).replace("s3://bucket", f"file://{disk}").split(";")
            ):
                if statement.strip():
                    result = con.sql(statement)
                    if result.is_query:
                        result.fetchall()
            self.assertEqual(con.sql("SELECT sum(a) FROM measurements").fetchall(), [(499500,)])


if __name__ == "__main__":
    unittest.main()
