"""The brain stops the threats that can be stopped; `python -m tests.tactics.defence` asks far more."""

import os

import pytest

from engine.config import EngineConfig
from engine.engine import Engine
from engine.rules._board import Board
from engine.rules.geometry import parse_move, parse_moves
from engine.rules.rule import NET_RULES
from engine.timing.budget import SearchLimits
from tests.tactics import defence
from tests.tactics.defence import passes, play

SIMULATIONS = 1600  # about an eighth of a second; the solver may spend 64,000 placements on them
LONG = os.environ.get("TENGEN_LONG") == "1"
POSITIONS = 500 if LONG else 12


@pytest.mark.parametrize("rule", NET_RULES)
def test_no_threat_is_left_that_could_be_stopped(rule: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the judge does not settle soon is replaced by another position: one can take ten seconds."""
    if not LONG:
        monkeypatch.setattr(defence, "JUDGE_NODES", defence.JUDGE_NODES[:1])
    engine = Engine(EngineConfig(seed=1))
    score = play(engine, rule, POSITIONS, 1, SearchLimits(max_nodes=SIMULATIONS))
    engine.close()
    assert score.asked == POSITIONS
    assert score.stopped > 0
    assert score.failed == []


def test_a_move_that_ignores_an_open_three_does_not_pass() -> None:
    board = Board(15, 15, 0)
    for point in parse_moves("h8a1h9a15h10", 15, 15):
        board.place(point)
    assert passes(board, parse_move("o1", 15, 15)) is False
    assert passes(board, parse_move("h7", 15, 15)) is True
