"""Network calls that Ctrl-C can interrupt.

pyarrow waits without checking for signals. So a call of the main thread runs on another thread, and the main thread waits for
that one in Python, which handles signals at once.
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
"""How long the client retries cancelling an interrupted call until the server has found it."""
LEAVE_S = 1.0
"""How long it then waits for the call to end. The thread of the call may be busy otherwise, for example with producing rows."""
ASK_AGAIN_S = 0.2
LOOK_FOR_READER_S = 1.0


def interruptible(call: Callable[[], T], end: Callable[[], bool] | None = None) -> T:
    """Runs `call`. `end` asks the server to cancel the call, and returns whether the server has found it. After an interrupt this returns
    only when the call has ended, so that the next call does not race with it."""
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
        succeeded, value = _get(done)
    except BaseException:
        if end is not None:
            _cancel_call(done, end)
        raise
    if succeeded:
        return value
    raise value


def _cancel_call(done: SimpleQueue[tuple[bool, Any]], end: Callable[[], bool]) -> None:
    """Retries, because the call may not have reached the server yet, or may be one of several. It may also have ended meanwhile."""
    deadline_s = time.monotonic() + FOUND_S
    while time.monotonic() < deadline_s:
        is_found = interruptible(end)
        with suppress(Empty):
            done.get(timeout=LEAVE_S if is_found else ASK_AGAIN_S)
            return
        if is_found:
            return


def interruptible_batches(next_batch: Callable[[], T | None]) -> Iterator[T]:
    """Batches for a library that pulls them in C, where a Python exception is an ordinary error. So the signal of a
    Ctrl-C is raised again after that library has returned."""

    def read() -> T | None:
        try:
            return next_batch()
        except KeyboardInterrupt:
            again = threading.Timer(RETURN_S, _thread.interrupt_main)
            again.daemon = True
            again.start()
            raise

    return iter(read, None)


def _get(queue: SimpleQueue[Any], meanwhile: Callable[[], None] | None = None) -> Any:
    """Checks for signals between short waits, because other libraries may install handlers that do not end a wait."""
    while True:
        try:
            return queue.get(timeout=TICK_S)
        except Empty:
            if meanwhile is not None:
                meanwhile()


class Pump:
    """Reads a stream ahead on a thread of its own, by a few pieces.

    A stream that failed or was stopped raises its error on every further call. It never looks like one that is complete."""

    AHEAD = 4

    def __init__(self, reader: object, next_piece: Callable[[], Any], cancel: Callable[[], None]):
        """`reader` is the object that consumes the pieces. When it is garbage collected, the stream is cancelled."""
        self._reader = weakref.ref(reader)
        self._pieces: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        # Neither a semaphore nor an event: a Ctrl-C inside of one leaves its lock taken, and the thread waits forever.
        self._room: SimpleQueue[None] = SimpleQueue()
        for _ in range(self.AHEAD):
            self._room.put(None)
        self._cancel, self._is_stopped = cancel, False
        self._process = Process()
        self._end: tuple[str, Any] | None = None
        weakref.finalize(reader, self.stop)
        workers.start(partial(self._run, next_piece))

    def _run(self, next_piece: Callable[[], Any]) -> None:
        while True:
            try:
                self._room.get(timeout=LOOK_FOR_READER_S)
            except Empty:
                # A Ctrl-C while the collector calls `stop` ends that call silently.
                if self._reader() is None:
                    return self._cancel()
                continue
            if self._is_stopped:
                return
            try:
                self._pieces.put(("piece", next_piece()))
            except StopIteration:
                return self._pieces.put(("end", None))
            except BaseException as error:
                return self._pieces.put(("error", error))

    def next(self, meanwhile: Callable[[], None] | None = None) -> Any:
        """Raises StopIteration at the end. An interrupt here cancels the stream. `meanwhile` is called while
        there is no piece yet."""
        self._process.check()
        if self._end is None:
            try:
                kind, value = _get(self._pieces, meanwhile)
            except BaseException:
                self.stop()
                raise
            if self._is_stopped:
                kind, value = "error", InterfaceError("the result is closed", hint="run the query again")
            if kind == "piece":
                self._room.put(None)
                return value
            self._end = (kind, value)
            # Other threads may wait for it.
            self._pieces.put(self._end)
        self.check()
        raise StopIteration

    def check(self) -> None:
        """Raises the error of the stream, if it failed."""
        if self._end is not None and self._end[0] == "error":
            raise self._end[1]

    def stop(self) -> None:
        if self._process.is_here and not self._is_stopped:
            self._is_stopped = True
            self._cancel()
            self._pieces.put(("end", None))
            self._room.put(None)
