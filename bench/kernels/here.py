"""Quiver in this process."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import quiver
from tables import Tables


class Ways:
    def __init__(self, directory, options):
        self.con = quiver.open(directory / "store", threads=options["threads"])
        self.tables = Tables(self.con, Path(options["data"]), options["scale"])

    def prepare(self, kernel, size):
        return {f"Quiver in process, {name}": way for name, way in self.tables.prepare(kernel, size).items()}

    def end(self):
        self.con.close()
