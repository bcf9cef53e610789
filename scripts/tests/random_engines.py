"""Both engines with the same tables, and the settings of Quiver, which are to change no answer."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from threading import Timer

import duckdb

sys.path.append(str(Path(__file__).resolve().parents[2] / "python"))
import quiver
from quiver.rows import tuples
from random_answers import Rows
from random_tables import Table, created, filling, tables
from random_tree import Node, fixed

# DuckDB as docs/sql.md says that Quiver is.
AS_QUIVER = ["SET default_null_order='postgres'", "SET integer_division=true", "SET TimeZone='UTC'", "SET threads=1", "SET memory_limit='1GB'",
             "SET order_by_non_integer_literal=true"]  # fmt: skip
BATCH_SIZES, THREADS = [1, 3, 8192], [1, 2, 5]
# A sort merges as many streams as there are batches.
BATCH_SIZES_OF_MANY_ROWS = [64, 8192]
TIMEOUT_MS = 60_000
# More of an answer becomes no rows of Python: a few statements have gigabytes.
ANSWER_MAX_BYTES = 32 << 20
ANSWER_MAX_ROWS = 4 << 20
# What they say is when, where and how much, and not how.
NO_SWITCHES = ["quiver.statement_timeout_ms", "quiver.function_timeout_ms", "quiver.function_memory_bytes"]
Settings = dict[str, str]


class AnswerTooLargeError(Exception):
    pass


class World:
    """Random tables, of a seed: the statements that make them, and both engines in which they are made."""

    def __init__(self, seed: str):
        random = Random(seed)
        self.quiver, self.duckdb, self.directory = opened()
        self.switches = switches(self.in_quiver)
        self.tables: list[Table] = tables(random)
        self.created = {table.name: created(random, table) for table in self.tables}
        self.filled = switched(random, filling(random, self.tables), self.switches)
        self.settings: Settings = {}
        self.is_duckdb_lost = False
        self.cut_places: dict[int, int] = {}
        self.make()

    def make(self) -> None:
        for in_quiver, in_duckdb in self.created.values():
            self.quiver.sql(in_quiver)
            self.duckdb.execute(in_duckdb)
        for statement, is_for_both in self.filled:
            self.quiver.sql(str(statement))
            if is_for_both:
                self.duckdb.execute(str(statement))

    def with_less(self, created: dict[str, tuple[str, str]], filled: list[tuple[Node, bool]], settings: Settings) -> World:
        """The same, of fewer statements and settings."""
        other = object.__new__(World)
        other.tables, other.switches, other.created, other.filled = self.tables, self.switches, created, filled
        other.quiver, other.duckdb, other.directory = opened()
        other.settings, other.is_duckdb_lost, other.cut_places = {}, False, {}
        other.make()
        other.set(settings)
        return other

    def set(self, settings: Settings) -> None:
        for name, value in settings.items():
            if self.settings.get(name) != value:
                self.quiver.sql(f"SET {name} = {value}")
        self.settings = dict(settings)

    def in_quiver(self, sql: str) -> Rows:
        return rows_of(self.quiver.sql(sql))

    def in_turn(self, statements: list[str]) -> Rows:
        """The answer of one, or of the EXECUTE between a PREPARE and a DEALLOCATE; of one that changes rows their number, as DuckDB says it."""
        first, *after = statements
        result = self.quiver.sql(first)
        try:
            for statement in after[:1]:
                result = self.quiver.sql(statement)
            return rows_of(result) if result.is_query else [(result.rows_changed,)]
        finally:
            with suppress(quiver.Error):
                for statement in after[1:]:
                    self.quiver.sql(statement)

    def forget(self, table: str) -> None:
        """A copy of a table, the transaction in which it was changed, and what that kept from being dropped."""
        for engine in (self.quiver.sql, self.duckdb.execute):
            for statement in ("ROLLBACK", "DEALLOCATE p"):
                with suppress(quiver.Error, duckdb.Error):
                    engine(statement)
            engine(f"DROP TABLE IF EXISTS {table}")

    def in_duckdb(self, sql: str) -> Rows:
        timeout = Timer(TIMEOUT_MS / 1000, self.duckdb.interrupt)
        timeout.start()
        try:
            rows, result = [], self.duckdb.execute(sql)
            self.cut_places = cut_places(result.description)
            while more := result.fetchmany(10_000):
                rows += more
                if len(rows) > ANSWER_MAX_ROWS:
                    raise AnswerTooLargeError
            return rows
        except (duckdb.FatalException, duckdb.InternalException):
            # It answers nothing more.
            self.is_duckdb_lost = True
            raise
        finally:
            timeout.cancel()

    def script(self) -> list[str]:
        """In the words of Quiver; CHECKPOINT and ORDER BY of a table are nothing for DuckDB."""
        return [
            *(f"SET {name} = {value}" for name, value in self.settings.items()),
            *(in_quiver for in_quiver, _ in self.created.values()),
            *(str(statement) for statement, _ in self.filled),
        ]

    def close(self) -> None:
        self.quiver.close()
        self.duckdb.close()
        self.directory.cleanup()


def cut_places(description: list[tuple]) -> dict[int, int]:
    """The places behind the point of DuckDB's decimals of 38 digits: where a number would need more, it has fewer of them than Quiver."""
    types = [re.fullmatch(r"DECIMAL\(38,(\d+)\)", str(column[1])) for column in description]
    return {number: int(places[1]) for number, places in enumerate(types) if places}


