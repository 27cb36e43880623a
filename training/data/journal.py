"""Journals: finished games that are not in a shard yet, kept so that a killed worker loses none of them."""

from __future__ import annotations

import contextlib
import os
import pickle
import struct
import zlib
from pathlib import Path

from training.data.records import GameRecord
from training.data.shards import SUFFIX, write_shard


class Journal:
    """Finished games that are not in a shard yet, in an append-only file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = open(path, "ab")  # noqa: SIM115

    def add(self, game: GameRecord) -> None:
        """Append a game; it survives the process from here on."""
        data = pickle.dumps(game, protocol=pickle.HIGHEST_PROTOCOL)
        self._file.write(struct.pack("<II", len(data), zlib.crc32(data)) + data)
        self._file.flush()

    def clear(self) -> None:
        """Forget the games, which stand in a shard now."""
        self._file.truncate(0)
        self._file.seek(0)

    def close(self) -> None:
        """Close and remove the file."""
        self._file.close()
        with contextlib.suppress(OSError):
            os.unlink(self._path)


def read_journal(path: Path) -> list[GameRecord]:
    """Return the whole games of a journal; what a kill cut off at its end is left out."""
    data, games, at = path.read_bytes(), [], 0
    while at + 8 <= len(data):
        size, checksum = struct.unpack_from("<II", data, at)
        body = data[at + 8 : at + 8 + size]
        if len(body) < size or zlib.crc32(body) != checksum:
            break
        games.append(pickle.loads(body))
        at += 8 + size
    return games


def recover_journals(records: Path) -> int:
    """Turn journals that a killed run left behind into shards; return the number of games saved."""
    return sum(len(recover_journal(path)) for path in sorted(records.glob("*.journal")))


def recover_journal(path: Path) -> list[GameRecord]:
    """Turn the journal of a killed worker into a shard and return the games saved."""
    # A kill between writing the shard and removing the journal leaves both.
    games = [] if path.with_suffix(SUFFIX).exists() else read_journal(path)
    if games:
        write_shard(path.with_name(f"{path.stem}-recovered{SUFFIX}"), games)
    path.unlink()
    return games


def shard_stem(cycle: int, index: int, life: int) -> str:
    """Return the name, without its suffix, of the shard and the journal of a worker in one of its lives."""
    return f"{cycle:06d}-{index:02d}" + (f"-{life}" if life else "")
