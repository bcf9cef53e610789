"""A wheel, of files that stand for what `make build` compiles."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent


class Wheel(unittest.TestCase):
    def setUp(self):
        self.clone = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="quiver-test-")))
        leave_out = shutil.ignore_patterns("*.so", "__pycache__", "src", "tests")
        shutil.copytree(PACKAGE, self.clone / "python", ignore=leave_out)

    def built(self):
        words = "wheel --no-deps --no-index --no-build-isolation --disable-pip-version-check --wheel-dir dist ./python".split()
        return subprocess.run([sys.executable, "-m", "pip", *words], cwd=self.clone, capture_output=True, text=True, timeout=300)

    def test_a_wheel_has_the_package_the_engine_the_program_and_the_entry_points(self):
        (self.clone / "python" / "quiver" / "_quiver.abi3.so").write_bytes(b"the engine")
        (self.clone / "bin").mkdir()
        program = self.clone / "bin" / "quiver"
        program.write_bytes(b"\x7fELF \xff the program")
        program.chmod(0o755)
        done = self.built()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (wheel,) = (self.clone / "dist").iterdir()
        self.assertRegex(wheel.name, r"^quiver-0\.1\.0-cp310-abi3-linux_\w+\.whl$")
        with zipfile.ZipFile(wheel) as archive:
            members = {member.filename: member for member in archive.infolist()}
            entries = archive.read("quiver-0.1.0.dist-info/entry_points.txt").decode()
            self.assertEqual(archive.read("quiver/_quiver.abi3.so"), b"the engine")
        sources = {str(file.relative_to(PACKAGE)) for file in (PACKAGE / "quiver").rglob("*.py*") if file.suffix in (".py", ".pyi")}
        self.assertEqual(sources - set(members), set())
        self.assertIn("quiver/py.typed", members)
        self.assertEqual(members["quiver-0.1.0.data/data/bin/quiver"].external_attr >> 16 & 0o111, 0o111)
        for entry in ("quiver = quiver.sqlalchemy:QuiverDialect", "quiver.flight = ", "quiver = quiver.superset:QuiverEngineSpec"):
            self.assertIn(entry, entries)

    def test_without_a_build_it_says_what_to_do(self):
        done = self.built()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("run `make build`", done.stdout + done.stderr)

    def test_an_old_setuptools_is_refused_in_one_sentence(self):
        (self.clone / "setuptools.py").write_text("__version__, Distribution, setup = '65.5.0', object, None")
        words, env = [sys.executable, "python/setup.py"], {**os.environ, "PYTHONPATH": str(self.clone)}
        done = subprocess.run(words, cwd=self.clone, env=env, capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"\Asetuptools 77 or a later one makes the wheel, and this is 65\.5\.0: run .*\n\Z")


if __name__ == "__main__":
    unittest.main()
