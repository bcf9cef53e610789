"""A wheel of what `make build` has compiled: it compiles nothing."""

import sys
import tempfile
from pathlib import Path

from setuptools import Distribution, __version__, setup

HERE = Path(__file__).resolve().parent
ENGINE, PROGRAM = HERE / "quiver" / "_quiver.abi3.so", HERE.parent / "bin" / "quiver"


class OfThisPlatform(Distribution):
    """The extension is there already, so setuptools sees none."""

    def has_ext_modules(self):
        return True


# pip installs it, but not with --no-build-isolation. An older one shows its whole schema of pyproject.toml.
if int(__version__.split(".")[0]) < 77:
    sys.exit(f"setuptools 77 or a later one makes the wheel, and this is {__version__}: run `pip install -U setuptools` first")

if missing := [str(path) for path in (ENGINE, PROGRAM) if not path.exists()]:
    sys.exit(f"{' and '.join(missing)} not found: run `make build` in {HERE.parent} first")

# Not beside the sources: what an earlier version had would get into the wheel.
with tempfile.TemporaryDirectory(prefix="quiver-wheel-") as directory:
    setup(
        distclass=OfThisPlatform,
        data_files=[("bin", ["../bin/quiver"])],
        options={
            # The stable interface of Python 3.10, for which the engine is compiled.
            "bdist_wheel": {"py_limited_api": "cp310"},
            "build": {"build_base": directory},
            "egg_info": {"egg_base": directory},
        },
    )
