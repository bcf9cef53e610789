"""Errors, with the names of DB-API 2.0.

The message of an error is one sentence; `hint` says what to do about it, and `line` and `column` (from 1) are its position in
the statement.
"""

from __future__ import annotations


class Warning(Exception):  # noqa: A001 - the name that DB-API gives it
    """Never raised; DB-API requires it to exist."""


class Error(Exception):
    kind: str = ""
    """The engine's kind of the error, finer than the classes; empty for errors of this package."""
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
    """The package was misused: after `close`, or in a forked process."""


class DatabaseError(Error):
    pass


class DataError(DatabaseError):
    """A value does not fit its target, or is divided by zero."""


class OperationalError(DatabaseError):
    """An error of memory, disk, a lock or the network, and not of the statement."""


class ConflictError(OperationalError):
    """Another transaction committed first. Retrying may succeed."""


class CancelledError(OperationalError):
    """Another session cancelled the statement. Ctrl-C raises KeyboardInterrupt."""


class IntegrityError(DatabaseError):
    """A violation of NOT NULL, CHECK or a key, or something that the state of the store does not allow."""


class InternalError(DatabaseError):
    """An error of Quiver itself."""


class ProgrammingError(DatabaseError):
    """The statement is wrong, or names an object that does not exist."""


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
    "session_ended": OperationalError,
    "denied": ProgrammingError,
    "misuse": InterfaceError,
    "internal": InternalError,
}


def of_kind(kind: str, message: str, *, hint: str | None = None, place: tuple[int, int] | None = None) -> Error:
    """An engine that is newer than this package may send unknown kinds."""
    error = _CLASSES.get(kind, DatabaseError)(message, hint=hint, place=place)
    error.kind = kind
    return error
