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
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engine.encoding import FEATURE_VERSION
from training.data.records import End, GameRecord
from training.files.atomic import write_atomically

FORMAT = 1
SUFFIX = ".shard"
_MAGIC = b"TNGSHARD"
_DIGEST = 16


class RecordError(ValueError):
    """A shard is damaged or of another version; the message names the file and the reason."""


_SCALARS = ("rule", "width", "height", "opening", "winner", "end")


def _pack(games: Sequence[GameRecord], net_ids: list[str]) -> bytes:
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

    def next(self, dtype: type[np.generic]) -> npt.NDArray[np.generic]:
        (size,) = struct.unpack_from("<I", self._raw, self._at)
        start = self._at + 4
        if start + size > len(self._raw):
            raise ValueError("column behind the end")
        self._at = start + size
        width = np.dtype(dtype).itemsize
        split = np.frombuffer(self._raw, np.uint8, size, start).reshape(width, -1)
        return np.ascontiguousarray(split.T).view(dtype).ravel()


def _unpack(raw: bytes, net_ids: list[str]) -> list[GameRecord]:
    columns = _Columns(raw)
    scalars = [columns.next(np.uint16).astype(int).tolist() for _ in _SCALARS]
    plies = columns.next(np.uint16).astype(np.int64)
    searched = columns.next(np.uint16).astype(np.int64)
    nets = columns.next(np.uint16)
    seeds = columns.next(np.uint64)
    moves, flags, root_wl, surprise, counts, weights, delta = (
        columns.next(t) for t in (np.uint16, np.uint8, np.uint8, np.uint8, np.uint8, np.uint8, np.uint16)
    )
    positions, entries = int(searched.sum()), int(counts.sum(dtype=np.int64))
    if (len(moves), len(flags), len(surprise), len(counts)) != (plies.sum(), *[positions] * 3) or (
        len(root_wl) != 2 * positions or len(weights) != entries or len(delta) != entries
    ):
        raise ValueError("column lengths disagree")
    entry_ends = np.cumsum(counts.astype(np.int64))
    total = np.cumsum(delta.astype(np.int64))
    used = counts > 0
    base = (total - delta)[(entry_ends - counts)[used]]  # running sum in front of each position
    points = (total - np.repeat(base, counts[used])).astype(np.uint16)
    games = []
    m = s = k = 0
    for i, (n, sn) in enumerate(zip(plies.tolist(), searched.tolist(), strict=True)):
        kn = int(counts[s : s + sn].sum(dtype=np.int64))
        rule, width, height, opening, winner, end = (column[i] for column in scalars)
        games.append(
            GameRecord(
                rule=rule, width=width, height=height, moves=moves[m : m + n], opening=opening,
                winner=winner, end=End(end), flags=flags[s : s + sn],
                root_wl=root_wl[2 * s : 2 * (s + sn)].reshape(-1, 2), surprise=surprise[s : s + sn],
                counts=counts[s : s + sn], points=points[k : k + kn], weights=weights[k : k + kn],
                net_id=net_ids[int(nets[i])], seed=int(seeds[i]),
            )
        )  # fmt: skip
        m, s, k = m + n, s + sn, k + kn
    return games


def write_shard(path: Path | str, games: Sequence[GameRecord]) -> int:
    """Write games to a new shard, atomically: the file appears whole or not at all.

    Args:
        path: ends in `SUFFIX`; the folder exists.
        games: at least one.

    Returns:
        Size of the file in bytes.

    Raises:
        OSError: disk full or no permission; no half file is left behind.
    """
    path = Path(path)
    if not games:
        raise ValueError("a shard needs at least one game")
    net_ids = sorted({g.net_id for g in games})
    raw = _pack(games, net_ids)
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
    body = _MAGIC + struct.pack("<I", len(header)) + header + lzma.compress(raw, preset=4)
    write_atomically(path, body + hashlib.blake2b(body, digest_size=_DIGEST).digest())
    return len(body) + _DIGEST


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
        if size > 1 << 20:
            raise RecordError(f"{path}: header damaged")
        text = f.read(size)
    return _parse_header(text, path)


def _parse_header(text: bytes, path: Path | str) -> dict[str, object]:
    try:
        header = json.loads(text)
    except ValueError as error:
        raise RecordError(f"{path}: header damaged") from error
    if header.get("format") != FORMAT:
        raise RecordError(f"{path}: shard format {header.get('format')}, this program reads {FORMAT}")
    if header.get("feature_version") != FEATURE_VERSION:
        raise RecordError(
            f"{path}: recorded for feature version {header.get('feature_version')}, "
            f"this program has {FEATURE_VERSION}"
        )
    return dict(header)


def read_shard(path: Path | str) -> list[GameRecord]:
    """Read and check a shard.

    Raises:
        RecordError: damaged, cut short or of another version.
    """
    data = Path(path).read_bytes()
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    if body[: len(_MAGIC)] != _MAGIC:
        raise RecordError(f"{path}: not a shard")
    if hashlib.blake2b(body, digest_size=_DIGEST).digest() != digest:
        raise RecordError(f"{path}: checksum wrong, the file is damaged or cut short")
    start = len(_MAGIC) + 4
    (size,) = struct.unpack_from("<I", body, len(_MAGIC))
    header = _parse_header(body[start : start + size], path)
    net_ids = header["net_ids"]
    assert isinstance(net_ids, list)
    try:
        return _unpack(lzma.decompress(body[start + size :]), net_ids)
    except (ValueError, IndexError, struct.error, lzma.LZMAError) as error:
        raise RecordError(f"{path}: contents damaged ({error})") from error


def read_shards(
    paths: Iterable[Path | str], on_damage: Callable[[RecordError], None]
) -> Iterator[tuple[Path, list[GameRecord]]]:
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
