"""The server that clients of other languages are tested against, and how each of them names it."""

import os
from pathlib import Path

from quiver_server import Server, add_user, certificate


def cache_directory() -> Path:
    """As in the Makefile: outside of the clone, for all clones."""
    base = os.environ.get("QUIVER_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quiver"
    Path(base).mkdir(parents=True, exist_ok=True)
    return Path(base)


class ClientServer:
    """A server with a new store in `directory`; it is `secured` by TLS and has a user, or neither."""

    def __init__(self, directory: Path, secured: bool = True):
        directory.mkdir(exist_ok=True)
        store = directory / "store"
        self.certificate = self.user = self.password = None
        switches = []
        if secured:
            self.certificate, key = certificate(directory)
            self.user, self.password = "ada", "secret word"
            add_user(store, self.user, self.password, "--admin")
            switches = ["--tls-cert", self.certificate, "--tls-key", key]
        self.server = Server(store, *switches)
        self.address = self.server.uri.split("://")[1]

    def __enter__(self) -> "ClientServer":
        return self

    def __exit__(self, *_) -> None:
        status, _ = self.server.end()
        if status != 0:
            raise SystemExit(f"the server ended with status {status}: {self.server.said()}")

    def jdbc_url(self) -> str:
        if self.certificate:
            return f"jdbc:arrow-flight-sql://{self.address}/?useEncryption=true&tlsRootCerts={self.certificate}"
        return f"jdbc:arrow-flight-sql://{self.address}/?useEncryption=false"
