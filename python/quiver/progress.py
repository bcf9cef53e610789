"""A bar for queries that take long, where somebody is looking: a terminal, or a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from .sources import Look

DELAY_S = 1.0
WIDTH = 30


def is_watched() -> bool:
    # A program without a console has no stderr at all.
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)


@contextmanager
def shown(wanted: bool | None) -> Iterator[Look | None]:
    """What to call with the progress; None where no bar is to be shown."""
    if wanted is False or (wanted is None and not is_watched()):
        yield None
        return
    bar = Bar()
    try:
        yield bar.look
    finally:
        bar.clear()


class Bar:
    def __init__(self) -> None:
        self.started = time.monotonic()
        self.length = 0

    def look(self, rows_scanned: int, rows_total: int) -> None:
        elapsed_s = time.monotonic() - self.started
        if elapsed_s < DELAY_S:
            return
        share = min(rows_scanned / rows_total, 1.0) if rows_total else 0.0
        bar = "#" * round(share * WIDTH)
        text = f"[{bar:<{WIDTH}}] {share:4.0%} of {rows_total:,} rows scanned, {elapsed_s:.0f} s"
        self._write(text.ljust(self.length))
        self.length = len(text)

    def clear(self) -> None:
        if self.length:
            self._write(" " * self.length + "\r")

    def _write(self, text: str) -> None:
        sys.stderr.write("\r" + text)
        sys.stderr.flush()
