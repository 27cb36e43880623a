"""Game records: what self-play hands to the learner, in compact checksummed shards.

A shard is one file, written whole and renamed into place:

    8 bytes   magic b"TNGSHARD"
    4 bytes   header length, little endian
    header    JSON: format, feature_version, games, positions, net_ids, raw_bytes
    payload   LZMA of the columns below, one after the other, each with a 4-byte length in front
    16 bytes  BLAKE2b of everything before

Columns hold all games of the shard in order; lengths of variable parts stand in `plies`, `searched` and
`counts`. Policy points are stored ascending as differences, which compresses to about half a byte each.

Shapes: `S` recorded positions of a game, `K` policy entries of a game.
"""

from __future__ import annotations

import enum
import hashlib
import json
import lzma
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engine.encoding import FEATURE_VERSION

FORMAT = 1
SUFFIX = ".shard"
MAX_ENTRIES = 48  # tuned: policy entries kept a position; a 32-simulation target has fewer that matter
_MAGIC = b"TNGSHARD"
_DIGEST = 16
_SURPRISE_STEP = 1 / 16  # nats; 8 bits reach 15.9

DRAW = 2
"""`winner` of a game nobody won; BLACK is 0 and WHITE 1."""


class RecordError(ValueError):
    """A shard is damaged or of another version; the message names the file and the reason."""


class Flag(enum.IntFlag):
    """What is known about one recorded position."""

    FULL = 1
    """Searched with the full budget: its policy target counts."""
    PROVEN_WIN = 2
    """The side to move wins for certain."""
    PROVEN_LOSS = 4
    PROVEN_DRAW = 8


class End(enum.IntEnum):
    """Why a game ended."""

    FIVE = 0
    PROVEN = 1
    """A solver or the tree proved the result."""
    BOARD_FULL = 2
    LENGTH = 3
    """Cut at the length limit and counted as a draw."""
    FOUL = 4
    """Renju: black had only forbidden points, or played one."""


@dataclass(frozen=True, slots=True, eq=False)
class GameRecord:
    """One self-play game. Arrays are quantised as stored, so a round trip changes nothing.

    Attributes:
        rule, width, height: as of `engine.rules`.
        moves: uint16 [n] points from the empty board, black first, colours alternate.
        opening: moves[:opening] were given, not searched.
        winner: 0 black, 1 white, 2 draw.
        end: reason of the end.
        flags: uint8 [S], `Flag` bits of the position before ply opening + i. S is n - opening, or one more
            when the last position was searched (or proven) and no move was played there.
        root_wl: uint8 [S, 2] searched win and loss probability x 255 for the side to move.
        surprise: uint8 [S] KL(target || prior) in steps of 1/16 nat.
        counts: uint8 [S] policy entries of each position; 0 where there is no target.
        points: uint16 [K] points of all entries, ascending within a position.
        weights: uint8 [K] their probability relative to the largest one of the position x 255.
        net_id: the net that played.
        seed: of the game, 0 to 2**64 - 1.
    """

    rule: int
    width: int
    height: int
    moves: npt.NDArray[np.uint16]
    opening: int
    winner: int
    end: End
    flags: npt.NDArray[np.uint8]
    root_wl: npt.NDArray[np.uint8]
    surprise: npt.NDArray[np.uint8]
    counts: npt.NDArray[np.uint8]
    points: npt.NDArray[np.uint16]
    weights: npt.NDArray[np.uint8]
    net_id: str
    seed: int

    @property
    def positions(self) -> int:
        """Number of recorded positions, S."""
        return len(self.flags)

    def policy(self, i: int) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.float32]]:
        """Return points and probabilities (sum 1) of the target of position i; both empty without one."""
        start = int(self.counts[:i].sum())
        stop = start + int(self.counts[i])
        weights = self.weights[start:stop].astype(np.float32)
        return self.points[start:stop], weights / max(float(weights.sum()), 1.0)

    def root_wdl(self) -> npt.NDArray[np.float32]:
        """Return searched win, draw, loss of each position for its side to move, float32 [S, 3]."""
        wl = self.root_wl.astype(np.float32) / 255
        return np.stack([wl[:, 0], np.maximum(1 - wl.sum(1), 0), wl[:, 1]], axis=1)

    def z(self) -> npt.NDArray[np.int8]:
        """Return the outcome of each position for its side to move, int8 [S]: 1 win, 0 draw, -1 loss.

        A proven position keeps its proof, whatever happened later.
        """
        to_move = (self.opening + np.arange(self.positions)) % 2
        if self.winner == DRAW:
            out = np.zeros(self.positions, np.int8)
        else:
            out = np.where(to_move == self.winner, 1, -1).astype(np.int8)
        for bit, value in ((Flag.PROVEN_WIN, 1), (Flag.PROVEN_LOSS, -1), (Flag.PROVEN_DRAW, 0)):
            out[(self.flags & bit) != 0] = value
        return out


