"""Starts from regret: positions of finished games where a search was overconfident.

Games that begin there look again at what the net and its searches get wrong, instead of at what they know
(https://arxiv.org/abs/2602.20809). A position's regret is how far the value for its side to move falls within
`FORESIGHT` moves of that side, or to the result when the game is over by then; one that a proof refutes has
the regret of a lost game.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from training.data.records import DRAW, End, SelfPlayRecord

FORESIGHT = 3
"""Own moves within which a value must have fallen (derived: later falls have later causes)."""
LEAST = 0.4
"""Regret, win - loss, below which a position is no start (not tuned)."""
KEPT = 256
"""Starts that a group of games remembers, the newest (not tuned)."""


@dataclass(frozen=True, slots=True)
class Start:
    """A position to begin with: points from the empty board, black first."""

    rule: int
    points: tuple[int, ...]
    regret: float


def regrets(record: SelfPlayRecord) -> npt.NDArray[np.float64]:
    """Return the regret of each recorded position, float64 [S], in win - loss, 0 to 2."""
    wdl = record.root_wdl().astype(np.float64)
    side = (record.opening + np.arange(record.positions)) % 2
    sign = np.where(side == 0, 1.0, -1.0)
    black = (wdl[:, 0] - wdl[:, 2]) * sign
    result = 0.0 if record.winner == DRAW else 1.0 if record.winner == 0 else -1.0
    black = np.append(black, np.full(2 * FORESIGHT, black[-1] if record.end == End.LENGTH else result))
    out = np.zeros(record.positions)
    for ahead in range(2, 2 * FORESIGHT + 1, 2):
        np.maximum(out, sign * (black[: record.positions] - black[ahead : record.positions + ahead]), out=out)
    return out


class Mistakes:
    """Stores the largest regret of each game, and draws starts among them."""

    def __init__(self) -> None:
        self._starts: list[Start] = []
        self._next = 0

    def __len__(self) -> int:
        return len(self._starts)

    def learn(self, record: SelfPlayRecord) -> None:
        """Remember where a game went wrong, if it did."""
        if not record.positions:
            return
        found = regrets(record)
        worst = int(np.argmax(found))
        if found[worst] < LEAST:
            return
        points = tuple(int(p) for p in record.moves[: record.opening + worst])
        start = Start(record.rule, points, float(found[worst]))
        if len(self._starts) < KEPT:
            self._starts.append(start)
        else:
            self._starts[self._next] = start
            self._next = (self._next + 1) % KEPT

    def draw(self, rng: np.random.Generator) -> Start | None:
        """Take a start out, the likelier the larger its regret; None while there is none."""
        if not self._starts:
            return None
        weights = np.array([start.regret for start in self._starts])
        index = int(rng.choice(len(weights), p=weights / weights.sum()))
        start = self._starts[index]
        self._starts[index] = self._starts[-1]
        self._starts.pop()
        self._next = 0
        return start
