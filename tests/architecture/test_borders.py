"""Who may import whom: the parts that import-linter cannot see."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+c?import|c?import\s+([\w.]+))", re.MULTILINE)

# For each folder of compiled modules: the top-level packages and engine folders it may name.
ALLOWED = {
    "engine/rules": {"libc", "numpy", "engine.rules"},
    "engine/threats": {"libc", "cython", "numpy", "cpython", "engine.rules", "engine.threats"},
    "engine/threats/kernel": {"libc", "engine.rules", "engine.threats"},
    "engine/search": {"libc", "numpy", "cpython", "_thread", "engine.rules", "engine.threats",
                      "engine.search", "engine._encoding", "engine.evaluator._backend", "engine.planes"},
    "engine/search/kernel": {"libc", "engine.rules", "engine.threats", "engine.search", "engine._encoding",
                             "engine.evaluator._backend"},
    "engine/evaluator": {"libc", "numpy", "engine.evaluator"},
    "engine": {"libc", "numpy", "engine.planes", "engine.rules", "engine.threats"},
    "training/net": {"libc"},
    "training/play": {"libc", "numpy", "cpython", "engine"},
}


def imported(path: Path) -> set[str]:
    return {a or b for a, b in IMPORT.findall(path.read_text())}


def allowed(module: str, permitted: set[str]) -> bool:
    return any(module == p or module.startswith(p + ".") for p in permitted)


def kernel_files() -> list[Path]:
    return sorted(p for top in ("engine", "training") for p in (ROOT / top).rglob("*.p[yx][xd]"))


def test_the_scan_sees_kernel_files() -> None:
    assert ROOT / "engine/rules/_board.pyx" in kernel_files()
    assert "engine.rules._board" in imported(ROOT / "engine/_encoding.pxd")


@pytest.mark.parametrize("path", kernel_files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_kernel_modules_import_only_what_their_folder_may_know(path: Path) -> None:
    permitted = ALLOWED[str(path.parent.relative_to(ROOT))]
    assert {m for m in imported(path) if not allowed(m, permitted)} == set()


LONGEST = {".pyx": 600, ".pxd": 600, ".h": 600}
"""Lines of a file, where ruff cannot count branches: what is longer has more than one reason to change."""


def test_files_of_the_kernel_are_short() -> None:
    files = [p for top in ("engine", "training") for p in (ROOT / top).rglob("*") if p.suffix in LONGEST]
    assert len(files) > 40
    lines = {str(p.relative_to(ROOT)): len(p.read_text(encoding="utf-8").splitlines()) for p in files}
    assert {name: n for name, n in lines.items() if n > LONGEST[Path(name).suffix]} == {}


def test_import_linter_contracts_hold() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as f; f()"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_outside_the_tests_imports_them() -> None:
    tops = ("engine", "protocol", "board", "arena", "training", "release")
    files = [p for top in tops for p in (ROOT / top).rglob("*.py")]
    offenders = {str(p.relative_to(ROOT)): m for p in files for m in imported(p) if allowed(m, {"tests"})}
    offenders |= {str(p.relative_to(ROOT)): "-m" for p in files if '"tests.' in p.read_text(encoding="utf-8")}
    assert offenders == {}


PROGRAMS = ("engine/__main__.py", "engine/commands/", "engine/play/")


def test_the_library_of_the_engine_knows_none_of_the_programs_on_top_of_it() -> None:
    library = [
        p for p in sorted((ROOT / "engine").rglob("*.py"))
        if not str(p.relative_to(ROOT)).startswith(PROGRAMS)
    ]
    assert ROOT / "engine/engine.py" in library and ROOT / "engine/__main__.py" not in library
    offenders = {
        str(p.relative_to(ROOT)): m for p in library for m in imported(p)
        if allowed(m, {"engine.commands", "engine.play"})
    }
    assert offenders == {}


@pytest.mark.parametrize("module", ["protocol.__main__", "engine", "engine.engine"])
def test_run_time_needs_neither_torch_nor_training(module: str) -> None:
    code = (
        f"import sys, {module}; "
        "bad = sorted(m for m in sys.modules if m.split('.')[0] in ('torch', 'onnx', 'training', 'Cython')); "
        "sys.exit(', '.join(bad) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_global_randomness_in_the_engine() -> None:
    offenders = [
        str(p.relative_to(ROOT)) for p in (ROOT / "engine").rglob("*.py")
        if re.search(r"np\.random\.(seed|rand|choice|dirichlet)\(|^import random$", p.read_text(), re.M)
    ]
    assert offenders == []
