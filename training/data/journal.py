"""Journals: shards that still grow. A worker appends each game as it ends, so that a kill loses none of them.

A journal has the bytes of a shard (`training.data.shards`) with one block for each game, or for those that
arrived together from elsewhere. It becomes a shard by its name; what a kill cut off is truncated before.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable
from pathlib import Path

from training.data import older
from training.data.columns import unpack
from training.data.records import SelfPlayRecord
from training.data.shards import (
    DAMAGE,
    MAGIC,
    MAX_BYTES,
    SUFFIX,
    RecordError,
    decode,
    encode_block,
    read_blocks,
    write_shard,
)
from training.files.atomic import naming
from training.files.foreign import read_bounded


class Journal:
    """A shard that grows, in an append-only file."""

    def __init__(self, path: Path) -> None:
        """Open a journal, which begins when the first game is added.

        Args:
            path: ends in `.journal`; the shard has the same name with the suffix of shards.
        """
        self._path = path
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115

    def add(self, game: SelfPlayRecord) -> None:
        """Append a game; it survives the process from here on.

        Raises:
            OSError: see `append`.
        """
        self.append(encode_block([game]))

    def append(self, blocks: bytes) -> None:
        """Append blocks of games; see `add`.

        Raises:
            OSError: disk full; it names the file, which ends behind the block before.
        """
        end = self._file.tell()
        left = memoryview((b"" if end else MAGIC) + blocks)
        with naming(self._path):
            try:
                while left:
                    left = left[self._file.write(left) :]
            except OSError:
                self._file.truncate(end)
                self._file.seek(end)
                raise

    def seal(self) -> Path | None:
        """Close the file and make it a shard; return the shard, None without a game.

        Raises:
            OSError: the disk fails; the journal stays.
        """
        with naming(self._path), self._file as file:
            end = file.tell()
            os.fsync(file.fileno())
        if end:
            shard = _free(self._path, self._path.stem)
            with naming(self._path):
                os.replace(self._path, shard)
            return shard
        with contextlib.suppress(OSError):
            os.unlink(self._path)
        return None


def _free(path: Path, stem: str) -> Path:
    """Return a name for a shard that no file has: a run that was killed plays a cycle again."""
    stems = itertools.chain([stem], (f"{stem}-{n}" for n in itertools.count(2)))
    shards = (path.with_name(f"{name}{SUFFIX}") for name in stems)
    return next(shard for shard in shards if not shard.exists())


def read_journal(path: Path, on_damage: Callable[[RecordError], None]) -> list[SelfPlayRecord]:
    """Return the whole games of a journal; what a kill cut off at its end is left out.

    Args:
        path: of the journal.
        on_damage: called once if there is something else than that: games behind it are not read.
    """
    return _read(path, on_damage)[0]


def _read(path: Path, on_damage: Callable[[RecordError], None]) -> tuple[list[SelfPlayRecord], int]:
    """Return the games of `read_journal`, and where they end in a file that can be truncated there, or 0."""
    games: list[SelfPlayRecord] = []
    end = 0
    try:
        data = read_bounded(path, MAX_BYTES)
        if data.startswith(older.JOURNAL_MAGIC):
            for entry in older.entries(data):
                games += decode(entry, path)
        elif data.startswith(MAGIC):
            for block, behind in read_blocks(data):
                games += unpack([block])
                end = behind
        elif not MAGIC.startswith(data) and not older.JOURNAL_MAGIC.startswith(data):
            raise ValueError("not a journal of this version")
    except RecordError as error:
        on_damage(error)
    except DAMAGE as error:
        on_damage(RecordError(f"{path}: {error}, behind {len(games)} games"))
    return games, end


def recover_journals(records: Path, report: Callable[[str], None]) -> int:
    """Turn journals that a killed run left behind into shards; return the number of games saved."""
    return sum(len(recover_journal(path, report)) for path in sorted(records.glob("*.journal")))


def recover_journal(path: Path, report: Callable[[str], None]) -> list[SelfPlayRecord]:
    """Turn the journal of a killed worker into a shard and return the games saved.

    Args:
        path: of the journal. It is truncated and renamed; a damaged one is put aside as
            `NAME.journal.damaged`, and one of release 0.1.0 is written anew.
        report: gets a line about a damaged one.
    """
    damage: list[RecordError] = []
    games, end = _read(path, damage.append)
    shard = _free(path, f"{path.stem}-recovered")
    if damage:
        if games:
            write_shard(shard, games)
        aside = path.with_name(f"{path.name}.damaged")
        os.replace(path, aside)
        report(f"{damage[0]}; {len(games)} games saved, the file is kept as {aside.name}")
    elif end:
        os.truncate(path, end)
        os.replace(path, shard)
    else:
        # Release 0.1.0 wrote the shard, then removed the journal: a kill in between left both.
        if path.with_suffix(SUFFIX).exists():
            games = []
        if games:
            write_shard(shard, games)
        path.unlink()
    return games


def shard_stem(cycle: int, index: int, life: int) -> str:
    """Return the name, without its suffix, of the shard and the journal of a worker in one of its lives."""
    return f"{cycle:06d}-{index:02d}" + (f"-{life}" if life else "")
