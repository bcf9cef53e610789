"""`%load_ext quiver`: `%sql` and `%%sql` in notebooks, by JupySQL's conventions.

    %sql quiver:///store                 connect in process; grpc://host:port over the network;  quiver:///store?read_only=true
    %sql con                             use a connection that is a variable
    %sql quiver:///store --alias mine    give it a name; `%sql mine` goes back to it
    %sql SELECT 1                        one line;  %%sql  the whole cell
    %sql rows << SELECT 1                keep the result in a variable
    %sql --save late SELECT …            keep the query by a name;  %%sql --with late  use it as a table (WITH late AS …)
    %sql --file script.sql               the statements of a file
    %sql --persist frame                 write a variable as a table; --append, --persist-replace
    %sql --connections                   those there are;  %sql --close mine

Of several statements, one after the other, the result of the last is shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope

from . import embedded, names, url_options
from .connection import Connection
from .result import Result

# The commands of a single word; any other word is a connection.
_STATEMENTS = {"BEGIN", "COMMIT", "ROLLBACK", "CHECKPOINT"}
_WRITES = {"--persist": "create", "--append": "append", "--persist-replace": "replace"}


def load(shell: Any) -> None:
    shell.register_magics(SqlMagics)


# Only comments may come before it.
_QUERY = re.compile(
    r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:(?P<with>WITH(?:\s+RECURSIVE)?)\b|(?:SELECT|VALUES|FROM)\b|\()", re.IGNORECASE | re.DOTALL
)
_SWITCH = re.compile(r"(?:^|(?<=\s))(--?[A-Za-z][\w-]*)(?:[=\s]+(\S+))?\s*")
_SWITCHES = {"--save": "a name", "--with": "a name", "--file": "a file"}
_OTHERS = "--persist, --append, --persist-replace, --alias, --connections and --close"


@dataclass(frozen=True)
class SavedQuery:
    text: str
    used: list[str]
    """The names of the saved queries that it uses. **Invariant:** none of them uses it, directly or indirectly."""


@dataclass
class Options:
    """The options before a statement."""

    saved: str | None = None
    used: list[str] = field(default_factory=list)
    file: str | None = None

    @classmethod
    def parse(cls, line: str) -> tuple[Options, str]:
        """Parses the options. Returns them and the rest of the line. A comment begins with `-- `."""
        options = cls()
        while match := _SWITCH.match(line):
            name, value = match.groups()
            if name not in _SWITCHES:
                raise UsageError(f"%sql has no {name} here; it has {', '.join(_SWITCHES)}, {_OTHERS}")
            if value is None:
                raise UsageError(f"%sql {name} wants {_SWITCHES[name]}")
            options._set(name, value.strip("\"'"))
            line = line[match.end() :]
            if name == "--with" and (value.endswith(",") or line.startswith(",")):
                raise UsageError("%sql --with wants names with commas and no space between them: --with early,late")
        return options, line

    @classmethod
    def of_cell(cls, line: str) -> tuple[Options, str]:
        """The options may come before or after the connection, to which `--alias` belongs."""
        begins = next((match.start() for match in _SWITCH.finditer(line) if match[1] != "--alias"), len(line))
        options, rest = cls.parse(line[begins:])
        return options, f"{line[:begins]} {rest}"

    def _set(self, name: str, value: str) -> None:
        if name == "--save":
            self.saved = value
        elif name == "--with":
            self.used += [part for part in value.split(",") if part and part not in self.used]
        else:
            self.file = value

    @property
    def are_given(self) -> bool:
        return self != Options()

    def script(self, text: str) -> str:
        if self.file is None:
            return text
        if text.strip():
            raise UsageError("%sql --file has its statements in the file, and here are more")
        try:
            return Path(self.file).expanduser().read_text()
        except (OSError, ValueError) as error:
            raise UsageError(f"{self.file} cannot be read: {error}") from None


def _store(url: str) -> Connection:
    """The store of a URL. Options of `quiver.open` follow its path, as in SQLAlchemy: `?read_only=true&memory_limit=4GB`."""
    path, _, query = url.removeprefix("quiver://").removeprefix("/").partition("?")
    try:
        options = url_options.checked(dict(parse_qsl(query, keep_blank_values=True)), embedded.open)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return embedded.open(Path(path).expanduser() if path else None, **options)


@magics_class
class SqlMagics(Magics):
    def __init__(self, shell: Any):
        super().__init__(shell)
        self.connections: dict[str, Connection] = {}
        self.current: Connection | None = None
        self.snippets: dict[str, SavedQuery] = {}

    @needs_local_scope
    @line_cell_magic
    def sql(self, line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None) -> Any:
        variables = self._names() | (local_ns or {})
        line = line.strip()
        if cell is None:
            return self._line(line, variables)
        options, rest = Options.of_cell(line)
        before, arrow, chosen = rest.rpartition("<<")
        # The connection comes before the variable, or after the arrow.
        *words, target = before.split() or [""]
        if not target.isidentifier() and arrow:
            raise UsageError(f"{target or 'nothing'} is no name of a variable, which stands before <<")
        if chosen := " ".join(words) or chosen.strip():
            self._choose(chosen, variables)
        return self._run(cell, target, variables, options)

    def _names(self) -> dict[str, Any]:
        return self.shell.user_ns if self.shell else {}

    def _line(self, line: str, variables: dict[str, Any]) -> Any:
        words = line.split()
        if not words:
            raise UsageError("%sql wants a statement, or a connection: %sql quiver:///store")
        if words[0] == "--connections":
            return dict(self.connections)
        if words[0] == "--close":
            return self._close(words[1:])
        if words[0] in _WRITES:
            return self._write(words[0], words[1:], variables)
        options, line = Options.parse(line)
        target, arrow, statement = line.partition("<<")
        if arrow and target.strip().isidentifier():
            return self._run(statement, target.strip(), variables, options)
        if options.are_given:
            return self._run(line, "", variables, options)
        if line.rstrip("; ").upper() in _STATEMENTS:
            return self._run(line, "", variables)
        if len(words) == 1 or words[1] == "--alias":
            return self._choose(line, variables)
        return self._run(line, "", variables)

    def _choose(self, line: str, variables: dict[str, Any]) -> None:
        name, *rest = line.split()
        alias = rest[1] if rest[:1] == ["--alias"] and len(rest) == 2 else name
        if rest and alias == name:
            raise UsageError(f"%sql does not know {' '.join(rest)}")
        known = [found for found in (self.connections.get(name), variables.get(name)) if isinstance(found, Connection)]
        if usable := [connection for connection in known if not connection.is_closed]:
            self.current = usable[0]
        elif name.startswith("quiver://"):
            self.current = _store(name)
        elif name.startswith(("grpc://", "grpc+tls://")):
            from .remote import connect

            self.current = connect(name)
        else:
            raise UsageError(f"{name} is no connection; write quiver:///path, grpc://host:port or the name of a variable")
        self.connections[alias] = self.current

    def _run(self, text: str, target: str, variables: dict[str, Any], options: Options | None = None) -> Result | None:
        if self.current is None or self.current.is_closed:
            raise UsageError("there is no connection; make one with %sql quiver:///path")
        options = options or Options()
        if not (statements := [statement.strip().rstrip(";") for statement in embedded.statements(options.script(text))]):
            raise UsageError("there is no statement")
        if options.saved is not None or options.used:
            if len(statements) > 1:
                raise UsageError("--save and --with are for one query, and these are several statements")
            query, statements = statements[0], [self._with_snippets(statements[0], options)]
        for statement in statements:
            result = self.current._sql(statement, None, variables)
        if options.saved is not None:
            self.snippets[options.saved] = SavedQuery(query, options.used)
        if not target:
            return result
        self._names()[target] = result
        return None

    def _with_snippets(self, query: str, options: Options) -> str:
        """Puts each saved query that it uses, directly or indirectly, before it, and only once, because names must be unique."""
        if unknown := [name for name in options.used if name not in self.snippets]:
            raise UsageError(f"there is no query saved as {unknown[0]}; %sql --save {unknown[0]} SELECT … saves one")
        if not (begins := _QUERY.match(query)):
            raise UsageError("--save and --with are for queries: what begins with SELECT, WITH or VALUES")
        if not options.used:
            return query
        used = self._in_order(options.used)
        if options.saved in used:
            raise UsageError(f"{options.saved} would read itself; save this query by another name")
        tables = ", ".join(f"{names.quoted(name)} AS (\n{self.snippets[name].text}\n)" for name in used)
        if not begins["with"]:
            return f"WITH {tables}\n{query}"
        return f"{begins['with']} {tables}, {query[begins.end('with') :].lstrip()}"

    def _in_order(self, used: list[str]) -> list[str]:
        """These queries, each after the ones that it uses."""
        found: dict[str, None] = {}
        for name in used:
            found |= dict.fromkeys([*self._in_order(self.snippets[name].used), name])
        return list(found)

    def _write(self, switch: str, names: list[str], variables: dict[str, Any]) -> str:
        if self.current is None or len(names) != 1 or names[0] not in variables:
            raise UsageError(f"%sql {switch} wants a connection, and the name of a variable that has rows")
        rows = self.current.write(names[0], variables[names[0]], _WRITES[switch])
        return f"{names[0]}: {rows:,} rows"

    def _close(self, names: list[str]) -> None:
        for name in names:
            if name not in self.connections:
                raise UsageError(f"there is no connection {name}; %sql --connections lists those there are")
            self.connections.pop(name).close()
