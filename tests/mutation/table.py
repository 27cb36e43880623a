"""What a planted fault is, and how it gets into a copy of the repository."""

from __future__ import annotations

import importlib
import pkgutil
import shutil
from dataclasses import dataclass
from pathlib import Path

LEFT_OUT = (
    ".git", ".venv", "build", "dist", "runs", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", "*.log"
)
"""What a copy does not need. The compiled modules beside their sources it does, so that only what a fault
touches is built again."""


class MutationError(Exception):
    """A table of faults does not fit the sources."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One fault: a piece of source text and what stands there instead."""

    name: str
    """What is wrong then, in a few words; unique in its set."""
    file: str
    """Path from the root. A pattern such as `engine/search/*.pyx` where the text may move between files."""
    old: str
    """Text that occurs exactly once in the file, or in all files of the pattern together."""
    new: str
    command: tuple[str, ...]
    """Arguments of the Python interpreter for what ought to notice: with a status other than 0."""
    by_output: bool = False
    """The command notices by another standard output than without the fault."""


@dataclass(frozen=True, slots=True)
class MutationSet:
    """A table of faults."""

    name: str
    share: float
    """Least part of the faults that must be caught."""
    mutations: tuple[Mutation, ...]


def pytest(*files: str) -> tuple[str, ...]:
    """Return the command that runs whole test files, up to the first failure."""
    return ("-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *files)


def set_names() -> list[str]:
    """Return the names of all sets."""
    return sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent / "sets")]))


def load_set(name: str) -> MutationSet:
    """Return a set.

    Raises:
        MutationError: there is no such set, or two of its faults have one name.
    """
    if name not in set_names():
        raise MutationError(f"there is no set {name!r}; known: {', '.join(set_names())}")
    module = importlib.import_module(f"tests.mutation.sets.{name}")
    found = MutationSet(name, module.SHARE, tuple(module.MUTATIONS))
    names = [m.name for m in found.mutations]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise MutationError(f"set {name}: two faults are called {', '.join(twice)}")
    return found


def copy_tree(root: Path, to: Path) -> None:
    """Copy the sources and what is compiled, with their times, into a folder that does not exist yet."""
    shutil.copytree(root, to, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)


def place_of(mutation: Mutation, root: Path) -> Path:
    """Return the file that a fault goes into.

    Raises:
        MutationError: the text is not there, or more than once.
    """
    files = sorted(root.glob(mutation.file)) if "*" in mutation.file else [root / mutation.file]
    found = [
        file
        for file in files
        if file.is_file()
        for _ in range(file.read_text(encoding="utf-8").count(mutation.old))
    ]
    if len(found) != 1:
        raise MutationError(f"{mutation.name!r}: its text stands {len(found)} times in {mutation.file}")
    return found[0]


def plant(mutation: Mutation, root: Path) -> Path:
    """Put a fault into a copy and return the file that changed.

    Raises:
        MutationError: as in `place_of`, or the change is none.
    """
    file = place_of(mutation, root)
    text = file.read_text(encoding="utf-8")
    changed = text.replace(mutation.old, mutation.new)
    if changed == text:
        raise MutationError(f"{mutation.name!r} changes nothing")
    file.write_text(changed, encoding="utf-8")
    return file
