"""The tokens of a statement, as far as this package reads SQL: names of parameters, and names of tables in FROM."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""
    (?P<blank>\s+|--[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<text>[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$)
    |(?P<quoted>"(?:[^"]|"")*")
    |(?P<number>\?|\$\d+)
    |(?<![\w:)\]'"])[:$](?P<parameter>[^\W\d]\w*)   # not a cast, `x::INT`, and no slice, `x[1:n]`
    |(?P<word>[^\W\d][\w$]*)
    |(?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)

_FROM = {"FROM", "JOIN", "USING", "DESCRIBE", "SUMMARIZE"}
_OTHER_CLAUSES = {
    "SELECT",
    "WHERE",
    "ON",
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "WINDOW",
    "SET",
    "VALUES",
    "UNION",
    "EXCEPT",
    "INTERSECT",
}
_BEFORE_TABLES = {*_FROM, ",", "(", "LATERAL"}


def tokens(sql: str) -> Iterator[re.Match[str]]:
    """All of the text, in pieces that have the name of their group."""
    return _TOKEN.finditer(sql)


def may_have_tables(sql: str) -> bool:
    """Decided without splitting the text, which may be an INSERT of megabytes."""
    upper = sql.upper()
    return any(word in upper for word in (*_FROM, "COPY"))


def tables(sql: str) -> dict[str, str]:
    """The names in FROM and JOIN that have no schema, as they are written and as SQL reads them. Some may be columns or aliases, which
    takes a parser to tell; names of WITH are left out."""
    found: dict[str, str] = {}
    names_of_with: set[str] = set()
    # For each open parenthesis: whether the last clause that began in it is FROM.
    in_from = [False]
    before = ""
    pieces = [token for token in tokens(sql) if token.lastgroup != "blank"]
    for place, token in enumerate(pieces):
        word = token[0].upper()
        after = [piece[0].upper() for piece in pieces[place + 1 : place + 3]]
        if word == "(":
            in_from.append(in_from[-1])
        elif word == ")":
            in_from = in_from[:-1] or [False]
        elif word in _FROM:
            in_from[-1] = True
        elif word in _OTHER_CLAUSES:
            in_from[-1] = False
        elif token["word"] or token["quoted"]:
            if after == ["AS", "("]:
                names_of_with.add(_name(token))
            elif (before, after[:1]) == ("COPY", ["TO"]) or (in_from[-1] and before in _BEFORE_TABLES and after[:1] not in (["("], ["."])):
                found[token[0]] = _name(token)
        before = word
    return {written: name for written, name in found.items() if name not in names_of_with}


def _name(token: re.Match[str]) -> str:
    if token["quoted"]:
        return token[0][1:-1].replace('""', '"')
    # The engine lowers the letters of ASCII alone.
    return token[0].encode().lower().decode()
