"""SQL as a tree of pieces, so that a statement that fails can be made smaller: each piece knows what may take its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

PLACEHOLDER = re.compile(r"\{([A-Z]+)\}")
CONSTANTS = {
    "INT": ["NULL", "1"], "DBL": ["NULL", "1e0"], "DEC": ["NULL", "CAST('1.00' AS DECIMAL(12,2))"], "STR": ["NULL", "'a'"],
    "DATE": ["NULL", "DATE '2020-01-01'"], "TS": ["NULL"], "BOOL": ["true", "false", "NULL"], "IVL": ["NULL", "INTERVAL '1' DAY"],
    "LIST": ["NULL", "[1]"], "REC": ["NULL"], "TZ": ["NULL"], "CLOCK": ["NULL"], "MAP": ["NULL"], "DBLS": ["NULL", "[1e0]"], "NEST": ["NULL", "[]"],
}  # fmt: skip


class Node:
    """`kind` is the type of an expression, "query", "relation", "list" (of which items may go), "optional", or "fixed"."""

    def __init__(self, kind: str, *parts: Node | str, separator: str = "", least: int = 1):
        self.kind, self.parts, self.separator, self.least = kind, list(parts), separator, least

    def __str__(self) -> str:
        return self.separator.join(map(str, self.parts))

    def nodes(self) -> Iterator[Node]:
        yield self
        for part in self.parts:
            if isinstance(part, Node):
                yield from part.nodes()


def fixed(*parts: Node | str) -> Node:
    return Node("fixed", *parts)


def optional(*parts: Node | str) -> Node:
    return Node("optional", *parts)


def listed(parts: list, separator: str = ", ", least: int = 1) -> Node:
    return Node("list", *parts, separator=separator, least=least)


def filled(kind: str, template: str, make: Callable[[str], Node | str]) -> Node:
    """The template with what `make` gives for each {KIND} in it."""
    parts: list[Node | str] = []
    for at, text in enumerate(PLACEHOLDER.split(template)):
        if at % 2:
            parts.append(make(text))
        elif text:
            parts.append(text)
    return Node(kind, *parts)


def smaller(node: Node) -> Iterator[list[Node | str]]:
    """Other parts for a node, each of which makes its text shorter or plainer."""
    count = len(node.parts)
    if node.kind == "optional" and count:
        yield []
    if node.kind == "list":
        if count >= 8:
            yield from (parts for parts in (node.parts[: count // 2], node.parts[count // 2 :]) if len(parts) >= node.least)
        if count > node.least:
            yield from (node.parts[:at] + node.parts[at + 1 :] for at in range(count - 1, -1, -1))
    if node.kind in CONSTANTS:
        yield from ([constant] for constant in CONSTANTS[node.kind] if len(constant) < len(str(node)))
    if node.kind in CONSTANTS or node.kind in ("query", "relation"):
        yield from (list(inner.parts) for inner in node.nodes() if inner is not node and inner.kind == node.kind)


def reduced(root: Node, still_fails: Callable[[], bool], attempts: int) -> int:
    """Makes the tree smaller in place for as long as it still fails; the attempts that are left."""
    progress = True
    while progress and attempts > 0:
        progress = False
        for node in list(root.nodes()):
            before = node.parts
            for parts in smaller(node):
                if attempts <= 0:
                    return 0
                attempts -= 1
                node.parts = parts
                if still_fails():
                    progress = True
                    break
                node.parts = before
            if progress:
                break
    return attempts
