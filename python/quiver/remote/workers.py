"""A pool of threads for calls and streams: starting a thread takes longer than a small statement.

The interpreter joins threads of `concurrent.futures` at exit, but a call may last for hours. These threads are daemons."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

KEPT_MAX = 8

_idle: list[_Worker] = []
"""**Invariant:** each worker in it waits for a task, and whoever takes one out gives it a task. It needs no lock, which a fork could
leave locked: `append` and `pop` of a list are atomic."""

# A forked process has a copy of the list, but not the threads.
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
            # Do not keep its objects alive until the next task.
            del task
            _idle.append(self)
            if len(_idle) > KEPT_MAX:
                try:
                    _idle.remove(self)
                except ValueError:
                    # Another thread has taken it out, and gives it a task.
                    continue
                return


def start(task: Callable[[], None]) -> None:
    """Runs the task on an idle thread, or on a new one, so that it never waits for others. The task must not raise."""
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    worker.give(task)
