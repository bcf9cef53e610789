"""SQLAlchemy: `quiver:///path/of/a/store` in process, `quiver+flight://user:password@host:port` over the network.

An installed package makes itself known to SQLAlchemy; from a clone, import this module first.
"""

from sqlalchemy.dialects import registry

from .dialect import FlightDialect, QuiverDialect

registry.register("quiver", "quiver.sqlalchemy", "QuiverDialect")
registry.register("quiver.flight", "quiver.sqlalchemy", "FlightDialect")

__all__ = ["FlightDialect", "QuiverDialect"]
