"""Files of this machine for a server: pyarrow reads them, and finds out their types in its own way."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from ..errors import NotSupportedError, ProgrammingError
from ..sources import ImportOptions

_FORMATS = {"parquet": "parquet", "pq": "parquet", "csv": "csv", "tsv": "csv", "json": "json", "jsonl": "json", "ndjson": "json"}
_FORMATS |= {"arrow": "ipc", "ipc": "ipc", "feather": "ipc"}


def reader(paths: Sequence[str], options: ImportOptions) -> pa.RecordBatchReader:
    from pyarrow import dataset

    if options.order_by or options.on_error != "abort":
        hint = "make the table with CREATE TABLE … ORDER BY first" if options.order_by else "import without it, or in process"
        what = "order_by" if options.order_by else "on_error"
        raise NotSupportedError(f"{what} is not supported by imports over the network", hint=hint)
    found = [name for path in paths for name in _expanded(path)]
    try:
        return dataset.dataset(found, format=_format(found, options)).scanner().to_reader()
    except (pa.ArrowException, OSError) as error:
        raise ProgrammingError(f"the files cannot be read: {error}") from None


def _expanded(path: str) -> list[str]:
    if Path(path).is_dir():
        names = [str(name) for name in sorted(Path(path).rglob("*")) if name.is_file() and not name.name.startswith(".")]
    else:
        names = sorted(glob.glob(path, recursive=True))
    if not names:
        raise ProgrammingError(f'there is no file "{path}"')
    return names


def _format(found: list[str], options: ImportOptions) -> object:
    from pyarrow import csv, dataset

    suffixes = {Path(name).suffix.lstrip(".").lower() for name in found}
    name = options.format or (suffixes.pop() if len(suffixes) == 1 else "")
    if options.format and name not in _FORMATS:
        raise ProgrammingError(f'"{name}" is not a file format', hint="use parquet, csv, json or arrow")
    if name not in _FORMATS:
        raise ProgrammingError("these files do not say what they are", hint="say it with format=: parquet, csv, json or arrow")
    if _FORMATS[name] != "csv":
        if options.header is not None or options.delimiter or options.null:
            raise ProgrammingError("header, delimiter and null are for CSV")
        return _FORMATS[name]
    parse = csv.ParseOptions(delimiter=options.delimiter or ("\t" if name == "tsv" else ","))
    read = csv.ReadOptions(autogenerate_column_names=options.header is False)
    nulls = ["", *options.null]
    convert = csv.ConvertOptions(null_values=nulls, strings_can_be_null=True, quoted_strings_can_be_null=False)
    return dataset.CsvFileFormat(parse_options=parse, read_options=read, convert_options=convert)
