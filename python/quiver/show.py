"""Rendering of results for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .rows import tuples

if TYPE_CHECKING:
    import pyarrow as pa

    from .result import Result

ROWS_SHOWN = 20
CHARS_SHOWN = 60


def outcome(result: Result) -> str:
    changed = result.rows_changed
    return "done" if changed is None else f"{changed:,} {'row' if changed == 1 else 'rows'}"


def shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= CHARS_SHOWN else text[: CHARS_SHOWN - 1] + "…"


def html(result: Result) -> str:
    """The first rows as an HTML table, and the number of rows below it."""
    if not result.is_query:
        return f"<p>{escape(outcome(result))}</p>"
    first = result._peek(ROWS_SHOWN + 1)
    more = first.num_rows > ROWS_SHOWN
    return html_table(first.slice(0, ROWS_SHOWN), "there are more rows" if more else f"{first.num_rows} rows")


def html_table(table: pa.Table, caption: str) -> str:
    head = "".join(f"<th>{escape(field.name)}<br><small>{escape(str(field.type))}</small></th>" for field in table.schema)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in tuples(table))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p><small>{escape(caption)}</small></p>"


def _cell(value: object) -> str:
    return "<td><em>NULL</em></td>" if value is None else f"<td>{escape(shortened(str(value)))}</td>"
