"""Threads that are kept for the next call, or the next rows: to begin one takes longer than a small statement.

Those of `concurrent.futures` are waited for when the interpreter ends, and a call may last for hours. These are daemons."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

KEPT_MAX = 8

_idle: list[_Worker] = []
"""**Invariant:** who is in it waits for work, and who takes one out gives it some. It has no lock, which a fork could leave taken:
lists are put into and taken from at once."""

# A forked process has their memory and not the threads.
os.register_at_fork(after_in_child=_idle.clear)


class _Worker:
    def __init__(self) -> None:
        self._tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.give = self._tasks.put
        threading.Thread(target=self._run, name="quiver-worker", daemon=True).start()

    def _run(self) -> None:
        while True:
            task = self._tasks.get()
            task()
            # What it had is not kept until the next one.
            del task
            _idle.append(self)
            if len(_idle) > KEPT_MAX:
                try:
                    _idle.remove(self)
                except ValueError:
                    # Somebody has taken it out, and gives it work.
                    continue
                return


def start(task: Callable[[], None]) -> None:
    """Runs it on a thread that has nothing else to do, so also while others are stuck. It raises nothing."""
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    worker.give(task)
