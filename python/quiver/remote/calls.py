"""Calls that wait for the network, and Ctrl-C meanwhile.

pyarrow waits without looking for signals. So a call of the main thread waits on another thread, and the main thread for
that one, where Python sees signals at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
TICK_S = 0.05


def interruptible(call: Callable[[], T]) -> T:
    if threading.current_thread() is not threading.main_thread():
        return call()
    done: SimpleQueue[tuple[bool, Any]] = SimpleQueue()

    def run() -> None:
        try:
            done.put((True, call()))
        except BaseException as error:
            done.put((False, error))

    threading.Thread(target=run, name="quiver-call", daemon=True).start()
    succeeded, value = _next(done)
    if succeeded:
        return value
    raise value


def _next(queue: SimpleQueue[Any]) -> Any:
    """Looks for signals between short waits: other libraries leave handlers behind that do not end a wait."""
    while True:
        try:
            return queue.get(timeout=TICK_S)
        except Empty:
            pass


class Pump:
    """Reads a stream on a thread of its own, a few pieces ahead."""

    AHEAD = 4

    def __init__(self, next_piece: Callable[[], Any], cancel: Callable[[], None]):
        self._pieces: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self._room = threading.Semaphore(self.AHEAD)
        self._cancel, self._stopped = cancel, threading.Event()
        threading.Thread(target=self._run, args=[next_piece], name="quiver-rows", daemon=True).start()

    def _run(self, next_piece: Callable[[], Any]) -> None:
        while True:
            self._room.acquire()
            if self._stopped.is_set():
                return
            try:
                self._pieces.put(("piece", next_piece()))
            except StopIteration:
                return self._pieces.put(("end", None))
            except BaseException as error:
                return self._pieces.put(("error", error))

    def next(self) -> Any:
        """Raises StopIteration at the end. Whoever is interrupted here has cancelled the stream."""
        try:
            kind, value = _next(self._pieces)
        except BaseException:
            self.stop()
            raise
        self._room.release()
        if kind == "piece":
            return value
        self._pieces.put((kind, value))  # the next one who asks is told the same
        raise StopIteration if kind == "end" else value

    def stop(self) -> None:
        if not self._stopped.is_set():
            self._stopped.set()
            self._cancel()
            self._pieces.put(("end", None))
            self._room.release()
