"""What docs/clients.md says in Python works as it stands."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from client_server import cache_directory
from clients_page import code, code_about_files, shell_of_files
from quiver_server import Server
from quiver_shell import QUIVER

EXTENSION = ["duckdb==1.2.0", "duckdb-extension-arrow==1.2.0"]


class ClientsPage(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="quiver-test-")
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def run_in_directory(self, command: list, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        surroundings = os.environ | (environment or {})
        return subprocess.run(command, cwd=self.directory, env=surroundings, capture_output=True, text=True, timeout=60)

    def runs(self, command: list, environment: dict[str, str] | None = None) -> None:
        done = self.run_in_directory(command, environment)
        self.assertEqual(done.returncode, 0, f"{command[-1]}\n{done.stdout}{done.stderr}")

    def make_files(self) -> None:
        (self.directory / "bin").mkdir()
        (self.directory / "bin" / "quiver").symlink_to(QUIVER)
        self.runs(["sh", "-e", "-c", shell_of_files()], {"PATH": f"{self.directory}/bin:{os.environ['PATH']}"})

    def test_every_piece_of_python_that_asks_a_server_runs(self):
        server = Server(self.directory / "store")
        self.addCleanup(server.end)
        for block in code("python", server.uri.split("://")[1]):
            self.runs([sys.executable, "-c", block])

    def test_every_piece_of_python_about_files_runs(self):
        self.make_files()
        found = [block for block in code_about_files("python") if not is_of_the_extension(block)]
        self.assertEqual(len(found), 2, "Parquet, and files through pyarrow")
        for block in found:
            self.runs([sys.executable, "-c", block])

    def piece_with_the_extension(self) -> tuple[str, dict[str, str]]:
        """What the page says of it, and the environment to run that in."""
        packages = extension_directory()
        if packages is None:
            self.skipTest(f"{' and '.join(EXTENSION)} could not be fetched")
        self.make_files()
        (block,) = [block for block in code_about_files("python") if is_of_the_extension(block)]
        return block, {"PYTHONPATH": str(packages)}

    def test_duckdbs_own_arrow_extension_reads_an_exported_file_and_a_segment(self):
        block, environment = self.piece_with_the_extension()
        self.runs([sys.executable, "-c", block], environment)

    def test_the_extension_reads_no_segment_with_text(self):
        """If this fails, the page says too little of what DuckDB reads by itself."""
        block, environment = self.piece_with_the_extension()
        done = self.run_in_directory([sys.executable, "-c", block.replace("points.arrow", "mine/segments/1/1.arrow")], environment)
        self.assertIn("Invalid IPC stream", done.stderr)


def is_of_the_extension(block: str) -> bool:
    return "scan_arrow_ipc" in block


def extension_directory() -> Path | None:
    """Where the DuckDB that the extension is for lies, beside the one of the other tests. pip fetches it once."""
    kept = cache_directory() / "duckdb-arrow-1.2.0"
    if not kept.exists():
        filling = kept.with_name(kept.name + ".new")
        shutil.rmtree(filling, ignore_errors=True)
        fetch = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-deps", "--target", filling, *EXTENSION]
        if subprocess.run(fetch, capture_output=True).returncode != 0:
            return None
        filling.rename(kept)
    return kept


if __name__ == "__main__":
    unittest.main()
