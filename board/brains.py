"""Other Gomocup brains that a player may choose as an opponent, in the engine process of a page.

Which there are is said at the start of the server; a page names one by its number, never by a path.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import threading
from collections.abc import Sequence

from arena.brain_process import kill_all
from arena.opponent import PATIENCE_MS, START_MS, BrainOpponent
from arena.records import GameSetup
from board.messages import Think
from engine.errors import PositionError

ARGUMENT = "--opponent="
"""Begins the arguments of the engine process that name brains."""
GRACE_S = (START_MS + PATIENCE_MS) / 1000
"""What a move of another brain may take beyond its own time."""


def named(commands: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of brains, and the arguments that the engine process gets for them.

    Raises:
        OpponentError: one is no program.
    """
    brains = [BrainOpponent(command) for command in commands]
    # The engine process has another working directory.
    whole = [[os.path.abspath(w) if os.path.isfile(w) else w for w in b.command] for b in brains]
    return [brain.name for brain in brains], [ARGUMENT + shlex.join(words) for words in whole]


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the settings of the engine and the commands of brains among arguments."""
    settings = [word for word in arguments if not word.startswith(ARGUMENT)]
    return settings, [word.removeprefix(ARGUMENT) for word in arguments if word.startswith(ARGUMENT)]


class Brains:
    """The brains of one page, each a process from its first move on."""

    def __init__(self, commands: Sequence[str]) -> None:
        """Prepare them.

        Raises:
            OpponentError: one is no program.
        """
        self._brains = [BrainOpponent(command) for command in commands]

    def move(self, request: Think, stop: threading.Event) -> int:
        """Return the move of the brain that a request names.

        Raises:
            OpponentError: it gave none; the text says why.
            PositionError: there is no such brain.
        """
        assert request.brain is not None
        if request.brain >= len(self._brains):
            raise PositionError("this program is not known here", code="unknown_program")
        game = request.game
        setup = GameSetup(0, game.width, game.height, game.rule)
        return self._brains[request.brain].move(
            setup, game.moves, request.turn_ms, stop, left_ms=request.left_ms
        )

    def end(self) -> None:
        """End them all at once, and leave no folder of theirs."""
        kill_all()
        for brain in self._brains:
            with contextlib.suppress(OSError):
                brain.close()
