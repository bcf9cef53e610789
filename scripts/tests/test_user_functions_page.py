"""What docs/user-functions.md says in SQL works as it stands, in a new store, and prints what the page shows."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from quiver_shell import QUIVER

PAGE = Path(__file__).resolve().parents[2] / "docs" / "user-functions.md"


class UserFunctionsPage(unittest.TestCase):
    def test_the_examples_print_what_the_page_shows(self):
        blocks = re.findall(r"^```(sql|text)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
        statements = "".join(text for kind, text in blocks if kind == "sql")
        expected = "".join(text for kind, text in blocks if kind == "text")
        with tempfile.TemporaryDirectory(prefix="quiver-test-") as directory:
            command = [QUIVER, "--store", Path(directory) / "store", "--format", "csv"]
            done = subprocess.run(command, input=statements, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, expected)


if __name__ == "__main__":
    unittest.main()
