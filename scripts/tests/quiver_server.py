"""The server as a test drives it: `quiver serve` on a free port, and an end by SIGTERM."""

import re
import signal
import subprocess
import tempfile
from pathlib import Path

from quiver_shell import QUIVER


def certificate(directory: Path) -> tuple[Path, Path]:
    """A certificate for this machine that is its own authority, and its key."""
    cert, key = directory / "server.crt", directory / "server.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        + [
            "-subj",
            "/CN=localhost",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
            "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout",
            key,
            "-out",
            cert,
        ],
        check=True,
        capture_output=True,
    )
    return cert, key


def add_user(store: Path, name: str, password: str, *switches: str) -> None:
    command = [QUIVER, "--store", store, "user", "add", name, "--password-stdin", *switches]
    subprocess.run(command, input=password + "\n", check=True, capture_output=True, text=True)


class Server:
    def __init__(self, store: Path, *switches: str, environment: dict[str, str] | None = None, listen: str = "127.0.0.1:0"):
        self.store = store
        self.errors = tempfile.TemporaryFile("w+")
        command = [QUIVER, "serve", "--store", store, "--listen", listen, *switches]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, env=environment, text=True)
        self.first_line = self.process.stdout.readline()
        found = re.match(r"listening on (grpc(?:\+tls)?://\S+) ", self.first_line)
        if not found:
            self.process.wait(timeout=60)
            raise AssertionError(f"the server said {self.first_line!r} and {self.said()!r}")
        self.uri = found[1]

    def said(self) -> str:
        if not self.errors.closed:
            self.errors.seek(0)
            self.text = self.errors.read()
        return self.text

    def end(self) -> tuple[int, str]:
        """The exit status, and what it said since it began."""
        self.process.send_signal(signal.SIGTERM)
        with self.process.stdout, self.errors:
            rest = self.process.stdout.read()
            status = self.process.wait(timeout=60)
            self.said()
        return status, rest
