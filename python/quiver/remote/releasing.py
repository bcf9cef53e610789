"""Releases unused objects on the server: results that were not fetched, leases that were not read, and statements that
were prepared for a single use."""

from __future__ import annotations

import atexit
import threading
import weakref
from contextlib import suppress
from queue import SimpleQueue

import pyarrow as pa
import pyarrow.flight as flight

from ..process import Process
from . import messages

ANSWER_S = 5.0

Headers = list[tuple[bytes, bytes]]
Requests = SimpleQueue["tuple[str, bytes] | None"]


class Releases:
    """Sends the requests later, on a thread of its own.

    **Invariant:** the garbage collector may call `ticket` and `lease` on any thread that holds any lock, so they take no lock
    and do not wait. Therefore the thread starts before there is anything to release."""

    def __init__(self, client: flight.FlightClient, headers: Headers):
        self._client, self._headers = client, headers
        self._requests: Requests = SimpleQueue()
        self._process = Process()
        self._stopped, self._starting = threading.Event(), threading.Lock()
        self._thread: threading.Thread | None = None
        # The thread holds no reference to this object, which may be collected without `stop`.
        weakref.finalize(self, self._requests.put, None).atexit = False

    def prepare(self) -> None:
        with self._starting:
            if self._thread is None:
                arguments = (self._client, self._headers, self._requests, self._stopped)
                self._thread = threading.Thread(target=_run, args=arguments, name="quiver-release", daemon=True)
                self._thread.start()
                _with_threads.add(self)

    @property
    def is_here(self) -> bool:
        return self._process.is_here

    def ticket(self, ticket: bytes) -> None:
        if self.is_here:
            self._requests.put(("CancelFlightInfo", messages.cancel(ticket)))

    def lease(self, lease: bytes) -> None:
        if self.is_here:
            self._requests.put(("release_lease", lease))

    def prepared(self, handle: bytes) -> None:
        """Closes a prepared statement after its use. Its result does not need it."""
        self.prepare()
        self._requests.put(("ClosePreparedStatement", messages.close_prepared(handle)))

    def signal(self) -> None:
        self._stopped.set()
        self._requests.put(None)

    def stop(self) -> None:
        """Stops the thread. What is not released ends with the session."""
        self.signal()
        # The garbage collector may close a connection on that very thread, which cannot join itself.
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(ANSWER_S)


def _run(client: flight.FlightClient, headers: Headers, requests: Requests, stopped: threading.Event) -> None:
    while (arguments := requests.get()) is not None and not stopped.is_set():
        # An object that was fetched or has ended is unknown to the server; one that is not released now expires.
        with suppress(pa.ArrowException, flight.FlightError, OSError):
            list(client.do_action(flight.Action(*arguments), flight.FlightCallOptions(headers=headers, timeout=ANSWER_S)))


_with_threads: weakref.WeakSet[Releases] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """A thread that is in a call of pyarrow when the interpreter ends would abort the process."""
    here = [releases for releases in list(_with_threads) if releases.is_here]
    for releases in here:
        releases.signal()
    for releases in here:
        releases.stop()
