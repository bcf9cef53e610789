"""Runs one set of tests in process and over the network. `python python/tests` runs all tests; single ones need PYTHONPATH=python."""

import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

import quiver
import quiver.dbapi
import quiver.testing

PASSWORD = "long & strange: ü"


def soon(is_true):
    """Waits until it is true, and returns whether it became so."""
    until = time.monotonic() + 30
    while not is_true() and time.monotonic() < until:
        time.sleep(0.02)
    return is_true()


class InProcess(unittest.TestCase):
    login = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.files = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="quiver-test-")))
        cls.place = str(cls.files / "store")

    def opened(self):
        return quiver.open(self.place)


class Remote(unittest.TestCase):
    """Over TLS, with a user."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.files = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="quiver-test-")))
        cls.store = cls.files / "store"
        certificate, key = made_certificate(cls.files)
        command("--store", cls.store, "user", "add", "ann", "--admin", "--password-stdin", said=f"{PASSWORD}\n")
        cls.prepare()
        server = quiver.testing.serve(cls.store, switches=["--tls-cert", str(certificate), "--tls-key", str(key)])
        cls.place = cls.enterClassContext(server).uri
        cls.login = {"user": "ann", "password": PASSWORD, "tls_ca": certificate}

    @classmethod
    def prepare(cls):
        """Prepares the store before it is served."""

    def opened(self):
        return quiver.connect(self.place, **self.login)


def made_certificate(directory):
    """A self-signed certificate for this machine, and its key."""
    certificate, key = directory / "server.crt", directory / "server.key"
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
            certificate,
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key


def command(*words, said=""):
    """The output of the program `quiver`."""
    done = subprocess.run([quiver.testing.binary(), *words], input=said, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout


def in_threads(work, number):
    """Runs `work` in threads. Returns the exception of each, or None."""
    errors = [None] * number

    def run(place):
        try:
            work(place)
        except Exception as error:
            errors[place] = error

    threads = [threading.Thread(target=run, args=[place]) for place in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


class Connected:
    """A test case with a connection, `self.con`."""

    def setUp(self):
        self.con = self.opened()
        self.addCleanup(self.con.close)

    def rows(self, sql, params=None):
        return self.con.sql(sql, params).fetchall()


def in_both_ways(cases):
    """The classes of a mixin's tests: load them with `globals().update(in_both_ways(Cases))`."""
    classes = {}
    for way in (InProcess, Remote):
        name = f"{cases.__name__}{way.__name__}"
        classes[name] = type(name, (cases, Connected, way), {"__module__": cases.__module__, "__doc__": cases.__doc__})
    return classes
