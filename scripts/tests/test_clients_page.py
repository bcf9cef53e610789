"""What docs/clients.md says in Python works as it stands."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from clients_page import code
from quiver_server import Server


class ClientsPage(unittest.TestCase):
    def test_every_piece_of_python_runs(self):
        with tempfile.TemporaryDirectory(prefix="quiver-test-") as directory:
            server = Server(Path(directory) / "store")
            self.addCleanup(server.end)
            for block in code("python", server.uri.split("://")[1]):
                done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 0, f"{block}\n{done.stderr}")


if __name__ == "__main__":
    unittest.main()
