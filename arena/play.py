"""The game at the terminal with any Gomocup brain as opponent, the command `python -m arena.play`.

    python -m arena.play --opponent pbrain-other --colour white --time 5

Without --opponent it is `python -m engine play`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence

from arena.opponent import BrainOpponent
from arena.records import GameSetup
from engine.pipes import run_piped
from engine.play import cli
from engine.play.game import Game


class TerminalOpponent:
    """A brain as an opponent of `engine.play`."""

    def __init__(self, command: str) -> None:
        """Prepare.

        Raises:
            OpponentError: there is no such program.
        """
        self._brain = BrainOpponent(command)
        self.name = self._brain.name

    @property
    def remark(self) -> str:
        """The brain's remark on its last move, may be empty."""
        return self._brain.remark

    def move(self, game: Game, time_s: float, stop: threading.Event) -> int:
        """Return the brain's move.

        Raises:
            OpponentError: it gave none.
        """
        board = game.board
        setup = GameSetup(0, board.width, board.height, board.rule)
        return self._brain.move(setup, game.points, max(1, round(1000 * time_s)), stop)

    def close(self) -> None:
        """End the process."""
        self._brain.close()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the game at the terminal.

    Args:
        argv: arguments; None takes those of the process.

    Returns:
        The exit status: 0 after a session, 2 without the terminal library.
    """
    return cli.main(sys.argv[1:] if argv is None else argv, TerminalOpponent)


if __name__ == "__main__":
    sys.exit(run_piped(main))
