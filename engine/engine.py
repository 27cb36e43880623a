"""The engine as a program uses it: a position, a tree, a net and a clock behind one facade."""

from __future__ import annotations

import dataclasses
import random
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from engine.config import EngineConfig
from engine.control import MoveControl
from engine.errors import PositionError
from engine.fallback import fallback_point, fallback_result, immediate_result
from engine.opening import swap2_offers, swap2_position
from engine.rules._board import Board
from engine.rules.rule import Rule
from engine.timing.budget import Budget, SearchLimits, plan
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
        self._control: MoveControl | None = None
        self._thinking_about = self._board
        self._last_q: list[float | None] = [None, None]  # of the last search, by colour
        self._used_s = 0.0  # of this game

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
        self._last_q = [None, None]
        self._used_s = 0.0

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
        stop: threading.Event | None = None,
    ) -> SearchResult:
        """Choose a move for the side to move. Does not play it. Blocks until the answer is due.

        A failure inside of the search is logged and answered with `fallback_point`.

        Args:
            limits: what the move may cost.
            arrival_s: when the command arrived, on `self.clock`; for the first move of a process that was not
                asked for an answer before: `self.clock.process_started_s()`.
            on_info: called now and then, in this thread, with the result so far (`stop_reason` "").
            stop: as good as calling `stop`, and cannot come too early.

        Raises:
            PositionError: the board is full.
            NetError: the net cannot be loaded (call `warm_up` early to learn this in time).
        """
        board = self._board.copy()
        limits = self._with_own_clock(limits)
        control = self._begin(board, limits, arrival_s, stop)
        try:
            return self._choose(board, control, on_info)
        finally:
            self._end(control, arrival_s)

    def nbest(
        self,
        n: int,
        limits: SearchLimits,
        arrival_s: float,
        on_info: Callable[[SearchResult], None] | None = None,
        stop: threading.Event | None = None,
    ) -> SearchResult:
        """Think as in `think`, to the end of the time even where the best move is clear, for its `candidates`.

        Args:
            n: how many of `candidates` the result keeps, best first.
        """
        board = self._board.copy()
        control = self._begin(board, self._with_own_clock(limits), arrival_s, stop, early=False)
        try:
            result = self._choose(board, control, on_info, immediate=False)
        finally:
            self._end(control, arrival_s)
        return dataclasses.replace(result, candidates=result.candidates[: max(1, n)])

    def swap2(
        self,
        stones: Sequence[int],
        limits: SearchLimits,
        arrival_s: float,
        stop: threading.Event | None = None,
    ) -> Swap2Answer:
        """Answer a question of the swap2 opening. The position of the engine does not change.

        Offers the most balanced of some random triples; asked to choose, takes the colour that the search
        prefers. (Putting two stones can only give away: the opponent would choose from what we balanced.)

        Args:
            stones: points of the stones so far, black, white, black, ...: 0, 3 or 5 of them.
            limits, arrival_s, stop: as in `think`.

        Returns:
            "SWAP", or the points to put: three for 0 stones, one for 3 and 5.

        Raises:
            PositionError: another number of stones, or a point off the board or taken twice.
            NetError: the net cannot be loaded.
        """
        position = swap2_position(self._board, list(stones))
        limits = self._with_own_clock(limits)
        if stones:
            control = self._begin(position, limits, arrival_s, stop)
            try:
                result = self._choose(position, control, None)
            finally:
                self._end(control, arrival_s)
            return "SWAP" if result.q < 0 else (result.point,)
        return self._swap2_offer(limits, arrival_s, stop)

    def stop(self) -> None:
        """Make the running search answer now (any thread). Nothing happens when none runs."""
        control = self._control
        if control is not None:
            control.stop()

    def relimit(self, limits: SearchLimits) -> None:
        """Change the limits of the running search (any thread); times still count from its arrival."""
        with self._lock:
            if self._control is not None:
                board = self._thinking_about
                self._control.relimit(limits, self._plan(limits, board))

    def best_so_far(self) -> int | None:
        """Return the best move of the running search (any thread), or None while there is none."""
        control = self._control
        return None if control is None else control.best_point

    def fallback_point(self) -> int | None:
        """Return a legal move without search (any thread); None only on a full board. Never raises."""
        return fallback_point(self._board.copy())

    def answer_deadline_s(self) -> float | None:
        """Return when a watchdog should answer in place of the search, on `self.clock` (any thread).

        None while nothing is being thought about; infinite without a time limit.
        """
        control = self._control
        return None if control is None else control.answer_s

    def _plan(self, limits: SearchLimits, board: Board) -> Budget:
        return plan(limits, board.points - board.n_empty, board.points, self.config.overhead_ms)

    def _with_own_clock(self, limits: SearchLimits) -> SearchLimits:
        """Keep the match clock where the manager names a match limit but never the time left."""
        if limits.time_left_ms is None and limits.match_ms:
            return dataclasses.replace(limits, time_left_ms=limits.match_ms - int(1000 * self._used_s))
        return limits

    def _begin(
        self,
        board: Board,
        limits: SearchLimits,
        arrival_s: float,
        stop: threading.Event | None,
        *,
        early: bool = True,
    ) -> MoveControl:
        control = MoveControl(
            self.clock.now_s,
            arrival_s,
            self._plan(limits, board),
            limits,
            simulations=self.config.simulations,
            last_q=self._last_q[board.to_move],
            stop=stop,
            early=early,
        )
        with self._lock:
            self._thinking_about = board
            self._control = control
        return control

    def _end(self, control: MoveControl, arrival_s: float) -> None:
        with self._lock:
            if self._control is control:
                self._control = None
        self._used_s += self.clock.now_s() - arrival_s

    def _choose(
        self,
        board: Board,
        control: MoveControl,
        on_info: Callable[[SearchResult], None] | None,
        *,
        immediate: bool = True,
    ) -> SearchResult:
        """Answer without search where that is certain, else search; survive anything but a missing net."""
        if board.n_empty == 0:
            raise PositionError("the board is full")
        if immediate:
            known = immediate_result(board)
            if known is not None:
                return known
        return fallback_result(board, "no search")

    def _swap2_offer(
        self, limits: SearchLimits, arrival_s: float, stop: threading.Event | None
    ) -> tuple[int, int, int]:
        return swap2_offers(self._board, random.Random(self.config.seed), 1)[0]

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
