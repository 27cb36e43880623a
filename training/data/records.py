"""Game records: what self-play hands to the learner. `training.data.shards` keeps them in files.

The fields of `SelfPlayRecord` are the one list of what a record holds: each names the column that stores it.
Packing, unpacking, checks of ranges and defaults for older files follow from that list.

Shapes: `S` recorded positions of a game, `K` policy entries of a game.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

MAX_ENTRIES = 192
"""Policy entries kept a position (tuned: of targets of 64 simulations at scale 0.12 a limit of 48 cut 3 %,
the flattest by a third of their mass)."""
_SURPRISE_STEP = 1 / 16  # nats; 8 bits reach 15.9

VALUE_STEPS = 127
"""Steps of a unit of utility in `SelfPlayRecord.values`."""

DRAW = 2
"""`winner` of a game nobody won; BLACK is 0 and WHITE 1."""


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


class Per(enum.Enum):
    """What a column has one value for."""

    GAME = enum.auto()
    MOVE = enum.auto()
    POSITION = enum.auto()
    ENTRY = enum.auto()
    """Of a policy target."""


@dataclass(frozen=True, slots=True)
class Column:
    """How a field of a record is stored.

    Attributes:
        per: what it has one value for, or `width` values.
        dtype: unsigned, as stored.
        smallest, largest: of any value; None: what `dtype` holds.
        width: values for each; more than 1 make rows.
        since: number of the format (`FORMAT`) that stores it first.
        default: value in files of older formats, and of positions that nobody searched.
        make: turns the value of a game into the field's type.
        sampling_unit: of one step, for columns that sampling weights depend on; datasets keep those.
    """

    per: Per
    dtype: type[np.unsignedinteger[Any]]
    smallest: int = 0
    largest: int | None = None
    width: int = 1
    since: int = 1
    default: int = 0
    make: Callable[[int], int] = int
    sampling_unit: float | None = None


def _stored(per: Per, dtype: type[np.unsignedinteger[Any]], **options: Any) -> dict[str, Column]:
    return {"column": Column(per, dtype, **options)}


@dataclass(frozen=True, slots=True, eq=False)
class SelfPlayRecord:
    """One self-play game. Arrays are quantised as stored, so a round trip changes nothing.

    A new field goes to the end, with the next `since`; `FORMAT` follows.

    Attributes:
        rule, width, height: as of `engine.rules`.
        opening: moves[:opening] were given, not searched.
        winner: 0 black, 1 white, 2 draw.
        end: reason of the end.
        net_id: the net that played.
        seed: of the game, 0 to 2**64 - 1.
        moves: uint16 [n] points from the empty board, black first, colours alternate.
        flags: uint8 [S], `Flag` bits of the position before ply opening + i. S is n - opening, or one more
            when the last position was searched (or proven) and no move was played there.
        root_wl: uint8 [S, 2] searched win and loss probability x 255 for the side to move.
        surprise: uint8 [S] KL(target || prior) in steps of 1/16 nat.
        counts: uint8 [S] policy entries of each position; 0 where there is no target.
        weights: uint8 [K] probability of an entry relative to the largest one of the position x 255; 0 only
            where `values` has one.
        points: uint16 [K] points of all entries, ascending within a position.
        values: uint8 [K] searched utility q of the move for the side to move, 1 + 127 (q + 1); 0 where it is
            not known.
    """

    rule: int = field(metadata=_stored(Per.GAME, np.uint16))
    width: int = field(metadata=_stored(Per.GAME, np.uint16))
    height: int = field(metadata=_stored(Per.GAME, np.uint16))
    opening: int = field(metadata=_stored(Per.GAME, np.uint16))
    winner: int = field(metadata=_stored(Per.GAME, np.uint16, largest=DRAW))
    end: End = field(metadata=_stored(Per.GAME, np.uint16, largest=max(End), make=End))
    net_id: str
    seed: int = field(metadata=_stored(Per.GAME, np.uint64))
    moves: npt.NDArray[np.uint16] = field(metadata=_stored(Per.MOVE, np.uint16))
    flags: npt.NDArray[np.uint8] = field(metadata=_stored(Per.POSITION, np.uint8, largest=sum(Flag)))
    root_wl: npt.NDArray[np.uint8] = field(metadata=_stored(Per.POSITION, np.uint8, width=2))
    surprise: npt.NDArray[np.uint8] = field(
        metadata=_stored(Per.POSITION, np.uint8, sampling_unit=_SURPRISE_STEP)
    )
    counts: npt.NDArray[np.uint8] = field(metadata=_stored(Per.POSITION, np.uint8))
    weights: npt.NDArray[np.uint8] = field(metadata=_stored(Per.ENTRY, np.uint8))
    points: npt.NDArray[np.uint16] = field(metadata=_stored(Per.ENTRY, np.uint16))
    values: npt.NDArray[np.uint8] = field(metadata=_stored(Per.ENTRY, np.uint8, since=2))

    @property
    def positions(self) -> int:
        """Number of recorded positions, S."""
        return len(self.flags)

    def policy(self, i: int) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.float32]]:
        """Return points and probabilities (sum 1) of the target of position i; both empty without one."""
        part = self._entries(i)
        part = part[self.weights[part] > 0]
        weights = self.weights[part].astype(np.float32)
        return self.points[part], weights / max(float(weights.sum()), 1.0)

    def action_values(self, i: int) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.float32]]:
        """Return points of position i whose utility is known, and that, -1 to 1 for the side to move."""
        part = self._entries(i)
        part = part[self.values[part] > 0]
        return self.points[part], (self.values[part].astype(np.float32) - 1) / np.float32(VALUE_STEPS) - 1

    def _entries(self, i: int) -> npt.NDArray[np.intp]:
        start = int(self.counts[:i].sum())
        return np.arange(start, start + int(self.counts[i]))

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


COLUMNS: dict[str, Column] = {
    f.name: f.metadata["column"] for f in dataclasses.fields(SelfPlayRecord) if "column" in f.metadata
}
"""How each field is stored, in the order of a file. The names of nets are stored apart."""
FORMAT = max(column.since for column in COLUMNS.values())
"""Number of the newest format of columns."""
SAMPLED = {name: column.sampling_unit for name, column in COLUMNS.items() if column.sampling_unit}
"""Columns that sampling weights depend on, and the unit of each."""


def _position_columns(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the columns of positions that are given by rows; what a row lacks has its default."""
    found = {}
    for name, column in COLUMNS.items():
        if column.per is Per.POSITION:
            default = [column.default] * column.width if column.width > 1 else column.default
            values = np.array([row.get(name, default) for row in rows], column.dtype)
            found[name] = values.reshape(-1, column.width) if column.width > 1 else values
    return found


