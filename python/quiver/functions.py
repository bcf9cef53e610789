"""Functions in Python that a store keeps: their statements, made of the source of a function or a class of this program."""

from __future__ import annotations

import ast
import builtins
import datetime
import dis
import inspect
import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType, ModuleType
from typing import Any

import pyarrow as pa

from .errors import NotSupportedError, ProgrammingError
from .names import literal, quoted

Types = Mapping[str, Any]
# What stands in an annotation, and its type in SQL.
_OF_PYTHON = {
    bool: "BOOLEAN",
    int: "BIGINT",
    float: "DOUBLE",
    str: "VARCHAR",
    bytes: "BYTEA",
    datetime.date: "DATE",
    datetime.time: "TIME",
    datetime.datetime: "TIMESTAMP",
    pa.Table: "TABLE",
}
_OF_ARROW = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float32(): "REAL",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.binary(): "BYTEA",
    pa.date32(): "DATE",
}
_CONSTANTS = (bool, int, float, complex, str, bytes, type(None))


def statements(
    function: Callable[..., Any] | type,
    *,
    name: str | None,
    schema: str | None,
    parameters: Types | None,
    returns: Any,
    aggregate: bool,
    immutable: bool,
    strict: bool,
    replace: bool,
) -> Iterator[str]:
    """One for a function; one for each public method of a class, whose objects are made of a table."""
    source = source_of(function)
    clauses = "".join(f" {word}" for word, is_set in [("IMMUTABLE", immutable), ("STRICT", strict)] if is_set)
    create = "CREATE OR REPLACE" if replace else "CREATE"
    kind = "AGGREGATE" if aggregate else "FUNCTION"
    for sql_name, symbol, called in _called(function, name):
        types = _parameters(called, parameters, returns, symbol)
        result = _returns(returns if returns is not None else _annotation(called, called.__annotations__.get("return")), symbol)
        signature = _signature(schema, sql_name, types)
        yield f"{create} {kind} {signature} RETURNS {result} LANGUAGE python{clauses} AS {_in_quotes(source)} SYMBOL {literal(symbol)}"


def procedure_statement(
    function: Callable[..., Any], *, name: str | None, schema: str | None, parameters: Types | None, returns: Types | None, replace: bool
) -> str:
    """The first parameter of the function is the session, which has no type in SQL."""
    symbol = function.__name__
    signature = _signature(schema, name or symbol.lower(), _parameters(function, parameters, None, symbol, 1))
    create = "CREATE OR REPLACE" if replace else "CREATE"
    result = "" if returns is None else f" RETURNS {_returns(returns, symbol)}"
    return f"{create} PROCEDURE {signature}{result} LANGUAGE python AS {_in_quotes(source_of(function))} SYMBOL {literal(symbol)}"


def _signature(schema: str | None, name: str, types: Iterable[tuple[str, str]]) -> str:
    full_name = quoted(name) if schema is None else f"{quoted(schema)}.{quoted(name)}"
    return f"{full_name}({', '.join(f'{quoted(parameter)} {kind}' for parameter, kind in types)})"


def _called(function: Callable[..., Any] | type, name: str | None) -> Iterator[tuple[str, str, Callable[..., Any]]]:
    if not isinstance(function, type):
        yield name or function.__name__.lower(), function.__name__, function
        return
    for method, called in vars(function).items():
        if inspect.isfunction(called) and not method.startswith("_"):
            prefix = name or function.__name__.lower()
            yield f"{prefix}_{method.lower()}", f"{function.__name__}.{method}", called


def _parameters(function: Callable[..., Any], given: Types | None, returns: Any, symbol: str, first: int = 0) -> Iterator[tuple[str, str]]:
    is_method = "." in symbol
    for at, parameter in enumerate(list(inspect.signature(function).parameters.values())[first:]):
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise NotSupportedError(
                f"{symbol} has the parameter {parameter}", hint="a function of the store has a fixed number of parameters"
            )
        if at == 0 and is_method:
            yield "object", "TABLE"
            continue
        kind = (given or {}).get(parameter.name, parameter.annotation)
        sql = None if kind is parameter.empty else _sql_type(_annotation(function, kind))
        # An array has the type of the result where nothing else is said.
        sql = sql or (_sql_type(returns) if isinstance(returns, (str, type, pa.DataType)) else None)
        if sql is None:
            hint = f"say it: parameters={{'{parameter.name}': 'DOUBLE'}}, or annotate it with int, float, str or 'DOUBLE'"
            raise ProgrammingError(f"the type of {parameter.name} of {symbol} is not known", hint=hint)
        yield parameter.name, sql


