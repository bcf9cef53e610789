"""Translates exceptions of pyarrow.flight to errors of this package."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.flight as flight

from ..errors import Error, of_kind

# Arrow's names of gRPC codes.
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
_recent_details: deque[tuple[str, str | None, str | None]] = deque(maxlen=100)
"""The messages of recent errors, with the kind and the hint from their details."""


def record_details(details: bytes | str, error: BaseException) -> None:
    """Records the details of an error. pyarrow will raise another exception with the same message."""
    try:
        known = json.loads(details)
    except ValueError:
        return
    _recent_details.append((_parts(error)[1], known.get("kind"), known.get("hint")))


@contextmanager
def translated_errors() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, flight.FlightError, OSError) as error:
        raise to_quiver_error(error) from None


@contextmanager
def connection_errors(location: str, *, has_ca: bool) -> Iterator[None]:
    """Like `translated_errors`, with a hint if the server cannot be reached."""
    try:
        with translated_errors():
            yield
    except Error as error:
        if error.hint is not None or error.kind not in ("unavailable", "operational"):
            raise
        raise of_kind(error.kind, error.message, hint=_connection_hint(error.message, location.startswith("grpc+tls"), has_ca)) from None


def _connection_hint(message: str, is_tls: bool, has_ca: bool) -> str | None:
    def has(*words: str) -> bool:
        return any(word in message for word in words)

    if not has("failed to connect", "Could not finish", "losed", "reset"):
        # The message comes from the server itself.
        return None
    if has("refused", "timed out", "nreachable", "No route"):
        return "check the address, and that `quiver serve` runs there"
    if not is_tls:
        return "a server with TLS is reached by grpc+tls://"
    if has("wrong version number"):
        return "a server without TLS is reached by grpc://"
    if has_ca:
        return "tls_ca is to be the file of the certificate that has signed the server's, and the host one of its names"
    return "name the file of the certificate that has signed the server's: tls_ca="


def to_quiver_error(error: BaseException) -> Error:
    code, message = _parts(error)
    kind, hint = next(((kind, hint) for known, kind, hint in reversed(_recent_details.copy()) if known == message), (None, None))
    place = _PLACE.search(message)
    at = (int(place[1]), int(place[2])) if place else None
    message = _PLACE.sub("", message)
    if hint is not None:
        message = message.removesuffix(f"; {hint}")
    return of_kind(kind or _kind(code, error), message, hint=hint, place=at)


def _parts(error: BaseException) -> tuple[str, str]:
    """Arrow's name of the code, and the message of the server."""
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
