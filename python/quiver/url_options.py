"""Options in the query of a URL, where everything is text."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any

_TRUTHS = ("autocommit", "frames", "hand_off", "progress", "read_only", "tls")


def checked(options: dict[str, Any], opened: Callable[..., Any], *others: str) -> dict[str, Any]:
    """The options, most of which are keyword parameters of `opened`, with truth values and numbers in place of their texts."""
    taken = inspect.signature(opened).parameters.values()
    known = [option.name for option in taken if option.kind is option.KEYWORD_ONLY] + list(others)
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            instead = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}"
            raise ValueError(f'there is no option "{name}" of a URL of Quiver; {instead}')
    return {name: _value(name, value) for name, value in options.items()}


def _value(name: str, value: Any) -> Any:
    if name in _TRUTHS:
        # The text "false" would be true.
        if str(value).lower() not in ("true", "false", "1", "0", "yes", "no"):
            raise ValueError(f'"{value}" is neither true nor false')
        return str(value).lower() in ("true", "1", "yes")
    if name == "threads":
        if not str(value).isdecimal():
            raise ValueError(f'"{value}" is no number of threads')
        return int(value)
    return value
