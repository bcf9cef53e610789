"""No top-level module of a crate is in a circle of imports. Crates of which that is not true yet are listed, and leave the list one by one.

Tests are left out: they may use what is above them.
"""

import re
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_YET: set[str] = set()

PATH = re.compile(r"\b(crate|super(?:::super)*)::(\w+|\{[^;]*)")


def members() -> list[str]:
    manifest = (ROOT / "Cargo.toml").read_text()
    return re.findall(r'"([^"]+)"', manifest.split("members = [")[1].split("]")[0])


def without_tests(text: str) -> str:
    """Without comments, and without the one item that is behind each `#[cfg(test)]`."""
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"#\[cfg\(test\)\]\s*(?:pub(?:\(\w+\))? )?mod \w+;", "", text)
    return re.sub(r"^#\[cfg\(test\)\]\n.*?^\}", "", text, flags=re.MULTILINE | re.DOTALL)


def first_names(rest: str) -> list[str]:
    """Of `a` and of `{a::{b, c}, d::e}`: the names that stand first."""
    if not rest.startswith("{"):
        return [rest]
    inner, depth = "", 0
    for char in rest:
        depth += (char == "{") - (char == "}")
        inner += char if depth == 1 else ""
    return re.findall(r"(?:^\{|,)\s*(\w+)", inner)


def exports(lib: str) -> dict[str, str]:
    """What `crate::Name` leads to: the module that lib.rs has the name from."""
    found = {}
    for module, names in re.findall(r"pub(?:\(crate\))? use (\w+)(?:::\w+)*::(\{[^}]*\}|\w+)", lib):
        found |= {name: module for name in re.findall(r"\w+", names)}
    return found


def imports(source: Path) -> dict[str, set[str]]:
    """The top-level modules that each top-level module names."""
    modules = {path.stem for path in source.iterdir() if path.suffix == ".rs" or path.is_dir()} - {"lib", "main"}
    roots = [path for path in (source / "lib.rs", source / "main.rs") if path.exists()]
    exported = {name: module for root in roots for name, module in exports(without_tests(root.read_text())).items()}
    found = {module: set() for module in modules}
    for path in source.rglob("*.rs"):
        parts = path.relative_to(source).with_suffix("").parts
        if parts[0] not in modules or "tests" in parts:
            continue
        depth = len(parts) - (parts[-1] == "mod")
        text = without_tests(path.read_text())
        for start, rest in PATH.findall(text):
            if start == "crate" or start.count("super") == depth:
                for name in first_names(rest):
                    target = name if name in modules else exported.get(name)
                    if target in modules and target != parts[0]:
                        found[parts[0]].add(target)
    return found


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Modules that are in a circle or use one that is: what is left when those that use none are taken away, again and again."""
    left = {module: set(used) for module, used in graph.items()}
    while free := [module for module, used in left.items() if not used & left.keys()]:
        for module in free:
            del left[module]
    return sorted(left)


class Circles(unittest.TestCase):
    def test_no_module_is_in_a_circle_of_imports(self):
        for crate in members():
            source = ROOT / crate / "src"
            if crate not in NOT_YET and source.exists():
                with self.subTest(crate):
                    self.assertEqual(circle(imports(source)), [])

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

    def test_a_crate_that_is_not_listed_is_found(self):
        there = {str(path.parent.relative_to(ROOT)) for glob in ("*/Cargo.toml", "*/*/Cargo.toml") for path in ROOT.glob(glob)}
        self.assertEqual(there - set(members()), {"substrait_plans/fuzz"})

    def test_a_circle_is_found(self):
        self.assertEqual(circle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}), ["a", "b", "c"])
        self.assertEqual(circle({"a": {"b"}, "b": {"c"}, "c": set()}), [])


if __name__ == "__main__":
    unittest.main()
