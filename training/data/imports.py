"""Records of other runs, copied in front of a run's own."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from training.data.shards import SUFFIX, RecordError, list_shards, read_counts, read_digest
from training.files.atomic import write_atomically

_IMPORTED = "000000-from"  # sorts before the shards of the first cycle


@dataclass(slots=True)
class Count:
    """Games and recorded positions in shards."""

    games: int = 0
    positions: int = 0


def count_games(records: Path) -> tuple[Count, Count]:
    """Return what is in a run's `records`: of its own self-play, and of other runs."""
    own, others = Count(), Count()
    for path in list_shards(records):
        with contextlib.suppress(RecordError):
            games, positions = read_counts(path)
            count = others if path.name.startswith(_IMPORTED) else own
            count.games += games
            count.positions += positions
    return own, others


def newest_shards(folders: Sequence[Path], positions: int = 0) -> list[tuple[Path, str, bytes]]:
    """Return the shards of runs that a run begins with, each once.

    Args:
        folders: `records` folders, the oldest first.
        positions: only the newest shards, until so many positions are together; 0: all.

    Returns:
        Path, name in the run that takes it, and checksum of each, the newest first. A name says folder, place
        in it and checksum, so that it has the same length however often a shard is handed on.

    Raises:
        RecordError: a folder has no shards, or one of its newest is of another version.
    """
    found: list[tuple[Path, str]] = []
    for number, folder in enumerate(folders):
        shards = list_shards(folder)
        if not shards:
            raise RecordError(f"{folder}: no shards")
        found += [(path, f"{_IMPORTED}{number:02d}-{place:06d}") for place, path in enumerate(shards)]
    chosen: dict[bytes, tuple[Path, str]] = {}
    total = 0
    for path, name in reversed(found):
        if positions and total >= positions:
            break
        digest = read_digest(path)
        if digest not in chosen:
            chosen[digest] = path, f"{name}-{digest.hex()[:12]}{SUFFIX}"
            total += read_counts(path)[1]
    return [(path, name, digest) for digest, (path, name) in chosen.items()]


def import_shards(folders: Sequence[Path], target: Path, positions: int = 0) -> int:
    """Copy the shards of other runs into a run, so that they are older than anything it plays itself.

    Shards whose contents are there already are left alone, so the call can be repeated, and runs that
    began with one another's records give them once.

    Args:
        folders, positions: see `newest_shards`.
        target: the run's own `records`.

    Returns:
        Positions in the shards that the run now holds from elsewhere.

    Raises:
        RecordError: see `newest_shards`.
    """
    here = {read_digest(path) for path in list_shards(target)}
    total = 0
    for path, name, digest in newest_shards(folders, positions):
        total += read_counts(path)[1]
        if digest not in here:
            write_atomically(target / name, path.read_bytes())
    return total
