"""The engine as a program uses it: a facade of position, tree, net and clock."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Literal

from engine.choice import answer_first_stone, draw_move, perceived_board
from engine.config import EngineConfig
from engine.control import MoveControl
from engine.errors import EngineError, PositionError
from engine.fallback import fallback_point, fallback_result, immediate_result
from engine.opening import SWAP2_OFFER_NODES, SWAP2_OFFER_S, SWAP2_OFFERS, swap2_offers, swap2_position
from engine.position import board_after, board_of, without
from engine.resources import Resources
from engine.rules._board import EMPTY, Board
from engine.rules.rule import Rule
from engine.timing.budget import Budget, SearchLimits, answer_by_s, plan
from engine.timing.clock import Clock, SystemClock

if TYPE_CHECKING:
    from engine.evaluator.base import Evaluator
    from engine.search.result import SearchResult

STEP_DECAY = 0.95
"""Decay of the longest step of a search, a move (tuned: on a busy machine long gaps come in series)."""

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
        evaluator: Evaluator | None = None,
        log: Callable[[str], None] | None = None,
    ) -> None:
        """Create an engine with an empty 15x15 freestyle board.

        The net is loaded by `warm_up` or when needed.

        Args:
            config: settings; defaults if None.
            clock: the clock of all deadlines.
            evaluator: used in place of the net that the configuration names.
            log: receives one-line messages about errors that the engine handled.
        """
        self.config = (config or EngineConfig()).resolved()
        self.clock: Clock = clock or SystemClock()
        self._clock_params = self.config.clock_params()
        self._log = log or (lambda text: None)
        self._lock = threading.Lock()
        self._board = Board(15, 15, Rule.FREESTYLE)
        self._control: MoveControl | None = None
        self._search_board = self._board
        # Stones and value of the last search of each side to move; pondering is of the other one.
        self._last: dict[int, tuple[list[tuple[int, int]], float]] = {}
        self._offer_limits: SearchLimits | None = None  # of a running offer of swap2
        self._step_s = 0.0  # longest recent step of a search, see `MoveControl`
        self.info_interval_s: float | None = None
        """Seconds between calls of `on_info`; None: the default of `engine.search.mcts`."""
        seed = SystemRandom().getrandbits(48) if self.config.seed is None else self.config.seed
        self._random = Random(seed)
        self._resources = Resources(self.config, seed, self.clock, evaluator, self._log)

    # --- position -------------------------------------------------------------------------------------------

    @property
    def board(self) -> Board:
        """The current position. It is never changed: the methods below replace it."""
        return self._board

    def new_game(self, width: int, height: int, rule: Rule) -> None:
        """Start from an empty board. The tree is kept until the next search.

        Raises:
            PositionError: size out of range (5 to 22).
        """
        self._board = board_of(width, height, rule)

    def set_rule(self, rule: Rule) -> None:
        """Change the rule and keep the stones."""
        if rule != self._board.rule:
            self.set_position(self._board.stones(), self._board.to_move, rule=rule)

    def set_position(
        self, stones: Sequence[tuple[int, int]], to_move: int | None = None, *, rule: Rule | None = None
    ) -> None:
        """Replace the position by stones on a board of the same size.

        Args:
            stones: see `engine.position.Stones`.
            to_move: colour to move; None: the other colour than that of the last stone.
            rule: None keeps the rule.

        Raises:
            PositionError: a point is off the board or taken, a colour unknown; the position stays as it was.
        """
        old = self._board
        rule_now = old.rule if rule is None else rule
        self._board = board_of(old.width, old.height, rule_now, stones, to_move)

    def play(self, point: int) -> None:
        """Put a stone of the side to move. Forbidden points are accepted.

        Raises:
            PositionError: (a ValueError) the point is off the board or taken.
        """
        self._board = board_after(self._board, point)

    def take_back(self, point: int) -> None:
        """Remove a stone, also one that is not the last; its colour is to move next.

        Raises:
            PositionError: (a ValueError) there is no stone.
        """
        self.set_position(*without(self._board.stones(), self._board.to_move, point))

    def forbidden_points(self) -> list[int]:
        """Return the points where the side to move, or else the other one, may not play; ascending."""
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
            arrival_s: when the command arrived, on `self.clock`; for the first move of a process
                `self.clock.process_started_s()`.
            on_info: called now and then, in this thread, with the result so far (`stop_reason` "").
            stop: when set, does what `stop` does, also before the search has started.

        Raises:
            PositionError: the board is full.
            NetError: the net cannot be loaded (call `warm_up` early to learn this in time).
        """
        board = self._board
        with self._running(board, limits, arrival_s, stop) as control:
            seen = perceived_board(board, self.config.blindness, self._random)
            result = self._choose(seen, control, on_info)
            if seen is not board and board.n_empty and not _is_legal(board, result.point):
                return self._choose(board, control, on_info)  # the point is taken: search the real position
            return result

    def nbest(
        self,
        n: int,
        limits: SearchLimits,
        arrival_s: float,
        on_info: Callable[[SearchResult], None] | None = None,
        stop: threading.Event | None = None,
    ) -> SearchResult:
        """Search as `think` does, without an early end when the best move is clear, to fill `candidates`.

        Args:
            n: how many of `candidates` the result keeps, best first.
        """
        board = self._board
        with self._running(board, limits, arrival_s, stop, early=False) as control:
            result = self._choose(board, control, on_info, immediate=False)
        return dataclasses.replace(result, candidates=result.candidates[: max(1, n)])

    def swap2(
        self,
        stones: Sequence[int],
        limits: SearchLimits,
        arrival_s: float,
        stop: threading.Event | None = None,
    ) -> Swap2Answer:
        """Answer a query of the swap2 opening. The position of the engine does not change.

        Without stones, offer the most balanced of some random triples; else take the colour that the search
        prefers. (To put two more stones gains nothing: the opponent would choose from what was balanced.)

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
        stop = stop or threading.Event()
        if not stones:
            return self._swap2_offer(limits, arrival_s, stop)
        with self._running(position, limits, arrival_s, stop) as control:
            result = self._choose(position, control, None)
        return "SWAP" if result.q < 0 else (result.point,)

    def stop(self) -> None:
        """Make the running search answer now (any thread). Nothing happens when none runs."""
        control = self._control
        if control is not None:
            control.stop()

    def relimit(self, limits: SearchLimits) -> None:
        """Change the limits of the running search (any thread); times still count from its arrival.

        An offer of swap2 shares them among its searches, from the next one on.
        """
        with self._lock:
            if self._offer_limits is not None:
                self._offer_limits = limits
            elif self._control is not None:
                board = self._search_board
                self._control.relimit(limits, self._plan(limits, board))

    def best_so_far(self) -> int | None:
        """Return the best move of the running search (any thread), or None while there is none."""
        control = self._control
        return None if control is None else control.best_point

    def fallback_point(self) -> int | None:
        """Return a legal move without search (any thread); None only on a full board. Never raises."""
        return fallback_point(self._board.copy())

    def answer_by_s(
        self,
        limits: SearchLimits,
        arrival_s: float,
        begun_s: float,
        *,
        ply: int,
        points: int,
        immediate_since_s: float | None = None,
    ) -> float:
        """Return when a watchdog should answer a query, also a queued one, for the search (any thread).

        Args:
            limits, arrival_s: as in `think`.
            begun_s: when its search was started, on `self.clock`.
            ply: stones on the board.
            points: cells of the board.
            immediate_since_s: since when an immediate answer is requested; None: it is not.

        Returns:
            The time on `self.clock`; infinite without a time limit.
        """
        budget = plan(limits, ply, points, self.config.overhead_ms)
        return answer_by_s(budget, arrival_s, begun_s, immediate_since_s)

    def _plan(self, limits: SearchLimits, board: Board) -> Budget:
        stones = board.points - board.n_empty
        return plan(limits, stones, board.points, self.config.overhead_ms, self._clock_params)

    @contextlib.contextmanager
    def _running(
        self,
        board: Board,
        limits: SearchLimits,
        arrival_s: float,
        stop: threading.Event | None,
        *,
        budget: Budget | None = None,
        early: bool = True,
    ) -> Iterator[MoveControl]:
        """Publish the control of a search of `board` to other threads while it runs."""
        control = MoveControl(
            arrival_s,
            budget or self._plan(limits, board),
            limits,
            simulations=self.config.simulations,
            last_q=self._expected_q(board),
            step_s=STEP_DECAY * self._step_s,
            stop=stop,
            early=early,
            params=self._clock_params,
        )
        with self._lock:
            self._search_board = board
            self._control = control
        try:
            yield control
        finally:
            with self._lock:
                self._control = None
            self._step_s = control.step_s

    def _expected_q(self, board: Board) -> float | None:
        """Return the value of the last search if this position follows from it by two moves."""
        last = self._last.get(board.to_move)
        if last is None or last[0] != board.stones()[:-2] or board.ply < 2:
            return None
        return last[1]

    def _choose(
        self,
        board: Board,
        control: MoveControl,
        on_info: Callable[[SearchResult], None] | None,
        *,
        immediate: bool = True,
    ) -> SearchResult:
        """Answer without search where the move is certain, else search; handle all errors but NetError."""
        if board.n_empty == 0:
            raise PositionError("the board is full")
        known = immediate_result(board) if immediate else None
        if known is not None:
            return known
        if board.winner != EMPTY or not board.legal_points():
            return fallback_result(board, "game over")
        search, evaluator = self._resources.search, self._resources.evaluator
        self._resources.note_rule(board.rule)
        if self.info_interval_s is not None:
            search.info_interval_s = self.info_interval_s
        try:
            result = search.search(board, evaluator, [control], on_info)
            if board.cell(result.point) != EMPTY:
                raise EngineError(f"the search chose the taken point {result.point}")
        except Exception as error:  # a crash loses the game, a weak move may not
            self._resources.drop_search()
            self._log(f"search failed, playing without it: {type(error).__name__}: {error}")
            return fallback_result(board, "failure")
        result = answer_first_stone(board, result)
        self._last[board.to_move] = (board.stones(), result.q)
        plies = self.config.temperature_plies
        if plies and board.ply >= plies:
            return result
        return draw_move(board, result, self.config.temperature, self._random)

    def _swap2_offer(
        self, limits: SearchLimits, arrival_s: float, stop: threading.Event
    ) -> tuple[int, int, int]:
        """Search some random triples for a moment each and return the most balanced one."""
        offers = swap2_offers(self._board, self._random, SWAP2_OFFERS)
        begin_s = self.clock.now_s() - arrival_s
        capped = SearchLimits(max_nodes=min(limits.max_nodes or SWAP2_OFFER_NODES, SWAP2_OFFER_NODES))
        best, best_gap = offers[0], math.inf
        self._offer_limits = limits
        try:
            for i, offer in enumerate(offers):
                whole = self._plan(self._offer_limits, self._board)
                step_s = max(0.0, min(whole.soft_s - begin_s, SWAP2_OFFERS * SWAP2_OFFER_S)) / SWAP2_OFFERS
                if i and (stop.is_set() or self.clock.now_s() - arrival_s >= whole.hard_s):
                    break
                until_s = begin_s + (i + 1) * step_s
                budget = Budget(until_s, until_s, whole.answer_s)
                position = swap2_position(self._board, list(offer))
                with self._running(position, capped, arrival_s, stop, budget=budget) as control:
                    result = self._choose(position, control, None)
                if abs(result.q) < best_gap:
                    best, best_gap = offer, abs(result.q)
        finally:
            self._offer_limits = None
        return best

    # --- resources ------------------------------------------------------------------------------------------

    @property
    def net_name(self) -> str:
        """Name of the net; loads it.

        Raises:
            NetError: as in `warm_up`.
        """
        return self._resources.evaluator.name

    def set_memory(self, max_bytes: int | None) -> int | None:
        """Limit the memory of the process, bytes; 0, None: no limit.

        Returns:
            The bytes that it needs at least if the limit is lower, else None.
        """
        self.config = self.config.replace(memory_bytes=max_bytes or None)
        return self._resources.set_memory(max_bytes)

    def set_threads(self, threads: int) -> str | None:
        """Set how many threads search. Return why it is fewer, for users, where that is so.

        Raises:
            ConfigError: out of range.
            NetError: the net cannot be loaded.
        """
        self.config = self.config.replace(threads=threads)
        return self._resources.set_threads(threads)

    def limit_threads(self, most: int) -> None:
        """Let searches have at most so many threads for now, also the running one (any thread)."""
        self._resources.limit_threads(most)

    def clear_tree(self) -> None:
        """Clear the tree, the solver and the cache of evaluations."""
        self._last.clear()
        self._resources.clear()

    def warm_up(self) -> None:
        """Load the net and evaluate once, so that the first move loses no time.

        Raises:
            NetError: the net is missing, damaged or foreign.
            ConfigError: an override of a search parameter is unknown or bad.
        """
        _ = self._resources.search
        gc.freeze()  # what is loaded stays: the collector need not scan it during a search

    def close(self) -> None:
        """Free the memory. The engine cannot be used afterwards."""
        self.stop()
        self._resources.close()


def _is_legal(board: Board, point: int) -> bool:
    return board.cell(point) == EMPTY and not board.is_forbidden(point, board.to_move)
