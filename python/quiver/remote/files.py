"""Reads files of the client's machine for a server. pyarrow reads them and infers their types in its own way."""

from __future__ import annotations

import glob
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..errors import NotSupportedError, ProgrammingError
from ..sources import ImportOptions

_FORMATS = {"parquet": "parquet", "pq": "parquet", "csv": "csv", "tsv": "csv", "json": "json", "jsonl": "json", "ndjson": "json"}
_FORMATS |= {"arrow": "ipc", "ipc": "ipc", "feather": "ipc"}
_COMPRESSED = {".gz", ".zst"}


def reader(paths: Sequence[str], options: ImportOptions) -> pa.RecordBatchReader:
    from pyarrow import dataset

    if options.order_by or options.on_error != "abort":
        hint = "make the table with CREATE TABLE … ORDER BY first" if options.order_by else "import without it, or in process"
        what = "order_by" if options.order_by else "on_error"
        raise NotSupportedError(f"{what} is not supported by imports over the network", hint=hint)
    if options.types or options.csv:
        what = "types" if options.types else options.csv[0][0]
        raise NotSupportedError(f"{what} is not supported by imports over the network", hint="import in process, or with `quiver import`")
    found = [name for path in paths for name in _expanded(path)]
    name = _name_of_format(found, options)
    try:
        if _FORMATS[name] == "json":
            # A dataset infers the fields from a file's first block, and would drop those that come later.
            return pa.concat_tables(map(_read_json, found), promote_options="permissive").to_reader()
        form = _format(name, options)
        # By default, pyarrow takes the schema of the first file, and drops further columns of others.
        schemas = [dataset.dataset(file, format=form).schema for file in found]
        schema = pa.unify_schemas(schemas, promote_options="permissive")
        rows = dataset.dataset(found, schema, format=form).scanner().to_reader()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise ProgrammingError(f"the files cannot be read: {error}") from None
    return _numbered(rows) if options.header is False else rows


def _expanded(path: str) -> list[str]:
    if Path(path).is_dir():
        names = [str(name) for name in sorted(Path(path).rglob("*")) if name.is_file() and not name.name.startswith(".")]
    else:
        names = sorted(glob.glob(path, recursive=True))
    if not names:
        raise ProgrammingError(f'there is no file "{path}"')
    return names


def _name_of_format(found: list[str], options: ImportOptions) -> str:
    suffixes = {_suffix(name) for name in found}
    name = options.format or (suffixes.pop() if len(suffixes) == 1 else "")
    if options.format and name not in _FORMATS:
        raise ProgrammingError(f'"{name}" is not a file format', hint="use parquet, csv, json or arrow")
    if name not in _FORMATS:
        raise ProgrammingError("these files do not say what they are", hint="say it with format=: parquet, csv, json or arrow")
    if _FORMATS[name] != "csv" and (options.header is not None or options.delimiter or options.null):
        raise ProgrammingError("header, delimiter and null are for CSV")
    return name


def _suffix(name: str) -> str:
    path = Path(name)
    plain = path.with_suffix("") if path.suffix.lower() in _COMPRESSED else path
    return plain.suffix.lstrip(".").lower()


def _format(name: str, options: ImportOptions) -> Any:
    from pyarrow import csv, dataset

    if _FORMATS[name] != "csv":
        return _FORMATS[name]
    parse = csv.ParseOptions(delimiter=options.delimiter or ("\t" if name == "tsv" else ","))
    read = csv.ReadOptions(autogenerate_column_names=options.header is False)
    nulls = ["", *options.null]
    convert = csv.ConvertOptions(null_values=nulls, strings_can_be_null=True, quoted_strings_can_be_null=False)
    return dataset.CsvFileFormat(parse_options=parse, read_options=read, convert_options=convert)


def _numbered(rows: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Names columns without a header as the embedded engine does."""
    names = [f"column{place}" for place in range(len(rows.schema))]
    schema = pa.schema([field.with_name(name) for field, name in zip(rows.schema, names)])

    def renamed() -> Iterator[pa.RecordBatch]:
        for batch in rows:
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, renamed())


def _is_array(name: str) -> bool:
    """Whether a JSON file is one array of objects, which pyarrow cannot read."""
    with pa.input_stream(name, compression="detect") as file:
        while piece := file.read(4096):
            if text := piece.removeprefix(b"\xef\xbb\xbf").lstrip():
                return text.startswith(b"[")
    return False


def _read_json(name: str) -> pa.Table:
    """Reads JSON as one object per line, from which pyarrow infers the types over all lines."""
    from pyarrow import json as lines

    with pa.input_stream(name, compression="detect") as file:
        if not _is_array(name):
            return lines.read_json(file)
        content = "\n".join(json.dumps(row) for row in json.load(file)).encode()
    return lines.read_json(pa.BufferReader(content))
