"""What pyarrow.flight raises, as errors of ours."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.flight as flight

from ..errors import Error, of_kind

# Arrow's words for gRPC's codes.
_KINDS = {
    "invalid argument": "invalid",
    "not found": "not_found",
    "already exists": "already_exists",
    "precondition failed": "not_allowed",
    "failed precondition": "not_allowed",
    "aborted": "conflict",
    "resource exhausted": "exhausted",
    "unimplemented": "unsupported",
    "cancelled": "cancelled",
    "data loss": "damaged",
    "unavailable": "unavailable",
    "unauthenticated": "unauthenticated",
    "unauthorized": "denied",
    "permission denied": "denied",
    "internal": "internal",
    "out of range": "invalid",
    "out-of-range": "invalid",
    "timeout": "timed_out",
    "deadline exceeded": "timed_out",
}
_ERROR = re.compile(
    r"(?:\w+: )?(?:Flight|gRPC) (?:returned (?P<code>[\w -]+?) error|cancelled call), with message: (?P<message>.*)", re.DOTALL
)
_TAIL = re.compile(r"\. gRPC client debug context: .*|\. Client context: .*", re.DOTALL)
_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)$")

DETAILS = "x-quiver-error-bin"
_hints: deque[str] = deque(maxlen=100)


def note(details: bytes | str) -> None:
    """What came beside an error, before pyarrow raises it. Its hint is also the end of the message, where it is found again."""
    try:
        hint = json.loads(details).get("hint")
    except ValueError:
        return
    if hint and hint not in _hints:
        _hints.append(hint)


@contextmanager
def told() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, flight.FlightError, OSError) as error:
        raise translated(error) from None


def translated(error: BaseException) -> Error:
    found = _ERROR.match(str(error))
    code, message = (found["code"] or "cancelled", found["message"]) if found else ("", str(error))
    message = _TAIL.sub("", message)
    place = _PLACE.search(message)
    at = (int(place[1]), int(place[2])) if place else None
    message = _PLACE.sub("", message)
    hint = max((hint for hint in _hints.copy() if message.endswith(f"; {hint}")), key=len, default=None)
    if hint is not None:
        message = message.removesuffix(f"; {hint}")
    return of_kind(_kind(code, error), message, hint=hint, place=at)


def _kind(code: str, error: BaseException) -> str:
    if kind := _KINDS.get(code):
        return kind
    if isinstance(error, flight.FlightUnauthenticatedError):
        return "unauthenticated"
    if isinstance(error, flight.FlightUnauthorizedError):
        return "denied"
    return "operational"
