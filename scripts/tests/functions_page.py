"""Makes docs/functions.md: every function of the catalogue, with an example that is run as the page is made.

The catalogue (`information_schema`) gives names, types and lines, and `function_examples.sql` the examples. An error names functions that have no
example, and examples that fail or whose result has another type than the function should have. `test_functions_page.py` compares.
"""

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow
from quiver_shell import QUIVER

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "functions.md"
EXAMPLES = HERE / "function_examples.sql"
MARK = "-- answer --"

ROUTINES = """SELECT DISTINCT routine_name, function_type, description, syntax_example FROM information_schema.routines
ORDER BY function_type, routine_name"""
PARAMETERS = """SELECT specific_name, ordinal_position, max(parameter_name), array_to_string(array_sort(array_agg(DISTINCT data_type)), ';')
FROM information_schema.parameters WHERE parameter_mode = 'IN' GROUP BY specific_name, ordinal_position"""
RETURNS = """SELECT specific_name, array_to_string(array_sort(array_agg(DISTINCT data_type)), ';')
FROM information_schema.parameters WHERE parameter_mode = 'OUT' GROUP BY specific_name"""

# Of the types as the catalogue and DESCRIBE name them, by their beginnings; the first that fits.
CLASSES = [
    (r".*\[\d*\]$|List", "list"),
    (r"TENSOR", "matrix"),
    (r"STRUCT|Struct", "struct"),
    (r"MAP", "map"),
    (r"VARCHAR|String|Utf8", "text"),
    (r"BYTEA|Binary", "bytes"),
    (r"BOOLEAN|Boolean", "boolean"),
    (r"INTERVAL|Interval|Duration", "interval"),
    (r"U?(TINY|SMALL|BIG)?INT|U?Int\d", "integer"),
    (r"DOUBLE|REAL|FLOAT|DECIMAL|HALFFLOAT|Float|Decimal", "number"),
    (r"TIMESTAMP.*WITH TIME ZONE|Timestamp\(.*TZ", "timestamp with time zone"),
    (r"TIMESTAMP|Timestamp", "timestamp"),
    (r"DATE|Date", "date"),
    (r"TIME|Time", "time"),
]
NAMELESS = re.compile(r"(numeric_)?expression(_[xy]|\d)?|int|str")


@dataclass
class Function:
    """A row of the page."""

    section: str
    example: str
    comments: list[str]
    name: str = ""
    use: str = ""
    line: str = ""
    others: list[str] = field(default_factory=list)
    answer: str = ""
    type: str = ""

    def __post_init__(self):
        (self.use, *lines) = self.comments if self.comments and " → " in self.comments[0] else ("", *self.comments)
        self.line = " ".join(lines)
        self.name = re.search(r"\w+", self.use or self.example)[0]

    @property
    def kind(self) -> str:
        kinds = {"Aggregates": "AGGREGATE", "Window functions": "WINDOW", "Table functions": "TABLE"}
        return kinds.get(self.section.split(":")[0], "SCALAR")

    @property
    def statement(self) -> str:
        if self.example.startswith("SELECT "):
            return self.example
        sources = {"SCALAR": "", "AGGREGATE": " FROM scores", "WINDOW": " FROM scores ORDER BY name"}
        return f"SELECT * FROM {self.example}" if self.kind == "TABLE" else f"SELECT {self.example}{sources[self.kind]}"

    @property
    def is_call(self) -> bool:
        """Whether the example is nothing but the call, so that its type is the function's."""
        call = rf"{self.name}\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)( OVER .*)?"
        return self.kind != "TABLE" and bool(re.fullmatch(call, self.example))

    def statement_of(self, other: str) -> str:
        return re.sub(rf"\b{self.name}\(", f"{other}(", self.statement)


class Problems(Exception):
    pass


def main() -> int:
    try:
        PAGE.write_text(page())
    except Problems as problems:
        print(problems, file=sys.stderr)
        return 1
    return 0


