"""`python -m quiver.array_files`: what `quiver import` starts for files of arrays. An error is a line on stderr, and the status 2."""

from __future__ import annotations

import argparse
import glob
import os
import sys
import time

from ..connection import Connection
from ..errors import Error, ProgrammingError
from .attributes import METADATA, PendingTags
from .load import FileImport, error_of_tags, load


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
    parser.add_argument("--metadata", choices=METADATA, default="sync")
    for option in ("--exclude", "--exclude-attributes"):
        parser.add_argument(option, action="append", default=[])
    options = parser.parse_args()
    try:
        with _opened(options) as connection:
            errors = _import(connection, options)
    except Error as error:
        errors = [str(error)]
    print("".join(f"{error}\n" for error in errors), end="", file=sys.stderr)
    return 2 if errors else 0


def _import(connection: Connection, options: argparse.Namespace) -> list[str]:
    """Returns what has failed. Attributes that follow are set when the arrays of all files are there, or of those before one that
    fails."""
    errors: list[str] = []
    imported: list[tuple[FileImport, PendingTags]] = []
    try:
        for path in _matching(options.paths):
            source = FileImport(path, exclude=options.exclude, exclude_attributes=options.exclude_attributes)
            pending = _import_one(connection, source, options)
            if pending is not None:
                imported.append((source, pending))
    except Error as error:
        errors.append(str(error))
    while imported:
        try:
            failure = error_of_tags(connection, *imported[0])
        except KeyboardInterrupt:
            return errors + [f'the attributes of "{source.path}" are no tags yet: {source.extraction} makes them' for source, _ in imported]
        errors += [failure] if failure else []
        del imported[0]
    return errors


def _import_one(connection: Connection, source: FileImport, options: argparse.Namespace) -> PendingTags | None:
    began = time.monotonic()
    arrays, pending = load(connection, source, "replace" if options.replace else "create", options.metadata)
    if not options.quiet:
        size_mb, seconds = sum(array.nbytes for array in arrays) / 1e6, time.monotonic() - began
        end = "; its attributes follow" if options.metadata == "async" else ""
        print(f"{source.path}: {len(arrays)} arrays, {size_mb:,.1f} MB, {seconds:.3f} s{end}", flush=True)
    return pending


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
