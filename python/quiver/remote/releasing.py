"""What nobody wants any more is given back to the server: results that were not fetched, leases that were not read, statements that
were prepared for one use."""

from __future__ import annotations

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
Waiting = SimpleQueue["tuple[str, bytes] | None"]


class Releases:
    """Asks for it on a thread of its own, and after the fact.

    **Invariant:** `ticket` and `lease` may be called by the collector, on whatever thread and while that has whatever lock: they take none
    and wait for nothing. So the thread begins before there is anything that could be released."""

    def __init__(self, client: flight.FlightClient, headers: Headers):
        self._client, self._headers = client, headers
        self._waiting: Waiting = SimpleQueue()
        self._process = Process()
        self._stopped, self._starting = threading.Event(), threading.Lock()
        self._thread: threading.Thread | None = None
        # The thread has nothing of this object, which may go without having been stopped.
        weakref.finalize(self, self._waiting.put, None).atexit = False

    def prepare(self) -> None:
        with self._starting:
            if self._thread is None:
                asked = (self._client, self._headers, self._waiting, self._stopped)
                self._thread = threading.Thread(target=_run, args=asked, name="quiver-release", daemon=True)
                self._thread.start()

    @property
    def is_here(self) -> bool:
        return self._process.is_here

    def ticket(self, ticket: bytes) -> None:
        if self.is_here:
            self._waiting.put(("CancelFlightInfo", messages.cancel(ticket)))

    def lease(self, lease: bytes) -> None:
        if self.is_here:
            self._waiting.put(("release_lease", lease))

    def prepared(self, handle: bytes) -> None:
        """Of a statement that has been used: its result does not need it."""
        self.prepare()
        self._waiting.put(("ClosePreparedStatement", messages.close_prepared(handle)))

    def stop(self) -> None:
        """All that is left ends with the session."""
        self._stopped.set()
        self._waiting.put(None)
        # The collector may close a connection on that thread, which cannot wait for itself.
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(ANSWER_S)


def _run(client: flight.FlightClient, headers: Headers, waiting: Waiting, stopped: threading.Event) -> None:
    while (asked := waiting.get()) is not None and not stopped.is_set():
        # What was fetched meanwhile, or has ended, is not there any more; what is not released now ends by itself.
        with suppress(pa.ArrowException, flight.FlightError, OSError):
            list(client.do_action(flight.Action(*asked), flight.FlightCallOptions(headers=headers, timeout=ANSWER_S)))
