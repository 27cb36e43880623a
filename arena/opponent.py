"""A Gomocup brain as an opponent: one move at a time, in any position, at any pace.

The process stays for the whole game and is started anew after a failure. Every failure is one line
for a person.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence

from arena.commands import CommandError, split_command
from arena.errors import BrainFailureError
from arena.limits import TOURNAMENT_BYTES, BrainLimits
from arena.managers.plain import PlainManager
from arena.position import Position
from arena.records import GameSetup, PlayedGame
from engine.errors import EngineError
from engine.rules.geometry import format_move

PATIENCE_MS = 5000
"""Overrun after which a brain counts as hung (no tournament depends on it)."""
START_MS = 30_000
_LOOK_S = 0.05
"""Between two looks whether the wait is to end."""


class OpponentError(EngineError):
    """The brain gave no move; the message says what it did."""


class BrainOpponent:
    """One brain. One thread asks for moves; `stop` events may be set by any.

    Attributes:
        name: of the program, without folder and ending.
        remark: the last MESSAGE of the brain while it thought about the last move, else empty.
    """

    def __init__(self, command: str, *, max_memory: int = TOURNAMENT_BYTES) -> None:
        """Prepare; the process starts with the first move.

        Args:
            command: a path, or words as in a shell.
            max_memory: bytes that the brain is told.

        Raises:
            OpponentError: there is no such program.
        """
        try:
            self.command = split_command(command)
        except CommandError as error:
            raise OpponentError(str(error)) from error
        self.name = _name_of(self.command)
        self.remark = ""
        self._max_memory = max_memory
        self._manager: PlainManager | None = None
        self._known: Position | None = None

    def move(
        self,
        setup: GameSetup,
        points: Sequence[int],
        turn_ms: int,
        stop: threading.Event,
        *,
        left_ms: int | None = None,
        on_remark: Callable[[str], None] | None = None,
    ) -> int:
        """Return the brain's move after `points`.

        Args:
            setup: board and rule.
            points: of the game so far, black first.
            turn_ms: for the move.
            stop: ends the wait, and the process with it.
            left_ms: on its clock; None: it has none.
            on_remark: gets its MESSAGE lines.

        Raises:
            OpponentError: it does not start, hangs, crashes, or answers nonsense; or `stop` was set.
        """
        self.remark = ""
        if min(points, default=0) < 0:
            raise OpponentError(f"{self.name} cannot be told of a pass")

        def hear(text: str) -> None:
            self.remark = text.partition(" ")[2].strip() or self.remark
            if on_remark is not None:
                on_remark(text)

        position = Position(setup.width, setup.height, setup.rule, points)
        limits = BrainLimits(
            turn_ms=turn_ms, match_ms=left_ms or 0, max_memory=self._max_memory, start_ms=START_MS,
            tolerance_ms=PATIENCE_MS,
        )  # fmt: skip
        if self._manager is None or self._manager.brain is None or not self._manager.brain.alive:
            self.close()
            self._manager = PlainManager(self.command, limits)
        manager = self._manager
        manager.on_remark = hear
        done = threading.Event()
        threading.Thread(target=_kill_on, args=(stop, done, manager), daemon=True).start()
        try:
            self._tell(manager, setup, position, limits)
            point = manager.move(position)
            self._check(position, point)
        except BrainFailureError as failure:
            text = f"{self.name} was stopped" if stop.is_set() else self._explained(failure, turn_ms)
            self.close()
            raise OpponentError(text) from failure
        finally:
            done.set()
        position.play(point)
        self._known = position
        return point

    def _tell(
        self, manager: PlainManager, setup: GameSetup, position: Position, limits: BrainLimits
    ) -> None:
        """Tell the brain the game, if it is another one, and the limits."""
        known = self._known
        board = (setup.width, setup.height, setup.rule)
        if known is None or (known.width, known.height, known.rule) != board or len(position.points) < 2:
            manager.limits = limits
            manager.new_game(PlayedGame(setup, black=len(position.points) % 2), 0)
            return
        manager.set_limits(limits)
        if position.points[:-1] != known.points:
            manager.take_back(position, 0)

    def _check(self, position: Position, point: int) -> None:
        where = format_move(point, position.width)
        if not position.is_empty(point):
            raise BrainFailureError("illegal", f"{where}, which is taken")
        if position.is_forbidden(point):
            raise BrainFailureError("illegal", f"{where}, which is forbidden to black")

    def _explained(self, failure: BrainFailureError, turn_ms: int) -> str:
        text = " ".join(str(failure).split())
        limit = f"{turn_ms / 1000:g} s"
        told = {
            "time": f"{self.name} gave no move in {limit} and {PATIENCE_MS / 1000:g} s more; it was ended",
            "illegal": f"{self.name} played {text}",
            "stray line": f"{self.name} said {text} instead of a move",
            "crash": f"{self.name} ended: {text.removeprefix('the process ended: ')}",
            "start": f"{self.name} does not start: {text}",
        }
        return told.get(failure.kind, f"{self.name}: {text}")[:300]

    def close(self) -> None:
        """End the process."""
        manager, self._manager, self._known = self._manager, None, None
        if manager is not None:
            manager.close()


def _kill_on(stop: threading.Event, done: threading.Event, manager: PlainManager) -> None:
    while not done.wait(_LOOK_S):
        if stop.is_set():
            manager.kill()
            return


def _name_of(command: Sequence[str]) -> str:
    """Return what people call a program: of `python3 my/brain.py` the script."""
    program = os.path.basename(command[0])
    if len(command) > 1 and program.lower().startswith(("python", "wine", "mono", "java")):
        program = next((os.path.basename(word) for word in command[1:] if not word.startswith("-")), program)
    name, dot, ending = program.rpartition(".")
    return name if dot and ending.lower() in ("exe", "py", "sh", "jar", "bat") else program
