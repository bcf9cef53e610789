"""Arrays of a file, whatever its format, before they are in a store."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

# The tag of arrays and groups whose attributes are not tags yet: since when that is so.
PENDING = "tags_pending_since"


@dataclass
class FileArray:
    """One array of a file, of which nothing was read yet."""

    # With the groups around it: `a/b/temp`.
    path: str
    shape: tuple[int, ...]
    dtype: numpy.dtype
    # Reads a region, which is given as slices.
    read: Callable[[tuple[slice, ...]], Any]
    dims: tuple[str, ...] | None = None
    # Whether a dimension grows.
    growing: tuple[bool, ...] = ()
    chunks: tuple[int, ...] | None = None
    fill: Any = None
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class FileGroup:
    """A group of a file; the path of the whole file is empty."""

    path: str
    attributes: Mapping[str, Any]


Listing = Iterator[FileArray | FileGroup]


def tags_of(attributes: Mapping[str, Any], skipped: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Attributes as tags: numbers, texts, booleans, times, and lists of one of these. Others cannot be tags, and are left out, as are
    integers of more than 64 bits with a sign."""
    values = {str(name): _tag(value) for name, value in attributes.items() if str(name) not in skipped}
    return {name: value for name, value in values.items() if value is not None}


def attributes_of(tags: Mapping[str, Any]) -> dict[str, Any]:
    """Tags as attributes of a file: times, for which no format has a type, as ISO 8601 has them."""
    of_file = {name: value for name, value in tags.items() if name != PENDING}
    return {name: value.isoformat() if isinstance(value, datetime.datetime) else value for name, value in of_file.items()}


def _tag(value: Any) -> Any:
    import numpy

    if isinstance(value, numpy.ndarray):
        if value.dtype.kind not in "biufSUO" or value.ndim > 1:
            return None
        value = value.tolist()
    if isinstance(value, numpy.generic):
        value = value.item()
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (list, tuple)):
        parts = [_tag(part) for part in value]
        kinds = {type(part) for part in parts}
        if kinds == {int, float}:
            return [float(part) for part in parts]
        return parts if len(kinds) <= 1 and None not in parts and list not in kinds else None
    return value if isinstance(value, (bool, int, float, str, datetime.datetime)) else None
