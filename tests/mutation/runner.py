"""Run a table of faults: each in a copy of its own, built anew where the kernel changed, in limited time."""

from __future__ import annotations

import ast
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.table import Mutation, MutationError, copy_tree, place_of, plant

COMPILED = {".pyx", ".pxd", ".h"}
BUILD = ("setup.py", "-q", "build_ext", "--inplace")
SOUND = "sound"
"""Folder of the copy without a fault."""
BUILD_LIMIT_S = 900.0
"""For building the kernel (derived: ten times what all of it takes)."""
LEAST_LIMIT_S = 60.0
LIMIT_FACTOR = 10.0
"""A command that takes so many times as long as without the fault hangs (derived: no test varies as much)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a fault."""

    name: str
    caught: bool
    how: str
    """"status 1", "output", "time"; "not caught"; or why the fault could not be tried."""
    seconds: float


@dataclass(frozen=True, slots=True)
class _Done:
    status: int | None
    """None: it was stopped, the time was over."""
    output: str
    errors: str
    seconds: float


def run_all(mutations: Iterable[Mutation], root: Path, jobs: int = 1) -> Iterator[Outcome]:
    """Try the faults and yield what came of each, in their order.

    Args:
        root: the checkout; nothing in it is changed.
        jobs: how many at a time.

    Raises:
        MutationError: a fault does not fit the sources, or its command fails without it.
    """
    mutations = list(mutations)
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        sound = _sound(mutations, root, Path(folder) / SOUND)

        def attempt(i: int) -> Outcome:
            return _try(mutations[i], Path(folder), str(i), sound[mutations[i].command])

        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(attempt, range(len(mutations)))


def _sound(mutations: list[Mutation], root: Path, copy: Path) -> dict[tuple[str, ...], _Done]:
    """Make the copy that all others are made of, and run every command once without a fault."""
    copy_tree(root, copy)
    done: dict[tuple[str, ...], _Done] = {}
    if any(place_of(mutation, root).suffix in COMPILED for mutation in mutations):
        _check(_python(BUILD, copy, BUILD_LIMIT_S), "building the sources without a fault")
    for mutation in mutations:
        if mutation.command not in done:
            done[mutation.command] = _python(mutation.command, copy, BUILD_LIMIT_S)
            _check(done[mutation.command], f"without a fault, {' '.join(mutation.command)}")
    return done


def _check(done: _Done, what: str) -> None:
    if done.status != 0:
        raise MutationError(f"{what}: status {done.status}\n{(done.output + done.errors)[-2000:]}")


def _try(mutation: Mutation, folder: Path, name: str, sound: _Done) -> Outcome:
    """Try one fault in a copy of the sound sources, which is removed again."""
    began_s = time.monotonic()
    copy = folder / name

    def outcome(caught: bool, how: str) -> Outcome:
        return Outcome(mutation.name, caught, how, time.monotonic() - began_s)

    try:
        copy_tree(folder / SOUND, copy)
        planted = plant(mutation, copy)
        if planted.suffix == ".py":
            try:
                ast.parse(planted.read_text(encoding="utf-8"))
            except SyntaxError as error:
                return outcome(False, f"is no Python: {error}")
        if planted.suffix in COMPILED:
            built = _python(BUILD, copy, BUILD_LIMIT_S)
            if built.status != 0:
                return outcome(False, f"does not build: {(built.output + built.errors).strip()[-300:]}")
        done = _python(mutation.command, copy, max(LEAST_LIMIT_S, LIMIT_FACTOR * sound.seconds))
    finally:
        shutil.rmtree(copy, ignore_errors=True)
    if done.status is None:
        return outcome(True, "time")
    if done.status != 0:
        return outcome(True, f"status {done.status}")
    if mutation.by_output and done.output != sound.output:
        return outcome(True, "output")
    return outcome(False, "not caught")


def _python(arguments: tuple[str, ...], copy: Path, limit_s: float) -> _Done:
    """Run the interpreter in a copy; all that it started ends with it."""
    environment = {
        **os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "TENGEN_QUICK": "1"
    }  # fmt: skip
    began_s = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=copy, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
        start_new_session=sys.platform != "win32",
    )  # fmt: skip
    status: int | None
    try:
        output, errors = process.communicate(timeout=limit_s)
        status = process.returncode
    except subprocess.TimeoutExpired:
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        status = None
    return _Done(status, output, errors, time.monotonic() - began_s)
