"""How answers are written to the different questions of managers. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.opening import most_level
from protocol import replies
from protocol.job import Ask, Job, Points, Said

if TYPE_CHECKING:
    from engine import SearchResult
    from protocol.notation import Notation

EVERY = 1000
"""Enough best moves for every cell (derived: the largest board has 484)."""


def line_of(points: Points, names: Notation) -> str:
    """Return an answer as Gomocup has it: `7,7`, `7,7 8,8 9,9` or `SWAP`."""
    return points if isinstance(points, str) else replies.moves(names.pair(p) for p in points)


@dataclass(frozen=True, slots=True)
class Move:
    """A move that the brain makes."""

    awaited: bool = True
    stands: bool = False

    def say(self, job: Job, points: Points, result: SearchResult | None, names: Notation) -> Said:
        """Say where; the stone is placed."""
        assert not isinstance(points, str)
        return Said((line_of(points[:1], names),), placed=points[:1])


@dataclass(frozen=True, slots=True)
class Choice:
    """An answer to SWAP2BOARD or SWAPBOARD, of which the game's position learns by the next BOARD."""

    awaited: bool = False
    stands: bool = False

    def say(self, job: Job, points: Points, result: SearchResult | None, names: Notation) -> Said:
        """Say the points or SWAP."""
        return Said((line_of(points, names),))


@dataclass(frozen=True, slots=True)
class YixinChoice:
    """An answer to Yixin-Board's three questions of the swap2 opening."""

    step: int
    stands: bool = False

    @property
    def awaited(self) -> bool:
        """Whether the board waits: not for the first three stones."""
        return self.step > 1

    def say(self, job: Job, points: Points, result: SearchResult | None, names: Notation) -> Said:
        """Say the stones to put, or which colour is taken: YES is black's."""
        if self.step == 1 or len(points) == 2:
            assert not isinstance(points, str)
            first = 1 if self.step == 1 else 4
            pairs = enumerate(map(names.pair, points), first)
            return Said(tuple(f"MESSAGE SWAP2 MOVE{i} {row} {column}" for i, (row, column) in pairs))
        word = "YES" if points == replies.SWAP else "NO"
        return Said((f"MESSAGE SWAP2 SWAP{self.step - 1} {word}",))


@dataclass(frozen=True, slots=True)
class Balanced:
    """Stones after which nobody is ahead, found one after the other.

    Attributes:
        count: how many are wanted.
        target_q: utility for the player of the last one, [-1, 1].
        yixin: whether Yixin-Board asks, which makes these moves.
        found: those found so far.
    """

    count: int
    target_q: float
    yixin: bool
    found: tuple[int, ...] = ()
    awaited: bool = False
    stands: bool = False

    def say(self, job: Job, points: Points, result: SearchResult | None, names: Notation) -> Said:
        """Choose the move whose value is nearest to the target; ask for the next one, or say them all."""
        assert not isinstance(points, str)
        last = len(self.found) + 1 == self.count
        target_q = self.target_q if last else 0.0
        level = None if result is None else most_level(result.candidates, target_q)
        point = points[0] if level is None else level.point
        found = (*self.found, point)
        stones = (*job.stones, (point, job.to_move))
        if not last and len(stones) < job.width * job.height:
            return Said(then=self.ask(stones, 1 - job.to_move, found))
        if not self.yixin:
            return Said((line_of(found, names),))
        remark = f"MESSAGE balance {names.names(found)}"
        return Said((remark, line_of(found, names)), placed=found)

    def ask(self, stones: tuple[tuple[int, int], ...], to_move: int, found: tuple[int, ...] = ()) -> Ask:
        """Return the question for the next stone."""
        form = replace(self, found=found)
        return Ask("nbest", form, stones, to_move, n=EVERY, share=1.0 / self.count)


def balanced(count: int, bias: int, *, yixin: bool) -> Balanced:
    """Return the form of an answer with balancing stones.

    Args:
        count: of stones, 1 or 2.
        bias: how far the side to move now is to be ahead, in Yixin's units of evaluation.
        yixin: whether Yixin-Board asks.
    """
    target_q = math.tanh(bias / replies.UNITS_A_LEAD)
    return Balanced(count, target_q if count % 2 else -target_q, yixin)
