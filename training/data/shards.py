"""Shards: game records in compact, checksummed files.

A shard grows while its games are played, as a journal (`training.data.journal`), and is renamed when it is
complete; so each game is written once. A file is

    8 bytes   magic b"TNGSHRD2"
    blocks    of games that ended together, one after another

and a block is

    20 bytes  format of the columns and feature version (2 bytes each), games, positions, bytes of the
              unpacked payload and of the packed one (4 bytes each), little endian
    payload   names of the nets as JSON with a 4-byte length in front, then the columns of
              `training.data.columns`, compressed with DEFLATE
    16 bytes  BLAKE2b of header and payload

Shards of release 0.1.0 are read too (`training.data.older`).
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from engine.encoding import FEATURE_VERSION, PLANES_OF
from training.data import older
from training.data.columns import Block, pack, unpack
from training.data.records import FORMAT, SelfPlayRecord
from training.files.atomic import write_atomically
from training.files.foreign import is_list_of, read_bounded

SUFFIX = ".shard"
NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,150}}{re.escape(SUFFIX)}")
"""Name of a file with a shard, in no folder."""
MAX_RAW_BYTES = 256 << 20
"""Largest unpacked columns of a shard, bytes (*derived*: 5 million positions; a cycle has some thousands)."""
MAX_BYTES = MAX_RAW_BYTES + (2 << 20)
"""Largest file: what does not compress grows by less than a hundredth, and the headers."""
MAGIC = b"TNGSHRD2"
_HEADER = struct.Struct("<HHIIII")
_LENGTH = struct.Struct("<I")
_MAX_NAME = 200  # characters of a net id
_DIGEST = 16
_LEVEL = 9  # of DEFLATE: 0.05 ms a game, and 2 % smaller than level 6

DAMAGE = (ValueError, IndexError, RecursionError, struct.error, lzma.LZMAError, zlib.error)
"""What reading damaged contents raises."""


class RecordError(ValueError):
    """A shard is damaged or of another version; the message names the file and the reason."""


def encode_block(games: Sequence[SelfPlayRecord]) -> bytes:
    """Return the bytes of a block.

    Args:
        games: at least one.

    Raises:
        ValueError: no games, or more than one shard may hold.
    """
    if not games:
        raise ValueError("a shard needs at least one game")
    net_ids = sorted({g.net_id for g in games})
    names = json.dumps(net_ids).encode()
    raw = _LENGTH.pack(len(names)) + names + pack(games, net_ids, FORMAT)
    if len(raw) > MAX_RAW_BYTES:
        raise ValueError(f"{len(games)} games are too many for one shard: play fewer positions a cycle")
    payload = zlib.compress(raw, _LEVEL, -zlib.MAX_WBITS)
    positions = sum(g.positions for g in games)
    body = _HEADER.pack(FORMAT, FEATURE_VERSION, len(games), positions, len(raw), len(payload)) + payload
    return body + _digest(body)


def encode(games: Sequence[SelfPlayRecord]) -> bytes:
    """Return the bytes of a shard of one block; see `encode_block`."""
    return MAGIC + encode_block(games)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()


def write_shard(path: Path | str, games: Sequence[SelfPlayRecord]) -> int:
    """Write games to a new shard, atomically: the file appears whole or not at all.

    Args:
        path: ends in `SUFFIX`; the folder exists.
        games: at least one.

    Returns:
        Size of the file in bytes.

    Raises:
        OSError: disk full or no permission; it names the file, and no half file is left behind.
        ValueError: see `encode_block`.
    """
    data = encode(games)
    write_atomically(Path(path), data)
    return len(data)


def _check_version(version: object) -> None:
    """Refuse games of another feature version. Games hold moves, so those of older versions will do.

    Raises:
        ValueError: this program does not know the version.
    """
    if isinstance(version, bool) or not isinstance(version, int) or version not in PLANES_OF:
        raise ValueError(f"recorded for feature version {version!r}, this program has {FEATURE_VERSION}")


def _read_head(data: bytes) -> tuple[int, int, int, int, int]:
    """Return format, games, positions and bytes, unpacked and packed, of a block from its header.

    Raises:
        ValueError: damaged, or of another version.
    """
    form, version, games, positions, raw_bytes, size = _HEADER.unpack(data)
    if not 1 <= form <= FORMAT:
        raise ValueError(f"shard format {form}, this program reads 1 to {FORMAT}")
    _check_version(version)
    _check_size(max(raw_bytes, size))
    return form, games, positions, raw_bytes, size


def _check_size(raw_bytes: int) -> None:
    if raw_bytes > MAX_RAW_BYTES:
        raise ValueError(f"says that it unpacks to {raw_bytes} bytes; {MAX_RAW_BYTES} are allowed")


def read_counts(path: Path | str) -> tuple[int, int]:
    """Return games and positions of a shard, as its headers say, without reading or checking the columns.

    Raises:
        RecordError: not a shard, or of another version.
    """
    with open(path, "rb") as file:
        magic = file.read(len(MAGIC))
        try:
            if magic == older.SHARD_MAGIC:
                header = older.read_header(file)
                _check_version(header.feature_version)
                return header.games, header.positions
            if magic == MAGIC:
                return _count_blocks(file)
        except ValueError as error:
            raise RecordError(f"{path}: {error}") from error
    raise RecordError(f"{path}: not a shard")


def _count_blocks(file: BinaryIO) -> tuple[int, int]:
    games = positions = 0
    while head := file.read(_HEADER.size):
        if len(head) < _HEADER.size:
            raise ValueError("header damaged")
        _, more_games, more_positions, _, size = _read_head(head)
        games, positions = games + more_games, positions + more_positions
        file.seek(size + _DIGEST, io.SEEK_CUR)
    return games, positions


def read_digest(path: Path | str) -> bytes:
    """Return the checksum at the end of a shard without checking it: equal shards have equal ones.

    Raises:
        RecordError: too short for a shard.
    """
    with open(path, "rb") as f:
        if f.seek(0, 2) < len(MAGIC) + _DIGEST:
            raise RecordError(f"{path}: not a shard")
        f.seek(-_DIGEST, 2)
        return f.read()


def read_shard(path: Path | str) -> list[SelfPlayRecord]:
    """Read and check a shard.

    Raises:
        RecordError: damaged, cut short, of another version, or no games can have made it.
    """
    try:
        data = read_bounded(Path(path), MAX_BYTES)
    except ValueError as error:
        raise RecordError(str(error)) from error
    return decode(data, path)


def decode(data: bytes, source: Path | str) -> list[SelfPlayRecord]:
    """Return the games of the bytes of a shard, all checked.

    Args:
        data: as `encode` returns them.
        source: where they come from, for messages.

    Raises:
        RecordError: see `read_shard`.
    """
    try:
        if data.startswith(older.SHARD_MAGIC):
            return _decode_older(data)
        if not data.startswith(MAGIC):
            raise ValueError("not a shard")
        blocks = list(read_blocks(data))
        if not blocks or blocks[-1][1] != len(data):
            raise ValueError("checksum missing, the file is cut short")
        return unpack([block for block, _ in blocks])
    except DAMAGE as error:
        raise RecordError(f"{source}: {error}") from error


def read_blocks(data: bytes) -> Iterator[tuple[Block, int]]:
    """Yield the blocks of a shard or journal, each with the place where it ends.

    The last one is in front of a block that is cut short. The columns are not checked; `unpack` does that.

    Raises:
        ValueError, RecursionError, struct.error, zlib.error: a block is damaged.
    """
    at = len(MAGIC)
    left = MAX_RAW_BYTES
    while at + _HEADER.size <= len(data):
        form, games, positions, raw_bytes, size = _read_head(data[at : at + _HEADER.size])
        stop = at + _HEADER.size + size
        if stop + _DIGEST > len(data):
            return
        if _digest(data[at:stop]) != data[stop : stop + _DIGEST]:
            raise ValueError("checksum wrong, the file is damaged")
        left -= raw_bytes
        _check_size(MAX_RAW_BYTES - left)
        raw = _inflate(data[stop - size : stop], raw_bytes)
        (length,) = _LENGTH.unpack_from(raw)
        names = json.loads(raw[_LENGTH.size : _LENGTH.size + length])
        if not is_list_of(names, lambda name: isinstance(name, str) and len(name) <= _MAX_NAME):
            raise ValueError("names of nets damaged")
        at = stop + _DIGEST
        yield Block(form, games, positions, names, raw[_LENGTH.size + length :]), at


def _inflate(data: bytes, size: int) -> bytes:
    """Return what a stream unpacks to.

    Raises:
        ValueError: it is not `size` bytes; never more than one more is unpacked.
        zlib.error: damaged.
    """
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    raw = stream.decompress(data, size + 1)
    if len(raw) != size or not stream.eof or stream.unused_data:
        raise ValueError(f"the header says {size} bytes, the stream holds others")
    return raw


def _decode_older(data: bytes) -> list[SelfPlayRecord]:
    if not older.is_whole(data):
        raise ValueError("checksum wrong, the file is damaged or cut short")
    header = older.read_header(io.BytesIO(data[len(MAGIC) :]))
    _check_version(header.feature_version)
    _check_size(header.raw_bytes)
    return unpack([older.read_block(data, header)])


def read_shards(
    paths: Iterable[Path | str], on_damage: Callable[[RecordError], None]
) -> Iterator[tuple[Path, list[SelfPlayRecord]]]:
    """Yield the games of each good shard; damaged or vanished ones are reported and skipped."""
    for path in paths:
        try:
            yield Path(path), read_shard(path)
        except RecordError as error:
            on_damage(error)
        except OSError as error:
            on_damage(RecordError(f"{path}: cannot be read ({error})"))


def list_shards(folder: Path | str) -> list[Path]:
    """Return the shards of a folder by name; unfinished temporary files are not among them."""
    return sorted(p for p in Path(folder).glob(f"*{SUFFIX}") if not p.name.startswith("."))
