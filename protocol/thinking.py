"""The question that is being thought about, from what is asked to what is said.

A question goes to the search thread as a `Job` with a token, and the answer comes back through `finished`.
Whatever cancels a search forgets its token, so at most one answer goes out for a question and none for one
that the manager has dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from engine import SearchLimits
from engine.position import Stones
from engine.rules._board import OBSTACLE
from protocol import questions, replies
from protocol.answers import allowed, any_point, describe, fits, without_search
from protocol.forms import line_of
from protocol.job import Ask, Job, Outcome, Points, Progress, Thinker
from protocol.settings import DETAIL, REALTIME
from protocol.table import Table
from protocol.text import error, message

if TYPE_CHECKING:
    from engine import SearchResult

PROGRESS_S = 0.2
"""Shortest time between two refreshes of the realtime marks (tuned: by eye, five a second)."""
SCRIPT_TURN_S = 0.05
"""Time to think about a question when input has ended (protocol: END ends the process within 200 ms)."""


class Thinking:
    """Puts questions to the search thread, one at a time, and says what comes back.

    Attributes:
        job: what is being thought about, None when no answer is due.
    """

    def __init__(
        self,
        table: Table,
        thinker: Thinker,
        send: Callable[[str], None],
        log: Callable[[str], None],
        done: Callable[[bool], None],
    ) -> None:
        """Begin with nothing to think about.

        Args:
            table: the state of the conversation.
            thinker: the search thread.
            send: puts one line into the pipe.
            log: notes what went wrong but was survived.
            done: called after each answer, with whether a stone was placed.
        """
        self._table = table
        self._thinker = thinker
        self._send = send
        self._log = log
        self._done = done
        self.job: Job | None = None
        self._ask: Ask | None = None  # what the job came from
        self._owed: tuple[str, Stones] | None = None  # see _displace
        self._pondering = False
        self._at_once = False
        self._hurry_s = float("inf")
        self._progress_s = float("-inf")
        self._remark: str | None = None  # to be said before the next answer

    # --- asking ---------------------------------------------------------------------------------------------

    def begin(self, ask: Ask, since_s: float) -> None:
        """Put a question, the clock of which was started at `since_s`."""
        position = self._table.position
        assert position is not None
        self.settle(ask)
        if ask.kind != "swap2" and len(ask.stones) >= position.width * position.height:
            self._send(error("the board is full"))
            return
        self._pondering = False
        self._hurry_s = self._thinker.now_s() + SCRIPT_TURN_S if self._at_once else float("inf")
        self._ask = ask
        self.job = self._table.job(ask, since_s, self._table.limits(ask))
        self._thinker.start(self.job)

    def stands(self, width: int, height: int) -> bool:
        """Return whether a question is thought about that has nothing to do with the stones on the board.

        Args:
            width, height: of the board that comes next.
        """
        job = self.job
        return job is not None and job.form.stands and (job.width, job.height) == (width, height)

    def relimit(self) -> None:
        """Tell the search the limits that INFO has set meanwhile."""
        if self.job is None or self._ask is None:
            return
        told_after_s = self._table.settings.told_s - self.job.arrival_s
        self.job.limits = self._table.limits(self._ask, max(0.0, told_after_s))
        self._thinker.relimit(self.job.limits)

    def hurry(self) -> None:
        """Answer now; where nothing is asked, stop thinking on the opponent's time."""
        if self.job is not None:
            self._thinker.hurry()
        else:
            self.drop_pondering()

    def hurry_soon(self) -> None:
        """Answer this question and those that follow almost without thinking."""
        self._at_once = True
        self._hurry_s = self._thinker.now_s() + SCRIPT_TURN_S

    def ponder(self, limits: SearchLimits) -> None:
        """Think on the opponent's time, without an answer."""
        position = self._table.position
        if self._at_once or position is None or position.is_full():
            return
        self._pondering = True
        ask = replace(questions.move(position), kind="ponder")
        self._thinker.start(self._table.job(ask, self._thinker.now_s(), limits))

    def drop_pondering(self) -> None:
        """Stop thinking on the opponent's time."""
        if self._pondering:
            self._pondering = False
            self._thinker.cancel()

    def cancel(self) -> None:
        """Forget the question."""
        if self.job is not None:
            self._displace(self.job)
            self.job = None
            self._thinker.cancel()
        self.drop_pondering()

    def _displace(self, job: Job) -> None:
        """Note what Yixin-Board still has to hear about a question that is dropped.

        It counts the answers that it has stopped to want (after *New* or *Undo* while the brain thinks) and
        throws away as many moves, also one that it waits for: every move asked for must be said once.
        """
        if not self._table.yixin or not job.form.awaited or self._owed is not None:
            return
        best = self._thinker.best_so_far(job) if job.kind != "swap2" else None
        point = best if best is not None and fits(job, (best,)) else any_point(job)
        if point is not None:
            self._owed = (line_of((point,), self._table.names), job.stones)

    def settle(self, ask: Ask | None = None) -> None:
        """Say the move that is owed, if any.

        Args:
            ask: the question that comes next. If it is for the n best moves in the position that was being
                thought about, the board waits for one move, which is the answer to both.
        """
        if self._owed is None:
            return
        line, stones = self._owed
        self._owed = None
        if ask is None or ask.form.awaited or ask.stones != stones:
            self._send(line)

    # --- answering ------------------------------------------------------------------------------------------

    def finished(self, outcome: Outcome) -> None:
        """Take in the answer of the search thread; that to a dropped question is dropped."""
        self._remark = outcome.remark or self._remark
        job, points = self.job, outcome.points
        if job is None or outcome.token != job.token:
            return
        result = None if outcome.result is None else allowed(job, outcome.result)
        if outcome.result is not None and result is not None and points == (outcome.result.point,):
            points = (result.point,)
            if result.point in job.blocked and self._search_the_rest(job):
                return
        if points is None or not fits(job, points):
            self._log(f"no usable answer from the engine ({points}), playing a move without search")
            points = without_search(job)
        self._answer(job, points, result)

    def _search_the_rest(self, job: Job) -> bool:
        """Search again with the blocked points out of play, where the search has found nothing else.

        That is what happens where one of them wins. Lines through them are cut then, which the first search
        spares.
        """
        assert self._ask is not None
        taken = {point for point, _ in job.stones}
        obstacles = tuple((point, OBSTACLE) for point in sorted(job.blocked - taken))
        if not obstacles or len(job.stones) + len(obstacles) >= job.width * job.height:
            return False
        self.job = None
        self._table.settings.used(self._thinker.now_s() - job.arrival_s)
        self._begin_next(replace(self._ask, stones=job.stones + obstacles), job)
        return True

    def _begin_next(self, ask: Ask, job: Job) -> None:
        """Go on from one search to the next one for the same answer; a stop holds for both."""
        stopped = job.stop.is_set()  # beginning sets it for the job before
        self.begin(ask, self._thinker.now_s())
        if stopped:
            self._thinker.hurry()

    def progress(self, progress: Progress) -> None:
        """Show how a search goes, if the manager wants to see it."""
        now_s = self._thinker.now_s()
        if self.job is None or progress.token != self.job.token or now_s - self._progress_s < PROGRESS_S:
            return
        self._progress_s = now_s
        result = allowed(self.job, progress.result)
        shown = [move.point for move in result.candidates[:10] if move.visits > 0]
        wanted = self._table.settings.show_detail
        lines = replies.realtime(result, self._table.names, shown) if wanted & REALTIME else []
        lines += replies.detail(result, self._table.names, shown) if wanted & DETAIL else []
        for line in lines:
            self._send(line)

    def watch(self) -> float:
        """Answer for a search that is overdue. Return when to look again, on the clock of arrivals."""
        job = self.job
        if job is None:
            return float("inf")
        if self._thinker.now_s() >= self._hurry_s:
            self._hurry_s = float("inf")
            self._thinker.hurry()
        due_s = self._thinker.answer_by_s(job)
        if self._thinker.now_s() < due_s:
            return min(due_s, self._hurry_s)
        self._log("the search is overdue, answering for it")
        self._thinker.hurry()
        best = self._thinker.best_so_far(job) if job.kind != "swap2" else None
        known = best is not None and fits(job, (best,))
        self._answer(job, (best,) if best is not None and known else without_search(job))
        return float("inf") if self.job is None else self._thinker.answer_by_s(self.job)

    def _answer(self, job: Job, points: Points, result: SearchResult | None = None) -> None:
        self.job = None
        self._table.settings.used(self._thinker.now_s() - job.arrival_s)
        said = job.form.say(job, points, result, self._table.names)
        if said.then is not None:
            self._begin_next(said.then, job)
            return
        remark, self._remark = message(self._remark or ""), None
        if remark:
            self._send(remark)
        told = result if said.remarks else None
        for line in describe(job, told, self._table.names, self._log):
            self._send(line)
        # Yixin-Board itself reads one move from a line, its fork two.
        for point in said.placed if self._table.settings.show_detail & DETAIL else said.placed[:1]:
            self._table.place(point)
        for line in said.lines:
            self._send(line)
        self._done(bool(said.placed))
