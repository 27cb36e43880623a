"""The two threads that move a conversation: the search thread, and the loop that takes events in turn."""

from __future__ import annotations

import queue
import threading
import time
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

from protocol.io import SCRIPT_GAP_S, Ended, Line
from protocol.parser import Parser
from protocol.query import Outcome, Progress, Query

if TYPE_CHECKING:
    from engine import Engine, SearchLimits, SearchResult
    from protocol.conversation import Conversation

STALL_S = 0.1
"""How long the reader may be kept from stamping while libraries load (derived: onnxruntime holds the
interpreter for about half of this)."""
REMIND_S = 0.02
"""When changed limits are told again to a search that was about to begin (derived: beginning takes less)."""
MAX_PATIENCE_S = 1.0
"""Longest pause of a watch that fails again and again (derived: it may do so while a move is due)."""
SLICE_S = 3600.0
"""Longest wait in one go (Windows refuses waits beyond ~49 days)."""


class SearchWorker:
    """The search thread: sets the position of a query, searches it, reports the outcome.

    All methods return at once; see `protocol.query.Worker`.
    """

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
        self._next: Query | None = None
        self._wanted: Query | None = None  # the query whose outcome matters
        self._wanted_s = 0.0  # since when
        self._immediate_since_s = 0.0  # since when an immediate answer is requested, if it is
        self._reminders = 0  # how often the limits are to be told again
        self._ready = 0  # token of the query whose position the engine holds
        self._memory_checked = self._memory_remarked = False
        threading.Thread(target=self._run, name="search", daemon=True).start()

    # --- any thread ---------------------------------------------------------------------------------------

    def start(self, query: Query) -> None:
        """Cancel the running query and search this one (any thread)."""
        self.cancel()
        with self._changed:
            self._next = self._wanted = query
            self._wanted_s = self.now_s()
            self._changed.notify()

    def cancel(self) -> None:
        """Stop the running query and drop its outcome (any thread)."""
        with self._changed:
            if self._wanted is not None:
                self._wanted.stop.set()
            self._next = self._wanted = None

    def answer_now(self) -> None:
        """Make the running query answer now (any thread)."""
        query = self._wanted
        if query is not None and not query.stop.is_set():
            self._immediate_since_s = self.now_s()
            query.stop.set()

    def relimit(self, limits: SearchLimits) -> None:
        """Replace the limits of the running search (any thread); times still count from its arrival."""
        self._engine.relimit(limits)
        self._reminders = 1

    def remind(self) -> bool:
        """Send the limits again: the engine misses them if its search has not begun.

        Returns:
            whether to come again in a moment.
        """
        query = self._wanted
        if query is None or self._reminders == 0:
            return False
        if self._reminders == 1:
            self._reminders = 2  # the next time is late enough
            return True
        self._reminders = 0
        self._engine.relimit(query.limits)
        return False

    def best_so_far(self, query: Query) -> int | None:
        """Return the best move of the search of a query, None before there is one (any thread)."""
        return self._engine.best_so_far() if self._ready == query.token else None

    def answer_by_s(self, query: Query) -> float:
        """Return when a watchdog answers the query, on the clock of `now_s`; infinite without a limit."""
        return self._engine.answer_by_s(
            query.limits, query.arrival_s, self._wanted_s, ply=len(query.stones),
            points=query.width * query.height,
            immediate_since_s=self._immediate_since_s if query.stop.is_set() else None,
        )  # fmt: skip

    def now_s(self) -> float:
        """Return seconds on the clock of the engine."""
        return self._engine.clock.now_s()

    # --- the search thread --------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._next is None:
                    self._changed.wait()
                query, self._next = self._next, None
            try:
                outcome = self._work(query)
            except Exception:
                self._log(f"failure while thinking about {query}:\n{traceback.format_exc()}")
                outcome = Outcome(query.token, None)
            self._report(outcome)

    def _work(self, query: Query) -> Outcome:
        engine = self._engine
        if query.clear_tree:
            engine.clear_tree()
        remark = self._set_threads(query) or self._set_memory(query)
        if query.new_game or (engine.board.width, engine.board.height) != (query.width, query.height):
            engine.new_game(query.width, query.height, query.rule)
        engine.set_position(query.stones, query.to_move, rule=query.rule)
        if query.kind == "swap2":
            points = engine.swap2(query.opening, query.limits, query.arrival_s, query.stop)
            return Outcome(query.token, points, remark=remark)
        self._ready = query.token

        def show(so_far: SearchResult) -> None:
            self._report(Progress(query.token, so_far))

        on_info = show if query.wants_info else None
        if query.best_moves is not None:
            result = engine.nbest(query.best_moves, query.limits, query.arrival_s, on_info, query.stop)
        else:
            result = engine.think(query.limits, query.arrival_s, on_info, query.stop)
        return Outcome(query.token, (result.point,), result, remark)

    def _set_threads(self, query: Query) -> str | None:
        """Set the threads as the query says. Return what to say where that is not possible."""
        if query.threads is None or query.threads == self._engine.config.threads:
            return None
        return self._engine.set_threads(query.threads)

    def _set_memory(self, query: Query) -> str | None:
        """Limit the memory as the query says. Return what to say where the limit cannot be kept, but once."""
        limit = self._engine.config.memory_bytes if query.memory_bytes is None else query.memory_bytes or None
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


