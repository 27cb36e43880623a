"""How well a net's values predict the results of games.

From each game every third position after its opening is taken, so that both colours are to move in turn.
Over all of them win - loss is correlated with the result, both for the side to move. Positions of a game
share its result, so the standard error of a difference of two nets leaves out one game at a time (jackknife).

Shapes: `N` positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.encoding import encode
from engine.evaluator.base import Evaluator
from engine.rules._board import EMPTY, Board
from training.measure.deep import Game
from training.measure.holdout import BATCH, correlation

EVERY = 3
"""Plies from one position to the next (derived: odd, so that either colour is to move)."""
PHASES = ((0, 16), (16, 40), (40, 80), (80, 1 << 16))
"""Stones on the board, from and below (derived: opening, two parts of the fight, and what is left)."""


@dataclass(frozen=True, slots=True)
class Predictions:
    """What a net said of positions of games.

    Attributes:
        utility: float64 [N], win - loss for the side to move.
        result: float64 [N], 1 won, 0 drawn, -1 lost, for the side to move.
        stones: int [N] on the board.
        game: int [N], number of the game.
    """

    utility: npt.NDArray[np.float64]
    result: npt.NDArray[np.float64]
    stones: npt.NDArray[np.intp]
    game: npt.NDArray[np.intp]

    def sums(self, low: int = 0, high: int = PHASES[-1][1]) -> npt.NDArray[np.float64]:
        """Return sums of each game, float64 [games, 6].

        They are of 1, utility, result, utility x result, and the squares of utility and result.

        Args:
            low, high: only positions with at least `low` and fewer than `high` stones.
        """
        part = (self.stones >= low) & (self.stones < high)
        u, z = self.utility[part], self.result[part]
        games = int(self.game.max()) + 1 if len(self.game) else 0
        columns = (np.ones(len(u)), u, z, u * z, u * u, z * z)
        return np.stack([np.bincount(self.game[part], column, games) for column in columns], axis=1)


def predict(evaluator: Evaluator, games: Sequence[Game]) -> Predictions:
    """Evaluate positions of games by a net.

    Args:
        evaluator: the net.
        games: that can be played; `winner` is 0, 1 or EMPTY.
    """
    most = min(BATCH, evaluator.max_batch or BATCH)
    utility: list[float] = []
    rows: list[tuple[float, int, int]] = []  # result, stones, number of the game
    waiting: list[Board] = []

    def ask() -> None:
        if waiting:
            planes = np.ascontiguousarray(np.stack([encode(board) for board in waiting]))
            _, wdl = evaluator.evaluate(planes, np.array([board.hash for board in waiting], np.uint64))
            utility.extend((wdl[:, 0] - wdl[:, 2]).tolist())
            waiting.clear()

    for number, game in enumerate(games):
        board = Board(game.width, game.height, game.rule)
        if waiting and (waiting[0].width, waiting[0].height) != (game.width, game.height):
            ask()
        for ply, point in enumerate(game.points):
            if ply >= game.opening and (ply - game.opening) % EVERY == 0:
                result = 0.0 if game.winner == EMPTY else 1.0 if game.winner == board.to_move else -1.0
                rows.append((result, ply, number))
                waiting.append(board.copy())
                if len(waiting) == most:
                    ask()
            board.place(point)
    ask()
    results, stones, numbers = np.array(rows).reshape(-1, 3).T
    return Predictions(np.array(utility), results, stones.astype(np.intp), numbers.astype(np.intp))


def correlations(sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return correlations of sums [..., 6] in the order of `Predictions.sums`; nan without spread."""
    n, u, z, uz, uu, zz = np.moveaxis(sums, -1, 0)
    squares = (np.maximum(n * uu - u * u, 0), np.maximum(n * zz - z * z, 0))
    return correlation(np.stack([n * uz - u * z, *squares], axis=-1))


def gap(sums: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return by how much one correlation is above another of the same games, and its standard error.

    Args:
        sums, other: [games, 6], as `Predictions.sums` gives them.
    """
    whole = correlations(sums.sum(0)) - correlations(other.sum(0))
    left_out = correlations(sums.sum(0) - sums) - correlations(other.sum(0) - other)
    n = len(left_out)
    return float(whole), float(np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum()))


def table(names: Sequence[str], nets: Sequence[Predictions]) -> list[str]:
    """Return lines for people: a row a net, then how others differ from the first, with 95 % intervals."""
    width = max(map(len, (*names, "correlation")))
    first = nets[0]
    counts = [int(first.sums(*phase)[:, 0].sum()) for phase in PHASES]
    heads = [f"{low}-{high - 1}" if high < PHASES[-1][1] else f"from {low}" for low, high in PHASES]
    cells = [f"{head} ({count})" for head, count in zip(heads, counts, strict=True)]
    columns = "  ".join(f"{cell:>14}" for cell in cells)
    rows = [f"{'correlation':<{width}}     all  {columns}  win - loss"]
    for name, net in zip(names, nets, strict=True):
        parts = [f"{float(correlations(net.sums(*phase).sum(0))):14.4f}" for phase in PHASES]
        whole = float(correlations(net.sums().sum(0)))
        rows.append(f"{name:<{width}}  {whole:6.4f}  " + "  ".join(parts) + f"  {net.utility.mean():+10.4f}")
    for name, net in zip(names[1:], nets[1:], strict=True):
        more, error = gap(net.sums(), first.sums())
        rows.append(f"{name} minus {names[0]}: {more:+.4f} +- {1.96 * error:.4f}")
    return rows
