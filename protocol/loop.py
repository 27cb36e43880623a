"""The loop that everything meets in: lines of input, outcomes of the search, the passing of deadlines."""

from __future__ import annotations

import queue
import time
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

from protocol.commands import QUESTIONS
from protocol.job import Outcome, Progress
from protocol.parser import Parser
from protocol.streams import SCRIPT_GAP_S, Ended, Line

if TYPE_CHECKING:
    from protocol.searcher import Searcher
    from protocol.session import Session

STALL_S = 0.1
"""How long the reader may be kept from stamping while libraries load (derived: onnxruntime holds the
interpreter for about half of this)."""
REMIND_S = 0.02
"""When changed limits are told again to a search that was about to begin (derived: beginning takes less)."""
MAX_PATIENCE_S = 1.0
"""Longest pause of a watch that fails again and again (derived: it may do so while a move is due)."""
SLICE_S = 3600.0
"""Longest wait in one go (Windows refuses waits beyond ~49 days)."""


class Loop:
    """Takes events one by one: lines of input, outcomes of the search, the passing of deadlines."""

    def __init__(
        self,
        events: queue.SimpleQueue[object],
        session: Session,
        searcher: Searcher,
        log: Callable[[str], None],
        *,
        process_started_s: float,
        ready_s: float,
    ) -> None:
        """Connect the parts.

        Args:
            events: filled by the reader and by the search thread.
            session, searcher: what the events drive.
            log: notes failures and the lines that were read.
            process_started_s: when this process was created, on time.monotonic.
            ready_s: when everything was loaded.
        """
        self._events = events
        self._session = session
        self._searcher = searcher
        self._log = log
        self._parser = Parser()
        self._process_started_s = process_started_s
        self._ready_s = ready_s
        self._asked_s = float("-inf")  # when the last question was read
        self._closing = False

    def run(self) -> None:
        """Serve until the input ends and nothing more is due."""
        failures = 0  # of the watch, one after the other
        while not (self._closing and not self._session.thinking):
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
        wait_s = max(0.0, min(SLICE_S, self._session.watch() - time.monotonic()))
        return min(wait_s, REMIND_S) if self._searcher.remind() else wait_s

    def _take(self, event: object) -> None:
        match event:
            case Line():
                self._log(f"< {event.text.decode('ascii', 'replace')}")
                for command, arrival_s in self._parser.feed(event.text, self._charged_from_s(event)):
                    if isinstance(command, QUESTIONS):
                        self._asked_s = event.arrival_s
                    self._session.handle(command, arrival_s)
            case Outcome():
                self._session.finished(event)
            case Progress():
                self._session.progress(event)
            case Ended():
                self._closing = True
                if event.arrival_s - self._asked_s < SCRIPT_GAP_S:
                    self._session.answer_at_once()
                else:
                    self._session.abandon()

    def _charged_from_s(self, line: Line) -> float:
        """Return when the clock of a line was started at the latest by a fair manager."""
        if line.first:
            return self._process_started_s
        if line.arrival_s < self._ready_s:
            return max(self._process_started_s, line.arrival_s - STALL_S)
        return line.arrival_s
