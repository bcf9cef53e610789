"""Certificates of a server that runs: SIGHUP has it read them again."""

import signal
import ssl
import tempfile
import time
import unittest
from pathlib import Path

import pyarrow.flight
from quiver_server import Server, certificate


class ServerCertificates(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.cert, self.key = certificate(self.folder)
        self.server = Server(self.folder / "store", "--tls-cert", self.cert, "--tls-key", self.key)
        self.addCleanup(self.server.process.kill)
        host, port = self.server.uri.removeprefix("grpc+tls://").split(":")
        self.address = host, int(port)

    def shown(self) -> str:
        """The certificate that a new connection gets."""
        return ssl.get_server_certificate(self.address, timeout=60)

    def connect(self) -> pyarrow.flight.FlightClient:
        return pyarrow.flight.FlightClient(self.server.uri, tls_root_certs=self.cert.read_bytes())

    def test_new_connections_get_the_new_certificate_and_old_ones_go_on(self):
        first = self.shown()
        self.assertEqual(first.strip(), self.cert.read_text().strip())
        before = self.connect()
        self.assertTrue(list(before.list_actions()))
        certificate(self.folder)
        self.assertEqual(self.shown(), first)
        self.server.process.send_signal(signal.SIGHUP)
        self.assertIn("the certificates were read again", self.server.process.stdout.readline())
        self.assertEqual(self.shown().strip(), self.cert.read_text().strip())
        self.assertTrue(list(self.connect().list_actions()))
        # It trusts only the first one, so this is its first connection still.
        self.assertTrue(list(before.list_actions()))
        self.server.end()

    def test_a_bad_file_is_said_and_the_old_certificate_stays(self):
        first, good = self.shown(), self.cert.read_text()
        self.cert.write_text("garbage")
        self.server.process.send_signal(signal.SIGHUP)
        until = time.monotonic() + 60
        while "server.crt has no certificate" not in self.server.said():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        self.assertEqual(self.shown(), first)
        self.cert.write_text(good)
        self.server.process.send_signal(signal.SIGHUP)
        self.assertIn("the certificates were read again", self.server.process.stdout.readline())
        status, _ = self.server.end()
        self.assertEqual(status, 0)
        self.assertIn("the certificates stay as they were", self.server.said())


if __name__ == "__main__":
    unittest.main()
