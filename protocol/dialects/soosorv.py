"""The Soosorv opening of renju as Yixin-Board plays it: six questions and how they are answered. Pure.

1. Three stones are offered. 2. The other side may swap colours. 3. White puts the fourth stone and says how
many fifth moves black has to offer. 4. The other side may swap. 5. Black offers them. 6. White chooses one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

from engine.position import Stones
from engine.rules.geometry import symmetries, transform_point
from protocol.query import EVERY, SWAP, AnswerFormat, Points, Query, Reply

if TYPE_CHECKING:
    from engine import SearchResult
    from protocol.format import Notation

MAX_FIFTHS = 8
"""Fifth moves that may be asked for (protocol: the board takes 1 to 8)."""
STONES = {1: (0,), 2: (3,), 3: (3,), 4: (4,), 5: (4,), 6: tuple(range(5, 5 + MAX_FIFTHS))}
"""Stones that come with each question (protocol)."""
OFFERS = 6
"""Openings that are looked at before one is offered (derived: one of them is playable for both)."""
LOOK_NODES = 1000
"""Simulations of such a look, and of that which counts the fifth moves (tuned: half a second)."""
CHOICE_NODES = 20_000
"""Simulations of a question about an opening at most, also where time has no limit (tuned: some seconds)."""
OFFER_Q = -0.3
"""Utility for white of a good opening (derived: the fifth moves that black has to offer make up for it)."""


class _OwnStones(AnswerFormat):
    """An answer about stones of its own, not those on the board."""

    __slots__ = ()
    survives_restart = True


@dataclass(frozen=True, slots=True)
class OfferFormat(_OwnStones):
    """Step 1: the three stones, chosen among some by a short look at each.

    Attributes:
        triples: those to look at, the first one now.
        best: the best one so far and how far it is from a good one.
    """

    triples: tuple[tuple[int, int, int], ...]
    best: tuple[tuple[int, int, int], float] | None = None

    def reply(self, query: Query, points: Points, result: SearchResult | None, names: Notation) -> Reply:
        """Ask about the next triple, or say the three stones."""
        gap = abs(result.q - OFFER_Q) if result is not None else 2.0
        best = (self.triples[0], gap) if self.best is None or gap < self.best[1] else self.best
        if len(self.triples) > 1 and result is not None:
            following = OfferFormat(self.triples[1:], best)
            return Reply(next_query=replace(query, format=following, stones=_coloured(self.triples[1])))
        return Reply(_moves("MOVE", enumerate(best[0], 1), names), remarks=False)


@dataclass(frozen=True, slots=True)
class SwapFormat(_OwnStones):
    """Steps 2 and 4: whether to change colours.

    Attributes:
        number: of fifth moves that black has to offer (step 4), 0 in step 2.
    """

    number: int = 0

    def reply(self, query: Query, points: Points, result: SearchResult | None, names: Notation) -> Reply:
        """Say YES or NO. In step 4 black's game is as good as the worst fifth move that it has to offer."""
        if self.number == 0:
            return Reply((f"MESSAGE SOOSORV SWAP1 {'YES' if points == SWAP else 'NO'}",))
        fifths = fifth_moves(query, result, self.number)
        values = _values(result)
        swap = min((values.get(point, -1.0) for point in fifths), default=0.0) < 0 if values else False
        return Reply((f"MESSAGE SOOSORV SWAP2 {'YES' if swap else 'NO'}",))


@dataclass(frozen=True, slots=True)
class FourthFormat(_OwnStones):
    """Step 3: the fourth stone, then how many fifth moves make the game even.

    Attributes:
        point: the fourth stone, None before it is found.
    """

    point: int | None = None

    def reply(self, query: Query, points: Points, result: SearchResult | None, names: Notation) -> Reply:
        """Choose the stone and look again, or say the stone and the number."""
        assert not isinstance(points, str)
        if self.point is None:
            stones = (*query.stones, (points[0], query.to_move))
            following = replace(query, format=replace(self, point=points[0]), max_nodes=LOOK_NODES)
            return Reply(next_query=replace(following, stones=stones, to_move=1 - query.to_move))
        number = even_number(query, result)
        row, column = names.pair(self.point)
        return Reply((f"MESSAGE SOOSORV MOVE4 {row} {column} {number}",))


@dataclass(frozen=True, slots=True)
class FifthsFormat(_OwnStones):
    """Step 5: the fifth moves that black offers."""

    number: int

    def reply(self, query: Query, points: Points, result: SearchResult | None, names: Notation) -> Reply:
        """Say the best ones, no two of them alike by symmetry."""
        moves = _moves("MOVE5", ((None, point) for point in fifth_moves(query, result, self.number)), names)
        return Reply(("MESSAGE SOOSORV MOVE5 REFRESH", *moves, "MESSAGE SOOSORV MOVE5 DONE"))


