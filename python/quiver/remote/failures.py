"""What pyarrow.flight raises, as errors of ours."""

from __future__ import annotations

import re
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
    "unauthorized": "permission_denied",
    "permission denied": "permission_denied",
    "internal": "internal",
    "out of range": "invalid",
    "timeout": "timed_out",
    "deadline exceeded": "timed_out",
}
_ERROR = re.compile(r"(?:\w+: )?(?:Flight|gRPC) returned (?P<code>[\w ]+?) error, with message: (?P<message>.*)", re.DOTALL)
_TAIL = re.compile(r"\. gRPC client debug context: .*|\. Client context: .*", re.DOTALL)
_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)$")


@contextmanager
def told() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, flight.FlightError, OSError) as error:
        raise translated(error) from None


def translated(error: BaseException) -> Error:
    found = _ERROR.match(str(error))
    code, message = (found["code"], found["message"]) if found else ("", str(error))
    message = _TAIL.sub("", message)
    place = _PLACE.search(message)
    at = (int(place[1]), int(place[2])) if place else None
    return of_kind(_kind(code, error), _PLACE.sub("", message), place=at)


def _kind(code: str, error: BaseException) -> str:
    if kind := _KINDS.get(code):
        return kind
    if isinstance(error, flight.FlightUnauthenticatedError):
        return "unauthenticated"
    if isinstance(error, flight.FlightUnauthorizedError):
        return "permission_denied"
    return "operational"
