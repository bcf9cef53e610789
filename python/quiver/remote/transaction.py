"""The state of a connection's transaction."""

from __future__ import annotations

from ..errors import ProgrammingError

IS_OPEN = "SELECT transaction_id FROM system.transactions WHERE is_own"
"""Returns a row if a transaction is open."""


class Transaction:
    """A transaction of `begin` has a handle, which statements name; one begun in SQL belongs to the session, and has none.

    SQL can end either. The server reports this with its answer. If a statement got no answer, or if several ran at the
    same time, the server has to be asked."""

    def __init__(self) -> None:
        self.handle: bytes | None = None
        self.is_of_session = False
        self.is_known = True
        self.changes = 0
        """Counts the changes of this state."""

    @property
    def is_open(self) -> bool:
        return self.handle is not None or self.is_of_session

    def invalidate(self) -> None:
        """Marks the state as unknown: a statement may have begun or ended a transaction."""
        self.is_known = False
        self.changes += 1

    def is_unchanged(self, transaction: bytes | None, changes: int) -> bool:
        """Whether the state is still the one with this handle and this count of changes."""
        return (self.handle, self.changes) == (transaction, changes)

    def update(self, is_open: bool) -> None:
        """Sets the server's answer for the transaction with the handle, or else for that of the session."""
        self.is_known = True
        self.changes += 1
        if self.handle is None:
            self.is_of_session = is_open
        elif not is_open:
            self.handle = None

    def check_none(self) -> None:
        if self.is_open:
            raise ProgrammingError("a transaction is open already", hint="end it with COMMIT or ROLLBACK first")

    def take(self) -> bytes | None:
        """Takes the handle to end the transaction, which is over in any case. None if it belongs to the session."""
        if not self.is_open:
            raise ProgrammingError("no transaction is open", hint="begin one with BEGIN")
        if self.is_of_session:
            self.invalidate()
        handle, self.handle = self.handle, None
        return handle
