"""Statistics of a statement: the report that `quiver --footer` shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Stats:
    """The current values. They are final once all rows were read."""

    bytes_touched: int = 0
    """Bytes of the tables that were read in place."""
    node_bytes_touched: int = 0
    """The same on other nodes whose tables the statement reads. It is known when their parts of the plan have ended."""
    bytes_returned: int = 0
    """Bytes that left the engine."""
    rows_returned: int = 0
    rows_scanned: int = 0
    rows_total: int = 0
    segments_total: int = 0
    segments_pruned: int = 0
    zones_total: int = 0
    zones_pruned: int = 0
    precopied_bytes: int = 0
    """Bytes that kernels copied into memory before reading them several times, as the setting ``precopy`` demands."""
    reread_bytes: int = 0
    """Bytes that kernels read several times in place."""
    placed_bytes: int = 0
    """Bytes of a result that were computed directly in the files of the table that stores it."""
    staleness_ms: int = 0
    """How long ago the oldest version that was read, as the setting ``consistency`` allows, was followed by a newer one."""
    spilled_bytes: int = 0
    peak_memory_bytes: int = 0
    planning_ms: float = 0.0
    elapsed_ms: float = 0.0

    @classmethod
    def of(cls, report: Mapping[str, float]) -> Stats:
        """Ignores fields that a newer server adds."""
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in report.items() if name in names})  # type: ignore[arg-type]

    def __str__(self) -> str:
        touched, returned = shown_bytes(self.bytes_touched), shown_bytes(self.bytes_returned)
        text = f"touched {touched} in place, "
        if self.node_bytes_touched:
            text += f"{shown_bytes(self.node_bytes_touched)} on other nodes, "
        text += f"returned {returned}, {self.zones_pruned} of {self.zones_total} zones pruned"
        if self.precopied_bytes:
            text += f", precopied {shown_bytes(self.precopied_bytes)}"
        if self.reread_bytes:
            text += f", reread {shown_bytes(self.reread_bytes)} in place"
        if self.placed_bytes:
            text += f", made {shown_bytes(self.placed_bytes)} in place"
        if self.staleness_ms:
            text += f", a version that is {self.staleness_ms / 1e3:.1f} s old"
        return text


def shown_bytes(count: float) -> str:
    """A size in readable form: powers of 1000, three digits."""
    units = ["B", "kB", "MB", "GB", "TB", "PB"]
    while count >= 999.5 and len(units) > 1:
        count /= 1000
        units.pop(0)
    decimals = 0 if units[0] == "B" or count >= 99.95 else 1 if count >= 9.995 else 2
    return f"{count:.{decimals}f} {units[0]}"
