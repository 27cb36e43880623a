"""Game records: what self-play hands to the learner. `training.data.shards` keeps them in files.

Shapes: `S` recorded positions of a game, `K` policy entries of a game.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MAX_ENTRIES = 192
"""Policy entries kept a position (tuned: of targets of 64 simulations at scale 0.12 a limit of 48 cut 3 %,
the flattest by a third of their mass)."""
_SURPRISE_STEP = 1 / 16  # nats; 8 bits reach 15.9

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


@dataclass(frozen=True, slots=True, eq=False)
class SelfPlayRecord:
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

    def finish(self, winner: int, end: End) -> SelfPlayRecord:
        """Return the finished game.

        Raises:
            ValueError: the number of recorded positions does not fit the moves.
        """
        rule, width, height = self._head
        if len(self._flags) - (len(self._moves) - self._opening) not in (0, 1):
            raise ValueError(
                f"{len(self._flags)} positions for {len(self._moves) - self._opening} searched moves"
            )
        return SelfPlayRecord(
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
