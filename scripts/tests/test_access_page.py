"""What docs/access.md says in SQL works as it stands, in a new store."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from quiver_shell import QUIVER

PAGE = Path(__file__).resolve().parents[2] / "docs" / "access.md"


class AccessPage(unittest.TestCase):
    def test_users_roles_and_grants_are_made_as_the_page_says(self):
        statements = re.search(r"^```sql\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)[1]
        with tempfile.TemporaryDirectory(prefix="quiver-test-") as directory:
            command = [QUIVER, "--store", Path(directory) / "store", "--format", "csv"]
            done = subprocess.run(command, input=statements, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        granted = [line.split(",")[:3] for line in done.stdout.splitlines()[1:]]
        expected = [["analyst", "SELECT", "schema"], ["ann", "CREATE", "schema"], ["ann", "INSERT", "table"], ["ann", "SELECT", "table"]]
        self.assertEqual(granted, expected)


if __name__ == "__main__":
    unittest.main()
