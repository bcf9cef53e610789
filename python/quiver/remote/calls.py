"""Calls that wait for the network, and Ctrl-C meanwhile.

pyarrow waits without looking for signals. So a call of the main thread waits on another thread, and the main thread for
that one, where Python sees signals at once.
"""

from __future__ import annotations

import _thread
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from ..errors import InterfaceError
from ..process import Process
from . import workers

T = TypeVar("T")
TICK_S = 0.05
RETURN_S = 0.02
FOUND_S = 5.0
"""So long the server is asked to end a call that was interrupted, until it has found it."""
LEAVE_S = 1.0
"""And so long the end of it is waited for: the thread of the call may be busy with something else, as rows that somebody makes."""
ASK_AGAIN_S = 0.2
LOOK_FOR_READER_S = 1.0


def interruptible(call: Callable[[], T], end: Callable[[], bool] | None = None) -> T:
    """`end` tells the server that nobody waits for the call any more, and says whether that has found it. Whoever is interrupted comes back when the call has ended, so that
    what is done next does not race with it."""
    if threading.current_thread() is not threading.main_thread():
        return call()
    done: SimpleQueue[tuple[bool, Any]] = SimpleQueue()

    def run() -> None:
        try:
            done.put((True, call()))
        except BaseException as error:
            done.put((False, error))

    workers.start(run)
    try:
        succeeded, value = _next(done)
    except BaseException:
        if end is not None:
            _leave(done, end)
        raise
    if succeeded:
        return value
    raise value


def _leave(done: SimpleQueue[tuple[bool, Any]], end: Callable[[], bool]) -> None:
    """The call may not have come to the server yet, or be one of several; or it has ended meanwhile."""
    over_s = time.monotonic() + FOUND_S
    while time.monotonic() < over_s:
        is_found = interruptible(end)
        with suppress(Empty):
            done.get(timeout=LEAVE_S if is_found else ASK_AGAIN_S)
            return
        if is_found:
            return


def pulled(next_batch: Callable[[], T | None]) -> Iterator[T]:
    """Batches for a library that pulls them in C, where exceptions of Python are errors like others: so the signal of a
    Ctrl-C is raised once more, when that library has come back."""

    def pull() -> T | None:
        try:
            return next_batch()
        except KeyboardInterrupt:
            again = threading.Timer(RETURN_S, _thread.interrupt_main)
            again.daemon = True
            again.start()
            raise

    return iter(pull, None)


def _next(queue: SimpleQueue[Any], meanwhile: Callable[[], None] | None = None) -> Any:
    """Looks for signals between short waits: other libraries leave handlers behind that do not end a wait."""
    while True:
        try:
            return queue.get(timeout=TICK_S)
        except Empty:
            if meanwhile is not None:
                meanwhile()


class Pump:
    """Reads a stream on a thread of its own, a few pieces ahead.

    One that broke off, or was stopped, says so whenever it is asked: it never looks like one that came to its end."""

    AHEAD = 4

    def __init__(self, reader: object, next_piece: Callable[[], Any], cancel: Callable[[], None]):
        """`reader` is who takes the pieces; when the collector has taken it, the stream is cancelled."""
        self._reader = weakref.ref(reader)
        weakref.finalize(reader, self.stop)
        self._pieces: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self._room = threading.Semaphore(self.AHEAD)
        self._cancel, self._stopped = cancel, threading.Event()
        self._process = Process()
        self._end: tuple[str, Any] | None = None
        workers.start(partial(self._run, next_piece))

    def _run(self, next_piece: Callable[[], Any]) -> None:
        while True:
            while not self._room.acquire(timeout=LOOK_FOR_READER_S):
                # A Ctrl-C that comes while the collector calls `stop` ends that, and nobody learns of it.
                if self._reader() is None:
                    return self._cancel()
            if self._stopped.is_set():
                return
            try:
                self._pieces.put(("piece", next_piece()))
            except StopIteration:
                return self._pieces.put(("end", None))
            except BaseException as error:
                return self._pieces.put(("error", error))

    def next(self, meanwhile: Callable[[], None] | None = None) -> Any:
        """Raises StopIteration at the end. Whoever is interrupted here has cancelled the stream. `meanwhile` is called while
        there is none yet."""
        self._process.check()
        if self._end is None:
            try:
                kind, value = _next(self._pieces, meanwhile)
            except BaseException:
                self.stop()
                raise
            if self._stopped.is_set():
                kind, value = "error", InterfaceError("the result is closed", hint="run the query again")
            if kind == "piece":
                self._room.release()
                return value
            self._end = (kind, value)
            # Others may be waiting for it.
            self._pieces.put(self._end)
        self.check()
        raise StopIteration

    def check(self) -> None:
        """Raises what broke the stream off."""
        if self._end is not None and self._end[0] == "error":
            raise self._end[1]

    def stop(self) -> None:
        if self._process.is_here and not self._stopped.is_set():
            self._stopped.set()
            self._cancel()
            self._pieces.put(("end", None))
            self._room.release()
