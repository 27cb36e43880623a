"""Search many positions with a kernel that is watched for wrong memory and undefined arithmetic.

    python -m tests.sanitize [--positions N] [--keep DIR]
    python -m tests.sanitize --threads [--searches N] [--without-lock] [--keep DIR]

A copy of the sources is built with the address and undefined-behaviour sanitizers of the compiler (gcc or
clang), with the audit of the debug build, and does what `tests.golden.compare` does: every rule, side and
evaluator, little memory, roots that move on, batches. Then it plays with the boards and the solver. The first
fault ends it. The digests are held against those of this checkout's own kernel, since a kernel that is
watched must find the same; numpy has one thread in both, since more of them sum in another order.

With `--threads` the kernel is built with the thread sanitizer and does the searches of `tests.threads`: 2 to
16 threads on many positions, with little memory, proofs, stops and roots that move on. A data race ends it
with status 1; no report is suppressed. `--without-lock` leaves out the lock of the search, to see that the
race is found: status 0 if it is.
"""

from __future__ import annotations

import argparse
import difflib
import filecmp
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = (".git", ".venv", "build", "dist", "runs", "*.so", "*.c", "__pycache__", ".*_cache", "*.egg-info")
TESTS = tuple(
    f"tests/engine/{name}.py"
    for name in ("search/test_backup", "rules/test_rules", "rules/test_renju", "threats/test_solver")
)
"""What runs besides the searches."""
THREADED = (
    "engine.rules._board", "engine._encoding", "engine.threats._solver", "engine.evaluator._lines",
    "engine.evaluator._backend", "engine.search._tree", "engine.search._threads",
)  # fmt: skip
"""The kernel that several threads run."""


def runtime(name: str) -> str:
    """Return the path of a library of the compiler.

    Raises:
        SystemExit: there is none; the message says so.
    """
    compiler = os.environ.get("CC", "cc")
    found = subprocess.run(
        [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=False
    ).stdout.strip()
    if not os.path.isabs(found):
        raise SystemExit(f"error: {compiler} has no {name}; install the sanitizers of gcc")
    return found


def copy_sources(copy: Path) -> None:
    """Copy this checkout. What is there already and differs gets a new time, so that it is built again."""

    def update(source: str, target: str) -> None:
        if not (os.path.exists(target) and filecmp.cmp(source, target, shallow=False)):
            shutil.copy(source, target)

    ignore = shutil.ignore_patterns(*LEFT_OUT)
    shutil.copytree(ROOT, copy, ignore=ignore, copy_function=update, dirs_exist_ok=True)


def check_threads(searches: int, keep: Path | None, *, without_lock: bool) -> int:
    """Search with several threads under the thread sanitizer; 0 when it found what it should find."""
    library = runtime("libtsan.so")
    with tempfile.TemporaryDirectory(prefix="sanitize-") as scratch:
        copy = keep or Path(scratch) / "checkout"
        copy_sources(copy)
        build = {**os.environ, "TENGEN_SANITIZE": "thread", "TENGEN_QUICK": "1"}
        build["TENGEN_MODULES"] = ",".join(THREADED)
        if without_lock:
            build["TENGEN_NO_LOCK"] = "1"
        setup = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        if subprocess.run(setup, cwd=copy, env=build, check=False).returncode != 0:
            return 2
        watched = {
            **os.environ,
            "PYTHONPATH": str(copy),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LD_PRELOAD": library,
            "TSAN_OPTIONS": "halt_on_error=1 exitcode=66",
        }
        run = [sys.executable, "-m", "tests.threads", "--searches", str(searches), "--longest", "1500"]
        found = subprocess.run(run, cwd=copy, env=watched, stderr=subprocess.PIPE, text=True, check=False)
    race = "WARNING: ThreadSanitizer: data race" in found.stderr
    print("\n".join(found.stderr.splitlines()[: 40 if not without_lock else 6]), file=sys.stderr)
    if without_lock:
        print("the planted race was found" if race else "the planted race was NOT found")
        return 0 if race else 1
    return 0 if found.returncode == 0 and not race else 1


def main() -> int:
    """Build, search, compare; 0 when nothing was found."""
    summary = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tests.sanitize", description=summary)
    parser.add_argument("--positions", type=int, default=220, metavar="N", help="how many (default 220)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="build here and use what is built already")
    parser.add_argument("--threads", action="store_true", help="look for data races of several threads")
    parser.add_argument("--searches", type=int, default=300, metavar="N", help="with --threads (default 300)")
    parser.add_argument("--without-lock", action="store_true", help="with --threads: plant a race")
    args = parser.parse_args()
    if args.threads:
        return check_threads(args.searches, args.keep, without_lock=args.without_lock)
    libraries = [runtime("libasan.so"), runtime("libubsan.so")]
    with tempfile.TemporaryDirectory(prefix="sanitize-") as scratch:
        copy = args.keep or Path(scratch) / "checkout"
        copy_sources(copy)
        build = {**os.environ, "TENGEN_SANITIZE": "1", "TENGEN_DEBUG": "1"}
        setup = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        if subprocess.run(setup, cwd=copy, env=build, check=False).returncode != 0:
            return 2
        alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        watched = {
            **alone,
            "PYTHONPATH": str(copy),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LD_PRELOAD": " ".join(libraries),
            "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0",  # Python itself leaves memory behind
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }
        digests = [sys.executable, "tests/golden/compare.py", "--print", "--positions", str(args.positions)]
        usual = {**alone, "PYTHONPATH": str(ROOT)}
        own = subprocess.run(digests, cwd=ROOT, env=usual, stdout=subprocess.PIPE, text=True, check=True)
        found = subprocess.run(digests, cwd=copy, env=watched, stdout=subprocess.PIPE, text=True, check=False)
        if found.returncode != 0:
            print("the sanitizers ended the searches", file=sys.stderr)
            return 1
        if found.stdout != own.stdout:
            print("the watched kernel (+) found something else than the usual one (-)", file=sys.stderr)
            lines = difflib.unified_diff(own.stdout.splitlines(), found.stdout.splitlines(), n=0, lineterm="")
            print(*itertools.islice(lines, 2, 22), sep="\n", file=sys.stderr)
            return 1
        pytest = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-o", "timeout=0"]
        if subprocess.run([*pytest, *TESTS], cwd=copy, env=watched, check=False).returncode != 0:
            return 1
    print(f"{len(own.stdout.splitlines())} searches: nothing found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
