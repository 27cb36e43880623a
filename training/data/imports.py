"""Records of other runs, copied in front of a run's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from training.data.shards import RecordError, list_shards, read_header
from training.files.atomic import write_atomically

_IMPORTED = "000000-from"  # sorts before the shards of the first cycle


def import_shards(folders: Sequence[Path], target: Path, positions: int = 0) -> int:
    """Copy the shards of other runs into a run, so that they are older than anything it plays itself.

    Shards that are there already are left alone, so the call can be repeated.

    Args:
        folders: `records` folders, the oldest first.
        target: the run's own `records`.
        positions: copy only the newest shards, until so many positions are together; 0: all.

    Returns:
        Positions in the shards that the run now holds from elsewhere.

    Raises:
        RecordError: a folder has no shards, or one of its newest is of another version.
    """
    found: list[tuple[Path, str]] = []
    for number, folder in enumerate(folders):
        shards = list_shards(folder)
        if not shards:
            raise RecordError(f"{folder}: no shards")
        found += [(path, f"{_IMPORTED}{number:02d}-{path.name}") for path in shards]
    total = 0
    for path, name in reversed(found):
        if positions and total >= positions:
            break
        total += int(str(read_header(path)["positions"]))
        if not (target / name).exists():
            write_atomically(target / name, path.read_bytes())
    return total
