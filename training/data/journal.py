"""Journals: finished games that are not in a shard yet, kept so that a killed worker loses none of them.

A journal is 8 bytes b"TNGJRNL2", then for each entry 4 bytes of length, little endian, and a shard
(`training.data.shards`) of one game, or of those that arrived together from elsewhere; so reading one can do
no more than reading a shard can.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Callable
from pathlib import Path

from training.data.records import SelfPlayRecord
from training.data.shards import SUFFIX, RecordError, decode, encode, write_shard
from training.files.atomic import naming

_MAGIC = b"TNGJRNL2"
_LENGTH = struct.Struct("<I")
MAX_ENTRY = 1 << 20
"""Bytes of an entry (derived: a game of 484 positions of 400 bytes, five times over)."""


class Journal:
    """Finished games that are not in a shard yet, in an append-only file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115

    def add(self, game: SelfPlayRecord) -> None:
        """Append a game; it survives the process from here on.

        Raises:
            OSError: see `append`.
        """
        self.append(encode([game], preset=0))

    def append(self, data: bytes) -> None:
        """Append the bytes of a shard of at most `MAX_ENTRY` bytes; see `add`.

        Raises:
            OSError: disk full; it names the file, which ends behind the entry before.
        """
        end = self._file.tell()
        left = memoryview((b"" if end else _MAGIC) + _LENGTH.pack(len(data)) + data)
        with naming(self._path):
            try:
                while left:
                    left = left[self._file.write(left) :]
            except OSError:
                self._file.truncate(end)
                self._file.seek(end)
                raise

    def close(self) -> None:
        """Close and remove the file; its games stand in a shard now."""
        self._file.close()
        with contextlib.suppress(OSError):
            os.unlink(self._path)


def read_journal(path: Path, on_damage: Callable[[RecordError], None]) -> list[SelfPlayRecord]:
    """Return the whole games of a journal; what a kill cut off at its end is left out.

    Args:
        path: of the journal.
        on_damage: called once if there is something else than that: games behind it are not read.
    """
    games: list[SelfPlayRecord] = []
    with open(path, "rb") as f:
        start = f.read(len(_MAGIC))
        if start != _MAGIC:
            if not _MAGIC.startswith(start):
                on_damage(RecordError(f"{path}: not a journal of this version"))
            return games
        while len(head := f.read(_LENGTH.size)) == _LENGTH.size:
            (size,) = _LENGTH.unpack(head)
            if size > MAX_ENTRY:
                on_damage(RecordError(f"{path}: damaged behind {len(games)} games"))
                break
            data = f.read(size)
            if len(data) < size:
                break
            try:
                games += decode(data, path)
            except RecordError as error:
                on_damage(error)
                break
    return games


def recover_journals(records: Path, report: Callable[[str], None]) -> int:
    """Turn journals that a killed run left behind into shards; return the number of games saved."""
    return sum(len(recover_journal(path, report)) for path in sorted(records.glob("*.journal")))


def recover_journal(path: Path, report: Callable[[str], None]) -> list[SelfPlayRecord]:
    """Turn the journal of a killed worker into a shard and return the games saved.

    Args:
        path: of the journal. It is removed; a damaged one is put aside as `NAME.journal.damaged`.
        report: gets a line about a damaged one.
    """
    damage: list[RecordError] = []
    # A kill between writing the shard and removing the journal leaves both.
    games = [] if path.with_suffix(SUFFIX).exists() else read_journal(path, damage.append)
    if games:
        write_shard(path.with_name(f"{path.stem}-recovered{SUFFIX}"), games)
    if damage:
        aside = path.with_name(f"{path.name}.damaged")
        os.replace(path, aside)
        report(f"{damage[0]}; {len(games)} games saved, the file is kept as {aside.name}")
    else:
        path.unlink()
    return games


def shard_stem(cycle: int, index: int, life: int) -> str:
    """Return the name, without its suffix, of the shard and the journal of a worker in one of its lives."""
    return f"{cycle:06d}-{index:02d}" + (f"-{life}" if life else "")
