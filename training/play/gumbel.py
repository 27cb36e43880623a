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
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.search._tree import PROVEN_DRAW, PROVEN_LOSS, PROVEN_WIN, Tree
from training.data.records import Flag
from training.settings.play import GumbelParams

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


def v_mix(priors: Sequence[float], visits: Sequence[int], q: Sequence[float], root_value: float) -> float:
    """Return the value of moves without a visit.

    v_mix = (root_value + sum N * sum_visited(P q) / sum_visited(P)) / (1 + sum N)

    Args:
        priors, visits, q: of the moves with statistics [n]; those without a visit count for nothing.
        root_value: utility that the net gives the root, [-1, 1].
    """
    total, weight, mean = 0, 0.0, 0.0
    for prior, n, value in zip(priors, visits, q, strict=True):
        if n > 0:
            total += n
            weight += max(prior, 1e-30)
            mean += max(prior, 1e-30) * value
    return (root_value + total * mean / weight) / (1 + total) if total else root_value


def improved_policy(
    priors: Floats, visits: Sequence[int], sigmas: Sequence[float], rest: float
) -> tuple[Floats, float]:
    """Return the policy target [K], softmax(log P + sigma(completed q)), and its KL from P in nats.

    Only the n moves with statistics, the first ones, have values of their own. All others share one, so
    that their part of the softmax is a multiple of their priors.

    Args:
        priors: float [K], summing to 1; of 0 where the net gave a move less than float32 can say.
        visits: [n].
        sigmas: sigma of each of the first n moves [n]; -inf leaves one out; without a visit `rest` counts.
        rest: sigma(v_mix).
    """
    n = len(visits)
    own = [s if v > 0 or s == -math.inf else rest for s, v in zip(sigmas, visits, strict=True)]
    top = max([*own, rest])
    priors = np.maximum(priors, 1e-30)  # the others may have lost
    target = priors * math.exp(rest - top)
    target[:n] = priors[:n] * np.exp(np.array(own) - top) if n else ()
    total = float(target.sum())
    target /= total
    head = target[:n].tolist()
    kl = sum(t * (s - top) for t, s in zip(head, own, strict=True) if t > 0)
    kl += (1 - sum(head)) * (rest - top) - math.log(total)
    return target, kl


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


_PROOF = {
    PROVEN_WIN: (Flag.PROVEN_WIN, (1.0, 0.0, 0.0)),
    PROVEN_LOSS: (Flag.PROVEN_LOSS, (0.0, 0.0, 1.0)),
    PROVEN_DRAW: (Flag.PROVEN_DRAW, (0.0, 1.0, 0.0)),
}


def proven_target(
    tree: Tree, proven: int
) -> tuple[Flag, tuple[float, float, float], Sequence[int], Sequence[float], float]:
    """Return what a record keeps of a proven root: the exact result, and the winning move if it is known.

    Args:
        tree: of the search; it may have no root yet.
        proven: `PROVEN_WIN`, `PROVEN_LOSS` or `PROVEN_DRAW`.

    Returns:
        Flags, WDL, points and weights of the target, and -log of the prior of its move, 0 without one.
    """
    flag, wdl = _PROOF[proven]
    point = tree.proof_move() if proven == PROVEN_WIN else -1
    if point < 0:
        return flag, wdl, (), (), 0.0
    priors = tree.priors()[tree.moves() == point] if tree.has_root else np.zeros(0, np.float32)
    surprise = -math.log(max(float(priors[0]), 1e-6)) if len(priors) else 0.0
    return flag | Flag.FULL, wdl, [point], [1.0], surprise


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
        lost = [i for i, edge in enumerate(tree.visited_edges()) if edge[3] == PROVEN_LOSS]
        if lost:
            drawn = drawn.copy()
            drawn[lost] = -np.inf
        n = min(params.considered, len(points) - len(lost))
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
        tree = self._tree
        points, priors, edges = tree.moves(), tree.priors().astype(np.float64), tree.visited_edges()
        n = len(edges)
        visits, q = [edge[1] for edge in edges], [edge[2] for edge in edges]
        mix = v_mix(priors[:n].tolist(), visits, q, self.root_value)
        factor = self._factor(max(visits, default=0))
        sigmas = [factor * value for value in q]
        lost = [i for i, edge in enumerate(edges) if edge[3] == PROVEN_LOSS]
        if len(lost) < len(points):
            for i in lost:
                sigmas[i] = -math.inf
        target, surprise = improved_policy(priors, visits, sigmas, factor * mix)
        ranked = self._ranked()
        point = ranked[0] if ranked else int(points[target.argmax()])
        # Moves without a visit count with v_mix and with the draws that the net sees at the root.
        value, draw = mix, (tree.raw_wdl or tree.wdl)[1]
        root_draw = draw
        for weight, n_visits, q_i, draw_i in zip(
            target[:n].tolist(), visits, q, tree.edge_draw()[:n].tolist(), strict=True
        ):
            if n_visits > 0:
                value += weight * (q_i - mix)
                draw += weight * (draw_i - root_draw)
        draw = min(max(draw, 0.0), 1 - min(1.0, abs(value)))
        wdl = ((1 - draw + value) / 2, draw, (1 - draw - value) / 2)
        return RootChoice(point, points, target, surprise, wdl)

    def _factor(self, most_visits: int) -> float:
        """Return how much a value counts against a logit: sigma(q) = factor * q."""
        return (self._params.offset + most_visits) * self._params.scale

    def _ranked(self) -> list[int]:
        """Return the considered moves that are not proven to lose, best first."""
        base, edges = self._base, self._tree.visited_edges()
        most = max((edge[1] for edge in edges), default=0)
        if not most:
            return sorted(self._considered, key=lambda p: -base[p])
        factor = self._factor(most)
        score = {p: base[p] + factor * self.root_value for p in self._considered}
        for point, visits, q, proven in edges:
            if point in score:
                if proven == PROVEN_LOSS:
                    del score[point]
                elif visits:
                    score[point] = base[point] + factor * q
        return sorted(score, key=lambda p: -score[p])
