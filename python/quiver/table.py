"""A table of the store by its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from . import hints, names
from .errors import ProgrammingError
from .objects import Tags
from .result import Result
from .show import ROWS_SHOWN

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars

    from .connection import Connection


# There cannot be more rows.
ROWS_MAX = 2**63 - 1


class Table(hints.Hints):
    """Each method reads the current state of the table. pyarrow, polars, pandas and DuckDB accept it directly, through Arrow's
    PyCapsule interface."""

    _hints = hints.of_members(Result, "table.select()") | hints.TABLE

    def __init__(self, connection: Connection, name: str, schema: str | None = None):
        self._connection = connection
        self.schema_name, self.name = names.split(name, schema)
        kinds = connection._kinds_of(self.name)
        # As in SQL, a temporary table hides a stored one of its name unless a schema is given.
        if self.name == name and schema is None and names.TEMPORARY_SCHEMA in kinds:
            self.schema_name = names.TEMPORARY_SCHEMA
        # The rows of a view have the order of its query.
        self._has_order = kinds.get(self.schema_name) != "VIEW"
        if self.schema_name not in kinds and connection.in_transaction:
            # The engine would give a better error, but fail the transaction.
            raise ProgrammingError(f'table "{self.name}" does not exist', hint="tables() names those of a schema")
        self.schema  # a missing table is an error now  # noqa: B018

    @property
    def kind(self) -> str:
        return "table" if self._has_order else "view"

    @property
    def tags(self) -> Tags:
        """Its tags as a mapping; assignment and `del` change them in the store."""
        return Tags(self._connection, self)

    @property
    def _in_sql(self) -> str:
        return f"{self.kind.upper()} {self._quoted}"

    @property
    def schema(self) -> pa.Schema:
        return self._connection._backend.schema_of(f"SELECT * FROM {self._quoted}")

    @property
    def columns(self) -> list[str]:
        return self.schema.names

    def select(self, columns: str | Sequence[str] | None = None) -> Result:
        """All rows, of all columns or of these. The rows of a table come in their stored order."""
        columns = [columns] if isinstance(columns, str) else columns
        if columns is not None and not columns:
            raise ProgrammingError("no columns were asked for", hint="name some, or leave the list out for all of them")
        column_list = "*" if columns is None else ", ".join(map(names.quoted, columns))
        # With a limit, one thread reads in order; without it, several threads return batches in any order.
        limit = f" LIMIT {ROWS_MAX}" if self._has_order else ""
        query = f"SELECT {column_list} FROM {self._quoted}{limit}"
        # A temporary table has no file.
        is_stored = self.schema_name != names.TEMPORARY_SCHEMA
        mapped = self._connection._backend.mapped(self.schema_name, self.name, columns) if is_stored else None
        return self._connection._sql(query) if mapped is None else Result(self._connection, mapped, query)

    def arrow(self, columns: str | Sequence[str] | None = None, *, views: bool = True) -> pa.Table:
        return self.select(columns).arrow(views=views)

    def df(self, columns: str | Sequence[str] | None = None) -> pandas.DataFrame:
        return self.select(columns).df()

    def pl(self, columns: str | Sequence[str] | None = None) -> polars.DataFrame:
        return self.select(columns).pl()

    def numpy(self, columns: str | Sequence[str] | None = None) -> dict[str, numpy.ndarray]:
        """Like `Result.numpy`: for a table with contiguous rows (up to 131,072), the arrays are views of its file."""
        return self.select(columns).numpy()

    def show(self, rows: int = ROWS_SHOWN) -> None:
        """Prints the first rows."""
        self.select().show(rows)

    def __len__(self) -> int:
        (count,) = self._connection._sql(f"SELECT count(*) FROM {self._quoted}").fetchone() or (0,)
        return count

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(self.select())

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self.select().__arrow_c_stream__(requested_schema)

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        return self.select().__dataframe__(nan_as_null, allow_copy)

    def __repr__(self) -> str:
        return f"<quiver.Table {self.schema_name}.{self.name}>"

    def _repr_html_(self) -> str:
        return self.select()._repr_html_()

    @property
    def _quoted(self) -> str:
        return f"{names.quoted(self.schema_name)}.{names.quoted(self.name)}"
