"""Loop, search thread and conversation together, around an engine that only waits."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from protocol.conversation import Conversation
from protocol.dialects.yixin import ShowForbid
from protocol.io import Ended, Line, Writer
from protocol.worker import EventLoop, SearchWorker
from tests.helpers.protocol_fakes import FakeEngine


class Program:
    """A running loop; `feed` puts lines into it, `read` waits for what it writes."""

    def __init__(self, engine: FakeEngine, process_age_s: float = 0.0) -> None:
        self.engine = engine
        self.events: queue.SimpleQueue[object] = queue.SimpleQueue()
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.logged: list[str] = []
        worker = SearchWorker(engine, self.events.put, self.logged.append)  # type: ignore[arg-type]
        conversation = Conversation(worker, self.lines.put, self.logged.append)
        now_s = time.monotonic()
        loop = EventLoop(self.events, conversation, worker, self.logged.append,
                    process_started_s=now_s - process_age_s, ready_s=now_s)
        self.thread = threading.Thread(target=loop.run, daemon=True)
        self.thread.start()

    def feed(self, text: str, *, first: bool = False, gap_s: float = 0.0) -> None:
        now_s = time.monotonic() - gap_s
        for line in text.split("\n"):
            self.events.put(Line(line.encode(), now_s, first))

    def read(self) -> str:
        line = self.lines.get(timeout=10)
        return line if not line.startswith("MESSAGE") else self.read()

    def ends(self) -> bool:
        self.thread.join(10)
        return not self.thread.is_alive()

    def silent(self) -> bool:
        return self.lines.empty()


@pytest.fixture
def engine() -> Iterator[FakeEngine]:
    fake = FakeEngine()
    yield fake
    fake.release.set()


def test_an_obedient_game(engine: FakeEngine) -> None:
    program = Program(engine)
    program.feed("START 15")
    assert program.read() == "OK"
    engine.release.set()
    program.feed("BEGIN")
    assert program.read() == "0,0"
    program.feed("TURN 1,0")
    assert program.read() == "2,0"
    assert engine.calls == ["new_game 15x15 rule 0", "think", "think"]


def test_end_in_the_middle_of_a_search_ends_silently(engine: FakeEngine) -> None:
    program = Program(engine)
    program.feed("START 15\nINFO timeout_turn 60000\nBEGIN", gap_s=1.0)
    assert program.read() == "OK" and engine.thinking.wait(10)
    began_s = time.monotonic()
    program.events.put(Ended(time.monotonic()))
    assert program.ends() and time.monotonic() - began_s < 0.15 and program.silent()


def test_a_script_gets_its_answers_before_the_end(engine: FakeEngine) -> None:
    program = Program(engine)
    program.feed("START 15\nINFO timeout_turn 60000\nBEGIN\nTURN 5,5\nTURN 5,5")
    program.events.put(Ended(time.monotonic()))
    assert [program.read() for _ in range(4)] == ["OK", "0,0", "1,0", "ERROR 5,5 is taken"]
    assert program.ends()


def test_the_watchdog_overrules_a_search_that_hangs() -> None:
    engine = FakeEngine(obeys=False)
    program = Program(engine)
    program.feed("START 15\nINFO timeout_turn 300\nBEGIN")
    began_s = time.monotonic()
    assert program.read() == "OK"
    assert program.read() == "2,1"  # the best move so far, point 17
    assert time.monotonic() - began_s < 0.3
    program.feed("TURN 7,7")  # the old search still hangs, so nothing is known about this position
    answer = program.read()
    assert answer not in ("7,7", "2,1")
    engine.release.set()
    program.feed("TURN 8,8")
    assert len(program.read().split(",")) == 2
    program.events.put(Ended(time.monotonic() + 1))
    assert program.ends()


@pytest.mark.parametrize("line", ["STOP", "YXSTOP", "INFO timeout_turn 0"])
def test_stop_gets_the_answer_of_a_running_search(engine: FakeEngine, line: str) -> None:
    program = Program(engine)
    program.feed("START 15\nINFO timeout_turn 60000\nBEGIN")
    assert program.read() == "OK" and engine.thinking.wait(10)
    program.feed(line)
    began_s = time.monotonic()
    assert program.read() == "0,0" and time.monotonic() - began_s < 0.1


def test_start_in_the_middle_of_a_search(engine: FakeEngine) -> None:
    program = Program(engine)
    program.feed("START 15\nINFO timeout_turn 60000\nBEGIN")
    assert program.read() == "OK" and engine.thinking.wait(10)
    program.feed("START 20\nABOUT")
    assert program.read() == "OK" and program.read().startswith("name=")
    engine.release.set()
    program.feed("TURN 0,0")
    assert program.read() == "1,0"
    assert engine.calls[-2:] == ["new_game 20x20 rule 0", "think"]
    program.events.put(Ended(time.monotonic() + 1))
    assert program.ends() and program.silent()


def test_a_crash_while_thinking_is_a_legal_move_and_a_log_line(engine: FakeEngine) -> None:
    engine.fail = RuntimeError("boom")
    program = Program(engine)
    program.feed("START 15\nTURN 7,7")
    assert program.read() == "OK"
    assert program.read() != "7,7"
    assert any("boom" in text for text in program.logged)
    engine.fail = None
    engine.release.set()
    program.feed("TURN 0,0")
    assert len(program.read().split(",")) == 2


def test_new_limits_reach_a_search_that_is_just_beginning(engine: FakeEngine) -> None:
    program = Program(engine)
    program.feed("START 15\nINFO timeout_turn 60000\nBEGIN\nINFO timeout_turn 50000")
    assert program.read() == "OK" and engine.thinking.wait(10)
    for _ in range(1000):
        if engine.calls.count("relimit 50000") == 2:
            break
        time.sleep(0.01)
    assert engine.calls.count("relimit 50000") == 2


def said_until_a_move(program: Program) -> list[str]:
    """Return all lines up to the first move."""
    said = [program.lines.get(timeout=10)]
    while not said[-1][0].isdigit():
        said.append(program.lines.get(timeout=10))
    return said


def test_threads_are_told_before_thinking_and_a_wrong_number_changes_nothing(engine: FakeEngine) -> None:
    engine.release.set()
    program = Program(engine)
    program.feed("START 15\nINFO thread_num 3\nINFO thread_num 0\nBEGIN")
    assert said_until_a_move(program)[:2] == ["OK", "MESSAGE thread_num is 1 to 128, not 0; 3 stays"]
    assert "threads 3" in engine.calls and "threads 0" not in engine.calls


def test_more_threads_than_cores_are_told_before_the_answer(engine: FakeEngine) -> None:
    engine.release.set()
    program = Program(engine)
    program.feed("START 15\nINFO thread_num 16\nBEGIN")
    assert said_until_a_move(program)[:2] == ["OK", "MESSAGE threads: too many"]


def test_memory_is_told_before_thinking(engine: FakeEngine) -> None:
    engine.release.set()
    program = Program(engine)
    program.feed("START 15\nINFO max_memory 100000000\nBEGIN")
    assert program.read() == "OK" and program.read() == "0,0"
    assert engine.calls[0] == "memory 100000000"


def test_a_limit_of_memory_that_cannot_be_kept_is_told_once_before_an_answer(engine: FakeEngine) -> None:
    engine.release.set()
    program = Program(engine)
    said: list[str] = []
    program.feed("START 15\nINFO max_memory 50000000\nBEGIN\nINFO max_memory 40000000\nTURN 5,5")
    while said.count("0,0") + said.count("1,0") < 2:
        said.append(program.lines.get(timeout=10))
    remark = "MESSAGE the memory limit of 50 MB cannot be kept, the program needs about 90 MB"
    assert said[:2] == ["OK", remark] and sum("memory" in line for line in said) == 1


def test_what_waited_since_the_process_was_created_is_charged_from_there() -> None:
    # The turn is over by the clock of the judge, so there is only the time of a move at once.
    engine = FakeEngine(obeys=False)
    program = Program(engine, process_age_s=3.0)
    program.feed("START 15\nINFO timeout_turn 2000\nBEGIN", first=True)
    began_s = time.monotonic()
    assert program.read() == "OK" and program.read() == "2,1"
    assert time.monotonic() - began_s < 0.5
    engine.release.set()


def test_the_writer_makes_one_system_call_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []

    def write(fd: int, data: bytes) -> int:
        written.append(bytes(data))
        return len(data)

    monkeypatch.setattr(os, "write", write)
    Writer(99)("MESSAGE a\nb\r")
    assert written == [b"MESSAGE a b \n"]


def test_a_failing_command_is_one_error(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(ShowForbid, "execute", fail)
    program = Program(engine)
    program.feed("START 15\nYXSHOWFORBID\nABOUT")
    assert program.read() == "OK" and program.read().startswith("ERROR internal failure")
    assert program.read().startswith("name=")


class Events:
    """A queue that notes how long it is waited for, and gives lines out after some empty rounds."""

    def __init__(self, empty_rounds: int, *events: object) -> None:
        self.waits: list[float] = []
        self._left: list[object] = [*[None] * empty_rounds, *events]

    def get(self, timeout: float) -> object:
        self.waits.append(timeout)
        event = self._left.pop(0)
        if event is None:
            raise queue.Empty
        return event


def test_a_watch_that_fails_again_and_again_neither_spins_nor_stops_the_rest(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(Conversation, "watch", fail)
    events = Events(20, Line(b"START 15", 0.0, False), Line(b"ABOUT", 0.0, False), Ended(1e9))
    sent: list[str] = []
    logged: list[str] = []
    worker = SearchWorker(engine, sent.append, logged.append)  # type: ignore[arg-type]
    conversation = Conversation(worker, sent.append, logged.append)
    loop = EventLoop(events, conversation, worker, logged.append, process_started_s=0.0, ready_s=0.0)  # type: ignore[arg-type]
    loop.run()
    assert sent[0] == "OK" and sent[1].startswith("name=")
    assert len(events.waits) == 23 and min(events.waits) > 0 and max(events.waits) <= 1.0
    assert sum(events.waits) > 10, "it hardly waits"
    assert sum("boom" in text for text in logged) == 23


def test_a_restart_forgets_what_was_searched_and_a_start_does_not(engine: FakeEngine) -> None:
    engine.release.set()
    program = Program(engine)
    for _ in range(2):
        program.feed("START 15\nBEGIN")
        assert [program.read() for _ in range(2)] == ["OK", "0,0"]
    assert "clear_tree" not in engine.calls
    program.feed("RESTART\nBEGIN")
    assert [program.read() for _ in range(2)] == ["OK", "0,0"]
    assert engine.calls[-3:] == ["clear_tree", "new_game 15x15 rule 0", "think"]
