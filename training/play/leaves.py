"""Leaves of searches: the positions that a search evaluates.

They lie deeper than the positions of games and are less level, and what a net is worth in a search is what it
says of them. They were not searched, so they have no target of their own: a teacher says what they are worth.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from engine.encoding import N_PLANES
from engine.evaluator.base import Evaluator
from engine.rules._board import Board
from engine.search._tree import LEAF, Tree
from engine.search.params import SearchParams
from engine.threats._solver import Solver
from training.data.encoded import Part, bare
from training.data.records import Flag, SelfPlayRecord
from training.data.replay_buffer import Size
from training.play.evaluators import load_evaluator

_LEAVES = 16  # of a search, evenly over its length
_SIMULATIONS = 32, 724  # of a search, evenly by the logarithm
_TREE_BYTES = 16 << 20
_TABLE_BITS = 14  # of the leaf solver, as in self-play


@dataclass(frozen=True, slots=True)
class Leaves:
    """`leaves` of games with the net of a file, to be told to other processes (`training.data.encoded.More`).

    Attributes:
        share: how many for each of the games' positions.
        net: the file.
    """

    share: float
    net: str

    def __call__(self, games: Sequence[SelfPlayRecord], seed: int) -> dict[Size, Part]:
        """Return leaves of the games; see `leaves`."""
        return leaves(games, self.share, seed, _evaluator(self.net))


@cache
def _evaluator(net: str) -> Evaluator:
    return load_evaluator(net)


def leaves(
    games: Sequence[SelfPlayRecord], share: float, seed: int, evaluator: Evaluator
) -> dict[Size, Part]:
    """Search positions of games that were searched in full and return leaves of these searches.

    Args:
        games: whose positions are searched.
        share: how many leaves for each of the games' positions.
        seed: of the draws.
        evaluator: of the searches; one of the kernel's.

    Returns:
        For each board size positions of which nothing is known.

    Raises:
        ValueError: the kernel cannot ask this evaluator.
    """
    if evaluator.backend is None:
        raise ValueError(f"leaves need a net that the kernel plays, {evaluator.name} is none")
    rng = random.Random(seed)
    tree = Tree(SearchParams(), _TREE_BYTES, Solver(_TABLE_BITS))
    key = np.zeros(1, np.uint64)
    found: dict[Size, list[tuple[npt.NDArray[np.uint8], int]]] = {}
    wanted = 0.0
    for game in games:
        wanted += share * game.positions
        planes = np.zeros((1, N_PLANES, game.height, game.width), np.float32)
        rows = [i for i in range(game.positions) if game.flags[i] == Flag.FULL]
        for row in rng.sample(rows, len(rows)):
            if wanted < _LEAVES:
                break
            board = Board(game.width, game.height, game.rule)
            for move in game.moves[: game.opening + row]:
                board.place(int(move))
            tree.clear()
            tree.set_root(board)
            step = int(_SIMULATIONS[0] * (_SIMULATIONS[1] / _SIMULATIONS[0]) ** rng.random()) // _LEAVES
            for _ in range(_LEAVES):
                tree.run(step, evaluator.backend)
                if tree.select(planes, key) == LEAF:
                    bits = np.packbits(planes.reshape(-1) > 0)
                    found.setdefault((game.width, game.height), []).append((bits, game.rule))
                    wanted -= 1
    return {
        size: bare(np.stack([bits for bits, _ in some]), np.array([rule for _, rule in some], np.uint8), size)
        for size, some in found.items()
    }
