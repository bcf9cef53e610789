"""A table of the store by its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from . import names
from .errors import ProgrammingError
from .result import Result

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars

    from .connection import Connection


# More there are not.
ROWS_MAX = 2**63 - 1


class Table:
    """Each question reads the table as it is then. pyarrow, polars, pandas and DuckDB take it as it is, by Arrow's
    PyCapsule interface."""

    def __init__(self, connection: Connection, name: str, schema: str | None = None):
        self._connection = connection
        self.schema_name, self.name = names.split(name, schema)
        kinds = connection._kinds_of(self.name)
        # As in SQL: a volatile table hides a stored one of its name, where no schema is said.
        if self.name == name and schema is None and names.VOLATILE_SCHEMA in kinds:
            self.schema_name = names.VOLATILE_SCHEMA
        # The rows of a view come as its query makes them.
        self._has_order = kinds.get(self.schema_name) != "VIEW"
        if self.schema_name not in kinds and connection.in_transaction:
            # The engine would know what was meant, and fail the transaction.
            raise ProgrammingError(f'table "{self.name}" does not exist', hint="tables() names those of a schema")
        self.schema  # a table that is not there is an error now  # noqa: B018

    @property
    def schema(self) -> pa.Schema:
        return self._connection._backend.schema_of(f"SELECT * FROM {self._quoted}")

    @property
    def columns(self) -> list[str]:
        return self.schema.names

    def select(self, columns: str | Sequence[str] | None = None) -> Result:
        """All rows, of all columns or of these; those of a table in the order in which they lie."""
        columns = [columns] if isinstance(columns, str) else columns
        if columns is not None and not columns:
            raise ProgrammingError("no columns were asked for", hint="name some, or leave the list out for all of them")
        wanted = "*" if columns is None else ", ".join(map(names.quoted, columns))
        # With a limit one thread reads, from the first row on; without it several do, and hand over what they have.
        limit = f" LIMIT {ROWS_MAX}" if self._has_order else ""
        query = f"SELECT {wanted} FROM {self._quoted}{limit}"
        # A volatile table lies in no file.
        is_stored = self.schema_name != names.VOLATILE_SCHEMA
        mapped = self._connection._backend.mapped(self.schema_name, self.name, columns) if is_stored else None
        return self._connection.sql(query) if mapped is None else Result(self._connection, mapped, query)

    def arrow(self, columns: str | Sequence[str] | None = None, *, views: bool = True) -> pa.Table:
        return self.select(columns).arrow(views=views)

    def df(self, columns: str | Sequence[str] | None = None) -> pandas.DataFrame:
        return self.select(columns).df()

    def pl(self, columns: str | Sequence[str] | None = None) -> polars.DataFrame:
        return self.select(columns).pl()

    def numpy(self, columns: str | Sequence[str] | None = None) -> dict[str, numpy.ndarray]:
        """As `Result.numpy`: a table whose rows lie in one piece (up to 131,072) is a view of its file."""
        return self.select(columns).numpy()

    def __len__(self) -> int:
        (count,) = self._connection.sql(f"SELECT count(*) FROM {self._quoted}").fetchone() or (0,)
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
