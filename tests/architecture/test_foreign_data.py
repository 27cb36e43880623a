"""Files from elsewhere are data: nothing in the tree runs what it reads, or unpickles it."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

MODULES = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml"}
CALLS = {"eval", "exec", "compile", "__import__"}
TORCH = {"load", "hub", "package", "jit"}
"""What of torch reads files; `load` may, as plain values."""
ALLOWED = {("tests/engine/rules/test_rules.py", "pickle")}  # boards travel to the processes of tests that way


def faults(source: str) -> Iterator[str]:
    """Yield what a module does that could run what it reads."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.partition(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom):
            if (node.module or "").partition(".")[0] in MODULES:
                yield str(node.module)
            if node.module == "torch":
                yield from (f"torch.{a.name}" for a in node.names if a.name in TORCH)
        elif isinstance(node, ast.Call):
            yield from _of_call(node)
        elif isinstance(node, ast.Attribute):
            name = _dotted(node)
            if name in {"torch.hub", "torch.package", "torch.jit.load"}:
                yield name


def _of_call(node: ast.Call) -> Iterator[str]:
    name = _dotted(node.func)
    keywords = {k.arg: k.value for k in node.keywords}

    def says(word: str, value: bool) -> bool:
        given = keywords.get(word)
        return isinstance(given, ast.Constant) and given.value is value

    if name in CALLS or name in {f"builtins.{call}" for call in CALLS}:
        yield name
    if name == "torch.load" and not says("weights_only", True):
        yield "torch.load without weights_only"
    if "allow_pickle" in keywords and not says("allow_pickle", False):
        yield f"{name} with allow_pickle"
    if None in keywords and name in {"torch.load", "np.load", "numpy.load"}:
        yield f"{name} with unknown keywords"


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return f"{_dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""


def tracked(suffix: str) -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = [name for name in done.stdout.split("\0") if name.endswith(suffix)]
    found = [ROOT / name for name in names if (ROOT / name).exists()]
    folders = ("engine", "protocol", "arena", "training", "release", "tests")  # of a copy without git
    return found or sorted(path for top in folders for path in (ROOT / top).rglob(f"*{suffix}"))


def test_nothing_in_the_tree_runs_what_it_reads():
    found = {
        (str(path.relative_to(ROOT).as_posix()), fault)
        for path in tracked(".py")
        for fault in faults(path.read_text(encoding="utf-8"))
    }
    assert found - ALLOWED == set()


def test_kernel_modules_do_not_either():
    words = "|".join(sorted(MODULES | CALLS - {"compile"}))
    pattern = re.compile(rf"\b(?:{words})\b\s*(?:\(|$)", re.MULTILINE)
    assert [p.name for p in tracked(".pyx") if pattern.search(p.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle", "from pickle import loads", "import torch.hub\ntorch.hub.load('x')", "eval('1')",
        "import torch\ntorch.load(f)", "import torch\ntorch.load(f, weights_only=False)",
        "import torch\ntorch.load(f, weights_only=flag)", "from torch import load\nload(f)",
        "np.load(f, allow_pickle=True)", "torch.load(f, **options)", "__import__('os')",
    ],
)  # fmt: skip
def test_the_scan_sees_what_it_is_for(source):
    assert list(faults(source))


def test_the_scan_lets_methods_and_plain_loading_pass():
    assert not list(faults("net.eval()\ntorch.load(f, weights_only=True)\nre.compile('x')\nnp.load(f)"))
    assert len(tracked(".py")) > 100
