"""Shards: game records in compact, checksummed files.

A shard is one file, written whole and renamed into place:

    8 bytes   magic b"TNGSHARD"
    4 bytes   header length, little endian
    header    JSON: format, feature_version, games, positions, net_ids, raw_bytes
    payload   LZMA of the columns below, one after the other, each with a 4-byte length in front
    16 bytes  BLAKE2b of everything before

Columns hold all games of the shard in order; lengths of variable parts stand in `plies`, `searched` and
`counts`. Policy points are stored ascending as differences, which compresses to about half a byte each.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from engine.encoding import FEATURE_VERSION, PLANES_OF
from engine.rules.rule import Rule
from training.data.records import DRAW, End, Flag, SelfPlayRecord
from training.files.atomic import write_atomically
from training.files.foreign import is_count, is_list_of, parse_table, read_bounded

Scalar = TypeVar("Scalar", bound=np.generic)

FORMAT = 1
SUFFIX = ".shard"
NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,150}}{re.escape(SUFFIX)}")
"""Name of a file with a shard, in no folder."""
MAX_RAW_BYTES = 256 << 20
"""Largest unpacked columns of a shard, bytes (*derived*: 5 million positions; a cycle has some thousands)."""
MAX_BYTES = MAX_RAW_BYTES + (2 << 20)
"""Largest file: what does not compress grows by less than a hundredth, and the header."""
_MAX_HEADER = 1 << 20
_MAX_NAME = 200  # characters of a net id
_LZMA_MEMORY = 64 << 20  # derived: ten times what unpacking of preset 4 takes
_MAGIC = b"TNGSHARD"
_DIGEST = 16
SIDES = (5, 22)
"""Shortest and longest side of a board, cells (protocol)."""


class RecordError(ValueError):
    """A shard is damaged or of another version; the message names the file and the reason."""


_SCALARS = ("rule", "width", "height", "opening", "winner", "end")


def _pack(games: Sequence[SelfPlayRecord], net_ids: list[str]) -> bytes:
    index = {name: i for i, name in enumerate(net_ids)}
    columns = [np.array([int(getattr(g, name)) for g in games], np.uint16) for name in _SCALARS]
    columns += [
        np.array([len(g.moves) for g in games], np.uint16),
        np.array([g.positions for g in games], np.uint16),
        np.array([index[g.net_id] for g in games], np.uint16),
        np.array([g.seed for g in games], np.uint64),
    ]
    for name in ("moves", "flags", "root_wl", "surprise", "counts", "weights"):
        columns.append(np.concatenate([getattr(g, name).ravel() for g in games]))
    counts = columns[-2]
    points = np.concatenate([g.points for g in games]).astype(np.int32)
    delta = np.diff(points, prepend=0)
    starts = (np.cumsum(counts.astype(np.int64)) - counts)[counts > 0]
    delta[starts] = points[starts]
    columns.append(delta.astype(np.uint16))
    parts = []
    for column in columns:
        # Low bytes, then high bytes: the high ones are nearly constant and vanish in the compression.
        raw = np.ascontiguousarray(column.reshape(-1, 1).view(np.uint8).T).tobytes()
        parts += [struct.pack("<I", len(raw)), raw]
    return b"".join(parts)


class _Columns:
    """Reads columns back in the order they were packed."""

    def __init__(self, raw: bytes) -> None:
        self._raw, self._at = raw, 0

    def next(self, dtype: type[Scalar]) -> npt.NDArray[Scalar]:
        (size,) = struct.unpack_from("<I", self._raw, self._at)
        start = self._at + 4
        if start + size > len(self._raw):
            raise ValueError("column behind the end")
        self._at = start + size
        width = np.dtype(dtype).itemsize
        split = np.frombuffer(self._raw, np.uint8, size, start).reshape(width, -1)
        return np.ascontiguousarray(split.T).view(dtype).ravel()


def _unpack(raw: bytes, net_ids: list[str]) -> list[SelfPlayRecord]:
    columns = _Columns(raw)
    scalars = [columns.next(np.uint16).astype(int).tolist() for _ in _SCALARS]
    plies = columns.next(np.uint16).astype(np.int64)
    searched = columns.next(np.uint16).astype(np.int64)
    nets = columns.next(np.uint16)
    seeds = columns.next(np.uint64)
    moves = columns.next(np.uint16)
    flags, root_wl, surprise, counts, weights = (columns.next(np.uint8) for _ in range(5))
    delta = columns.next(np.uint16)
    positions, entries = int(searched.sum()), int(counts.sum(dtype=np.int64))
    if any(len(column) != len(plies) for column in (*scalars, searched, nets, seeds)):
        raise ValueError("columns of games disagree")
    if (len(moves), len(flags), len(surprise), len(counts)) != (plies.sum(), *[positions] * 3) or (
        len(root_wl) != 2 * positions or len(weights) != entries or len(delta) != entries
    ):
        raise ValueError("column lengths disagree")
    entry_ends = np.cumsum(counts.astype(np.int64))
    total = np.cumsum(delta.astype(np.int64))
    used = counts > 0
    base = (total - delta)[(entry_ends - counts)[used]]  # running sum in front of each position
    points = total - np.repeat(base, counts[used])
    _check(np.array(scalars, np.int64), plies, searched, moves, flags, counts, points, weights)
    points = points.astype(np.uint16)
    games = []
    m = s = k = 0
    for i, (n, sn) in enumerate(zip(plies.tolist(), searched.tolist(), strict=True)):
        kn = int(counts[s : s + sn].sum(dtype=np.int64))
        rule, width, height, opening, winner, end = (column[i] for column in scalars)
        games.append(
            SelfPlayRecord(
                rule=rule, width=width, height=height, moves=moves[m : m + n], opening=opening,
                winner=winner, end=End(end), flags=flags[s : s + sn],
                root_wl=root_wl[2 * s : 2 * (s + sn)].reshape(-1, 2), surprise=surprise[s : s + sn],
                counts=counts[s : s + sn], points=points[k : k + kn], weights=weights[k : k + kn],
                net_id=net_ids[int(nets[i])], seed=int(seeds[i]),
            )
        )  # fmt: skip
        m, s, k = m + n, s + sn, k + kn
    return games


def _check(
    scalars: npt.NDArray[np.int64],
    plies: npt.NDArray[np.int64],
    searched: npt.NDArray[np.int64],
    moves: npt.NDArray[np.generic],
    flags: npt.NDArray[np.generic],
    counts: npt.NDArray[np.generic],
    points: npt.NDArray[np.int64],
    weights: npt.NDArray[np.generic],
) -> None:
    """Refuse columns that no games can have made, so that whoever reads games need not doubt them.

    Raises:
        ValueError: what is wrong.
    """
    rule, width, height, opening, winner, _ = scalars
    area = width * height
    move, count = moves.astype(np.int64), counts.astype(np.int64)
    numbered = np.repeat(np.arange(len(plies)), plies) << 16 | move
    wrong = {
        "a rule": ~np.isin(rule, [int(r) for r in Rule]),
        "a board": (np.minimum(width, height) < SIDES[0]) | (np.maximum(width, height) > SIDES[1]),
        "a winner": winner > DRAW,
        "the length of a game": (plies > area) | (opening > plies),
        "the number of positions": (searched < plies - opening) | (searched > plies - opening + 1),
        "a move": move >= np.repeat(area, plies),
        "flags": flags.astype(np.int64) > sum(Flag),
        "the size of a target": count > np.repeat(area, searched),
        "a point of a target": (points < 0) | (points >= np.repeat(np.repeat(area, searched), count)),
        "a weight of a target": weights == 0,
    }
    for what, found in wrong.items():
        if np.any(found):
            raise ValueError(f"{what} is impossible")
    if len(np.unique(numbered)) < len(numbered):
        raise ValueError("two stones on one point")


def encode(games: Sequence[SelfPlayRecord], preset: int = 4) -> bytes:
    """Return the bytes of a shard.

    Args:
        games: at least one.
        preset: of LZMA; a lower one is faster and makes a larger shard.

    Raises:
        ValueError: no games, or more than one shard may hold.
    """
    if not games:
        raise ValueError("a shard needs at least one game")
    net_ids = sorted({g.net_id for g in games})
    raw = _pack(games, net_ids)
    if len(raw) > MAX_RAW_BYTES:
        raise ValueError(f"{len(games)} games are too many for one shard: play fewer positions a cycle")
    header = json.dumps(
        {
            "format": FORMAT,
            "feature_version": FEATURE_VERSION,
            "games": len(games),
            "positions": sum(g.positions for g in games),
            "net_ids": net_ids,
            "raw_bytes": len(raw),
        }
    ).encode()
    body = _MAGIC + struct.pack("<I", len(header)) + header + lzma.compress(raw, preset=preset)
    return body + hashlib.blake2b(body, digest_size=_DIGEST).digest()


def write_shard(path: Path | str, games: Sequence[SelfPlayRecord]) -> int:
    """Write games to a new shard, atomically: the file appears whole or not at all.

    Args:
        path: ends in `SUFFIX`; the folder exists.
        games: at least one.

    Returns:
        Size of the file in bytes.

    Raises:
        OSError: disk full or no permission; it names the file, and no half file is left behind.
        ValueError: see `encode`.
    """
    data = encode(games)
    write_atomically(Path(path), data)
    return len(data)


def read_header(path: Path | str) -> dict[str, object]:
    """Return the header of a shard without reading or checking its payload.

    Raises:
        RecordError: not a shard, or of another version.
    """
    with open(path, "rb") as f:
        start = f.read(len(_MAGIC) + 4)
        if len(start) < len(_MAGIC) + 4 or start[: len(_MAGIC)] != _MAGIC:
            raise RecordError(f"{path}: not a shard")
        (size,) = struct.unpack("<I", start[len(_MAGIC) :])
        if size > _MAX_HEADER:
            raise RecordError(f"{path}: header damaged")
        text = f.read(size)
    return _parse_header(text, path)


def read_digest(path: Path | str) -> bytes:
    """Return the checksum at the end of a shard without checking it: equal shards have equal ones.

    Raises:
        RecordError: too short for a shard.
    """
    with open(path, "rb") as f:
        if f.seek(0, 2) < len(_MAGIC) + 4 + _DIGEST:
            raise RecordError(f"{path}: not a shard")
        f.seek(-_DIGEST, 2)
        return f.read()


def _parse_header(text: bytes, path: Path | str) -> dict[str, object]:
    try:
        header = parse_table(text, path)
    except ValueError as error:
        raise RecordError(f"{path}: header damaged") from error
    if header.get("format") != FORMAT:
        raise RecordError(f"{path}: shard format {header.get('format')!r}, this program reads {FORMAT}")
    version = header.get("feature_version")  # games hold moves: those of older versions will do
    if isinstance(version, bool) or not isinstance(version, int) or version not in PLANES_OF:
        raise RecordError(
            f"{path}: recorded for feature version {header.get('feature_version')!r}, "
            f"this program has {FEATURE_VERSION}"
        )
    counts = [header.get(name) for name in ("games", "positions", "raw_bytes")]
    names = header.get("net_ids")
    if not is_list_of(counts, is_count) or not is_list_of(names, _is_name):
        raise RecordError(f"{path}: header damaged")
    if int(str(counts[2])) > MAX_RAW_BYTES:
        raise RecordError(f"{path}: says that it unpacks to {counts[2]} bytes; {MAX_RAW_BYTES} are allowed")
    return header


def _is_name(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_NAME


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
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    start = len(_MAGIC) + 4
    if len(body) < start or body[: len(_MAGIC)] != _MAGIC:
        raise RecordError(f"{source}: not a shard")
    if hashlib.blake2b(body, digest_size=_DIGEST).digest() != digest:
        raise RecordError(f"{source}: checksum wrong, the file is damaged or cut short")
    (size,) = struct.unpack_from("<I", body, len(_MAGIC))
    header = _parse_header(body[start : start + size], source)
    net_ids = header["net_ids"]
    assert isinstance(net_ids, list)
    try:
        games = _unpack(_inflate(body[start + size :], int(str(header["raw_bytes"]))), net_ids)
        if (len(games), sum(g.positions for g in games)) != (header["games"], header["positions"]):
            raise ValueError("the header counts other games")
    except (ValueError, IndexError, struct.error, lzma.LZMAError) as error:
        raise RecordError(f"{source}: contents damaged ({error})") from error
    return games


def _inflate(data: bytes, size: int) -> bytes:
    """Return what a stream unpacks to.

    Raises:
        ValueError: it is not `size` bytes; never more than one more is unpacked.
        lzma.LZMAError: damaged, or it wants too much memory.
    """
    stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_LZMA_MEMORY)
    raw = stream.decompress(data, max_length=size + 1)
    if len(raw) != size or not stream.eof or stream.unused_data:
        raise ValueError(f"the header says {size} bytes, the stream holds others")
    return raw


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
