"""Attributes of a file as tags of its arrays and groups: in the commit of the arrays, or in a later one."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import names
from ..errors import ConflictError, ProgrammingError
from ..objects import NamedObject, rows_of_tags
from .model import PENDING

if TYPE_CHECKING:
    from ..connection import Connection

# When attributes become tags: with the arrays, after them, or not at all.
METADATA = ("sync", "async", "none")

Tagged = tuple[NamedObject, Mapping[str, Any]]


def check_metadata(connection: Connection, metadata: str) -> None:
    if metadata not in METADATA:
        raise ProgrammingError(f'metadata cannot be "{metadata}"', hint="use sync, async or none")
    if metadata == "async" and connection.in_transaction:
        message = "attributes cannot be extracted after the import in a transaction: nobody else sees the arrays before its commit"
        raise ProgrammingError(message, hint='import outside of the transaction, or with metadata="sync"')


@dataclass(frozen=True)
class PendingTags:
    """Objects that are committed without their tags, and their mark."""

    objects: Sequence[Tagged]
    marked_at: datetime.datetime


def mark_pending(connection: Connection, objects: Sequence[Tagged]) -> PendingTags:
    """Whoever looks for tags sees which objects do not have them yet."""
    pending = PendingTags([(of, attributes) for of, attributes in objects if attributes], datetime.datetime.now(datetime.timezone.utc))
    connection.tag(rows_of_tags([(of, {PENDING: pending.marked_at}) for of, _ in pending.objects]))
    return pending


def set_tags(connection: Connection, objects: Sequence[Tagged], marked_at: datetime.datetime | None = None) -> int:
    """All in one commit; the objects wait for their tags no longer. Those whose mark is not `marked_at` any more were imported again meanwhile,
    and are left alone. Returns how many objects have attributes."""
    while True:
        try:
            with connection.one_commit():
                marks = _marks(connection)
                if marked_at is not None:
                    objects = [(of, attributes) for of, attributes in objects if marks.get(_key(of)) == marked_at]
                connection.tag(rows_of_tags(objects))
                # UNTAG takes no object without the tag.
                listed = ", ".join(of._in_sql for of, _ in objects if _key(of) in marks)
                if listed:
                    connection._sql(f"UNTAG {listed} ({PENDING})")
            return sum(bool(attributes) for _, attributes in objects)
        except ConflictError:
            # Somebody has tagged one of the objects at the same time.
            if connection.in_transaction:
                raise


def _marks(connection: Connection) -> dict[tuple[str, str, str], datetime.datetime]:
    sql = f"SELECT kind, schema_name, name, timestamp_value FROM system.tags WHERE tag = {names.literal(PENDING)}"
    return {(kind, schema, name): marked_at for kind, schema, name, marked_at in connection._sql(sql).fetchall()}


def _key(of: NamedObject) -> tuple[str, str, str]:
    return of.kind, of.schema_name, of.name
