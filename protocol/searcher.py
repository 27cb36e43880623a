"""The search thread: brings the engine up to the position of a job, asks it, hands the outcome on."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

from protocol.job import Job, Outcome, Progress

if TYPE_CHECKING:
    from engine import Engine, SearchLimits, SearchResult


class Searcher:
    """Runs one engine in one thread. All methods return at once; see `protocol.job.Thinker`."""

    def __init__(
        self,
        engine: Engine,
        report: Callable[[Outcome | Progress], None],
        log: Callable[[str], None],
    ) -> None:
        """Start the thread.

        Args:
            engine: used by this thread alone, but for what it allows to any thread.
            report: takes what the search thread has to say; called in that thread.
            log: notes failures.
        """
        self._engine = engine
        self._report = report
        self._log = log
        self._changed = threading.Condition()
        self._next: Job | None = None
        self._wanted: Job | None = None  # the job whose outcome matters
        self._wanted_s = 0.0  # since when
        self._hurried_s = 0.0  # since when it is to answer now, if it is
        self._reminders = 0  # how often the limits are to be told again
        self._ready = 0  # token of the job whose position the engine holds
        self._memory_checked = self._memory_remarked = False
        threading.Thread(target=self._run, name="search", daemon=True).start()

    # --- any thread ---------------------------------------------------------------------------------------

    def start(self, job: Job) -> None:
        self.cancel()
        with self._changed:
            self._next = self._wanted = job
            self._wanted_s = self.now_s()
            self._changed.notify()

    def cancel(self) -> None:
        with self._changed:
            if self._wanted is not None:
                self._wanted.stop.set()
            self._next = self._wanted = None

    def hurry(self) -> None:
        job = self._wanted
        if job is not None and not job.stop.is_set():
            self._hurried_s = self.now_s()
            job.stop.set()

    def relimit(self, limits: SearchLimits) -> None:
        self._engine.relimit(limits)
        self._reminders = 1

    def remind(self) -> bool:
        """Tell the limits again, which the engine has missed if it was just about to begin.

        Returns:
            whether to come again in a moment.
        """
        job = self._wanted
        if job is None or self._reminders == 0:
            return False
        if self._reminders == 1:
            self._reminders = 2  # the next time is late enough
            return True
        self._reminders = 0
        self._engine.relimit(job.limits)
        return False

    def best_so_far(self, job: Job) -> int | None:
        return self._engine.best_so_far() if self._ready == job.token else None

    def answer_by_s(self, job: Job) -> float:
        return self._engine.answer_by_s(
            job.limits, job.arrival_s, self._wanted_s, ply=len(job.stones), points=job.width * job.height,
            hurried_s=self._hurried_s if job.stop.is_set() else None,
        )  # fmt: skip

    def now_s(self) -> float:
        return self._engine.clock.now_s()

    # --- the search thread --------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._next is None:
                    self._changed.wait()
                job, self._next = self._next, None
            try:
                outcome = self._work(job)
            except Exception:
                self._log(f"failure while thinking about {job}:\n{traceback.format_exc()}")
                outcome = Outcome(job.token, None)
            self._report(outcome)

    def _work(self, job: Job) -> Outcome:
        engine = self._engine
        if job.clear_tree:
            engine.clear_tree()
        remark = self._set_memory(job)
        if job.new_game or (engine.board.width, engine.board.height) != (job.width, job.height):
            engine.new_game(job.width, job.height, job.rule)
        engine.set_position(job.stones, job.to_move, rule=job.rule)
        if job.kind == "swap2":
            points = engine.swap2(job.opening, job.limits, job.arrival_s, job.stop)
            return Outcome(job.token, points, remark=remark)
        self._ready = job.token

        def show(so_far: SearchResult) -> None:
            self._report(Progress(job.token, so_far))

        on_info = show if job.wants_info else None
        if job.kind == "nbest":
            result = engine.nbest(job.n, job.limits, job.arrival_s, on_info, job.stop)
        else:
            result = engine.think(job.limits, job.arrival_s, on_info, job.stop)
        return Outcome(job.token, (result.point,), result, remark)

    def _set_memory(self, job: Job) -> str | None:
        """Limit the memory as the job says. Return what to say where the limit cannot be kept, but once."""
        limit = self._engine.config.memory_bytes if job.memory_bytes is None else job.memory_bytes or None
        if self._memory_checked and limit == self._engine.config.memory_bytes:
            return None
        self._memory_checked = True
        needed = self._engine.set_memory(limit)
        if needed is None or limit is None or self._memory_remarked:
            return None
        self._memory_remarked = True
        return (
            f"the memory limit of {limit / 1e6:.0f} MB cannot be kept, the program needs about "
            f"{needed / 1e6:.0f} MB"
        )
