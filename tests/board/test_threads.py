"""The engines of all pages share the threads."""

from __future__ import annotations

import threading

import pytest

from board import engine_pool
from board.engine_pool import EnginePool, board_threads
from board.worker import Worker


class FakeProcess:
    """Takes down what an engine process is sent."""

    def __init__(self, *arguments: object) -> None:
        self.sent: list[bytes] = []

    def send(self, line: bytes) -> None:
        self.sent.append(line)

    def end(self) -> None:
        pass


class Page:
    idle_since_s: float | None = None

    def evicted(self) -> None:
        pass


def test_engines_share_the_threads_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_pool, "EngineProcess", FakeProcess)
    pool = EnginePool(4, [], threads=7)
    pages = [Page() for _ in range(3)]
    first = pool.acquire(pages[0], lambda line: None, lambda: None)
    assert isinstance(first, FakeProcess) and first.sent == [b"threads 7\n"]
    others = [pool.acquire(page, lambda line: None, lambda: None) for page in pages[1:]]
    assert first.sent[1:] == [b"threads 3\n", b"threads 2\n"]
    assert isinstance(others[1], FakeProcess) and others[1].sent == [b"threads 2\n"]
    pool.release(pages[1])
    assert first.sent[-1] == b"threads 3\n"


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 1), (4, 3), (64, 8)])
def test_one_core_is_left_free(cores: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_pool, "usable_cores", lambda: cores)
    assert board_threads() == threads


def test_an_engine_process_takes_its_share_in_the_middle_of_a_search() -> None:
    worker = Worker(0, 1)
    shares: list[int] = []
    worker._limit_threads = shares.append
    before = worker._stop
    worker._take(b"threads 3")
    assert shares == [3] and worker._stop is before and not before.is_set()
    assert isinstance(before, threading.Event)
