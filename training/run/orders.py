"""Which cycles players get, and when: this one, and those that they may play ahead of learning."""

from __future__ import annotations

from collections.abc import Iterator

from training.run.state import State, has_played_enough
from training.settings.schema import RunConfig


class Orders:
    """The cycles of one part of a run that were ordered and are not played."""

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self._open: dict[int, int] = {}  # positions by cycle

    def positions(self, cycle: int) -> int:
        """Return how many positions a cycle has: the first nets are poor, short cycles replace them soon."""
        usual = self._config.cycle_positions
        return min(usual, max(usual // 4, 1000) * cycle)

    def due(self, state: State, elapsed_s: float) -> Iterator[int]:
        """Yield the cycles that are to be ordered now, and count them as ordered.

        A whole cycle is played with one net, so that the games do not depend on the speed of any player.

        Args:
            state: of the run, in the cycle that is to be played now.
            elapsed_s: seconds of training, resumed parts together.
        """
        for cycle in range(state.cycle, state.cycle + 1 + int(self._config.ahead_cycles)):
            before = state.positions + sum(n for earlier, n in self._open.items() if earlier < cycle)
            if cycle > state.cycle and has_played_enough(self._config, before, elapsed_s):
                return
            if cycle not in self._open:
                self._open[cycle] = self.positions(cycle)
                yield cycle

    def played(self, cycle: int) -> None:
        """A cycle is over."""
        del self._open[cycle]

    def over(self, state: State, elapsed_s: float) -> bool:
        """Return whether the run is over.

        The clock cuts cycles short. The count of positions does not: what was ordered is played, since where
        players happen to be with it depends on their speed.
        """
        return has_played_enough(self._config, 0 if self._open else state.positions, elapsed_s)
