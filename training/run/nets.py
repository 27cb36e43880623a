"""The exports of a run in `nets/`, and the files of the promoted one next to it, `best.*`."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from training.files.atomic import copy_atomically, write_atomically
from training.files.foreign import ForeignFileError, read_table

SUFFIXES = ("int8.onnx", "fp32.onnx", "md", "pt")
"""Of the files of an export."""
WEIGHTS = "pt"
"""Suffix of the file for nets that play on a GPU."""
_TO_PLAY = ("fp32.onnx", "int8.onnx", WEIGHTS)
_KEEP = 60  # exports kept besides those that are asked for


def find(run_dir: Path, name: str, suffix: str) -> Path | None:
    """Return the file to play an export with, None without one.

    Args:
        run_dir: of the run.
        name: of the export.
        suffix: of the file to prefer; another kind plays as well.
    """
    for kind in (suffix, *_TO_PLAY):
        path = run_dir / "nets" / f"{name}.{kind}"
        if kind and path.is_file():
            return path
    return None


def find_kind(run_dir: Path, name: str, *, weights: bool) -> Path | None:
    """Return the file to play an export with on a GPU (`weights`) or on a processor, None without one."""
    for kind in _TO_PLAY:
        path = run_dir / "nets" / f"{name}.{kind}"
        if (kind == WEIGHTS) == weights and path.is_file():
            return path
    return None


def promote(run_dir: Path, name: str, about: Mapping[str, object]) -> None:
    """Make an export the best net: copy its files, then swing the pointer.

    Args:
        run_dir: of the run.
        name: of the export.
        about: what `best.json` says besides the name.

    Raises:
        OSError: disk full; it names the file, and the pointer is the old one.
    """
    for suffix in SUFFIXES:
        source = run_dir / "nets" / f"{name}.{suffix}"
        if not source.is_file():
            (run_dir / f"best.{suffix}").unlink(missing_ok=True)  # of another net
        _copy(source, run_dir / f"best.{suffix}")
    write_atomically(run_dir / "best.json", json.dumps({"net": name, **about}, indent=1).encode())


def pointer(run_dir: Path, name: str) -> dict[str, object]:
    """Return what `best.json` says of the best net; only its name where that is about another one."""
    try:
        table = read_table(run_dir / "best.json")
    except (OSError, ForeignFileError):
        table = {}
    return table if table.get("net") == name else {"net": name}


def best_files(run_dir: Path, name: str) -> dict[str, Path]:
    """Return the files of the best net by suffix, wherever they are in a run; empty if it is not there.

    Args:
        run_dir: of the run.
        name: of the export that the standings call the best.
    """
    try:
        pointed = read_table(run_dir / "best.json").get("net") == name
    except (OSError, ForeignFileError):
        pointed = False
    for stem in ([run_dir / "best"] if pointed else []) + [run_dir / "nets" / name]:
        files = {suffix: stem.with_name(f"{stem.name}.{suffix}") for suffix in SUFFIXES}
        files = {suffix: path for suffix, path in files.items() if path.is_file()}
        if any(suffix in files for suffix in _TO_PLAY):
            return files
    return {}


def restore_best(run_dir: Path, name: str) -> bool:
    """Put the best net back among the exports, where a run that came in a bundle lacks it.

    Returns:
        Whether it is there now.
    """
    if find(run_dir, name, "") is None:
        for suffix, path in best_files(run_dir, name).items():
            _copy(path, run_dir / "nets" / f"{name}.{suffix}")
    return find(run_dir, name, "") is not None


def tidy(run_dir: Path, keep: Collection[str]) -> None:
    """Delete old exports that are not played again, but for those to `keep` and the newest."""
    folder = run_dir / "nets"
    names = sorted({path.name.partition(".")[0] for path in folder.glob("c*.*")})
    for name in [n for n in names if n not in keep][:-_KEEP]:
        for path in folder.glob(f"{name}.*"):
            path.unlink()


def _copy(source: Path, target: Path) -> None:
    """Copy a file if it is there, so that the copy is there whole or not at all."""
    if source.is_file():
        copy_atomically(source, target)
