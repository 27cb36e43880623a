"""Root search of self-play: Gumbel sampling, sequential halving, completed-Q targets.

The method is that of "Policy improvement by planning with Gumbel" (https://openreview.net/forum?id=bERaNdoegnO).
With logits l = log P, Gumbel noise g, visits N and values q of the root's moves in [-1, 1]:

    sigma(q) = (offset + max N) * scale * q
    a move's score    g + l + sigma(q), among the moves still considered
    policy target     softmax(l + sigma(completed q))

where completed q is q for visited moves and v_mix for the others. Vectors are indexed by the order of the
tree's root moves *at one moment*; everything that outlives a simulation is keyed by point.

Shapes: `K` legal root moves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.search._tree import PROVEN_LOSS, Tree

Floats = npt.NDArray[np.float64]


def phases(considered: int, simulations: int) -> list[tuple[int, int]]:
    """Return the phases of sequential halving as (moves, visits of each in this phase).

    The last one may be cut short by the number of simulations.
    """
    if considered <= 1:
        return [(max(considered, 1), simulations)]
    rounds = math.ceil(math.log2(considered))
    out, left, moves = [], simulations, considered
    while left > 0:
        visits = max(1, simulations // (rounds * moves))
        out.append((moves, visits))
        left -= moves * visits
        moves = max(2, moves // 2)
    return out


def completed_q(q: Floats, visits: npt.NDArray[np.int32], priors: Floats, root_value: float) -> Floats:
    """Return q with v_mix in place of moves without visits.

    v_mix = (root_value + sum N * sum_visited(P q) / sum_visited(P)) / (1 + sum N)

    Args:
        q: float [K], NaN without a visit.
        visits: int [K].
        priors: float [K].
        root_value: utility that the net gives the root, [-1, 1].
    """
    seen = visits > 0
    if not seen.any():
        return np.full(len(q), root_value)
    total = int(visits.sum())
    weights = np.where(seen, np.maximum(priors, 1e-30), 0.0)
    mean = float((weights[seen] * q[seen]).sum() / weights.sum())
    return np.where(seen, q, (root_value + total * mean) / (1 + total))


def sigma(q: Floats, max_visits: int, scale: float, offset: float) -> Floats:
    """Return how much a value counts against a logit."""
    return (offset + max_visits) * scale * q


def improved_policy(
    priors: Floats, visits: npt.NDArray[np.int32], q: Floats, root_value: float, scale: float, offset: float
) -> Floats:
    """Return the policy target [K]: softmax(log P + sigma(completed q))."""
    logits = np.log(np.maximum(priors, 1e-30))
    logits = logits + sigma(completed_q(q, visits, priors, root_value), int(visits.max()), scale, offset)
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


@dataclass(frozen=True, slots=True)
class GumbelParams:
    """Settings of the root search.

    Attributes:
        considered: moves that sequential halving begins with.
        scale, offset: of sigma.
        noise: weight of the Gumbel noise; 0 plays the best move found.
        dirichlet: share of Dirichlet noise in the priors that the considered moves are drawn by, so that
            moves the policy has forgotten are searched now and then. Targets see it in the values found.
        dirichlet_total: sum of its concentration over all legal moves.
    """

    considered: int = 16
    scale: float = 0.3  # tuned: prototype of one core-hour, .681 against 0.1
    offset: float = 50.0
    noise: float = 1.0
    dirichlet: float = 0.1
    dirichlet_total: float = 10.83  # tuned: as in the field, 0.03 a move of a 19x19 board


@dataclass(frozen=True, slots=True)
class RootChoice:
    """What a root search found.

    Attributes:
        point: the move to play.
        points, target: policy target [K].
        surprise: KL(target || prior) in nats.
        wdl: value of the target policy for the side to move. The mean over simulations would be too low,
            since sequential halving tries many moves only to rule them out.
    """

    point: int
    points: npt.NDArray[np.int32]
    target: Floats
    surprise: float
    wdl: tuple[float, float, float]


class GumbelRoot:
    """Sequential halving at the root of one tree, one simulation at a time.

    The root must have been expanded. `queue` holds the root moves of the next simulations, the next one last;
    when it is empty `refill` begins the next phase.
    """

    __slots__ = (
        "_base",
        "_considered",
        "_left",
        "_params",
        "_phase",
        "_phases",
        "_tree",
        "queue",
        "root_value",
    )

    def __init__(self, tree: Tree, rng: np.random.Generator, simulations: int, params: GumbelParams) -> None:
        self._tree, self._params = tree, params
        points, priors = tree.moves(), tree.priors()
        raw = tree.raw_wdl or tree.wdl
        self.root_value = raw[0] - raw[2]
        score = np.log(np.maximum(priors, 1e-30), dtype=np.float64)
        drawn = score
        if params.noise:
            noise = params.noise * rng.gumbel(size=len(points))
            if params.dirichlet:
                spread = rng.dirichlet(np.full(len(points), params.dirichlet_total / len(points)))
                drawn = noise + np.log(
                    np.maximum((1 - params.dirichlet) * priors + params.dirichlet * spread, 1e-30)
                )
            score += noise
        lost = tree.edge_proven() == PROVEN_LOSS
        if lost.any():
            drawn = np.where(lost, -np.inf, drawn)
        n = min(params.considered, len(points) - int(lost.sum()))
        best = np.argsort(-drawn, kind="stable")[:n]
        self._considered: list[int] = points[best].tolist()
        self._base: dict[int, float] = dict(zip(self._considered, score[best].tolist(), strict=True))
        self._phases = phases(n, simulations)
        self._left = simulations
        self._phase = 0
        self.queue: list[int] = []

    def refill(self) -> bool:
        """Begin the next phase; False when the budget is spent: then ask for the `choice`."""
        if self._left <= 0 or self._phase == len(self._phases):
            return False
        moves, visits = self._phases[self._phase]
        if self._phase:
            self._considered = self._ranked()[:moves]
        self._phase += 1
        self.queue = (self._considered * visits)[: self._left][::-1]
        self._left -= len(self.queue)
        return bool(self.queue)

    def drop(self, point: int) -> None:
        """Leave a move out of this phase: it was proven."""
        self.queue = [p for p in self.queue if p != point]

    def choice(self) -> RootChoice:
        """Return the result; the best of the moves considered last is played."""
        tree, params = self._tree, self._params
        points, visits, q = tree.moves(), tree.edge_visits(), tree.edge_q()
        priors = tree.priors().astype(np.float64)
        target = improved_policy(priors, visits, q, self.root_value, params.scale, params.offset)
        lost = tree.edge_proven() == PROVEN_LOSS
        if lost.any() and not lost.all():
            target[lost] = 0
            target /= target.sum()
        ranked = self._ranked()
        point = ranked[0] if ranked else int(points[target.argmax()])
        value = float(target @ completed_q(q, visits, priors, self.root_value))
        draws = tree.edge_draw()
        draw = float(target @ np.where(visits > 0, draws, (tree.raw_wdl or tree.wdl)[1]))
        draw = min(max(draw, 0.0), 1 - min(1.0, abs(value)))
        wdl = ((1 - draw + value) / 2, draw, (1 - draw - value) / 2)
        surprise = (target * np.log(np.maximum(target, 1e-30) / np.maximum(priors, 1e-12))).sum()
        return RootChoice(point, points, target, float(surprise), wdl)

    def _ranked(self) -> list[int]:
        """Return the considered moves that are not proven to lose, best first."""
        tree, params, base = self._tree, self._params, self._base
        visits = tree.edge_visits()
        seen = int(np.count_nonzero(visits))  # visited moves come first
        if not seen:
            return sorted(self._considered, key=lambda p: -base[p])
        factor = (params.offset + int(visits.max())) * params.scale
        values = zip(
            tree.moves()[:seen].tolist(),
            tree.edge_q()[:seen].tolist(),
            tree.edge_proven()[:seen].tolist(),
            strict=True,
        )
        score = {p: base[p] + factor * self.root_value for p in self._considered}
        for point, q, proof in values:
            if point in score:
                if proof == PROVEN_LOSS:
                    del score[point]
                else:
                    score[point] = base[point] + factor * q
        return sorted(score, key=lambda p: -score[p])
