"""No top-level module of a crate is in a circle of imports, and no circle of files is large. Crates of which the first is not true yet are
listed, and leave the list one by one.

Tests are left out: they may use what is above them. What a file hands on of modules below it, or calls there by a path that begins with their
name, is no import of it.
"""

import re
import tempfile
import unittest
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_YET: set[str] = set()

FILES_MAX = 4

Module = tuple[str, ...]
USE = re.compile(r"^\s*(pub(?:\(\w+\))? )?use ([\w:*{}#, \n]+);", re.MULTILINE)
INLINE = re.compile(r"\b(?:crate|super)(?:::\w+)+")


def members() -> list[str]:
    manifest = (ROOT / "Cargo.toml").read_text()
    return re.findall(r'"([^"]+)"', manifest.split("members = [")[1].split("]")[0])


def without_tests(text: str) -> str:
    """Without comments, and without the one item that is behind each `#[cfg(test)]`."""
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"#\[cfg\(test\)\]\s*(?:pub(?:\(\w+\))? )?mod \w+;", "", text)
    return re.sub(r"^#\[cfg\(test\)\]\n.*?^\}", "", text, flags=re.MULTILINE | re.DOTALL)


def leaves(tree: str) -> list[tuple[Module, str]]:
    """Of `a::{b, c::d as e}`: each path, and the name that it has from there on."""
    head, brace, rest = tree.partition("{")
    head, _, alias = head.partition(" as ")
    names = tuple(re.findall(r"[\w#]+", head))
    if not brace:
        return [(names, alias.strip() or names[-1])] if names else []
    found, item, depth = [], "", 0
    for char in rest[: rest.rindex("}")] + ",":
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            found += [(names, names[-1]) if path == ("self",) else (names + path, name) for path, name in leaves(item)]
            item = ""
        else:
            item += char
    return found


def sources(source: Path) -> dict[Module, str]:
    """The text of each module, by its path; that of the crate is empty."""
    found: dict[Module, str] = {}
    for path in source.rglob("*.rs"):
        parts = path.relative_to(source).with_suffix("").parts
        if "tests" not in parts:
            module = parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts
            found[module] = found.get(module, "") + without_tests(path.read_text())
    return found


def absolute(path: Module, module: Module, modules: Iterable[Module]) -> Module | None:
    """From the crate on; None of what is another crate's."""
    if path[0] == "crate":
        return path[1:]
    if path[0] == "super":
        while path and path[0] == "super":
            path, module = path[1:], module[:-1]
        return module + path
    if path[0] == "self":
        return module + path[1:]
    return module + path if module + path[:1] in modules else None


def named(files: dict[Module, str]) -> tuple[dict[Module, set[Module]], dict[Module, Module]]:
    """The paths that each module names, but for what it hands on of its own; and where what is handed on leads to."""
    paths: dict[Module, set[Module]] = {module: set() for module in files}
    exports: dict[Module, Module] = {}
    for module, text in files.items():
        for public, tree in USE.findall(text):
            for leaf, name in leaves(tree):
                path = absolute(leaf, module, files)
                if path is not None and public:
                    exports[module + (name,)] = path
                if path is not None and not (public and path[: len(module)] == module):
                    paths[module].add(path)
        for inline in INLINE.findall(USE.sub("", text)):
            paths[module].add(absolute(tuple(inline.split("::")), module, files) or ())
    return paths, exports


def imports(source: Path) -> dict[str, set[str]]:
    """The top-level modules that each top-level module names."""
    files = sources(source)
    paths, exports = named(files)
    found: dict[str, set[str]] = {module[0]: set() for module in files if module}
    for module in filter(None, files):
        for path in filter(None, paths[module]):
            target = path[0] if path[0] in found else exports.get(path[:1], ("",))[0]
            if target in found and target != module[0]:
                found[module[0]].add(target)
    return found


