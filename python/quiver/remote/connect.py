"""Opening a connection."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow.flight as flight

from ..connection import Connection
from ..errors import ProgrammingError
from .backend import Credentials, RemoteBackend

SCHEMES = {"grpc": "grpc+tcp", "grpc+tcp": "grpc+tcp", "grpc+tls": "grpc+tls"}


def connect(
    uri: str,
    *,
    user: str | None = None,
    password: str | None = None,
    token: str | None = None,
    tls_ca: str | PathLike[str] | None = None,
    tls_cert: str | PathLike[str] | None = None,
    tls_key: str | PathLike[str] | None = None,
    hand_off: bool = False,
    progress: bool | None = None,
    frames: bool = True,
) -> Connection:
    """Connects to a server: `grpc://host:port`, or `grpc+tls://host:port` with TLS. Log in by user and password, or by
    a token. `tls_ca` is a file of trusted certificates, in place of those of the system; `tls_cert` and `tls_key`
    are the client's own, for a server that requires them.

    `progress` and `frames` are those of `quiver.open`.

    `hand_off`: map the server's files for the rows of `table()`. The server must be on this machine, and allow it."""
    location, parts = _location(uri)
    credentials = Credentials(user or _unquoted(parts.username), password or _unquoted(parts.password), token)
    if credentials.token and credentials.user:
        raise ProgrammingError("a user and a token were given", hint="give one of them")
    if (tls_cert is None) != (tls_key is None):
        raise ProgrammingError("tls_cert and tls_key belong together", hint="give both or none")
    options: dict[str, Any] = {
        "tls_root_certs": _read(tls_ca),
        "cert_chain": _read(tls_cert),
        "private_key": _read(tls_key),
    }
    if not location.startswith("grpc+tls") and any(value is not None for value in options.values()):
        raise ProgrammingError(f"{uri} is not encrypted, so certificates mean nothing there", hint="write grpc+tls://")
    tls = {name: value for name, value in options.items() if value}
    return Connection(RemoteBackend(location, credentials, tls, hand_off=hand_off), progress, frames)


def _location(uri: str) -> tuple[str, Any]:
    parts = urlsplit(str(uri))
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme not in SCHEMES or not parts.hostname or not port:
        hint = "write grpc://host:port, or grpc+tls://host:port"
        if "://" not in str(uri) and not str(uri).split(":")[-1].isdigit():
            path = "" if uri in (None, ":memory:") else f'"{uri}"'
            hint = f"quiver.open({path}) opens a store; for a server {hint}"
        raise ProgrammingError(f'"{uri}" names no server', hint=hint)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    location = flight.Location(f"{SCHEMES[parts.scheme]}://{host}:{port}")
    return location.uri.decode(), parts


def _unquoted(text: str | None) -> str | None:
    return None if text is None else unquote(text)


def _read(path: str | PathLike[str] | None) -> bytes | None:
    if path is None:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ProgrammingError(f"{path} cannot be read: {error.strerror}") from None
