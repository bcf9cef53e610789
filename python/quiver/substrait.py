"""Substrait plans from bytes, protobuf messages and expressions of Ibis."""

from __future__ import annotations

from typing import Any

from .errors import NotSupportedError, ProgrammingError


def as_bytes(plan: Any) -> bytes:
    """A serialized `substrait.Plan`."""
    if type(plan).__module__.split(".")[0] == "ibis":
        return _of_ibis(plan)
    if hasattr(plan, "SerializeToString"):
        return plan.SerializeToString()
    try:
        return bytes(memoryview(plan))
    except TypeError:
        hint = "give the bytes of a substrait.Plan, such a message, or an expression of Ibis"
        raise ProgrammingError(f"{type(plan).__name__} is no Substrait plan", hint=hint) from None


def _of_ibis(expression: Any) -> bytes:
    try:
        from ibis_substrait.compiler.core import SubstraitCompiler
    except ImportError as error:
        raise ImportError(f"ibis-substrait makes a plan of an expression of Ibis, and cannot be imported: {error}") from error
    try:
        return SubstraitCompiler().compile(expression).SerializeToString()
    except Exception as error:
        # It raises exceptions of any class if it cannot translate an expression.
        message = f"ibis-substrait makes no plan of this expression: {error or type(error).__name__}"
        raise NotSupportedError(message, hint="say this part in SQL") from error
