"""A conversation with a manager: the state between its commands and the answers.

It runs in one thread and never waits. A command that needs thought becomes a `Query` with a token, which
goes to the search thread; the answer comes back through `finished`. Whatever drops a query forgets its token,
so at most one answer goes out for a query and none for one that the manager has dropped. Commands that cannot
be carried out before an answer wait in a queue.
"""

from __future__ import annotations

import threading
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from engine import Rule, SearchLimits
from engine.position import Stones
from engine.rules._board import MAX_SIDE, OBSTACLE
from protocol.dialects.gomocup import MoveFormat, answer_line
from protocol.format import DETAIL, RowsFrom, error, message, notation, progress_lines, search_lines
from protocol.position import BlockedPoints, Position
from protocol.query import Command, Outcome, Points, Progress, Query, Worker, about
from protocol.settings import Dialect, Settings

if TYPE_CHECKING:
    from engine import SearchResult

PROGRESS_S = 0.2
"""Shortest time between two refreshes of the realtime marks (tuned by hand, five a second)."""
SCRIPT_TURN_S = 0.05
"""Time to think about a query when input has ended (protocol: END ends the process within 200 ms)."""
NEVER_S = float("inf")


class Conversation:
    """The state machine: what a command does depends on the query that is being thought about, if any.

    Attributes:
        send: puts one line into the pipe.
        log: notes what went wrong but was survived.
        settings: what INFO has set.
        position: the stones, None before START.
        names: what the manager calls the cells of this board.
        blocked: points that are not to be played.
        dialect: of this game.
        yixin: whether Yixin-Board was seen, which takes every line that is no remark for a move.
        forget_tree: whether the next search begins without what was searched before.
    """

    def __init__(
        self,
        worker: Worker,
        send: Callable[[str], None],
        log: Callable[[str], None],
        dialect: Dialect | None = None,
        rows_from: RowsFrom | None = None,
    ) -> None:
        """Begin without a board.

        Args:
            worker: the search thread.
            send, log: see the attributes.
            dialect: None finds it out: Yixin from the first START after YXSHOWINFO, else Gomocup.
            rows_from: see `protocol.format.notation`.
        """
        self.send = send
        self.log = log
        self.settings = Settings()
        self.position: Position | None = None
        self.dialect: Dialect = dialect or "gomocup"
        self.names = notation(self.dialect, MAX_SIDE, MAX_SIDE, rows_from)
        self.blocked = BlockedPoints()
        self.yixin = dialect == "yixin"
        self.forget_tree = False
        self._worker = worker
        self._forced_dialect = dialect
        self._rows_from = rows_from
        self._query: Query | None = None
        self._waiting: deque[tuple[Command, float]] = deque()
        self._owed_move: tuple[str, Stones] | None = None  # see _supersede
        self._pondering = False
        self._at_once = False
        self._answer_now_s = NEVER_S
        self._progress_s = -NEVER_S
        self._remark: str | None = None  # to be said before the next answer
        self._token = 0
        self._new_game = False
        self._seen: frozenset[tuple[int, int]] = frozenset()  # stones that were last thought about

    # --- what the event loop calls --------------------------------------------------------------------------

    @property
    def thinking(self) -> bool:
        """Whether an answer is due."""
        return self._query is not None

    def handle(self, command: Command, arrival_s: float) -> None:
        """Carry out a command that was read at `arrival_s`, or let it wait."""
        query = self._query
        if query is not None and (command.waits() or (command.waits_in_line and self._waiting)):
            if not (self.yixin and command.supersedes and query.format.can_be_superseded()):
                self._waiting.append((command, arrival_s))
                return
            self._drop_query()  # Yixin-Board does not wait for n best moves: both continue
            self._go_on(moved=False)
        try:
            command.execute(self, arrival_s)
        except Exception:
            self.log(f"failure while carrying out {command}:\n{traceback.format_exc()}")
            if not command.silent:
                self.refuse("internal failure, see the log")

    def finished(self, outcome: Outcome) -> None:
        """Take in the answer of the search thread; that to a dropped query is dropped."""
        self._remark = outcome.remark or self._remark
        query, points = self._query, outcome.points
        if query is None or outcome.token != query.token:
            return
        result = None if outcome.result is None else query.without_blocked(outcome.result)
        if outcome.result is not None and result is not None and points == (outcome.result.point,):
            points = (result.point,)
            if result.point in query.blocked and self._search_the_rest(query):
                return
        if points is None or not query.fits(points):
            self.log(f"no usable answer from the engine ({points}), playing a move without search")
            points = query.answer_without_search()
        self._answer(query, points, result)

    def progress(self, progress: Progress) -> None:
        """Show how a search goes, if the manager wants to see it."""
        query, now_s = self._query, self._worker.now_s()
        if query is None or progress.token != query.token or now_s - self._progress_s < PROGRESS_S:
            return
        self._progress_s = now_s
        result = query.without_blocked(progress.result)
        for line in progress_lines(result, self.names, self.settings.show_detail):
            self.send(line)

    def watch(self) -> float:
        """Answer for a search that is overdue.

        Returns:
            When to call again, seconds on the clock of arrivals; NEVER_S if no answer is due.
        """
        query = self._query
        if query is None:
            return NEVER_S
        if self._worker.now_s() >= self._answer_now_s:
            self._answer_now_s = NEVER_S
            self._worker.answer_now()
        due_s = self._worker.answer_by_s(query)
        if self._worker.now_s() < due_s:
            return min(due_s, self._answer_now_s)
        self.log("the search is overdue, answering for it")
        self._worker.answer_now()
        best = self._best_so_far(query)
        self._answer(query, query.answer_without_search() if best is None else (best,))
        return NEVER_S if self._query is None else self._worker.answer_by_s(self._query)

    def answer_at_once(self) -> None:
        """Answer the remaining queries almost without a search: input has ended."""
        self._at_once = True
        self._answer_now_s = self._worker.now_s() + SCRIPT_TURN_S

    # --- what commands call: the game -----------------------------------------------------------------------

    def refuse(self, reason: str) -> None:
        """Answer that a command cannot be executed; `reason` is one line."""
        self.send(error(reason))

    def started(self, word: str) -> Position | None:
        """Return the position; before START say that `word` came too early and return None."""
        if self.position is None:
            self.refuse(f"{word} before START")
        return self.position

    def meet_yixin(self) -> None:
        """Yixin-Board has introduced itself."""
        self.yixin = self._forced_dialect is None or self.yixin

    def start_game(self, width: int, height: int) -> None:
        """Begin a game on an empty board of this size."""
        self.dialect = self._forced_dialect or ("yixin" if self.yixin else "gomocup")
        self.names = notation(self.dialect, width, height, self._rows_from)
        self.position = Position(width, height)
        self._new_game = True
        self.settings.new_game(self._worker.now_s())

    def restart_game(self) -> None:
        """Begin a game on a board of the same size and clear all state."""
        assert self.position is not None
        self.position.clear()
        self._seen = frozenset()
        self._new_game = self.forget_tree = True
        self.settings.new_game(self._worker.now_s())

    def rule(self) -> Rule:
        """Return the rule to play by."""
        return self.settings.rule(self.dialect)

    def place(self, point: int) -> None:
        """Put a stone of the side to move on a free point."""
        assert self.position is not None
        self.position.place(point)
        if self.settings.continuous(self.dialect):
            self.position.mark_five_dead(self.rule())

    # --- what commands call: the query ----------------------------------------------------------------------

    def ask_move(self, arrival_s: float) -> None:
        """Think about the move to make."""
        assert self.position is not None
        self.ask(about(self.position, "move", MoveFormat()), arrival_s)

    def ask(self, query: Query, arrival_s: float) -> None:
        """Start the search of a query.

        Args:
            query: of a command.
            arrival_s: when the command arrived, seconds on the clock of arrivals.
        """
        self._begin(query, self.settings.charged_from_s(arrival_s))

    def answer_now(self) -> None:
        """Answer now; without a query, stop pondering."""
        if self._query is not None:
            self._worker.answer_now()
        else:
            self.stop_pondering()

    def relimit(self) -> None:
        """Tell the search the limits that INFO has set meanwhile."""
        query = self._query
        if query is not None:
            told_after_s = self.settings.told_s - query.arrival_s
            query.limits = self._limits(query, max(0.0, told_after_s))
            self._worker.relimit(query.limits)

    def drop_queries(self, next_size: tuple[int, int] | None = None) -> None:
        """Forget the query that is being thought about and the commands that wait behind it.

        Args:
            next_size: width and height of the board that comes next; a query about stones of its own survives
                a board of the same size.
        """
        self._waiting.clear()
        query = self._query
        survives = query is not None and query.format.survives_restart
        if query is None or not survives or (query.width, query.height) != next_size:
            self._drop_query()

    def ponder(self, limits: SearchLimits) -> None:
        """Think on the opponent's time, without an answer."""
        position = self.position
        if self._at_once or position is None or position.is_full():
            return
        self._pondering = True
        query = about(position, "ponder", MoveFormat())
        self._prepare(query, self._worker.now_s(), limits)
        self._worker.start(query)

    def stop_pondering(self) -> None:
        """Stop thinking on the opponent's time."""
        if self._pondering:
            self._pondering = False
            self._worker.cancel()

    def flush_owed_move(self, following: Query | None = None) -> None:
        """Say the move that is owed, if any.

        Args:
            following: the query that comes next. If it is for the n best moves in the position that was
                being thought about, the board waits for one move, which is the answer to both.
        """
        if self._owed_move is None:
            return
        line, stones = self._owed_move
        self._owed_move = None
        if following is None or following.format.must_answer or following.stones != stones:
            self.send(line)

    # --- inside ---------------------------------------------------------------------------------------------

    def _begin(self, query: Query, since_s: float) -> None:
        """Put a query, the clock of which was started at `since_s`."""
        self.flush_owed_move(query)
        if query.is_full:
            self.refuse("the board is full")
            return
        self._pondering = False
        self._answer_now_s = self._worker.now_s() + SCRIPT_TURN_S if self._at_once else NEVER_S
        self._prepare(query, since_s, self._limits(query))
        self._query = query
        self._worker.start(query)

    def _prepare(self, query: Query, arrival_s: float, limits: SearchLimits) -> None:
        """Set what a query does not know of the conversation, with a token of its own."""
        position = self.position
        assert position is not None
        self._token += 1
        query.token = self._token
        query.rule = self.rule()
        query.limits, query.arrival_s, query.stop = limits, arrival_s, threading.Event()
        played = query.kind in ("move", "nbest")
        points = (point for point, _ in query.stones)
        query.blocked = self.blocked.at(self.names, points) if played else frozenset()
        query.threads = self.settings.threads
        query.memory_bytes = self.settings.memory()
        # Yixin-Board sends START before every move: only what does not continue is a new game.
        query.new_game = self._new_game and not (self._seen and self._seen <= set(position.stones))
        query.clear_tree = self.forget_tree
        query.wants_info = played and query.format.shows_progress and self.settings.shows_progress
        self.forget_tree = self._new_game = False
        self._seen = frozenset(position.stones)

    def _limits(self, query: Query, elapsed_s: float = 0.0) -> SearchLimits:
        """Return the limits of a query, `elapsed_s` as in `Settings.limits`."""
        return self.settings.limits(elapsed_s, self.dialect, share=query.share, max_nodes=query.max_nodes)

    def _drop_query(self) -> None:
        if self._query is not None:
            self._supersede(self._query)
            self._query = None
            self._worker.cancel()
        self.stop_pondering()

    def _supersede(self, query: Query) -> None:
        """Record the moves that Yixin-Board still expects for a query that is dropped.

        It counts the answers that it has stopped to want (after *New* or *Undo* while the brain thinks) and
        throws away as many moves, also one that it waits for: every move asked for must be said once.
        """
        if not self.yixin or not query.format.must_answer or self._owed_move is not None:
            return
        best = self._best_so_far(query)
        point = query.any_legal_point() if best is None else best
        if point is not None:
            self._owed_move = (answer_line((point,), self.names), query.stones)

    def _best_so_far(self, query: Query) -> int | None:
        """Return the best move known for a query, None if there is none that can be played."""
        best = self._worker.best_so_far(query) if query.kind != "swap2" else None
        return best if best is not None and query.fits((best,)) else None

    def _search_the_rest(self, query: Query) -> bool:
        """Search again with the blocked points out of play, where the search has found nothing else.

        That is what happens where one of them wins. Lines through them are cut then, which the first search
        spares.
        """
        taken = {point for point, _ in query.stones}
        obstacles = tuple((point, OBSTACLE) for point in sorted(query.blocked - taken))
        if not obstacles or len(query.stones) + len(obstacles) >= query.width * query.height:
            return False
        self._query = None
        self.settings.used(self._worker.now_s() - query.arrival_s)
        self._begin_next(replace(query, stones=query.stones + obstacles), query)
        return True

    def _begin_next(self, following: Query, query: Query) -> None:
        """Go on from one search to the next one for the same answer; a stop holds for both."""
        stopped = query.stop.is_set()  # beginning sets it for the query before
        self._begin(following, self._worker.now_s())
        if stopped:
            self._worker.answer_now()

    def _answer(self, query: Query, points: Points, result: SearchResult | None = None) -> None:
        self._query = None
        self.settings.used(self._worker.now_s() - query.arrival_s)
        reply = query.format.reply(query, points, result, self.names)
        if reply.next_query is not None:
            self._begin_next(reply.next_query, query)
            return
        for line in self._remarks(query, result if reply.remarks else None):
            self.send(line)
        # Yixin-Board itself reads one move from a line, its fork two.
        for point in reply.placed if self.settings.show_detail & DETAIL else reply.placed[:1]:
            self.place(point)
        for line in reply.lines:
            self.send(line)
        self._go_on(moved=bool(reply.placed))

    def _remarks(self, query: Query, result: SearchResult | None) -> list[str]:
        """Return the MESSAGE lines before an answer; talk must never cost the move."""
        remark, self._remark = message(self._remark or ""), None
        lines = [remark] if remark else []
        if result is None:
            return lines
        try:
            return lines + search_lines(result, self.names, query.listed, in_words=self.yixin)
        except Exception as failure:
            self.log(f"cannot describe {result}: {failure!r}")
            return lines

    def _go_on(self, *, moved: bool) -> None:
        """An answer is out: carry out what waited for it, or think on the opponent's time."""
        while self._waiting and self._query is None:
            command, arrival_s = self._waiting.popleft()
            self.handle(command, max(arrival_s, self._worker.now_s()))
        if moved and self._query is None and self.settings.pondering:
            self.ponder(SearchLimits())
