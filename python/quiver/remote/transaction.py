"""The transaction that the statements of a connection are in."""

from __future__ import annotations

from ..errors import ProgrammingError

IS_OPEN = "SELECT transaction_id FROM system.transactions WHERE is_own"
"""Has a row in a transaction that is open."""


class Transaction:
    """One that `begin` has begun has a handle, which statements name; one begun in SQL is the session's, and has none.

    SQL ends either. The server tells so with its answer; of a statement of which nothing came back, and where several ran at the
    same time, it has to be asked."""

    def __init__(self) -> None:
        self.handle: bytes | None = None
        self.is_of_session = False
        self.is_known = True
        self.changes = 0
        """Of what is known."""

    @property
    def is_open(self) -> bool:
        return self.handle is not None or self.is_of_session

    def doubt(self) -> None:
        """A statement may have begun or ended one."""
        self.is_known = False
        self.changes += 1

    def is_as(self, transaction: bytes | None, changes: int) -> bool:
        """Whether nothing else has changed it since it was that."""
        return (self.handle, self.changes) == (transaction, changes)

    def learn(self, is_open: bool) -> None:
        """What the server says of the one that has the handle, or of the session's where there is none."""
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
        """To be ended: whatever comes of that, it is over. None where it is the session's."""
        if not self.is_open:
            raise ProgrammingError("no transaction is open", hint="begin one with BEGIN")
        if self.is_of_session:
            self.doubt()
        handle, self.handle = self.handle, None
        return handle