def page() -> str:
    setup, functions = examples()
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="quiver-functions-") as directory:
        write_union(Path(directory) / "choices.arrow")
        statements = [ROUTINES, PARAMETERS, RETURNS, *(function.statement for function in functions)]
        catalogue, parameters, returns, *rest = answers(Path(directory), setup, statements)
        described = answers(Path(directory), "", [f"DESCRIBE {f.statement}" for f in functions])
        for function, answer, description in zip(functions, rest, described):
            function.answer = shown(answer) if isinstance(answer, list) else ""
            if not isinstance(answer, list):
                problems.append(f"{function.statement}: {answer}")
            elif function.is_call and isinstance(description, list):
                function.type = class_of(description[0][1])
        problems += join(functions, catalogue, parameters, returns)
        calls = [(function, other) for function in functions for other in function.others]
        for (function, other), answer in zip(calls, answers(Path(directory), "", [f.statement_of(other) for f, other in calls])):
            if not isinstance(answer, list) or shown(answer) != function.answer:
                problems.append(f"{function.statement_of(other)}: {answer}, and not {function.answer}")
    if problems:
        raise Problems("\n".join(problems))
    return written(setup, functions)


def write_union(path: Path) -> None:
    """A file with what no statement can make: a column that is a union."""
    fields = [pyarrow.array([7]), pyarrow.array(["seven"])]
    choice = pyarrow.UnionArray.from_dense(pyarrow.array([0, 1], "int8"), pyarrow.array([0, 0], "int32"), fields, ["number", "word"])
    table = pyarrow.table({"choice": choice})
    with pyarrow.ipc.new_file(path, table.schema) as file:
        file.write_table(table)


def examples() -> tuple[str, list[Function]]:
    setup, *sections = re.split(r"^-- ## (.+)\n", EXAMPLES.read_text(), flags=re.MULTILINE)
    functions = []
    for title, text in zip(sections[::2], sections[1::2]):
        comments: list[str] = []
        for line in filter(None, text.splitlines()):
            if line.startswith("-- "):
                comments.append(line.removeprefix("-- "))
            else:
                functions.append(Function(title, line.removesuffix(";"), comments))
                comments = []
    return "".join(line for line in setup.splitlines(keepends=True) if not line.startswith("--")).strip(), functions


def answers(directory: Path, setup: str, statements: list[str]) -> list[list[list[str]] | str]:
    """The rows of each statement, or its error. A statement that fails ends the shell, and the next one begins another."""
    found: list[list[list[str]] | str] = []
    command = [QUIVER, "--quiet", "--store", directory / "store", "--format", "markdown"]
    while len(found) < len(statements):
        text = setup + "".join(f"\n\\echo {MARK}\n{statement};" for statement in statements[len(found) :]) + "\n"
        done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=directory, timeout=120)
        (_, *parts) = done.stdout.split(f"{MARK}\n")
        if not parts:
            raise Problems(done.stderr)
        found += [rows(part) for part in parts]
        if done.returncode != 0:
            found[-1] = done.stderr.splitlines()[0]
        setup = ""
    return found


def rows(table: str) -> list[list[str]]:
    return [re.split(r"(?<!\\) \| ", line[2:-2]) for line in table.splitlines()[2:] if line.startswith("| ")]


def shown(answer: list[list[str]]) -> str:
    return ", ".join(f"({', '.join(row)})" if len(row) > 1 else row[0] for row in answer)


def join(functions: list[Function], catalogue: list, parameters: list, returns: list) -> list[str]:
    """Puts what the catalogue says into the functions; the names without an example, and types that are not so."""
    by_name = {(kind, name): (description, syntax) for name, kind, description, syntax in catalogue}
    arguments: dict[str, list[tuple[str, str]]] = {}
    for name, _, argument, found in sorted(parameters, key=lambda row: (row[0], int(row[1]))):
        arguments.setdefault(name, []).append((argument, classes(found)))
    results = {name: classes(found) for name, found in returns if found != "NULL"}
    problems = []
    known = {(function.kind, function.name) for function in functions}
    for function in functions:
        if (function.kind, function.name) not in by_name:
            problems.append(f"{function.name}: the catalogue has no such {function.kind.lower()} function")
            continue
        said = by_name[function.kind, function.name]
        if said[0] != "NULL":
            # Names of one function have one description.
            alike = [name for (kind, name), other in by_name.items() if kind == function.kind and other == said]
            function.others = [name for name in alike if (function.kind, name) not in known]
            function.line = function.line or first_sentence(said[0])
        known |= {(function.kind, other) for other in function.others}
        if not function.use and function.name in results:
            function.use = use(function.name, said[1], arguments[function.name], results[function.name])
        if not function.use or not function.line:
            problems.append(f"{function.name}: the catalogue lacks its types or its line, so the example needs them")
        elif function.type and not allows(function.use.split(" → ")[1], function.type):
            problems.append(f"{function.use}: the example is of type {function.type}")
    return problems + [f"{name}: no example of this {kind.lower()} function" for kind, name in by_name if (kind, name) not in known]


