"""What goes wrong, under the names of DB-API 2.0.

Every error says in one sentence what is wrong; `hint` says what to do about it, `line` and `column` (from 1) where in
the statement it is.
"""

from __future__ import annotations


class Warning(Exception):  # noqa: A001 - the name that DB-API gives it
    """Never raised; DB-API wants it to be there."""


class Error(Exception):
    kind: str = ""
    """What sort of error it is to the engine, more finely than classes say; empty for those of this package."""
    hint: str | None = None
    line: int | None = None
    column: int | None = None

    def __init__(self, message: str, *, hint: str | None = None, place: tuple[int, int] | None = None):
        self.message, self.hint = message, hint
        if place:
            self.line, self.column = place
        where = f" (at line {self.line}, column {self.column})" if place else ""
        super().__init__(f"{message}{f'; {hint}' if hint else ''}{where}")


class InterfaceError(Error):
    """The package was used in a way it cannot be used: after `close`, in a forked process."""


class DatabaseError(Error):
    pass


class DataError(DatabaseError):
    """A value does not fit where it is to go, or is divided by zero."""


class OperationalError(DatabaseError):
    """Memory, disk, a lock, the network: not the statement."""


class ConflictError(OperationalError):
    """Another transaction was first: the same again may succeed."""


class CancelledError(OperationalError):
    """Somebody else ended the statement. Ctrl-C raises KeyboardInterrupt."""


class IntegrityError(DatabaseError):
    """NOT NULL, CHECK and keys, and what the state of the store does not allow."""


class InternalError(DatabaseError):
    """An error of Quiver itself."""


class ProgrammingError(DatabaseError):
    """The statement is wrong, or names what is not there."""


class NotSupportedError(DatabaseError):
    pass


_CLASSES: dict[str, type[Error]] = {
    "invalid": ProgrammingError,
    "data": DataError,
    "not_found": ProgrammingError,
    "already_exists": ProgrammingError,
    "not_allowed": IntegrityError,
    "conflict": ConflictError,
    "exhausted": OperationalError,
    "read_only": OperationalError,
    "unsupported": NotSupportedError,
    "cancelled": CancelledError,
    "timed_out": OperationalError,
    "damaged": OperationalError,
    "unavailable": OperationalError,
    "operational": OperationalError,
    "unauthenticated": OperationalError,
    "denied": ProgrammingError,
    "misuse": InterfaceError,
    "internal": InternalError,
}


def of_kind(kind: str, message: str, *, hint: str | None = None, place: tuple[int, int] | None = None) -> Error:
    """An engine that is newer than this package may know kinds of its own."""
    error = _CLASSES.get(kind, DatabaseError)(message, hint=hint, place=place)
    error.kind = kind
    return error
