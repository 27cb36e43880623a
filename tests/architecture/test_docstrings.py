"""Public modules, classes, functions and methods have docstrings.

Ruff holds the sources to that (D100 to D104, D106). It skips stub files, and does not know that a method
inherits the docstring of the method that it overrides.
"""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import tomllib
from collections.abc import Iterator

import pytest

from tests.helpers.paths import ROOT

RULES = {"D100", "D101", "D102", "D103", "D104", "D106"}
INHERITING = ("arena/managers", "protocol/dialects")
"""Folders whose methods inherit docstrings, so that D102 is off in them."""


def test_the_rules_are_on_and_the_exceptions_are_few():
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    assert set(lint["select"]) >= RULES and not [rule for rule in lint["ignore"] if rule.startswith("D")]
    exceptions = lint["per-file-ignores"].items()
    docstrings = {name: rules for name, rules in exceptions if any(rule.startswith("D") for rule in rules)}
    assert docstrings == {"tests/**": ["D"], **{f"{folder}/*.py": ["D102"] for folder in INHERITING}}


def public_members(package: str) -> Iterator[tuple[str, object]]:
    """Yield the public classes and methods of the modules of a package, by their full names."""
    for info in pkgutil.iter_modules(importlib.import_module(package).__path__):
        module = importlib.import_module(f"{package}.{info.name}")
        for name, cls in inspect.getmembers(module, inspect.isclass):
            if cls.__module__ == module.__name__:
                yield f"{module.__name__}.{name}", cls
                for method, value in vars(cls).items():
                    is_method = inspect.isroutine(value) or isinstance(value, property)
                    if is_method and not method.startswith("_"):
                        yield f"{module.__name__}.{name}.{method}", getattr(cls, method)


@pytest.mark.parametrize("folder", INHERITING)
def test_methods_have_or_inherit_docstrings(folder):
    members = dict(public_members(folder.replace("/", ".")))
    assert len(members) > 20
    assert [name for name, value in members.items() if not inspect.getdoc(value)] == []


def undocumented(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            name = getattr(node, "name", "module")
            setter = any(isinstance(d, ast.Attribute) for d in getattr(node, "decorator_list", ()))
            if not (setter or name.startswith("_") or ast.get_docstring(node)):
                yield name


def test_stub_files_have_docstrings():
    command = ["git", "ls-files", "*.pyi"]
    stubs = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    found = {name: list(undocumented(ast.parse((ROOT / name).read_text(encoding="utf-8")))) for name in stubs}
    assert len(stubs) >= 8 and {name: names for name, names in found.items() if names} == {}