def file_imports(source: Path) -> dict[Module, set[Module]]:
    """The files that each file names. What another one hands on leads to where it is."""
    files = sources(source)
    paths, exports = named(files)

    def home(path: Module) -> Module:
        at = next(at for at in range(len(path), -1, -1) if path[:at] in files or at == 0)
        further = exports.get(path[: at + 1]) if at < len(path) else None
        return path[:at] if further is None else home(further + path[at + 1 :])

    return {module: {home(path) for path in used} - {module} for module, used in paths.items()}


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Modules that are in a circle or use one that is: what is left when those that use none are taken away, again and again."""
    left = {module: set(used) for module, used in graph.items()}
    while free := [module for module, used in left.items() if not used & left.keys()]:
        for module in free:
            del left[module]
    return sorted(left)


def file_circles(graph: dict[Module, set[Module]]) -> list[list[str]]:
    """The files of each circle: those that lead to each other."""
    ahead: dict[Module, set[Module]] = {}
    for module in graph:
        seen, left = set(), list(graph[module])
        while left:
            if (other := left.pop()) not in seen:
                seen.add(other)
                left += graph.get(other, ())
        ahead[module] = seen
    circles = {frozenset(other for other in seen if module in ahead.get(other, ())) for module, seen in ahead.items()}
    return sorted(sorted("::".join(module) for module in circle) for circle in circles if circle)


class Circles(unittest.TestCase):
    def test_no_module_is_in_a_circle_of_imports(self):
        for crate in members():
            source = ROOT / crate / "src"
            if crate not in NOT_YET and source.exists():
                with self.subTest(crate):
                    self.assertEqual(circle(imports(source)), [])

    def test_no_circle_of_files_is_large(self):
        for crate in members():
            source = ROOT / crate / "src"
            with self.subTest(crate):
                self.assertEqual([circle for circle in file_circles(file_imports(source)) if len(circle) > FILES_MAX], [])

    def test_a_crate_that_has_no_circle_any_more_is_off_the_list(self):
        for crate in NOT_YET:
            with self.subTest(crate):
                self.assertNotEqual(circle(imports(ROOT / crate / "src")), [])

    def test_imports_of_every_form_are_seen(self):
        with tempfile.TemporaryDirectory() as directory:
            source = Path(directory)
            source.joinpath("lib.rs").write_text("mod a;\nmod b;\nmod c;\nmod d;\npub use c::Thing;\n")
            source.joinpath("a.rs").write_text("#[cfg(test)]\nmod tests {\n    use crate::d::X;\n}\nuse crate::{b::{X, Y}, Thing};\n")
            source.joinpath("b.rs").write_text("fn f() { crate::c::g() }\n#[cfg(test)]\nmod tests;\nuse super::d::X;\n")
            source.joinpath("c.rs").write_text("// crate::a\n")
            source.joinpath("d").mkdir()
            source.joinpath("d/mod.rs").write_text("use super::c::X;\n")
            source.joinpath("d/e.rs").write_text("use super::super::b;\nuse super::f;\n")
            self.assertEqual(imports(source), {"a": {"b", "c"}, "b": {"c", "d"}, "c": set(), "d": {"b", "c"}})

    def test_a_circle_of_files_is_found_through_what_others_hand_on(self):
        with tempfile.TemporaryDirectory() as directory:
            source = Path(directory)
            source.joinpath("a").mkdir()
            source.joinpath("lib.rs").write_text("pub mod a;\nuse std::fmt;\n")
            source.joinpath("a/mod.rs").write_text("mod b;\nmod c;\nmod d;\npub use b::{X as Y, Z};\nuse d::{self, e::*};\n")
            source.joinpath("a/b.rs").write_text("use super::c;\nuse std::{io, fmt};\n")
            source.joinpath("a/c.rs").write_text("use crate::a::{d::{self, V}, Y};\n")
            source.joinpath("a/d.rs").write_text("fn f() { super::W }\n#[cfg(test)]\nmod tests {\n    use super::super::b::X;\n}\n")
            graph = file_imports(source)
            a, b, c, d = ("a",), ("a", "b"), ("a", "c"), ("a", "d")
            self.assertEqual(graph, {(): set(), a: {d}, b: {c}, c: {b, d}, d: {a}})
            self.assertEqual(file_circles(graph), [["a", "a::d"], ["a::b", "a::c"]])

    def test_a_crate_that_is_not_listed_is_found(self):
        there = {str(path.parent.relative_to(ROOT)) for glob in ("*/Cargo.toml", "*/*/Cargo.toml") for path in ROOT.glob(glob)}
        self.assertEqual(there - set(members()), {"substrait_plans/fuzz"})

    def test_a_circle_is_found(self):
        self.assertEqual(circle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}), ["a", "b", "c"])
        self.assertEqual(circle({"a": {"b"}, "b": {"c"}, "c": set()}), [])


if __name__ == "__main__":
    unittest.main()