class GameBuilder:
    """Collects one game while it is played.

    Call `add` for every searched position, `play` for every move, `finish` once.
    """

    def __init__(
        self, rule: int, width: int, height: int, *, opening: Sequence[int], net_id: str, seed: int
    ) -> None:
        self._head = (int(rule), width, height)
        self._moves = [int(p) for p in opening]
        self._opening = len(self._moves)
        self._net_id, self._seed = net_id, seed
        self._flags: list[int] = []
        self._wl: list[tuple[int, int]] = []
        self._surprise: list[int] = []
        self._points: list[npt.NDArray[np.uint16]] = []
        self._weights: list[npt.NDArray[np.uint8]] = []

    def add(
        self,
        flags: int,
        wdl: Sequence[float],
        points: npt.ArrayLike = (),
        probabilities: npt.ArrayLike = (),
        surprise: float = 0.0,
    ) -> None:
        """Record the position in front of the next move.

        Args:
            flags: `Flag` bits.
            wdl: searched win, draw, loss for the side to move.
            points, probabilities: policy target, any order and scale; entries under 1/510 of the largest
                are dropped, and all but the `MAX_ENTRIES` largest.
            surprise: KL(target || prior) in nats.
        """
        p, w = quantise_policy(points, probabilities)
        self._flags.append(int(flags))
        self._wl.append((round(255 * min(max(wdl[0], 0), 1)), round(255 * min(max(wdl[2], 0), 1))))
        self._surprise.append(min(255, max(0, round(surprise / _SURPRISE_STEP))))
        self._points.append(p)
        self._weights.append(w)

    def play(self, point: int) -> None:
        """Append a move."""
        self._moves.append(int(point))

    def finish(self, winner: int, end: End) -> GameRecord:
        """Return the finished game.

        Raises:
            ValueError: the number of recorded positions does not fit the moves.
        """
        rule, width, height = self._head
        if len(self._flags) - (len(self._moves) - self._opening) not in (0, 1):
            raise ValueError(
                f"{len(self._flags)} positions for {len(self._moves) - self._opening} searched moves"
            )
        return GameRecord(
            rule=rule,
            width=width,
            height=height,
            moves=np.array(self._moves, np.uint16),
            opening=self._opening,
            winner=int(winner),
            end=End(end),
            flags=np.array(self._flags, np.uint8),
            root_wl=np.array(self._wl, np.uint8).reshape(-1, 2),
            surprise=np.array(self._surprise, np.uint8),
            counts=np.array([len(p) for p in self._points], np.uint8),
            points=np.concatenate([np.zeros(0, np.uint16), *self._points]),
            weights=np.concatenate([np.zeros(0, np.uint8), *self._weights]),
            net_id=self._net_id,
            seed=self._seed,
        )


def quantise_policy(
    points: npt.ArrayLike, probabilities: npt.ArrayLike
) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint8]]:
    """Return a target as stored: ascending points and weights 1..255 relative to the largest."""
    p = np.asarray(points, np.int64).ravel()
    q = np.asarray(probabilities, np.float64).ravel()
    if p.shape != q.shape:
        raise ValueError(f"{p.size} points, {q.size} probabilities")
    if p.size == 0 or q.max() <= 0:
        return np.zeros(0, np.uint16), np.zeros(0, np.uint8)
    weight = np.rint(255 * q / q.max())
    keep = np.flatnonzero(weight >= 1)
    if keep.size > MAX_ENTRIES:
        keep = keep[np.argsort(-q[keep], kind="stable")[:MAX_ENTRIES]]
    keep = keep[np.argsort(p[keep], kind="stable")]
    return p[keep].astype(np.uint16), weight[keep].astype(np.uint8)


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


_IMPORTED = "000000-from"  # sorts before the shards of the first cycle


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


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all, also after a crash."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


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
