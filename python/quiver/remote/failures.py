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
_noted: deque[tuple[str, str | None, str | None]] = deque(maxlen=100)
"""The messages of errors, with the kind and the hint that came beside them."""


def note(details: bytes | str, error: BaseException) -> None:
    """What came beside an error, before pyarrow raises it as another one of the same message."""
    try:
        known = json.loads(details)
    except ValueError:
        return
    _noted.append((_parts(error)[1], known.get("kind"), known.get("hint")))


@contextmanager
def told() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, flight.FlightError, OSError) as error:
        raise translated(error) from None


@contextmanager
def connecting(location: str, *, has_ca: bool) -> Iterator[None]:
    """As `told`, with what to look at where nobody was reached."""
    try:
        with told():
            yield
    except Error as error:
        if error.hint is not None or error.kind not in ("unavailable", "operational"):
            raise
        raise of_kind(error.kind, error.message, hint=_doubt(error.message, location.startswith("grpc+tls"), has_ca)) from None


def _doubt(message: str, is_tls: bool, has_ca: bool) -> str | None:
    def has(*words: str) -> bool:
        return any(word in message for word in words)

    if not has("failed to connect", "Could not finish", "losed", "reset"):
        # The server itself has said it.
        return None
    if has("refused", "timed out", "nreachable", "No route"):
        return None
    if not is_tls:
        return "a server with TLS is reached by grpc+tls://"
    if has("wrong version number"):
        return "a server without TLS is reached by grpc://"
    if has_ca:
        return "tls_ca is to be the file of the certificate that has signed the server's, and the host one of its names"
    return "name the file of the certificate that has signed the server's: tls_ca="


def translated(error: BaseException) -> Error:
    code, message = _parts(error)
    kind, hint = next(((kind, hint) for known, kind, hint in reversed(_noted.copy()) if known == message), (None, None))
    place = _PLACE.search(message)
    at = (int(place[1]), int(place[2])) if place else None
    message = _PLACE.sub("", message)
    if hint is not None:
        message = message.removesuffix(f"; {hint}")
    return of_kind(kind or _kind(code, error), message, hint=hint, place=at)


def _parts(error: BaseException) -> tuple[str, str]:
    """Arrow's words for the code, and what the server has said."""
    found = _ERROR.match(str(error))
    code, message = (found["code"] or "cancelled", found["message"]) if found else ("", str(error))
    return code, _TAIL.sub("", message)


def _kind(code: str, error: BaseException) -> str:
    if kind := _KINDS.get(code):
        return kind
    if isinstance(error, flight.FlightUnauthenticatedError):
        return "unauthenticated"
    if isinstance(error, flight.FlightUnauthorizedError):
        return "denied"
    return "operational"