class EventLoop:
    """Takes events one by one: lines of input, outcomes of the search, the passing of deadlines."""

    def __init__(
        self,
        events: queue.SimpleQueue[object],
        conversation: Conversation,
        worker: SearchWorker,
        log: Callable[[str], None],
        *,
        process_started_s: float,
        ready_s: float,
    ) -> None:
        """Connect the parts.

        Args:
            events: filled by the reader and by the search thread.
            conversation, worker: what the events drive.
            log: notes failures and the lines that were read.
            process_started_s: when this process was created, on time.monotonic.
            ready_s: when everything was loaded.
        """
        self._events = events
        self._conversation = conversation
        self._worker = worker
        self._log = log
        self._parser = Parser()
        self._process_started_s = process_started_s
        self._ready_s = ready_s
        self._asked_s = float("-inf")  # when the last question was read
        self._closing = False

    def run(self) -> None:
        """Serve until the input ends and nothing more is due."""
        failures = 0  # of the watch, one after another
        while not (self._closing and not self._conversation.thinking):
            try:
                patience_s = self._patience_s()
                failures = 0
            except Exception:
                self._log(f"failure of the watch:\n{traceback.format_exc()}")
                failures += 1
                patience_s = min(MAX_PATIENCE_S, REMIND_S * 2 ** min(failures, 10))
            try:
                self._take(self._events.get(timeout=patience_s))
            except queue.Empty:
                pass
            except Exception:
                self._log(f"failure in the loop:\n{traceback.format_exc()}")

    def _patience_s(self) -> float:
        """Return how long the loop may sleep if nothing happens; answers what is overdue."""
        wait_s = max(0.0, min(SLICE_S, self._conversation.watch() - time.monotonic()))
        return min(wait_s, REMIND_S) if self._worker.remind() else wait_s

    def _take(self, event: object) -> None:
        match event:
            case Line():
                self._log(f"< {event.text.decode('ascii', 'replace')}")
                for command, arrival_s in self._parser.feed(event.text, self._charged_from_s(event)):
                    if command.asks:
                        self._asked_s = event.arrival_s
                    self._conversation.handle(command, arrival_s)
            case Outcome():
                self._conversation.finished(event)
            case Progress():
                self._conversation.progress(event)
            case Ended():
                self._closing = True
                if event.arrival_s - self._asked_s < SCRIPT_GAP_S:
                    self._conversation.answer_at_once()
                else:
                    self._conversation.drop_queries()  # the manager is gone

    def _charged_from_s(self, line: Line) -> float:
        """Return when the clock of a line was started at the latest by a fair manager."""
        if line.first:
            return self._process_started_s
        if line.arrival_s < self._ready_s:
            return max(self._process_started_s, line.arrival_s - STALL_S)
        return line.arrival_s
