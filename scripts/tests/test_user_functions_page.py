"""What docs/user-functions.md says in SQL works as it stands, in a new store, and prints what the page shows."""

import os
import re
import subprocess
import sys
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
            environment = os.environ | {"QUIVER_PYTHON": sys.executable}
            done = subprocess.run(command, input=statements, env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, expected)

    def test_what_is_said_in_python_runs(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
        with tempfile.TemporaryDirectory(prefix="quiver-test-") as directory:
            program = Path(directory) / "program.py"
            program.write_text("\n\n".join(blocks))
            environment = os.environ | {"PYTHONPATH": str(PAGE.parents[1] / "python")}
            command = [sys.executable, program]
            done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        for expected in ["0.5", "3.0", "0.222222", "0.777778", "26.5"]:
            self.assertIn(expected, done.stdout)


if __name__ == "__main__":
    unittest.main()
