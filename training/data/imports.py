"""Records of other runs, copied in front of a run's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from training.data.shards import SUFFIX, RecordError, list_shards, read_digest, read_header
from training.files.atomic import write_atomically

_IMPORTED = "000000-from"  # sorts before the shards of the first cycle


def import_shards(folders: Sequence[Path], target: Path, positions: int = 0) -> int:
    """Copy the shards of other runs into a run, so that they are older than anything it plays itself.

    Shards whose contents are there already are left alone, so the call can be repeated, and runs that
    began with one another's records give them once. A name says folder, place in it and checksum, so that
    it has the same length however often a shard is handed on.

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
        found += [(path, f"{_IMPORTED}{number:02d}-{place:06d}") for place, path in enumerate(shards)]
    here = {read_digest(path) for path in list_shards(target)}
    counted: set[bytes] = set()
    total = 0
    for path, name in reversed(found):
        if positions and total >= positions:
            break
        digest = read_digest(path)
        if digest in counted:
            continue
        counted.add(digest)
        total += int(str(read_header(path)["positions"]))
        if digest not in here:
            write_atomically(target / f"{name}-{digest.hex()[:12]}{SUFFIX}", path.read_bytes())
    return total