@dataclass(frozen=True, slots=True)
class ChooseFormat(_OwnStones):
    """Step 6: which of the offered fifth moves stays."""

    offered: tuple[int, ...]

    def reply(self, query: Query, points: Points, result: SearchResult | None, names: Notation) -> Reply:
        """Say the one that is worst for black; what the search did not look at is worse than the rest."""
        values = _values(result)
        point = min(self.offered, key=lambda point: values.get(point, -1.0))
        row, column = names.pair(point)
        return Reply((f"MESSAGE SOOSORV MOVE5C {row} {column}",))


def query(step: int, number: int, stones: tuple[int, ...], width: int, height: int, seed: float) -> Query:
    """Return what is to be asked of the engine.

    Args:
        step: 1 to 6.
        number: of fifth moves (steps 4 and 5).
        stones: as many points as STONES says.
        width, height: of the board.
        seed: chooses the openings that step 1 looks at.
    """
    if step == 2:
        return Query("swap2", SwapFormat(), width, height, (), 0, opening=stones, max_nodes=CHOICE_NODES)
    max_nodes, number = CHOICE_NODES, min(number, MAX_FIFTHS)
    wanted: AnswerFormat
    if step == 1:
        triples = openings(width, height, Random(seed), OFFERS)
        wanted, stones, max_nodes = OfferFormat(triples), triples[0], LOOK_NODES
    elif step == 3:
        wanted = FourthFormat()
    elif step in (4, 5):
        wanted = SwapFormat(number) if step == 4 else FifthsFormat(number)
    else:
        wanted, stones = ChooseFormat(stones[4:]), stones[:4]
    return Query(
        "nbest", wanted, width, height, _coloured(stones), len(stones) % 2, n=EVERY, max_nodes=max_nodes
    )


def openings(width: int, height: int, generator: Random, count: int) -> tuple[tuple[int, int, int], ...]:
    """Return openings by chance: the centre, a neighbour of it, and a third stone at most two cells away."""
    x, y = width // 2, height // 2
    found = []
    for _ in range(count):
        second = generator.choice(((0, -1), (1, -1)))  # the others are the same by symmetry
        near = [(dx, dy) for dy in range(-2, 3) for dx in range(-2, 3) if (dx, dy) not in ((0, 0), second)]
        cells = ((0, 0), second, generator.choice(near))
        first, other, third = ((y + dy) * width + x + dx for dx, dy in cells)
        found.append((first, other, third))
    return tuple(found)


def fifth_moves(query: Query, result: SearchResult | None, count: int) -> list[int]:
    """Return the best moves, best first, no two of them the same by a symmetry that keeps the stones.

    There may be fewer than `count` where the board has no more.
    """
    taken = {point for point, _ in query.stones}
    known = [move.point for move in result.candidates] if result is not None else []
    x, y = query.width // 2, query.height // 2
    others = sorted(
        set(range(query.width * query.height)) - taken - set(known),
        key=lambda p: max(abs(p % query.width - x), abs(p // query.width - y)),
    )
    kept = [s for s in symmetries(query.width, query.height) if _keeps(s, query)]
    chosen: list[int] = []
    seen: set[int] = set()
    for point in (*known, *others):
        if len(chosen) == count:
            break
        if point not in seen and point not in taken:
            chosen.append(point)
            seen.update(transform_point(point, query.width, query.height, s) for s in kept)
    return chosen


def even_number(query: Query, result: SearchResult | None) -> int:
    """Return how many fifth moves make an even game: the value of the last one is nearest to 0."""
    values = _values(result)
    gaps = [abs(values.get(point, -1.0)) for point in fifth_moves(query, result, MAX_FIFTHS) if values]
    return 1 + min(range(len(gaps)), key=gaps.__getitem__) if gaps else 1


def _values(result: SearchResult | None) -> dict[int, float]:
    """Return the moves that the search looked at, with their values; others have the value of the root."""
    candidates = result.candidates if result is not None else ()
    return {move.point: move.q for move in candidates if move.visits or move.proven}


def _keeps(symmetry: int, query: Query) -> bool:
    moved = {(transform_point(p, query.width, query.height, symmetry), colour) for p, colour in query.stones}
    return moved == set(query.stones)


def _coloured(stones: Sequence[int]) -> Stones:
    return tuple((point, i % 2) for i, point in enumerate(stones))


def _moves(word: str, points: Iterable[tuple[int | None, int]], names: Notation) -> tuple[str, ...]:
    lines = []
    for number, point in points:
        row, column = names.pair(point)
        lines.append(f"MESSAGE SOOSORV {word}{'' if number is None else number} {row} {column}")
    return tuple(lines)
