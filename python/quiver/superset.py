"""The engine specification for Apache Superset, which finds it by the entry point `superset.db_engine_specs`."""

from __future__ import annotations

import re
import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import types
from superset.constants import TimeGrain
from superset.db_engine_specs.base import BaseEngineSpec
from superset.utils.core import GenericDataType

from .errors import Error


class QuiverEngineSpec(BaseEngineSpec):
    engine = "quiver"
    engine_name = "Quiver"
    drivers = {"flight": "Server (Flight SQL)", "embedded": "Store in this process"}
    default_driver = "flight"
    sqlalchemy_uri_placeholder = "quiver+flight://user:password@host:31337?tls_ca=/path/to/ca.pem"

    _time_grain_expressions = {
        None: "{col}",
        TimeGrain.SECOND: "date_trunc('second', {col})",
        TimeGrain.FIVE_SECONDS: "date_bin(INTERVAL '5 second', {col})",
        TimeGrain.THIRTY_SECONDS: "date_bin(INTERVAL '30 second', {col})",
        TimeGrain.MINUTE: "date_trunc('minute', {col})",
        TimeGrain.FIVE_MINUTES: "date_bin(INTERVAL '5 minute', {col})",
        TimeGrain.TEN_MINUTES: "date_bin(INTERVAL '10 minute', {col})",
        TimeGrain.FIFTEEN_MINUTES: "date_bin(INTERVAL '15 minute', {col})",
        TimeGrain.THIRTY_MINUTES: "date_bin(INTERVAL '30 minute', {col})",
        TimeGrain.HOUR: "date_trunc('hour', {col})",
        TimeGrain.SIX_HOURS: "date_bin(INTERVAL '6 hour', {col})",
        TimeGrain.DAY: "date_trunc('day', {col})",
        TimeGrain.WEEK: "date_trunc('week', {col})",
        TimeGrain.WEEK_STARTING_SUNDAY: "date_trunc('week', {col} + INTERVAL '1 day') - INTERVAL '1 day'",
        TimeGrain.MONTH: "date_trunc('month', {col})",
        TimeGrain.QUARTER: "date_trunc('quarter', {col})",
        TimeGrain.YEAR: "date_trunc('year', {col})",
    }

    # Cursors return Arrow's names of types.
    column_type_mappings = (
        (re.compile(r"^(u?int(8|16|32)|tinyint)", re.IGNORECASE), types.Integer(), GenericDataType.NUMERIC),
        (re.compile(r"^u?int64", re.IGNORECASE), types.BigInteger(), GenericDataType.NUMERIC),
        (re.compile(r"^halffloat", re.IGNORECASE), types.Float(), GenericDataType.NUMERIC),
        (re.compile(r"^large_string", re.IGNORECASE), types.String(), GenericDataType.STRING),
    )

    @classmethod
    def epoch_to_dttm(cls) -> str:
        return "to_timestamp_seconds({col})"

    @classmethod
    def convert_dttm(cls, target_type: str, dttm: datetime, db_extra: dict[str, Any] | None = None) -> str | None:
        kind = cls.get_sqla_column_type(target_type)
        if isinstance(kind, types.Date):
            return f"DATE '{dttm.date().isoformat()}'"
        if isinstance(kind, types.DateTime):
            return f"TIMESTAMP '{dttm.isoformat(sep=' ', timespec='microseconds')}'"
        return None

    @classmethod
    def fetch_data(cls, cursor: Any, limit: int | None = None) -> list[tuple[Any, ...]]:
        """Superset fetches rows after statements other than queries, too."""
        return super().fetch_data(cursor, limit) if cursor.description else []

    @classmethod
    def _extract_error_message(cls, ex: Exception) -> str:
        """Includes the hint and the position in the statement, which `ex.message` lacks."""
        cause = getattr(ex, "orig", None) or ex
        return str(cause) if isinstance(cause, Error) else super()._extract_error_message(ex)

    @classmethod
    def get_cancel_query_id(cls, cursor: Any, query: Any) -> str | None:
        """The number of the session: the statement to cancel has no number yet, and will run in the same session."""
        cursor.execute(f"SELECT session_id FROM system.queries WHERE statement LIKE '%{uuid.uuid4().hex}%'")
        row = cursor.fetchone()
        return str(row[0]) if row else None

    @classmethod
    def cancel_query(cls, cursor: Any, query: Any, cancel_query_id: str) -> bool:
        cursor.execute(f"SELECT query_id FROM system.queries WHERE session_id = {int(cancel_query_id)}")
        statements = [row[0] for row in cursor.fetchall()]
        try:
            for statement in statements:
                cursor.execute(f"KILL {statement}")
        except Error:  # it has ended by itself, or its commit has begun
            return False
        return bool(statements)
