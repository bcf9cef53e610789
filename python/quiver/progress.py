"""A progress bar for long queries, in a terminal or a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from .sources import ProgressCallback

DELAY_S = 1.0
WIDTH = 30


def is_interactive() -> bool:
    # A program without a console has no stderr at all.
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)


@contextmanager
def progress_bar(is_wanted: bool | None) -> Iterator[ProgressCallback | None]:
    """The callback for the progress; None if no bar is shown."""
    if is_wanted is False or (is_wanted is None and not is_interactive()):
        yield None
        return
    bar = Bar()
    try:
        yield bar.update
    finally:
        bar.clear()


class Bar:
    def __init__(self) -> None:
        self.started = time.monotonic()
        self.text = ""

    def update(self, rows_scanned: int, rows_total: int) -> None:
        elapsed_s = time.monotonic() - self.started
        if elapsed_s < DELAY_S:
            return
        text = f"{_progress_text(rows_scanned, rows_total)}{elapsed_s:.0f} s"
        # A notebook that is run as a file keeps every text that was written.
        if text != self.text:
            self._write(text.ljust(len(self.text)))
            self.text = text

    def clear(self) -> None:
        if self.text:
            self._write(" " * len(self.text) + "\r")

    def _write(self, text: str) -> None:
        sys.stderr.write("\r" + text)
        sys.stderr.flush()


def _progress_text(rows_scanned: int, rows_total: int) -> str:
    """A query that reads no table, such as a series of numbers, has no rows to scan."""
    if not rows_total:
        return f"{rows_scanned:,} rows scanned, " if rows_scanned else "running, "
    share = min(rows_scanned / rows_total, 1.0)
    bar = "#" * round(share * WIDTH)
    return f"[{bar:<{WIDTH}}] {share:4.0%} of {rows_total:,} rows scanned, "
