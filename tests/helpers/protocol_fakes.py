"""Stand-ins for the parts around a conversation, moved by hand."""

from __future__ import annotations

import threading
from typing import Any

from engine import Board, EngineConfig, SearchLimits, SearchResult
from engine.search.result import MoveStats
from engine.timing.budget import answer_by_s, plan
from protocol.conversation import Conversation
from protocol.io import LineSplitter
from protocol.parser import Parser
from protocol.query import Outcome, Points, Query
from protocol.settings import Dialect


def result(
    point: int,
    *,
    simulations: int = 100,
    candidates: tuple[MoveStats, ...] = (),
    pv: tuple[int, ...] | None = None,
) -> SearchResult:
    return SearchResult(
        point=point, wdl=(0.5, 0.2, 0.3), visits=simulations, simulations=simulations, evaluations=90,
        depth_mean=4.2, depth_max=9, pv=pv or (point, point + 1), proven=None, distance=None, elapsed_s=0.5,
        stop_reason="deadline", candidates=candidates,
    )


def move(point: int, visits: int, proven: Any = None) -> MoveStats:
    return MoveStats(point, visits, 0.1, 0.25, (0.5, 0.25, 0.25), proven, 5 if proven else None, (point,))


class FakeWorker:
    """Notes the queries; the test answers them."""

    def __init__(self) -> None:
        self.queries: list[Query] = []
        self.relimits: list[SearchLimits] = []
        self.hurried = self.cancelled = 0
        self.now = 100.0
        self.due = float("inf")
        self.best: int | None = None

    def start(self, query: Query) -> None:
        if self.queries:
            self.queries[-1].stop.set()  # as the search thread does
        self.queries.append(query)

    def cancel(self) -> None:
        self.cancelled += 1

    def answer_now(self) -> None:
        self.hurried += 1

    def relimit(self, limits: SearchLimits) -> None:
        self.relimits.append(limits)

    def best_so_far(self, query: Query) -> int | None:
        return self.best

    def answer_by_s(self, query: Query) -> float:
        return self.due

    def now_s(self) -> float:
        return self.now


class Talk:
    """A conversation with a fake search thread; `say` returns what it answers."""

    def __init__(self, dialect: Dialect | None = None) -> None:
        self.worker = FakeWorker()
        self.sent: list[str] = []
        self.logged: list[str] = []
        self.conversation = Conversation(self.worker, self.sent.append, self.logged.append, dialect)
        self._splitter, self._parser = LineSplitter(), Parser()

    def take(self) -> list[str]:
        lines = self.sent[:]
        self.sent.clear()
        return lines

    def say(self, text: str, at_s: float | None = None) -> list[str]:
        """Feed lines (split at newlines) that arrive now."""
        arrival_s = self.worker.now if at_s is None else at_s
        for line in self._splitter.feed(text.encode() + b"\n"):
            for command, since_s in self._parser.feed(line, arrival_s):
                self.conversation.handle(command, since_s)
        return self.take()

    @property
    def query(self) -> Query:
        return self.worker.queries[-1]

    def answer(self, points: Points | int | None, searched: SearchResult | None = None) -> list[str]:
        """Let the search thread answer its last query."""
        chosen = (points,) if isinstance(points, int) else points
        self.conversation.finished(Outcome(self.query.token, chosen, searched))
        return self.take()


H8 = 7 * 15 + 7


def started(size: str = "15") -> Talk:
    talk = Talk()
    assert talk.say(f"START {size}") == ["OK"]
    return talk


class FakeEngine:
    """An engine whose searches last until they are stopped or `release` is set."""

    def __init__(self, *, obeys: bool = True) -> None:
        self.config = EngineConfig(net="uniform")
        self.board = Board(15, 15, 0)
        self.clock = self
        self.calls: list[str] = []
        self.thinking = threading.Event()
        self.release = threading.Event()
        self.turn_ms: int | None = None
        self.fail: Exception | None = None
        self._obeys = obeys

    def now_s(self) -> float:
        import time

        return time.monotonic()

    def new_game(self, width: int, height: int, rule: int) -> None:
        self.calls.append(f"new_game {width}x{height} rule {int(rule)}")
        self.board = Board(width, height, rule)

    def set_position(self, stones: Any, to_move: int, *, rule: int) -> None:
        self.board = Board.from_stones(self.board.width, self.board.height, rule, stones)
        self.board.set_to_move(to_move)

    def think(self, limits: Any, arrival_s: float, on_info: Any, stop: threading.Event) -> SearchResult:
        self.calls.append("think")
        if self.fail is not None:
            raise self.fail
        self.thinking.set()
        self.turn_ms = limits.turn_ms
        while not self.release.wait(0.005):
            over = self.turn_ms is not None and self.now_s() > arrival_s + 0.5 * self.turn_ms / 1000
            if (stop.is_set() or over) and self._obeys:
                break
        return result(self.board.legal_points()[0])

    def swap2(self, stones: Any, limits: Any, arrival_s: float, stop: threading.Event) -> Any:
        return "SWAP"

    def relimit(self, limits: SearchLimits) -> None:
        self.calls.append(f"relimit {limits.turn_ms}")
        self.turn_ms = limits.turn_ms

    def best_so_far(self) -> int | None:
        return 17

    def answer_by_s(
        self, limits: SearchLimits, arrival_s: float, begun_s: float, *, ply: int, points: int,
        immediate_since_s: float | None = None,
    ) -> float:
        return answer_by_s(plan(limits, ply, points, 80), arrival_s, begun_s, immediate_since_s)

    def clear_tree(self) -> None:
        self.calls.append("clear_tree")

    def set_threads(self, threads: int) -> str | None:
        self.calls.append(f"threads {threads}")
        self.config = self.config.replace(threads=threads)
        return "threads: too many" if threads > 4 else None

    def set_memory(self, max_bytes: int | None) -> int | None:
        if max_bytes != self.config.memory_bytes:
            self.calls.append(f"memory {max_bytes}")
        self.config = self.config.replace(memory_bytes=max_bytes)
        return 90_000_000 if max_bytes is not None and max_bytes < 90_000_000 else None
