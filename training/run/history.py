"""Shards of self-play that older commits hold in their bundles. `training.recover` is the command.

Git keeps each version of a bundle; a bundle holds the newest records of its run. Together they hold far more
games than any of them. Every shard is checked like untrusted input, and each game is kept once.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from training.data.records import SelfPlayRecord
from training.data.shards import (
    MAX_BYTES,
    NAME,
    SUFFIX,
    RecordError,
    decode,
    list_shards,
    read_shards,
    write_shard,
)

MAX_BUNDLE_BYTES = 1 << 30
"""Largest bundle that is read, bytes (*derived*: 60 times the largest in the history)."""
_DIGEST = 12  # bytes of a game's key; one collision among a million games has a chance of 1e-17


class HistoryError(ValueError):
    """The repository cannot be read; the message says why."""


@dataclass(slots=True)
class Inventory:
    """What the recovered shards hold.

    Attributes:
        games, positions: by (net id, rule, width, height).
        shards: distinct shards that were read.
        repeated_games: games that an earlier shard had already.
        damaged: shards and bundles that could not be read.
    """

    games: Counter[tuple[str, int, int, int]] = field(default_factory=Counter)
    positions: Counter[tuple[str, int, int, int]] = field(default_factory=Counter)
    shards: int = 0
    repeated_games: int = 0
    damaged: int = 0

    def count(self, games: list[SelfPlayRecord]) -> None:
        """Add games."""
        for game in games:
            key = (game.net_id, game.rule, game.width, game.height)
            self.games[key] += 1
            self.positions[key] += game.positions


def recover(repository: Path, folder: str, target: Path, report: Callable[[str], None] = print) -> Inventory:
    """Write every game of every bundle in the history once, as shards named by run, place and checksum.

    The call can be repeated and continues where it was stopped: shards in `target` are read, not made again.

    Args:
        repository: a git working tree, or a bare repository.
        folder: of the bundles, as git spells it.
        target: folder of the shards; made if missing.
        report: gets a line for each bundle, and for what is damaged.

    Returns:
        What `target` holds afterwards.

    Raises:
        HistoryError: no repository, or no bundle in its history.
        OSError: a shard cannot be written.
    """
    versions = bundle_versions(repository, folder)
    if not versions:
        raise HistoryError(f"{repository}: no version of a bundle below {folder}")
    target.mkdir(parents=True, exist_ok=True)
    found = Inventory()
    done, seen = _already_there(target, found, report)
    for commit, path in versions:
        source = f"{commit[:10]}:{path}"
        shards = kept = 0
        for name, data in _shards_of(_blob(repository, commit, path), source, found, report):
            digest = data[-16:].hex()[:12]
            if digest in done:
                continue
            done.add(digest)
            try:
                games = decode(data, f"{source}/{name}")
            except RecordError as error:
                found.damaged += 1
                report(f"skipped: {error}")
                continue
            shards += 1
            fresh = _unseen(games, seen, found)
            if fresh:
                stem = f"{Path(path).stem}-{Path(name).name.removesuffix(SUFFIX)}-{digest}"
                write_shard(target / f"{stem}{SUFFIX}", fresh)
                found.count(fresh)
                kept += sum(game.positions for game in fresh)
        found.shards += shards
        report(f"{source}: {shards} new shards, {kept:,} new positions")
    return found


def bundle_versions(repository: Path, folder: str) -> list[tuple[str, str]]:
    """Return commit and path of each version of each bundle, the oldest first."""
    log = ("log", "--reverse", "--no-renames", "--diff-filter=AM", "--format=:%H", "--name-only")
    text = _git(repository, *log, "--", folder)
    out, commit = [], ""
    for line in text.decode("utf-8", "replace").splitlines():
        if line.startswith(":"):
            commit = line[1:]
        elif line.endswith(".zip"):
            out.append((commit, line))
    return out


def _git(repository: Path, *arguments: str) -> bytes:
    try:
        command = ["git", "-C", str(repository), *arguments]
        return subprocess.run(command, capture_output=True, check=True, stdin=subprocess.DEVNULL).stdout
    except FileNotFoundError as error:
        raise HistoryError("git is not installed") from error
    except subprocess.CalledProcessError as error:
        raise HistoryError(f"{repository}: {error.stderr.decode('utf-8', 'replace').strip()}") from error


def _blob(repository: Path, commit: str, path: str) -> bytes:
    size = int(_git(repository, "cat-file", "-s", f"{commit}:{path}"))
    if size > MAX_BUNDLE_BYTES:
        raise HistoryError(f"{commit[:10]}:{path} has {size} bytes; {MAX_BUNDLE_BYTES} are allowed")
    return _git(repository, "cat-file", "blob", f"{commit}:{path}")


def _shards_of(
    data: bytes, source: str, found: Inventory, report: Callable[[str], None]
) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of each shard of a bundle; a damaged one is reported."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as bundle:
            for member in bundle.infolist():
                folder, _, name = member.filename.rpartition("/")
                if folder == "records" and NAME.fullmatch(name) and member.file_size <= MAX_BYTES:
                    yield name, bundle.read(member)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        found.damaged += 1
        report(f"skipped: {source}: {error}")


def _already_there(
    target: Path, found: Inventory, report: Callable[[str], None]
) -> tuple[set[str], set[bytes]]:
    """Count the shards of an earlier call; return the checksums in their names and the keys of the games."""

    def damaged(error: RecordError) -> None:
        found.damaged += 1
        report(f"skipped: {error}")

    done: set[str] = set()
    seen: set[bytes] = set()
    for path, games in read_shards(list_shards(target), damaged):
        done.add(path.name.removesuffix(SUFFIX).rpartition("-")[2])
        found.shards += 1
        found.count(_unseen(games, seen, found))
    return done, seen


def _unseen(games: list[SelfPlayRecord], seen: set[bytes], found: Inventory) -> list[SelfPlayRecord]:
    fresh = []
    for game in games:
        key = game_key(game)
        if key in seen:
            found.repeated_games += 1
            continue
        seen.add(key)
        fresh.append(game)
    return fresh


def game_key(game: SelfPlayRecord) -> bytes:
    """Return a key that equal games share: net, seed, rule, board, moves and what was searched."""
    head = f"{game.net_id} {game.seed} {game.rule} {game.width} {game.height} {game.opening}".encode()
    return hashlib.blake2b(
        b"\0".join((head, game.moves.tobytes(), game.root_wl.tobytes())), digest_size=_DIGEST
    ).digest()
