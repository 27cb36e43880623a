"""The first answer where loading eats the time: one evaluation of the net, or a cell beside the stones."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from engine import Engine, EngineConfig
from engine.evaluator.uniform import UniformEvaluator
from protocol.conversation import Conversation
from protocol.io import Line
from protocol.worker import EventLoop, SearchWorker
from tests.protocol.talk import RECORDS_OF_SHIPPED_NET, Talk, as_move

TURNS_MS = [0, 1, 50, 300]


def is_beside(cell: tuple[int, int], stone: tuple[int, int]) -> bool:
    return 0 < max(abs(cell[0] - stone[0]), abs(cell[1] - stone[1])) <= 2


@pytest.mark.posix
@pytest.mark.skipif(not RECORDS_OF_SHIPPED_NET.exists(), reason="no net is shipped")
@pytest.mark.parametrize("turn_ms", TURNS_MS)
@pytest.mark.parametrize("question", [("TURN 7,7",), ("BOARD", "7,7,2", "DONE")])
def test_a_brain_that_has_no_time_to_load_asks_its_net_once(turn_ms: int, question: tuple[str, ...]) -> None:
    with Talk(net=None) as talk:
        talk.say("START 15", f"INFO timeout_turn {turn_ms}", *question)
        assert talk.next_line() == "OK"
        assert is_beside(as_move(talk.next_line() or ""), (7, 7))
        assert " n 0 " not in talk.remarks[-1]  # simulations
        talk.end()


class HangingEvaluator(UniformEvaluator):
    """A net that does not answer before it is told to."""

    backend = None

    def __init__(self) -> None:
        super().__init__()
        self.release = threading.Event()

    def evaluate(self, planes: Any, keys: Any) -> Any:
        self.release.wait()
        return super().evaluate(planes, keys)


@pytest.fixture
def hanging() -> Iterator[HangingEvaluator]:
    evaluator = HangingEvaluator()
    yield evaluator
    evaluator.release.set()


@pytest.mark.parametrize("turn_ms", TURNS_MS)
@pytest.mark.parametrize("rule", [0, 4])
def test_while_the_net_hangs_a_cell_beside_the_stones_is_played(
    hanging: HangingEvaluator, turn_ms: int, rule: int
) -> None:
    events: queue.SimpleQueue[object] = queue.SimpleQueue()
    sent: queue.SimpleQueue[str] = queue.SimpleQueue()
    engine = Engine(EngineConfig(net="uniform", solver=False), evaluator=hanging)
    worker = SearchWorker(engine, events.put, lambda text: None)
    now_s = time.monotonic()
    loop = EventLoop(events, Conversation(worker, sent.put, lambda text: None), worker, lambda text: None,
                process_started_s=now_s - 1.0, ready_s=now_s)  # fmt: skip
    threading.Thread(target=loop.run, daemon=True).start()
    for text in (f"START 15\nINFO rule {rule}\nINFO timeout_turn {turn_ms}\nTURN 5,9").split("\n"):
        events.put(Line(text.encode(), now_s, True))
    assert sent.get(timeout=20) == "OK"
    assert is_beside(as_move(sent.get(timeout=20)), (5, 9))
