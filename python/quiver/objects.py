"""Objects of a store: their tags, groups, and blobs."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from . import names
from .errors import ProgrammingError

if TYPE_CHECKING:
    from .connection import Connection
    from .table import Table


# So many names of blobs are in one query.
BLOBS_READ_AT_ONCE = 1_000


class NamedObject:
    """A table, view, group or blob of a store, by its name."""

    kind = ""

    def __init__(self, connection: Connection, name: str, schema: str | None = None):
        self._connection = connection
        self.schema_name, self.name = names.split(name, schema)

    @property
    def tags(self) -> Tags:
        """Its tags as a mapping; assignment and `del` change them in the store."""
        return Tags(self._connection, self)

    @property
    def comment(self) -> str | None:
        return self._row()["comment"]

    @property
    def object_id(self) -> int:
        return self._row()["object_id"]

    def _row(self) -> dict[str, Any]:
        sql = "SELECT * FROM system.objects WHERE kind = ? AND schema_name = ? AND name = ?"
        rows = self._connection._sql(sql, [self.kind, self.schema_name, self.name]).arrow().to_pylist()
        if not rows:
            raise ProgrammingError(f'{self.kind} "{self.name}" does not exist', hint="FIND OBJECTS lists what there is")
        return rows[0]

    @property
    def _in_sql(self) -> str:
        return f"{self.kind.upper()} {self._quoted}"

    @property
    def _quoted(self) -> str:
        return f"{names.quoted(self.schema_name)}.{names.quoted(self.name)}"

    def __repr__(self) -> str:
        return f"<quiver {self.kind} {self.schema_name}.{self.name}>"


class Tags(MutableMapping[str, Any]):
    """The tags of one object. A read sees the tags as they are then."""

    def __init__(self, connection: Connection, of: NamedObject | Table):
        self._connection = connection
        self._of = of

    def _all(self) -> dict[str, Any]:
        sql = (
            "SELECT tag, type, position, integer_value, double_value, text_value, boolean_value, timestamp_value FROM system.tags "
            "WHERE kind = ? AND schema_name = ? AND name = ? ORDER BY tag, position"
        )
        found: dict[str, Any] = {}
        for tag, kind, position, *values in self._connection._sql(sql, [self._of.kind, self._of.schema_name, self._of.name]).fetchall():
            value = next((value for value in values if value is not None), None)
            if position is None:
                found[tag] = [] if kind == "list" else value
            else:
                found.setdefault(tag, []).append(value)
        return found

    def __getitem__(self, key: str) -> Any:
        return self._all()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.update({key: value})

    def __delitem__(self, key: str) -> None:
        if key not in self._all():
            raise KeyError(key)
        self._connection._sql(f"UNTAG {self._of._in_sql} ({names.quoted(key)})")

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def update(self, *others: Any, **values: Any) -> None:
        """Sets several tags in one commit."""
        new = dict(*others, **values)
        if None in new.values():
            raise ProgrammingError("the value of a tag cannot be None", hint="`del` removes a tag")
        if new:
            self._connection.tag(rows_of_tags([(self._of, new)]))

    def __repr__(self) -> str:
        return repr(self._all())


def rows_of_tags(tags: Sequence[tuple[NamedObject | Table, Mapping[str, Any]]]) -> pa.Table:
    """A row for each object, as `con.tag` takes it. Tags are in maps, one for each type of values: a tag may have values of several
    types, and a column would not do for a tag that is called as a column of `con.tag`."""
    by_type: dict[pa.DataType, list[list[tuple[str, Any]]]] = defaultdict(lambda: [[] for _ in tags])
    for at, (_, of_object) in enumerate(tags):
        for key, value in of_object.items():
            by_type[pa.scalar(value).type][at].append((key, value))
    maps = {f"_{at}": pa.array(pairs, pa.map_(pa.string(), of)) for at, (of, pairs) in enumerate(by_type.items())}
    named = {key: [getattr(of, key) for of, _ in tags] for key in ("kind", "schema_name", "name")}
    return pa.table(named | maps)


class Group(NamedObject):
    """A group of objects."""

    kind = "group"

    def add(self, *objects: NamedObject | Table) -> None:
        """Adds objects in one commit."""
        self._change("ADD", objects)

    def remove(self, *objects: NamedObject | Table) -> None:
        self._change("REMOVE", objects)

    def _change(self, verb: str, objects: Iterable[NamedObject | Table]) -> None:
        listed = ", ".join(named._in_sql for named in objects)
        if listed:
            self._connection._sql(f"ALTER {self._in_sql} {verb} {listed}")

    def objects(self) -> pa.Table:
        """Everything below the group, at any depth: rows of `system.objects`."""
        return self._connection._sql(f"FIND OBJECTS IN {self._in_sql}").arrow()


class Blob(NamedObject):
    """Bytes under a name."""

    kind = "blob"

    @property
    def size_bytes(self) -> int:
        return self._row()["size_bytes"]

    def buffer(self) -> pa.Buffer:
        """All of its bytes. In process it is a view of the mapped file: nothing is read before it is looked at, and nothing copied."""
        found = self._connection.read_blobs([self.name], schema=self.schema_name)
        if self.name not in found:
            raise ProgrammingError(f'blob "{self.name}" does not exist', hint="FIND BLOBS lists those there are")
        return found[self.name]

    def read(self, offset: int = 0, length: int | None = None) -> bytes:
        """A range of its bytes; what lies beyond its end is left out, as for a file."""
        if offset < 0 or (length is not None and length < 0):
            raise ProgrammingError("offset and length of a range of bytes cannot be negative")
        content = self.buffer()
        end = content.size if length is None else min(content.size, offset + length)
        return content.slice(min(offset, content.size), max(0, end - offset)).to_pybytes()

    def write(self, content: Any, tags: Mapping[str, Any] | None = None) -> None:
        """Replaces its bytes, or makes the blob. `content` is bytes or any other buffer."""
        self._connection.write_blobs({self.name: content}, None if tags is None else {self.name: tags}, schema=self.schema_name)

    def drop(self) -> None:
        self._connection._sql(f"DROP {self._in_sql}")

    def save(self, path: str | PathLike[str]) -> None:
        """Writes its bytes to a file of this machine."""
        with open(fspath(path), "wb") as file:
            file.write(self.buffer())


def contents_of(rows: pa.Table) -> Iterator[tuple[str, pa.Buffer]]:
    """Name and bytes of each row."""
    for batch in rows.to_batches():
        yield from zip(batch["name"].to_pylist(), _values(batch["content"]))


def _values(array: pa.Array) -> Iterator[pa.Buffer]:
    """The bytes of each value, without a copy if the value is long enough to be in a buffer of its own. This is the layout of Arrow's
    binary views: a length, and then the bytes, or their beginning, the number of a buffer, and an offset in it."""
    buffers = array.buffers()
    views = buffers[1].slice(16 * array.offset, 16 * len(array))
    for at, (length, _, number, start) in enumerate(struct.iter_unpack("<iiii", views)):
        yield views.slice(16 * at + 4, length) if length <= 12 else buffers[2 + number].slice(start, length)


def rows_of_blobs(contents: Mapping[str, Any], tags: Mapping[str, Mapping[str, Any]] | None, schema: str) -> pa.Table:
    """A row for each blob, with a column for each tag that one of them has."""
    columns: dict[str, Any] = {
        "schema_name": [schema] * len(contents),
        "name": list(contents),
        "content": _column_of(list(contents.values())),
    }
    of_names = [(tags or {}).get(name, {}) for name in contents]
    for key in sorted({key for of_name in of_names for key in of_name}):
        if key in columns:
            raise ProgrammingError(f'a new blob cannot get a tag named "{key}" with its bytes', hint="set the tag afterwards")
        columns[key] = [of_name.get(key) for of_name in of_names]
    return pa.table(columns)


def _column_of(contents: list[Any]) -> pa.Array:
    """One content is not copied."""
    if len(contents) == 1:
        content = pa.py_buffer(contents[0])
        offsets = pa.array([0, content.size], pa.int64()).buffers()[1]
        return pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, content])
    return pa.array(
        [content if isinstance(content, bytes) else pa.py_buffer(content).to_pybytes() for content in contents], pa.large_binary()
    )
