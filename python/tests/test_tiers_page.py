"""The examples of docs/tiers.md run, with a directory of this machine."""

import re
import tempfile
import unittest
from pathlib import Path

import quiver
from both import soon

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tiers.md"


class TiersPage(unittest.TestCase):
    def test_every_example_runs(self):
        disk = self.enterContext(tempfile.TemporaryDirectory(prefix="quiver-test-"))
        (Path(disk) / "prefix").mkdir()
        blocks = re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 4)
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

    def test_a_memory_tier_without_room_says_so(self):
        """Its limit is one of the process, so no other test may run beside this one."""
        with quiver.open() as con:
            con.write("t", {"a": list(range(20_000))})
            con.sql("ALTER SYSTEM SET memory_tier_limit = '1kB'")
            con.sql("ALTER TABLE t SET TIER memory")
            moves = lambda: con.sql("SELECT to_tier, state, message FROM system.moves").fetchall()  # noqa: E731
            self.assertTrue(soon(moves))
            self.assertEqual(moves()[0][:2], ("memory", "failed"))
            self.assertRegex(moves()[0][2], 'the tier "memory" is full')
            con.sql("ALTER SYSTEM RESET memory_tier_limit")
            self.assertTrue(soon(lambda: moves()[-1][:2] == ("memory", "done")), moves())


if __name__ == "__main__":
    unittest.main()
