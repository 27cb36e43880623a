"""The engine as a program uses it: a position, a tree, a net and a clock behind one facade."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from engine.config import EngineConfig
from engine.errors import PositionError
from engine.fallback import fallback_point
from engine.rules._board import Board
from engine.rules.rule import Rule
from engine.timing.budget import Budget, SearchLimits
from engine.timing.clock import Clock, SystemClock

if TYPE_CHECKING:
    from engine.search.result import SearchResult

OBSTACLE = 3
"""Colour of a cell that nobody can use, in `Engine.set_position`."""

Swap2Answer = tuple[int, ...] | Literal["SWAP"]


class Engine:
    """Chooses moves.

    One thread at a time may call the methods, except those marked "any thread", which may be called while
    another thread is in `think`, `nbest` or `swap2`.
    """

    def __init__(
        self,
        config: EngineConfig | None = None,
        *,
        clock: Clock | None = None,
        log: Callable[[str], None] | None = None,
    ) -> None:
        """Make an engine with an empty 15x15 freestyle board. The net is loaded by `warm_up` or when needed.

        Args:
            config: settings; defaults if None.
            clock: the clock of all deadlines.
            log: receives one-line messages about things that went wrong but were survived.
        """
        self.config = config or EngineConfig()
        self.clock: Clock = clock or SystemClock()
        self._log = log or (lambda text: None)
        self._lock = threading.Lock()
        self._board = Board(15, 15, Rule.FREESTYLE)
        self._stop = threading.Event()
        self._budget: Budget | None = None
        self._arrival_s = 0.0

    # --- position -------------------------------------------------------------------------------------------

    @property
    def board(self) -> Board:
        """The current position; read it, change it only by the methods below."""
        return self._board

    def new_game(self, width: int, height: int, rule: Rule) -> None:
        """Start from an empty board. The tree is kept until the next position shows that it is useless.

        Raises:
            PositionError: size out of range (5 to 22).
        """
        self._board = _make_board(width, height, rule)

    def set_rule(self, rule: Rule) -> None:
        """Change the rule and keep the stones."""
        if rule != self._board.rule:
            self.set_position(self._board.stones(), self._board.to_move, rule=rule)

    def set_position(
        self, stones: Sequence[tuple[int, int]], to_move: int | None = None, *, rule: Rule | None = None
    ) -> None:
        """Replace the position by stones on a board of the same size.

        Args:
            stones: (point, colour), oldest first; colour 0 black, 1 white, 3 an obstacle.
            to_move: colour to move; None: the other colour than that of the last stone.
            rule: None keeps the rule.

        Raises:
            PositionError: a point is off the board or taken, a colour unknown; the position stays as it was.
        """
        board = _make_board(self._board.width, self._board.height, self._board.rule if rule is None else rule)
        try:
            for point, colour in stones:
                if colour == OBSTACLE:
                    board.block(point)
                else:
                    board.place(point, colour)
            if to_move is not None:
                board.set_to_move(to_move)
        except ValueError as error:
            raise PositionError(str(error)) from error
        self._board = board

    def play(self, point: int) -> None:
        """Put a stone of the side to move. Forbidden points are accepted.

        Raises:
            PositionError: (a ValueError) the point is off the board or taken.
        """
        board = self._board.copy()
        try:
            board.place(point)
        except ValueError as error:
            raise PositionError(str(error)) from error
        self._board = board

    def take_back(self, point: int) -> None:
        """Remove a stone, also one that is not the last; its colour is to move next.

        Raises:
            PositionError: (a ValueError) no stone stands there.
        """
        stones = self._board.stones()
        removed = [colour for at, colour in stones if at == point]
        if not removed:
            raise PositionError(f"no stone at point {point}")
        to_move = self._board.to_move if removed[0] == OBSTACLE else removed[0]
        self.set_position([s for s in stones if s[0] != point], to_move)

    def forbidden_points(self) -> list[int]:
        """Return the points where black may not play (renju; else none), ascending."""
        return self._board.forbidden_points()

    # --- thinking -------------------------------------------------------------------------------------------

    def think(
        self,
        limits: SearchLimits,
        arrival_s: float,
        on_info: Callable[[SearchResult], None] | None = None,
    ) -> SearchResult:
        """Choose a move for the side to move. Does not play it. Blocks until the answer is due.

        Args:
            limits: what the move may cost.
            arrival_s: when the command arrived, on `self.clock`; for the first move of a process that was not
                asked for an answer before: `self.clock.process_started_s()`.
            on_info: called now and then, in this thread, with the result so far (`stop_reason` "").

        Raises:
            PositionError: the board is full.
            NetError: the net cannot be loaded (call `warm_up` early to learn this in time).
        """
        raise NotImplementedError

    def nbest(
        self,
        n: int,
        limits: SearchLimits,
        arrival_s: float,
        on_info: Callable[[SearchResult], None] | None = None,
    ) -> SearchResult:
        """Think, and make sure that `candidates` holds the n best moves, best first."""
        raise NotImplementedError

    def swap2(
        self, stones: Sequence[int], limits: SearchLimits, arrival_s: float
    ) -> Swap2Answer:
        """Answer a question of the swap2 opening. The position of the engine does not change.

        Args:
            stones: points of the stones so far, black, white, black, ...: 0, 3 or 5 of them.
            limits, arrival_s: as in `think`.

        Returns:
            "SWAP", or the points to put: three for 0 stones, one or two for 3, one for 5.

        Raises:
            PositionError: another number of stones, or a point off the board or taken twice.
        """
        raise NotImplementedError

    def stop(self) -> None:
        """Make the running search answer now (any thread). Nothing happens when none runs."""
        self._stop.set()

    def relimit(self, limits: SearchLimits) -> None:
        """Change the limits of the running search (any thread); times still count from its arrival."""

    def best_so_far(self) -> int | None:
        """Return the best move of the running or last search of this position (any thread), or None."""
        return None

    def fallback_point(self) -> int | None:
        """Return a legal move without search (any thread); None only on a full board. Never raises."""
        return fallback_point(self._board.copy())

    def answer_deadline_s(self) -> float | None:
        """Return when a watchdog should answer in place of the search, on `self.clock` (any thread).

        None while nothing is being thought about; infinite without a time limit.
        """
        budget = self._budget
        return None if budget is None else self._arrival_s + budget.answer_s

    # --- resources ------------------------------------------------------------------------------------------

    def set_memory(self, max_bytes: int | None) -> None:
        """Limit the private memory of the process; the tree follows at the next search. None, 0: no limit."""
        self.config = self.config.replace(memory_bytes=max_bytes or None)

    def clear_tree(self) -> None:
        """Forget all that was searched."""

    def warm_up(self) -> None:
        """Load the net and evaluate once, so that the first move loses no time.

        Raises:
            NetError: the net is missing, damaged or foreign.
        """

    def close(self) -> None:
        """Give memory back. The engine cannot be used afterwards."""


def _make_board(width: int, height: int, rule: int) -> Board:
    try:
        return Board(width, height, int(rule))
    except ValueError as error:
        raise PositionError(str(error)) from error