def _annotation(function: Callable[..., Any], annotation: Any) -> Any:
    """An annotation in quotes is an expression of Python, or else a type in SQL."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, getattr(function, "__globals__", {}))
    except (NameError, SyntaxError, AttributeError, TypeError):
        return annotation


def _sql_type(kind: Any) -> str | None:
    if isinstance(kind, str):
        return kind
    if isinstance(kind, pa.DataType):
        return _OF_ARROW.get(kind)
    return _OF_PYTHON.get(kind) if isinstance(kind, type) else None


def _returns(returns: Any, symbol: str) -> str:
    if isinstance(returns, Mapping):
        columns = [(name, _sql_type(kind)) for name, kind in returns.items()]
        unknown = [name for name, kind in columns if kind is None]
        if unknown:
            raise ProgrammingError(f"the type of the column {unknown[0]} of {symbol} is not known", hint="write it as in SQL: 'DOUBLE'")
        return "TABLE (" + ", ".join(f"{quoted(name)} {kind}" for name, kind in columns) + ")"
    sql = _sql_type(returns)
    if sql is None or sql == "TABLE":
        hint = "returns='DOUBLE' for values, returns={'x': 'DOUBLE', 'n': 'BIGINT'} for rows"
        raise ProgrammingError(f"the type of the result of {symbol} is not known", hint=hint)
    return f"TABLE (result {sql})" if "." in symbol else sql


def source_of(function: Callable[..., Any] | type) -> str:
    """The source without decorators, after what it uses of its module."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        hint = "define it in a file or a notebook, or send CREATE FUNCTION … LANGUAGE python AS $$ … $$"
        raise NotSupportedError(f"the source of {function.__name__} is not there", hint=hint) from None
    definition = ast.parse(source).body[0]
    if not isinstance(definition, (ast.FunctionDef, ast.ClassDef)):
        raise NotSupportedError(f"{function.__name__} is no function that is written with def", hint="write def f(x): return …")
    lines = source.splitlines()[definition.lineno - 1 : definition.end_lineno]
    # Annotations say the types here; where the function runs they mean nothing.
    return "\n".join(["from __future__ import annotations", *_used(function), *lines]) + "\n"


def _used(function: Callable[..., Any] | type) -> Iterator[str]:
    module = inspect.getmodule(function)
    functions = (
        [function] if not isinstance(function, type) else [member for member in vars(function).values() if inspect.isfunction(member)]
    )
    variables = functions[0].__globals__ if functions else vars(module) if module else {}
    for called in functions:
        if called.__code__.co_freevars and called.__code__.co_freevars != ("__class__",):
            name = called.__code__.co_freevars[0]
            hint = "make it a parameter, or define it inside of the function"
            raise NotSupportedError(f"{called.__name__} uses {name} of the function around it, which is not sent", hint=hint)
    names = {name for called in functions for name in _global_names(called.__code__)}
    for name in sorted(names):
        if name == function.__name__ or name not in variables or hasattr(builtins, name) and variables[name] is getattr(builtins, name):
            continue
        yield _line(name, variables[name], function)


def _global_names(code: CodeType) -> Iterator[str]:
    yield from (step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)


def _line(name: str, value: Any, function: Callable[..., Any] | type) -> str:
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{name} = float({str(value)!r})"
    if type(value) in _CONSTANTS:
        return f"{name} = {value!r}"
    module, qualified = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if module and module not in ("__main__", function.__module__) and qualified.isidentifier():
        return f"from {module} import {qualified} as {name}"
    hint = "make it a parameter, or define it inside of the function"
    raise NotSupportedError(f"{function.__name__} uses {name} of its module, which is not sent", hint=hint)


def _in_quotes(source: str) -> str:
    return literal(source) if "$$" in source else f"$$\n{source}$$"
