"""Polls the server for the progress of a query while its rows are awaited."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow.flight as flight

from ..sources import ProgressCallback
from .calls import TICK_S

FIRST_S = 0.5
EVERY_S = 0.25
ANSWER_S = 1.0
"""The timeout of one request. It also bounds how long a finished query waits for a pending request."""

FetchProgress = Callable[[], "tuple[int, int] | None"]


class ProgressRequest:
    """Requests the progress of the result of a ticket, by the action `progress` of docs/flight-sql.md."""

    def __init__(self, client: flight.FlightClient, headers: list[tuple[bytes, bytes]], ticket: bytes):
        self._client, self._headers, self._ticket = client, headers, ticket

    def __call__(self) -> tuple[int, int] | None:
        """Rows scanned, and rows to scan if they are known; None if the query does not run."""
        options = flight.FlightCallOptions(headers=self._headers, timeout=ANSWER_S)
        for answer in list(self._client.do_action(flight.Action("progress", self._ticket), options)):
            progress = json.loads(answer.body.to_pybytes())
            return progress["rows_scanned"], progress["rows_total"] or 0
        return None


@contextmanager
def polling(fetch: FetchProgress, on_progress: ProgressCallback) -> Iterator[Callable[[], None]]:
    """The function to call repeatedly while waiting for rows."""
    poller = Poller(fetch, on_progress)
    try:
        yield poller.tick
    finally:
        poller.stop()


class Poller:
    """Polls on a thread of its own, because pyarrow waits without checking for signals, and displays on the thread that waits for the
    rows. The polling thread starts with the first request, so a short query has none."""

    def __init__(self, fetch: FetchProgress, on_progress: ProgressCallback):
        self._fetch, self._on_progress = fetch, on_progress
        self._next_s = time.monotonic() + FIRST_S
        self._latest: tuple[int, int] | None = None
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    def tick(self) -> None:
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + TICK_S
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="quiver-progress", daemon=True)
            self._thread.start()
        if self._latest is not None:
            self._on_progress(*self._latest)

    def stop(self) -> None:
        self._is_over.set()
        if self._thread is not None:
            self._thread.join(2 * ANSWER_S)

    def _run(self) -> None:
        while not self._is_over.is_set():
            try:
                self._latest = self._fetch() or self._latest
            except flight.FlightTimedOutError:
                # A busy server may answer the next request.
                pass
            except Exception:
                # An older server does not know the action, and a failing query raises its own error.
                return
            self._is_over.wait(EVERY_S)
