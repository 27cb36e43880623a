"""Run the tests of the line net's AVX-512 loops on a processor without it.

    python -m tests.emulation                   # bits of AVX-512 against those of AVX2, and the reference
    python -m tests.emulation -k window -x      # options of pytest

Compiles `engine.evaluator._lines` once more, against SIMDe (Debian: libsimde-dev), into a folder that is
removed afterwards. Says so and does nothing where SIMDe, AVX2 or a compiler with its options is missing.
Shows that the loops compute the right thing; how fast they are on a real processor it cannot show.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULE = "engine.evaluator._lines"
HEADER = Path(__file__).with_name("avx512.h")
FLAGS = ("-O2", "-mavx2", "-mfma", "-ffp-contract=off", "-fPIC", "-shared", "-w", "-Wno-psabi")
FOLDERS = ("engine/rules", "engine/evaluator")


def compiler() -> list[str]:
    """Return the C compiler's command."""
    return shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")


def missing() -> str:
    """Return why nothing can be run here, or nothing."""
    from engine.evaluator._lines import paths

    if "avx2" not in paths():
        return "this processor has no AVX2"
    probe = [*compiler(), "-mavx2", "-mfma", "-fsyntax-only", "-include", str(HEADER), "-xc", "-"]
    try:
        done = subprocess.run(probe, input="", capture_output=True, text=True, check=False)
    except OSError as error:
        return f"there is no C compiler ({error})"
    if done.returncode:
        reason = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
        return f"SIMDe cannot be used (Debian: apt install libsimde-dev): {reason}"
    return ""


def build(folder: Path) -> Path:
    """Compile the module with emulated AVX-512 and return its file."""
    source, target = folder / "_lines.c", folder / f"_lines{sysconfig.get_config_var('EXT_SUFFIX')}"
    pyx = ROOT / (MODULE.replace(".", "/") + ".pyx")
    cython = [sys.executable, "-m", "cython", "-3", "-X", "boundscheck=False", "-X", "wraparound=False"]
    subprocess.run([*cython, "-X", "cdivision=True", "-o", str(source), str(pyx)], cwd=ROOT, check=True)
    includes = [f"-I{ROOT / name}" for name in FOLDERS] + [f"-I{sysconfig.get_path('include')}"]
    command = [
        *compiler(),
        *FLAGS,
        "-DTENGEN_EMULATED",
        *includes,
        "-include",
        str(HEADER),
        str(source),
        "-o",
        str(target),
        "-lm",
    ]
    subprocess.run(command, check=True)
    return target


def main(arguments: list[str]) -> int:
    """Build, take the place of the real module, run the tests."""
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        return 0
    for name in [name for name in sys.modules if name.startswith("engine")]:
        del sys.modules[name]
    with tempfile.TemporaryDirectory() as folder:
        file = build(Path(folder))
        spec = importlib.util.spec_from_file_location(
            MODULE, file, loader=importlib.machinery.ExtensionFileLoader(MODULE, str(file))
        )
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[MODULE] = module
        assert module.paths()[-1] == "avx512"
        tests = ROOT / "tests" / "engine" / "evaluator" / "test_lines_kernel.py"
        chosen = arguments or ["-k", "avx512"]
        return int(pytest.main([str(tests), "-q", "-n", "0", "-p", "no:cacheprovider", *chosen]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