def extended(
    game: SelfPlayRecord, moves: Sequence[int], positions: Sequence[dict[str, Any]]
) -> SelfPlayRecord:
    """Return a game with more moves, and positions without a target, at its end.

    Args:
        game: it stays as it is.
        moves: points.
        positions: columns of each further position by name; those left out have their defaults.
    """
    more: dict[str, Any] = {
        name: np.concatenate([getattr(game, name), values])
        for name, values in _position_columns(positions).items()
    }
    all_moves = np.concatenate([game.moves, np.array(moves, np.uint16)])
    return dataclasses.replace(game, moves=all_moves, **more)


class _Entries(NamedTuple):
    """Columns of the entries of one position, ascending by point."""

    points: npt.NDArray[np.uint16]
    weights: npt.NDArray[np.uint8]
    values: npt.NDArray[np.uint8]


def _entries(
    points: npt.NDArray[np.uint16], weights: npt.NDArray[np.uint8], values: Mapping[int, float]
) -> _Entries:
    """Return the entries of a policy target and of values of moves, together."""
    if not values:
        return _Entries(points, weights, np.zeros(len(points), np.uint8))
    weight_of = dict(zip(points.tolist(), weights.tolist(), strict=True))
    more = sorted(values.keys() - weight_of.keys())[: MAX_ENTRIES - len(weight_of)]
    every = sorted([*weight_of, *more])
    known = {p: round(VALUE_STEPS * (min(max(q, -1.0), 1.0) + 1)) + 1 for p, q in values.items()}
    steps = [known.get(p, 0) for p in every]
    weighed = [weight_of.get(p, 0) for p in every]
    return _Entries(np.array(every, np.uint16), np.array(weighed, np.uint8), np.array(steps, np.uint8))


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
        self._positions: list[dict[str, Any]] = []
        self._entries: list[_Entries] = []

    def add(
        self,
        flags: int,
        wdl: Sequence[float],
        points: npt.ArrayLike = (),
        probabilities: npt.ArrayLike = (),
        surprise: float = 0.0,
        values: Mapping[int, float] | None = None,
    ) -> None:
        """Record the position in front of the next move.

        Args:
            flags: `Flag` bits.
            wdl: searched win, draw, loss for the side to move.
            points, probabilities: policy target, any order and scale; entries under 1/510 of the largest
                are dropped, and all but the `MAX_ENTRIES` largest.
            surprise: KL(target || prior) in nats.
            values: searched utility of moves by point, -1 to 1 for the side to move; `MAX_ENTRIES` moves at
                most have a probability or a value.
        """
        entries = _entries(*quantise_policy(points, probabilities), values or {})
        self._positions.append(
            {
                "flags": int(flags),
                "root_wl": [round(255 * min(max(wdl[side], 0), 1)) for side in (0, 2)],
                "surprise": min(255, max(0, round(surprise / _SURPRISE_STEP))),
                "counts": len(entries.points),
            }
        )
        self._entries.append(entries)

    def play(self, point: int) -> None:
        """Append a move."""
        self._moves.append(int(point))

    def finish(self, winner: int, end: End) -> SelfPlayRecord:
        """Return the finished game.

        Raises:
            ValueError: the number of recorded positions does not fit the moves.
        """
        rule, width, height = self._head
        if len(self._positions) - (len(self._moves) - self._opening) not in (0, 1):
            raise ValueError(
                f"{len(self._positions)} positions for {len(self._moves) - self._opening} searched moves"
            )
        return SelfPlayRecord(
            rule=rule,
            width=width,
            height=height,
            moves=np.array(self._moves, np.uint16),
            opening=self._opening,
            winner=int(winner),
            end=End(end),
            **_position_columns(self._positions),
            **{
                name: np.concatenate([np.zeros(0, dtype), *(getattr(one, name) for one in self._entries)])
                for name, dtype in (("points", np.uint16), ("weights", np.uint8), ("values", np.uint8))
            },
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
