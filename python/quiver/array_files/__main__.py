"""`python -m quiver.array_files`: what `quiver import` starts for files of arrays. An error is one line on stderr, and the status 2."""

from __future__ import annotations

import argparse
import glob
import os
import sys
import time

from ..connection import Connection
from ..errors import Error, ProgrammingError
from .load import import_arrays


def main() -> int:
    parser = argparse.ArgumentParser(prog="quiver import", description=__doc__)
    parser.add_argument("paths", nargs="+")
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--store")
    place.add_argument("--connect")
    for option in ("--user", "--tls-ca", "--tls-cert", "--tls-key"):
        parser.add_argument(option)
    parser.add_argument("--replace", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    try:
        with _opened(options) as connection:
            for path in _matching(options.paths):
                began = time.monotonic()
                arrays = import_arrays(connection, path, mode="replace" if options.replace else "create")
                if not options.quiet:
                    size_mb = sum(array.nbytes for array in arrays) / 1e6
                    print(f"{path}: {len(arrays)} arrays, {size_mb:,.1f} MB, {time.monotonic() - began:.3f} s", flush=True)
    except Error as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _matching(patterns: list[str]) -> list[str]:
    """The shell of the user expands patterns, unless they are in quotes."""
    paths = []
    for pattern in patterns:
        found = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else [pattern]
        if not found:
            raise ProgrammingError(f'no file matches "{pattern}"')
        paths += found
    return paths


def _opened(options: argparse.Namespace) -> Connection:
    if options.connect is None:
        from ..embedded import open as open_store

        return open_store(options.store)
    from ..remote import connect

    login = {"user": options.user, "tls_ca": options.tls_ca, "tls_cert": options.tls_cert, "tls_key": options.tls_key}
    return connect(
        options.connect, password=os.environ.get("QUIVER_PASSWORD"), token=None if options.user else os.environ.get("QUIVER_TOKEN"), **login
    )


if __name__ == "__main__":
    sys.exit(main())
