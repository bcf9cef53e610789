"""Remembers the process that owns an object, to detect use after a fork."""

from __future__ import annotations

import os

from .errors import InterfaceError


class Process:
    """The process that made an object. A process that is forked from it has neither its threads nor its connections."""

    def __init__(self) -> None:
        self.number = os.getpid()

    @property
    def is_here(self) -> bool:
        return self.number == os.getpid()

    def check(self) -> None:
        if not self.is_here:
            message = f"the connection was opened by process {self.number}, which this one was forked from"
            raise InterfaceError(message, hint="connect in this process")
