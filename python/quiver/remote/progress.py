"""How far a query is, asked of the server while its rows are waited for."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow.flight as flight

from ..sources import Look
from .calls import TICK_S

FIRST_S = 0.5
EVERY_S = 0.25
ANSWER_S = 1.0
"""Longer than that nobody waits for an answer, and no query that has ended for a question."""

Ask = Callable[[], "tuple[int, int] | None"]


class Question:
    """About the result of a ticket, by the action `progress` of docs/flight-sql.md."""

    def __init__(self, client: flight.FlightClient, headers: list[tuple[bytes, bytes]], ticket: bytes):
        self._client, self._headers, self._ticket = client, headers, ticket

    def __call__(self) -> tuple[int, int] | None:
        """Rows scanned, and rows to scan as far as they are known; None of what does not run."""
        options = flight.FlightCallOptions(headers=self._headers, timeout=ANSWER_S)
        for answer in list(self._client.do_action(flight.Action("progress", self._ticket), options)):
            told = json.loads(answer.body.to_pybytes())
            return told["rows_scanned"], told["rows_total"] or 0
        return None


@contextmanager
def watched(ask: Ask, look: Look) -> Iterator[Callable[[], None]]:
    """What to call now and then while rows are waited for."""
    watch = Watch(ask, look)
    try:
        yield watch.tick
    finally:
        watch.stop()


class Watch:
    """Asks on a thread of its own, because pyarrow waits without looking for signals, and shows on the one that waits for the
    rows. That thread begins with the first question, and a query that is done before has none."""

    def __init__(self, ask: Ask, look: Look):
        self._ask, self._look = ask, look
        self._next_s = time.monotonic() + FIRST_S
        self._told: tuple[int, int] | None = None
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
        if self._told is not None:
            self._look(*self._told)

    def stop(self) -> None:
        self._is_over.set()
        if self._thread is not None:
            self._thread.join(2 * ANSWER_S)

    def _run(self) -> None:
        while not self._is_over.is_set():
            try:
                self._told = self._ask() or self._told
            except flight.FlightTimedOutError:
                # A busy server may have the time for the next one.
                pass
            except Exception:
                # An older server does not know the question, and a query that is in trouble says so itself.
                return
            self._is_over.wait(EVERY_S)