def rows_of(result: quiver.Result) -> Rows:
    if not result.is_query:
        return result.fetchall()
    batches, size_bytes = [], 0
    # Some statements have more rows than the memory of the machine can take.
    for batch in result:
        size_bytes += batch.nbytes
        if size_bytes > ANSWER_MAX_BYTES:
            result.close()
            raise AnswerTooLargeError
        batches.append(batch)
    return [row for batch in batches for row in tuples(batch)]


def opened() -> tuple[quiver.Connection, duckdb.DuckDBPyConnection, tempfile.TemporaryDirectory]:
    directory = tempfile.TemporaryDirectory(prefix="quiver-random-", ignore_cleanup_errors=True)
    beside = duckdb.connect()
    for statement in AS_QUIVER:
        beside.execute(statement)
    return quiver.open(f"{directory.name}/store"), beside, directory


def switches(sql: Callable[[str], Rows]) -> dict[str, list[str]]:
    """Every `quiver.*` setting that the product names, with the values that it may have; one without known values is an error."""
    known = {}
    for name, value, description in sql("SELECT name, value, description FROM system.settings WHERE name LIKE 'quiver.%' ORDER BY name"):
        if name in NO_SWITCHES:
            continue
        values = ["true", "false"] if value in ("true", "false") else [f"'{word}'" for word in re.findall(r"`(\w+)`", description)]
        if len(values) < 2:
            raise AssertionError(f"the setting {name} = {value} names no values in its description: {description}")
        known[name] = values
    if not known:
        raise AssertionError("system.settings has no quiver.* settings")
    return known


def chosen(random: Random, known: dict[str, list[str]], batch_sizes: list[int]) -> Settings:
    """All of them, so that they do not depend on the statements before."""
    settings = {"batch_size": str(random.choice(batch_sizes)), "threads": str(random.choice(THREADS))}
    settings["quiver.statement_timeout_ms"] = str(TIMEOUT_MS)
    for name, values in known.items():
        settings[name] = random.choice(values) if random.random() < 0.5 else values[0]
    return settings


def switched(random: Random, filled: list[tuple[Node, bool]], known: dict[str, list[str]]) -> list[tuple[Node, bool]]:
    """With all switches set before the first statement, and one before each other: some have their effect where rows are written."""
    made = [(fixed(f"SET {name} = {value}"), False) for name, value in chosen(random, known, BATCH_SIZES_OF_MANY_ROWS).items()]
    for statement in filled:
        name = random.choice(list(known))
        made += [statement, (fixed(f"SET {name} = {random.choice(known[name])}"), False)]
    return made
