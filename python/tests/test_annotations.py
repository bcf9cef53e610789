"""The type annotations match the actual functions."""

import ast
import inspect
import unittest
from pathlib import Path

import quiver
from quiver import _quiver, embedded, sources
from quiver.remote import backend, hand_off, rows

STUB = Path(quiver.__file__).with_name("_quiver.pyi")


def parameters_said(function):
    """The names of positional and of keyword parameters, and those with a default."""
    spec = function.args
    placed = [argument.arg for argument in [*spec.posonlyargs, *spec.args] if argument.arg not in ("self", "cls")]
    named = [argument.arg for argument in spec.kwonlyargs]
    with_default = [
        *placed[len(placed) - len(spec.defaults) :],
        *(name for name, value in zip(named, spec.kw_defaults) if value is not None),
    ]
    return placed, named, with_default


def parameters_there(function):
    there = [given for given in inspect.signature(function).parameters.values() if given.name not in ("self", "cls")]
    by_name = [given.name for given in there if given.kind is given.KEYWORD_ONLY]
    placed = [given.name for given in there if given.kind is not given.KEYWORD_ONLY]
    return placed, by_name, [given.name for given in there if given.default is not given.empty]


def members(thing):
    own = vars(thing)
    return {name for name in own if not name.startswith("_")} | {name for name in own if name.startswith(("__arrow", "__datafusion"))}


class Annotations(unittest.TestCase):
    def test_the_stub_of_the_extension_has_what_the_extension_has(self):
        said = {node.name: node for node in ast.parse(STUB.read_text()).body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        self.assertEqual(set(said), members(_quiver))
        for name, node in said.items():
            there = getattr(_quiver, name)
            if isinstance(node, ast.FunctionDef):
                self.assertEqual(parameters_said(node), parameters_there(there), name)
                continue
            functions = {member.name: member for member in node.body if isinstance(member, ast.FunctionDef)}
            self.assertEqual(set(functions) - {"__new__"}, members(there), name)
            for member, function in functions.items():
                if not any(isinstance(one, ast.Name) and one.id == "property" for one in function.decorator_list):
                    with self.subTest(f"{name}.{member}"):
                        real = there if member == "__new__" else getattr(there, member)
                        self.assertEqual(parameters_said(function), parameters_there(real))

    def test_both_ways_to_an_engine_have_what_is_asked_of_them(self):
        for protocol, ways in [
            (sources.Backend, [embedded.EmbeddedBackend, backend.RemoteBackend]),
            (sources.Source, [embedded.EmbeddedSource, rows.RemoteSource, hand_off.MappedSource]),
        ]:
            for way in ways:
                for name in members(protocol):
                    asked = vars(protocol)[name]
                    if isinstance(asked, property):
                        continue
                    with self.subTest(f"{way.__name__}.{name}"):
                        placed, named, _ = parameters_there(asked)
                        there, also_named, with_default = parameters_there(vars(way)[name])
                        self.assertEqual((there[: len(placed)], also_named), (placed, named))
                        self.assertEqual([name for name in there[len(placed) :] if name not in with_default], [])

    def test_all_that_is_public_is_there_and_annotated(self):
        for name in quiver.__all__:
            there = getattr(quiver, name)
            public = (
                [there] if inspect.isfunction(there) else [there.__init__, *(value for key, value in vars(there).items() if key[0] != "_")]
            )
            for function in filter(inspect.isfunction, public):
                with self.subTest(f"{name}: {function.__qualname__}"):
                    given = inspect.signature(function)
                    self.assertEqual(
                        [one.name for one in given.parameters.values() if one.name != "self" and one.annotation is one.empty], []
                    )
                    self.assertTrue(function.__name__ == "__init__" or given.return_annotation is not given.empty)


if __name__ == "__main__":
    unittest.main()
