"""Rendering of results for prompts and notebooks."""

from __future__ import annotations

import shutil
import unicodedata
from html import escape
from typing import TYPE_CHECKING

import pyarrow as pa

from .rows import tuples

if TYPE_CHECKING:
    from .result import Result

ROWS_SHOWN = 20
CHARS_SHOWN = 60


def outcome(result: Result) -> str:
    changed = result.rows_changed
    return "done" if changed is None else f"{changed:,} {'row' if changed == 1 else 'rows'}"


def shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= CHARS_SHOWN else text[: CHARS_SHOWN - 1] + "…"


def _first_rows(result: Result, rows: int) -> tuple[pa.Table, str]:
    """With a line about how many there are."""
    first = result._peek(rows + 1)
    if first.num_rows > rows:
        return first.slice(0, rows), "there are more rows"
    return first, f"{first.num_rows} {'row' if first.num_rows == 1 else 'rows'}"


def html(result: Result) -> str:
    """The first rows as an HTML table, and the number of rows below it."""
    return html_table(*_first_rows(result, ROWS_SHOWN)) if result.is_query else f"<p>{escape(outcome(result))}</p>"


def text(result: Result, rows: int = ROWS_SHOWN) -> str:
    """The first rows as the shell prints them. Columns that do not fit into the terminal are left out in the middle."""
    if not result.is_query:
        return outcome(result)
    table, caption = _first_rows(result, rows)
    lines = [table.column_names, *(["NULL" if value is None else str(value) for value in row] for row in tuples(table))]
    columns = [[shortened(cell) for cell in column] for column in zip(*lines)]
    widths = [max(map(_width, column)) for column in columns]
    shown = _fitting(widths, shutil.get_terminal_size().columns)
    if None in shown:
        caption += f", {len(columns)} columns, of which {len(shown) - 1} are shown"
    boxes = [["…"] * len(lines) if place is None else _aligned(columns[place], widths[place], table.schema[place].type) for place in shown]
    rule = "".join(f"+{'-' * (_width(box[0]) + 2)}" for box in boxes) + "+"
    head, *body = ["".join(f"| {cell} " for cell in line) + "|" for line in zip(*boxes)] or ["|"]
    return "\n".join([rule, head, rule, *body, *([rule] if body else []), f"({caption})"])


def _aligned(column: list[str], width: int, kind: pa.DataType) -> list[str]:
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    blanks = [" " * (width - _width(cell)) for cell in column]
    return [blank + cell if is_number else cell + blank for cell, blank in zip(column, blanks)]


def _fitting(widths: list[int], room: int) -> list[int | None]:
    """The columns that fit: the first and the last ones, and None for those between them that do not."""
    count = len(widths)
    if sum(widths) + 3 * count + 1 <= room or count < 2:
        return list(range(count))
    # One for the border, and 4 for the column of those that are left out.
    room -= 5
    shown: list[int] = []
    for turn in range(count):
        column = count - 1 - turn // 2 if turn % 2 else turn // 2
        room -= widths[column] + 3
        if room < 0 and shown:
            break
        shown.append(column)
    return [*shown[::2], None, *reversed(shown[1::2])]


def _width(cell: str) -> int:
    """In cells of a terminal, where some letters of Asia take two and accents none."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else not unicodedata.combining(letter) for letter in cell)


def html_table(table: pa.Table, caption: str) -> str:
    head = "".join(f"<th>{escape(field.name)}<br><small>{escape(str(field.type))}</small></th>" for field in table.schema)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in tuples(table))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p><small>{escape(caption)}</small></p>"


def _cell(value: object) -> str:
    return "<td><em>NULL</em></td>" if value is None else f"<td>{escape(shortened(str(value)))}</td>"
