"""How the tests lie: as the packages that they test, and what they share in modules that are no tests."""

import ast
import re

from tests.helpers.paths import ROOT

TESTS = ROOT / "tests"
ALONE = re.compile(r"^(?:@|pytestmark = .*)pytest\.mark\.alone\b", re.MULTILINE)
MIRRORED = ("engine", "protocol", "arena", "board", "training", "tengen", "release")


def imports(text: str) -> set[str]:
    """Return the modules that a source imports, wherever in it, and what it takes from packages."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def among_tests(modules: set[str]) -> set[str]:
    return {m for m in modules if m.startswith("tests.") and any(p.startswith("test_") for p in m.split("."))}


def test_an_import_of_a_test_is_seen() -> None:
    inside = "def f():\n    from tests.engine.rules import test_rules\n"
    assert among_tests(imports(inside)) == {"tests.engine.rules.test_rules"}
    assert among_tests(imports("from tests.engine.rules.test_rules import draw")) != set()
    assert among_tests(imports("import tests.helpers\nfrom tests.helpers.rules import draw")) == set()


def test_no_module_imports_a_test() -> None:
    files = sorted(TESTS.rglob("*.py"))
    assert len(files) > 200
    found = {str(p.relative_to(ROOT)): among_tests(imports(p.read_text(encoding="utf-8"))) for p in files}
    assert {name: modules for name, modules in found.items() if modules} == {}


def test_folders_of_tests_have_the_names_of_packages() -> None:
    tested = sorted({p.parent for top in MIRRORED for p in (TESTS / top).rglob("test_*.py")})
    assert len(tested) > 20
    assert [str(p.relative_to(TESTS)) for p in tested if not (ROOT / p.relative_to(TESTS)).is_dir()] == []


def test_make_looks_for_tests_that_run_alone_where_they_are() -> None:
    """It does not collect the others, which takes longer than the start of torch."""
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("-m alone ")[2].partition("$(ARGS)")[0]
    marked = [p for p in TESTS.rglob("test_*.py") if ALONE.search(p.read_text(encoding="utf-8"))]
    folders = {p.relative_to(ROOT).parts[:2] for p in marked}
    assert {"/".join(parts) for parts in folders} == set(recipe.split())


def test_every_folder_of_tests_is_a_package() -> None:
    """Files of the same name in two folders are two modules only then."""
    folders = {p.parent for p in TESTS.rglob("*.py")}
    assert [str(p.relative_to(ROOT)) for p in sorted(folders) if not (p / "__init__.py").is_file()] == []
