"""The remote backend: Flight SQL, as docs/flight-sql.md describes it."""

from .connect import connect

__all__ = ["connect"]