def use(name: str, syntax: str, arguments: list[tuple[str, str]], result: str) -> str:
    """`left(str, n)` with the types of its arguments."""
    text = syntax.split("<br>")[0]
    text = name + text[text.index("(") :]
    for argument, kind in arguments:
        text = re.sub(rf"(?<![\w]){argument}(?![\w])", kind if NAMELESS.fullmatch(argument) else f"{argument} {kind}", text, count=1)
    return f"{text} → {result}"


def classes(types: str) -> str:
    found = {class_of(name) for name in types.split(";")} - {"null"}
    found -= {"integer"} if "number" in found else set()
    found -= {"timestamp with time zone"} if "timestamp" in found else set()
    return "/".join(sorted(found))


def class_of(name: str) -> str:
    return next((kind for pattern, kind in CLASSES if re.match(pattern, name)), name.lower())


def allows(result: str, kind: str) -> bool:
    wider = {"integer": "number", "list": "vector"}
    return bool(set(re.split(r"/| or ", result)) & {"value", kind, wider.get(kind, kind)})


def first_sentence(text: str) -> str:
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text.replace("<br>", " ").strip()).replace("`", "")
    text = re.split(r"(?<=[^.])\. ", text + " ")[0].strip().rstrip(".")
    text = re.sub(r"^(Returns|Return|Computes) ", "", text).replace("_null_", "NULL")
    return text[:1].upper() + text[1:] + "."


def written(setup: str, functions: list[Function]) -> str:
    lines = [HEAD.format(setup=setup)]
    for title in dict.fromkeys(function.section for function in functions):
        lines += [f"## {title}\n", *INTROS.get(title, []), "| function | | example | result |", "|---|---|---|---|"]
        for function in (function for function in functions if function.section == title):
            others = f"<br>also {', '.join(f'`{other}`' for other in sorted(function.others))}" if function.others else ""
            example = function.example.replace("|", "\\|")
            lines.append(f"| `{function.use}`{others} | {function.line} | `{example}` | `{function.answer}` |")
        lines.append("")
    return "\n".join(lines)


HEAD = """# Functions

Every function in the catalogue, `information_schema.routines`; `\\df` of the shell lists them. `scripts/tests/functions_page.py` makes this page
from the catalogue and runs each example, under each name of the function; a test compares. Operators, casts and CASE are in [sql.md](sql.md), and
[kernels.md](kernels.md) has more about kernels. Functions that you write yourself are in [user-functions.md](user-functions.md).

Types are named by their kind: **integer** is every whole number, **number** also DECIMAL, REAL and DOUBLE, **list** every `T[]`, **vector** a list of
numbers, **matrix** a tensor of two dimensions, **bytes** BLOB, **value** any type. Brackets are around what may be left out. Other names of a
function are under it.

Examples use these tables and files. `choices.arrow` is of another program; its column `choice` is a union of a field `number` and a field `word`.

```sql
{setup}
```
"""

INTROS = {
    "Aggregates": ["`SELECT example FROM scores`. All but `grouping` take `FILTER (WHERE …)`, and can also stand `OVER` a window.\n"],
    "Window functions": ["`SELECT example FROM scores ORDER BY name`; the result has a value for each row.\n"],
    "Table functions": ["`SELECT * FROM example`; the result has its rows. [import.md](import.md) has the options of file readers.\n"],
}

if __name__ == "__main__":
    sys.exit(main())
