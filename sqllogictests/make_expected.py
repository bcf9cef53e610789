#!/usr/bin/env python3
"""Checks the expectations in slt/*.slt against DuckDB, or writes them from it.

    make_expected.py                  check every file; exit status 1 if anything is unexplained
    make_expected.py --write          write types and rows of every record without a note from DuckDB
    make_expected.py --quiver BIN     also run every record through the `quiver` binary; with
                                      --write, records that have a note and no rows get Quiver's
    make_expected.py joins nan        only files whose name contains one of these words

The format of values, and the two comment lines this script understands, are in README.md.
Needs: pip install duckdb==2.0.0 pyarrow
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

SLT_DIR = Path(__file__).resolve().parent / "slt"
NOTE = re.compile(r"#\s*differs from DuckDB:\s*(.*)")
ALTERNATIVE = re.compile(r"#\s*duckdb:\s?(.*)")


# ---------------------------------------------------------------- the file format


@dataclass
class Record:
    """One `statement` or `query`; `head` and `tail` are the line numbers it spans in the file."""

    line: int
    kind: str  # "statement" | "query"
    words: list[str]  # what follows the kind on its line
    sql: str
    rows: list[str] | None  # None: no `----` in the file
    head: int  # index of the `statement`/`query` line
    tail: int  # index after the last line of the record
    comments: list[str] = field(default_factory=list)
    conditions: list[tuple[str, str]] = field(default_factory=list)

    @property
    def note(self) -> str | None:
        for comment in self.comments:
            if found := NOTE.match(comment):
                return found.group(1)
        return None

    @property
    def duckdb_sql(self) -> str:
        lines = [m.group(1) for c in self.comments if (m := ALTERNATIVE.match(c))]
        return "\n".join(lines) if lines else self.sql

    @property
    def expects_error(self) -> bool:
        return bool(self.words) and self.words[0] == "error"

    @property
    def types(self) -> str:
        return self.words[0] if self.words else ""

    @property
    def sort(self) -> str:
        return self.words[1] if len(self.words) > 1 else "nosort"

    def runs_on(self, engine: str) -> bool:
        only = all(label == engine for kind, label in self.conditions if kind == "onlyif")
        return only and ("skipif", engine) not in self.conditions


def parse(lines: list[str]) -> list[Record]:
    records, comments, conditions, i = [], [], [], 0
    while i < len(lines):
        line = lines[i]
        words = line.split()
        if line.startswith("#"):
            comments.append(line)
        elif not words:
            comments = []
        elif words[0] in ("onlyif", "skipif"):
            conditions.append((words[0], words[1]))
        elif words[0] in ("statement", "query"):
            head, i = i, i + 1
            sql = []
            while i < len(lines) and lines[i] not in ("", "----"):
                sql.append(lines[i])
                i += 1
            rows = None
            if i < len(lines) and lines[i] == "----":
                rows, i = [], i + 1
                while i < len(lines) and lines[i] != "":
                    rows.append(lines[i])
                    i += 1
            records.append(Record(head + 1, words[0], words[1:], "\n".join(sql), rows, head, i, comments, conditions))
            comments, conditions = [], []
            continue
        else:
            raise SystemExit(f"line {i + 1}: not understood: {line!r}")
        i += 1
    return records


# ---------------------------------------------------------------- values as text (README.md)


def show_float(value: float, digits: int) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    exponent = int(exponent)
    sign = "-" if mantissa.startswith("-") else ""
    figures = mantissa.lstrip("-").replace(".", "").rstrip("0")
    if not figures:
        return sign + "0"
    if not -5 <= exponent < 15:
        tail = "." + figures[1:] if len(figures) > 1 else ""
        return f"{sign}{figures[0]}{tail}e{exponent}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{figures}"
    whole = figures[: exponent + 1].ljust(exponent + 1, "0")
    fraction = figures[exponent + 1 :]
    return sign + whole + ("." + fraction if fraction else "")


def show_fraction(ticks: int, per_second: int) -> str:
    if ticks == 0:
        return ""
    width = len(str(per_second)) - 1
    return "." + str(ticks).rjust(width, "0").rstrip("0")


def show_clock(ticks: int, per_second: int) -> str:
    seconds, rest = divmod(ticks, per_second)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return clock + show_fraction(rest, per_second)


def show_span(months: int, days: int, nanos: int) -> str:
    parts = [f"{months} months"] if months else []
    parts += [f"{days} days"] if days else []
    if nanos or not parts:
        parts.append(("-" if nanos < 0 else "") + show_clock(abs(nanos), 10**9))
    return " ".join(parts)


def show_date(days: int) -> str:
    """Days since 1970-01-01 as an ISO date; years before 1 and after 9999 included."""
    # Howard Hinnant's civil_from_days, as in the Rust runner: datetime.date ends at 9999.
    era, doe = divmod(days + 719_468, 146_097)
    yoe = (doe - doe // 1460 + doe // 36_524 - doe // 146_096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    month_index = (5 * doy + 2) // 153
    day = doy - (153 * month_index + 2) // 5 + 1
    month = month_index + 3 if month_index < 10 else month_index - 9
    year = yoe + era * 400 + (1 if month <= 2 else 0)
    return f"{'-' if year < 0 else ''}{abs(year):04}-{month:02}-{day:02}"


PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def show_text(text: str) -> str:
    if text == "":
        return "(empty)"
    for char, escape in (("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"), ("\0", "\\0")):
        text = text.replace(char, escape)
    return text


def show(scalar) -> str:
    """One Arrow scalar as the canonical text."""
    import pyarrow as pa

    kind = scalar.type
    t = pa.types
    if not scalar.is_valid or t.is_null(kind):
        return "NULL"
    if t.is_boolean(kind):
        return "true" if scalar.as_py() else "false"
    if t.is_integer(kind):
        return str(scalar.as_py())
    if t.is_floating(kind):
        return show_float(scalar.as_py(), 12 if t.is_float64(kind) else 6)
    if t.is_decimal(kind):
        return f"{scalar.as_py():f}"
    if t.is_date(kind):
        return show_date(scalar.value if t.is_date32(kind) else scalar.value // 86_400_000)
    if t.is_time(kind):
        return show_clock(scalar.value, PER_SECOND[kind.unit])
    if t.is_timestamp(kind):
        per_second = PER_SECOND[kind.unit]
        days, rest = divmod(scalar.value, 86_400 * per_second)
        return f"{show_date(days)}T{show_clock(rest, per_second)}{'Z' if kind.tz else ''}"
    if t.is_duration(kind):
        return show_span(0, 0, scalar.value * (10**9 // PER_SECOND[kind.unit]))
    if t.is_interval(kind):
        span = scalar.as_py()
        return show_span(span.months, span.days, span.nanoseconds)
    if t.is_binary(kind) or t.is_large_binary(kind) or t.is_binary_view(kind) or t.is_fixed_size_binary(kind):
        return "\\x" + scalar.as_py().hex()
    if t.is_map(kind):
        entries = scalar.values  # a struct array of key and value
        pairs = [f"{show(e['key'])}={show(e['value'])}" for e in map(as_struct, entries)] if entries is not None else []
        return "{" + ", ".join(pairs) + "}"
    if t.is_struct(kind):
        return "{" + ", ".join(f"{f.name}: {show(scalar[i])}" for i, f in enumerate(kind)) + "}"
    if hasattr(scalar, "values"):  # every flavour of list
        return "[" + ", ".join(show(item) for item in scalar.values) + "]"
    return show_text(str(scalar.as_py()))


def as_struct(entry) -> dict:
    return {"key": entry[0], "value": entry[1]}


def type_letter(kind) -> str:
    import pyarrow as pa

    t = pa.types
    if t.is_boolean(kind):
        return "B"
    if t.is_integer(kind):
        return "I"
    if t.is_floating(kind) or t.is_decimal(kind):
        return "R"
    if t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind):
        return "T"
    if t.is_date(kind) or t.is_time(kind):
        return "D"
    return "P" if t.is_timestamp(kind) else "?"


# ---------------------------------------------------------------- the engines


@dataclass
class Answer:
    types: str = ""
    rows: list[list[str]] = field(default_factory=list)
    error: str | None = None

    def lines(self, sort: str) -> list[str]:
        rows = self.rows
        if sort == "rowsort":
            rows = sorted(rows, key=lambda row: [v.encode() for v in row])
        elif sort == "valuesort":
            rows = sorted(([v] for row in rows for v in row), key=lambda row: row[0].encode())
        return [" ".join(row) for row in rows]


def from_arrow(table, hugeint_columns=()) -> Answer:
    types = "".join("I" if i in hugeint_columns else type_letter(f.type) for i, f in enumerate(table.schema))
    columns = [[show(scalar) for scalar in column] for column in table.columns]
    return Answer(types, [list(row) for row in zip(*columns)])


class DuckDb:
    name = "duckdb"

    def __init__(self):
        import duckdb

        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'")

    def run(self, record: Record) -> Answer:
        try:
            self.connection.execute(record.duckdb_sql)
            described = self.connection.description or []
            # Sums of integers are HUGEINT, which Arrow can only carry as DECIMAL(38, 0).
            huge = [i for i, d in enumerate(described) if str(d[1]) in ("HUGEINT", "UHUGEINT")]
            return from_arrow(self.connection.to_arrow_table(), huge)
        except Exception as error:  # noqa: BLE001 - whatever DuckDB says is the answer
            return Answer(error=str(error))


class Quiver:
    name = "quiver"

    def __init__(self, binary: str):
        self.binary, self.directory = binary, tempfile.TemporaryDirectory(prefix="quiver-slt-")

    def run(self, record: Record) -> Answer:
        import pyarrow as pa

        out = Path(self.directory.name) / "out.arrow"
        out.unlink(missing_ok=True)
        command = [self.binary, "--store", f"{self.directory.name}/store", "--format", "arrow", "-o", str(out)]
        done = subprocess.run([*command, "-c", record.sql], capture_output=True, text=True)
        if done.returncode != 0:
            return Answer(error=done.stderr.strip())
        if record.kind == "statement" or not out.exists():
            return Answer()
        data = out.read_bytes()
        if data.startswith(b"ARROW1"):
            return from_arrow(pa.ipc.open_file(data).read_all())
        return from_arrow(pa.ipc.open_stream(data).read_all())


# ---------------------------------------------------------------- comparing


def same_types(left: str, right: str) -> bool:
    # `?` is every type without a letter (and an untyped NULL): it says nothing to disagree with.
    return len(left) == len(right) and all(a == b or "?" in (a, b) for a, b in zip(left, right))


def difference(record: Record, answer: Answer) -> str | None:
    """Why `answer` is not what the file expects, or None."""
    if record.expects_error:
        return None if answer.error else "succeeds, an error is expected"
    if answer.error:
        return f"fails: {answer.error.splitlines()[0]}"
    if record.kind == "statement":
        count = record.words[1] if record.words[0] == "count" else None
        got = answer.rows[0][0] if answer.rows else None
        return None if count is None or got is None or count == got else f"counts {got} rows, expected {count}"
    if not same_types(answer.types, record.types):
        return f"has types {answer.types}, expected {record.types}"
    got, want = answer.lines(record.sort), record.rows or []
    if got == want:
        return None
    return "answers\n      " + "\n      ".join(got or ["(no rows)"]) + "\n    expected\n      " + "\n      ".join(want or ["(no rows)"])


def judge_duckdb(record: Record, engine: DuckDb) -> str | None:
    if not record.runs_on(engine.name):
        return None if record.note else "is not run on DuckDB, and no comment says why"
    if not record.runs_on("quiver"):
        answer = engine.run(record)  # preparation for DuckDB only
        return answer.error
    found = difference(record, engine.run(record))
    if found and not record.note:
        return f"DuckDB {found}\n    and no `# differs from DuckDB:` line above it says why"
    if record.note and not found:
        return "DuckDB agrees: the `# differs from DuckDB:` line is stale"
    return None


def expectation(record: Record, answer: Answer) -> list[str]:
    head = ["query", answer.types, *([record.sort] if record.sort != "nosort" else [])]
    return [" ".join(head), *record.sql.splitlines(), "----", *answer.lines(record.sort)]


def rewrite(path: Path, changes: dict[int, tuple[Record, list[str]]]) -> None:
    lines = path.read_text(encoding="utf-8").split("\n")
    for record, text in sorted(changes.values(), key=lambda change: -change[0].head):
        lines[record.head : record.tail] = text
    path.write_text("\n".join(lines), encoding="utf-8")


def is_writable(record: Record) -> bool:
    return record.kind == "query" and not record.expects_error


def write_file(path: Path, engine) -> list[str]:
    """DuckDB fills records without a note; another engine fills noted records that have no rows."""
    changes, problems = {}, []
    for record in parse(path.read_text(encoding="utf-8").split("\n")):
        if not record.runs_on(engine.name):
            continue
        answer = engine.run(record)
        mine = not record.note if engine.name == "duckdb" else bool(record.note and record.rows is None)
        if not (mine and is_writable(record)):
            continue
        if answer.error:
            problems.append(f"{path.name}:{record.line}: {engine.name} fails: {answer.error.splitlines()[0]}")
        else:
            changes[record.line] = (record, expectation(record, answer))
    rewrite(path, changes)
    return problems


def check_file(path: Path, quiver: Quiver | None) -> tuple[int, int, list[str]]:
    problems, noted = [], 0
    records = parse(path.read_text(encoding="utf-8").split("\n"))
    duckdb = DuckDb()
    for record in records:
        noted += record.note is not None
        if record.expects_error is False and record.kind == "query" and record.rows is None:
            problems.append(f"{path.name}:{record.line}: has no expectation yet: run with --write")
        if problem := judge_duckdb(record, duckdb):
            problems.append(f"{path.name}:{record.line}: {problem}")
        if quiver and record.runs_on("quiver") and (found := difference(record, quiver.run(record))):
            problems.append(f"{path.name}:{record.line}: Quiver {found}")
    return len(records), noted, problems


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--write", action="store_true")
    options.add_argument("--quiver", metavar="BIN")
    options.add_argument("words", nargs="*")
    chosen = options.parse_args()
    chosen.quiver = chosen.quiver and os.path.abspath(chosen.quiver)
    # As the tests run: the paths of files in statements are relative.
    os.chdir(SLT_DIR.parent)
    paths = [p for p in sorted(SLT_DIR.glob("*.slt")) if not chosen.words or any(w in p.stem for w in chosen.words)]
    records, noted, problems = 0, 0, []
    for path in paths:
        if chosen.write:
            problems += write_file(path, DuckDb())
            problems += write_file(path, Quiver(chosen.quiver)) if chosen.quiver else []
        counts = check_file(path, Quiver(chosen.quiver) if chosen.quiver else None)
        records, noted = records + counts[0], noted + counts[1]
        problems += counts[2]
    print("\n".join(problems))
    print(f"{len(paths)} files, {records} records, {noted} differ from DuckDB as their comments say, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    sys.exit(main())
