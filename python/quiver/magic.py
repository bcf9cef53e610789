"""`%load_ext quiver`: `%sql` and `%%sql` in notebooks, by JupySQL's conventions.

    %sql quiver:///store                 connect in process; grpc://host:port over the network
    %sql con                             use a connection that is a variable
    %sql quiver:///store --alias mine    give it a name; `%sql mine` goes back to it
    %sql SELECT 1                        one line;  %%sql  the whole cell
    %sql rows << SELECT 1                keep the result in a variable
    %sql --persist frame                 write a variable as a table; --append, --persist-replace
    %sql --connections                   those there are;  %sql --close mine
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope

from . import embedded
from .connection import Connection
from .result import Result

# All that is said in one word; other words are connections.
_STATEMENTS = {"BEGIN", "COMMIT", "ROLLBACK", "CHECKPOINT"}
_WRITES = {"--persist": "create", "--append": "append", "--persist-replace": "replace"}


def load(shell: Any) -> None:
    shell.register_magics(SqlMagics)


@magics_class
class SqlMagics(Magics):
    def __init__(self, shell: Any):
        super().__init__(shell)
        self.connections: dict[str, Connection] = {}
        self.current: Connection | None = None

    @needs_local_scope
    @line_cell_magic
    def sql(self, line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None) -> Any:
        variables = self._names() | (local_ns or {})
        line = line.strip()
        if cell is None:
            return self._line(line, variables)
        target, _, rest = line.rpartition("<<")
        if rest.strip():
            self._choose(rest.strip(), variables)
        return self._run(cell, target.strip())

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
        if line.rstrip("; ").upper() in _STATEMENTS:
            return self._run(line, "")
        if len(words) == 1 or words[1] == "--alias":
            return self._choose(line, variables)
        target, arrow, statement = line.partition("<<")
        if arrow and target.strip().isidentifier():
            return self._run(statement, target.strip())
        return self._run(line, "")

    def _choose(self, line: str, variables: dict[str, Any]) -> None:
        name, *rest = line.split()
        alias = rest[1] if rest[:1] == ["--alias"] and len(rest) == 2 else name
        if rest and alias == name:
            raise UsageError(f"%sql does not know {' '.join(rest)}")
        known = [found for found in (self.connections.get(name), variables.get(name)) if isinstance(found, Connection)]
        if usable := [connection for connection in known if not connection.is_closed]:
            self.current = usable[0]
        elif name.startswith("quiver://"):
            path = name.removeprefix("quiver://").removeprefix("/")
            self.current = embedded.open(Path(path).expanduser() if path else None)
        elif name.startswith(("grpc://", "grpc+tls://")):
            from .remote import connect

            self.current = connect(name)
        else:
            raise UsageError(f"{name} is no connection; write quiver:///path, grpc://host:port or the name of a variable")
        self.connections[alias] = self.current

    def _run(self, statement: str, target: str) -> Result | None:
        if self.current is None or self.current.is_closed:
            raise UsageError("there is no connection; make one with %sql quiver:///path")
        result = self.current.sql(statement.strip().rstrip(";"))
        if not target:
            return result
        self._names()[target] = result
        return None

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
