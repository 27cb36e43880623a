"""Search positions of recorded games again, longer than when they were played, for better targets.

The way is that of MuZero Reanalyze (https://arxiv.org/abs/2104.06294): moves and results stay as they were
played, policy and value come from a new search by a stronger net or with more simulations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.evaluator.base import Evaluator
from engine.rules._board import Board
from engine.search._tree import NOTHING_LEFT, PROVEN_NONE, PROVEN_WIN, Tree
from engine.search.params import SearchParams
from engine.threats._solver import Solver
from engine.threats.solution import Verdict
from training.data.records import Flag, GameBuilder, SelfPlayRecord
from training.play.gumbel import GumbelRoot, proven_target
from training.play.regret import regrets
from training.settings.play import GumbelParams

SCALE = 0.03
"""Of completed-Q targets of 800 simulations. The visits of the best move multiply it, so it has to fall as
searches grow (derived: weighs values as 0.12 does with 64 simulations)."""

_TREE_BYTES = 16 << 20  # derived: 2,000 simulations take less than 1 MiB
_SOLVER_TABLE_LOG2 = 16
_LEAST_WEIGHT = 0.1  # of a position that its search and the game's course agree on (not tuned)


@dataclass(frozen=True, slots=True)
class ReanalyseConfig:
    """How positions are searched again.

    Attributes:
        simulations: of each search.
        scale: of the completed-Q targets, as `GumbelParams.scale`.
        considered: root moves that sequential halving begins with.
        policy_temperature: of the net's priors.
        vct_nodes: of the solver at the root, for wins by fours and threes.
    """

    simulations: int = 800
    scale: float = SCALE
    considered: int = 32
    policy_temperature: float = 1.1
    vct_nodes: int = 20_000


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found of one position, for its side to move.

    Attributes:
        flags: `Flag` bits.
        wdl: value.
        points, target: policy target; both empty where the side to move has lost or drawn for certain.
        surprise: KL(target || prior), nats.
        visited: (point, visits, q) of each visited root move.
        raw: win, draw and loss that the net alone says; None where the rules or the solver decided.
    """

    flags: int
    wdl: tuple[float, float, float]
    points: Sequence[int] | npt.NDArray[np.int32]
    target: Sequence[float] | npt.NDArray[np.float64]
    surprise: float
    visited: tuple[tuple[int, int, float], ...]
    raw: tuple[float, float, float] | None


class Reanalyser:
    """Searches one position after the other."""

    def __init__(self, config: ReanalyseConfig, evaluator: Evaluator) -> None:
        """Make tree and solver.

        Raises:
            ValueError: the kernel cannot ask this evaluator.
        """
        if evaluator.backend is None:
            raise ValueError(f"searching again needs a net that the kernel computes, not {evaluator.name}")
        self.name = f"{evaluator.name}@{config.simulations}"
        self._config, self._backend = config, evaluator.backend
        self._evaluator = evaluator
        self._solver = Solver(_SOLVER_TABLE_LOG2)
        params = SearchParams(policy_temperature=config.policy_temperature)
        self._tree = Tree(params, _TREE_BYTES, self._solver)
        self._gumbel = GumbelParams(scale=config.scale, considered=config.considered)

    def search(self, board: Board, rng: np.random.Generator) -> Found:
        """Return what a search from an empty tree finds.

        Args:
            board: with a legal move, neither side has won.
            rng: of the Gumbel noise.
        """
        tree = self._tree
        tree.clear()
        tree.set_root(board)
        tree.simulate(self._backend)
        if tree.proven == PROVEN_NONE:
            solution = self._solver.solve(board, "vct", nodes=self._config.vct_nodes)
            if solution.verdict == Verdict.WIN:
                tree.prove(PROVEN_WIN, solution.distance, solution.pv[0])
        root: GumbelRoot | None = None
        if tree.proven == PROVEN_NONE:
            root = GumbelRoot(tree, rng, 1 if tree.forced else self._config.simulations, self._gumbel)
            while tree.proven == PROVEN_NONE and (root.queue or root.refill()):
                move = root.queue.pop()
                if tree.simulate(self._backend, move) == NOTHING_LEFT:
                    root.drop(move)
        visited = tuple((edge[0], edge[1], edge[2]) for edge in tree.visited_edges() if edge[1])
        if tree.proven != PROVEN_NONE or root is None:
            return Found(*proven_target(tree, tree.proven), visited, tree.raw_wdl)
        choice = root.choice()
        return Found(
            int(Flag.FULL), choice.wdl, choice.points, choice.target, choice.surprise, visited, tree.raw_wdl
        )


def choose(
    games: Sequence[SelfPlayRecord], count: int, rng: np.random.Generator
) -> list[tuple[SelfPlayRecord, int]]:
    """Draw positions without replacement, those more often that games or searches saw otherwise than the net.

    Args:
        games: of one shard.
        count: of positions; all that have a policy target where there are fewer.
        rng: of the draw.

    Returns:
        (game, index of the position), in the order of the games.
    """
    rows: list[tuple[int, int]] = []
    weights: list[float] = []
    for number, game in enumerate(games):
        regret = regrets(game)
        for i in range(game.positions):
            if game.flags[i] == Flag.FULL and game.counts[i] > 1:
                rows.append((number, i))
                weights.append(_LEAST_WEIGHT + float(game.surprise[i]) / 16 + float(regret[i]))
    keys = rng.exponential(size=len(rows)) / np.array(weights)  # the smallest are such a draw (Efraimidis)
    chosen = sorted(rows[k] for k in np.argsort(keys, kind="stable")[:count])
    return [(games[number], i) for number, i in chosen]


def position(game: SelfPlayRecord, i: int) -> Board:
    """Return the board of position i of a game."""
    board = Board(game.width, game.height, game.rule)
    for move in game.moves[: game.opening + i]:
        board.place(int(move))
    return board


def alone(game: SelfPlayRecord, i: int, found: Found | None = None, net_id: str = "") -> SelfPlayRecord:
    """Return a record of position i of a game alone, as the end of a game with the same result.

    Args:
        found: what a search found there, with the values of the moves that it visited; None keeps the targets
            that the game has.
        net_id: whose search that was.
    """
    moves = [int(p) for p in game.moves[: game.opening + i]]
    name = net_id if found else game.net_id
    builder = GameBuilder(game.rule, game.width, game.height, opening=moves, net_id=name, seed=game.seed)
    if found is None:
        win, even, loss = (float(chance) for chance in game.root_wdl()[i])
        builder.add(int(game.flags[i]), (win, even, loss), *game.policy(i), float(game.surprise[i]) / 16)
    else:
        values = {point: q for point, _, q in found.visited} if len(found.points) else {}
        builder.add(found.flags, found.wdl, found.points, found.target, found.surprise, values)
    return builder.finish(game.winner, game.end)
