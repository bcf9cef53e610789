"""The notebooks of docs/notebooks run, and make their pictures."""

import contextlib
import io
import json
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

NOTEBOOKS = Path(__file__).resolve().parents[2] / "docs" / "notebooks"


class NotebooksOfDocs(unittest.TestCase):
    def test_a_netcdf_file_becomes_a_picture(self):
        directory = self.enterContext(tempfile.TemporaryDirectory(prefix="quiver-test-"))
        self.enterContext(contextlib.chdir(directory))
        self.enterContext(mock.patch.dict(os.environ, IPYTHONDIR=directory, MPLBACKEND="agg", MPLCONFIGDIR=directory))
        shell = InteractiveShell(config=Config(HistoryManager={"enabled": False}))
        cells = json.loads((NOTEBOOKS / "netcdf.ipynb").read_text())["cells"]
        with contextlib.redirect_stdout(io.StringIO()):
            for cell in cells:
                if cell["cell_type"] == "code":
                    shell.run_cell("".join(cell["source"])).raise_error()
        self.assertEqual(Path("temperatures.png").read_bytes()[1:4], b"PNG")
        self.assertGreater(shell.user_ns["by_latitude"]["mean"].max(), 290)
        self.assertEqual(len(shell.user_ns["by_latitude"]), 61)


if __name__ == "__main__":
    unittest.main()
