"""Compile the kernel. Everything else about the package stands in pyproject.toml.

Environment:
    TENGEN_DEBUG=1          bounds checks, assertions, little optimisation, an audit after each simulation
    TENGEN_QUICK=1          little optimisation: a build to try something with, not to measure or ship
    TENGEN_SANITIZE=1       address and undefined-behaviour sanitizers (gcc or clang); see tests/sanitize.py
    TENGEN_SANITIZE=thread  the thread sanitizer
    TENGEN_NO_LOCK=1        leave out the lock of the search, to see that tests notice
    TENGEN_MODULES=a,b      build only these modules (full dotted names)
"""

import glob
import multiprocessing
import os
import runpy
import sys

from Cython.Build import cythonize
from setuptools import Extension, setup

MODULES = [
    "engine.evaluator._lines", "engine.search._tree", "training.net._fused", "engine.rules._board",
    "engine.evaluator._backend", "engine._encoding", "engine.search._threads", "engine.threats._solver",
    "training.play._rollouts",
]
"""Those that take the compiler longest come first, so that no core waits for the last one."""



def write_if_new(path, text):
    """Write a generated file; keep its time if nothing changes, so that nothing is built again."""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


planes = runpy.run_path("engine/planes.py")
write_if_new("engine/planes.h", planes["c_header"]())
write_if_new("engine/planes.pxd", planes["cython_header"]())

HEADERS = sorted(glob.glob("engine/**/*.h", recursive=True) + glob.glob("training/**/*.h", recursive=True))

debug = os.environ.get("TENGEN_DEBUG") == "1"
quick = debug or os.environ.get("TENGEN_QUICK") == "1"
sanitizers = {"1": "address,undefined", "thread": "thread"}.get(os.environ.get("TENGEN_SANITIZE"))
chosen = os.environ.get("TENGEN_MODULES")
modules = chosen.split(",") if chosen else MODULES
unknown = sorted(set(modules) - set(MODULES))
if unknown:
    raise SystemExit(f"TENGEN_MODULES names unknown modules: {', '.join(unknown)}")

if sys.platform == "win32":
    flags = ["/O2", "/fp:precise"] if not quick else ["/Od"]
else:
    # Same floating point everywhere: no contraction, no fast-math; portable binaries: no -march.
    # Nobody asks for traps, and without them a choice of two numbers needs no branch.
    flags = ["-O3" if not quick else "-O1", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
    flags += ["-Wno-unused-function"]
    if not debug and not sanitizers:
        flags += ["-g0"]  # Python's own flags ask for debug information: 40 % more time of the compiler
checks = []
if sanitizers:
    checks = [f"-fsanitize={sanitizers}", "-fno-omit-frame-pointer"]
    checks += ["-fno-sanitize-recover=all"] * (sanitizers != "thread")
macros = [("TENGEN_DEBUG", "1")] * debug
macros += [("TENGEN_NO_LOCK", "1")] * (os.environ.get("TENGEN_NO_LOCK") == "1")

extensions = [
    Extension(
        name,
        [name.replace(".", "/") + ".pyx"],
        include_dirs=["engine", "engine/rules", "engine/evaluator"],
        extra_compile_args=flags + checks,
        extra_link_args=checks,
        define_macros=macros,
        depends=HEADERS,
    )
    for name in modules
    if os.path.exists(name.replace(".", "/") + ".pyx")
]

setup(
    options={"build_ext": {"parallel": os.cpu_count()}},
    ext_modules=cythonize(
        extensions,
        nthreads=os.cpu_count() if multiprocessing.get_start_method() == "fork" else 0,
        compiler_directives={
            "language_level": 3,
            "boundscheck": debug,
            "wraparound": debug,
            "initializedcheck": debug,
            "cdivision": True,  # operands are never negative
            "embedsignature": True,
        },
        force=debug,
    )
)
