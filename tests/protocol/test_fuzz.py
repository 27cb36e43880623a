"""Random and mutated lines: no crash, no hang, never two answers to one question.

The default run feeds 50,000 lines, TENGEN_LONG=1 four times as many;
`python -m tests.protocol.fuzz --lines N --seed S` as many as wanted.
"""

from __future__ import annotations

import os

import pytest

from tests.protocol.fuzz import MOST_FAILURES, fuzz, main
from tests.protocol.fuzz_model import Matcher, Model, Question

pytestmark = pytest.mark.posix


LONG = os.environ.get("TENGEN_LONG") == "1"
LINES = 50_000 if LONG else 15_000


@pytest.mark.parametrize("seed", [1, 2, 3, 4] if LONG else [1, 2])
def test_random_and_mutated_lines(seed: int) -> None:
    tally = fuzz(LINES, seed)
    assert tally.lines >= LINES
    assert tally.answers > tally.lines // 4


def test_a_brain_that_is_gone_is_a_failure_with_its_seed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TENGEN_TEST_BRAIN", "false")
    monkeypatch.setattr("sys.argv", ["fuzz", "--seed", "7", "--first", "3"])
    assert main() == 1
    said = capsys.readouterr().out
    assert said.startswith("seed 7, process 3: ")
    assert f"failures={MOST_FAILURES})" in said


def questions(*lines: bytes, started: bool = True) -> list[Question]:
    model = Model(started)
    return [q for q in map(model.feed, lines) if q is not None]


def accepts(lines: list[bytes], *answers: str, started: bool = True) -> bool:
    asked = questions(*lines, started=started)
    matcher = Matcher(asked)
    return all(matcher.answer(kind) for kind in answers) and matcher.complete(len(asked))


def test_model_wants_one_answer_to_each_question() -> None:
    assert accepts([b"TURN 7,7"], "MOVE")
    assert accepts([b"TURN 7,7"], "ERROR")
    assert not accepts([b"TURN 7,7"])
    assert not accepts([b"TURN 7,7"], "MOVE", "MOVE")
    assert not accepts([b"TURN 7,7"], "UNKNOWN")
    assert not accepts([b"INFO rule 1"], "OK")
    assert not accepts([b"ABOUT"], "ABOUT", "ABOUT")
    assert not accepts([b"hello"], "ERROR")


def test_model_knows_that_yixin_board_hears_of_one_dropped_move() -> None:
    gui = [b"YXSHOWINFO", b"BOARD", b"7,7,2", b"DONE"]
    again = [b"START 15 15", b"BOARD", b"5,5,2", b"DONE"]
    assert accepts([*gui, *again], "OK", "MOVE", "MOVE")
    assert accepts([*gui, *again], "OK", "MOVE")
    assert not accepts([*gui, *again], "OK", "MOVE", "MOVE", "MOVE")
    assert not accepts([*gui[1:], *again], "OK", "MOVE", "MOVE")
    assert accepts([b"YXSHOWINFO", b"YXNBEST 2", b"START 15 15"], "OK")
    assert not accepts([b"YXSHOWINFO", b"YXNBEST 2", b"START 15 15"], "OK", "MOVE")


def test_model_swallows_what_belongs_to_a_command() -> None:
    assert accepts([b"YXHASHDUMP", b"START 15"]) and accepts([b"YXBLOCKPATH", b"7,7", b"DONE"])
    assert accepts([b"RIFSTEP5", b"7,7", b"DONE", b"1,1 2,2"], "ERROR")
    assert accepts([b"BALANCE 2", b"7,7,2", b"DONE"], "SWAP2")
    assert accepts([b"SHOWFORBID", b"DONE"], "FORBID") and accepts([b"YXSWAP2STEP1"])
    assert not accepts([b"PONDER"], "MOVE") and accepts([b"PONDER x"], "ERROR")


def test_model_lets_quick_answers_overtake_a_search() -> None:
    assert accepts([b"BEGIN", b"ABOUT"], "MOVE", "ABOUT")
    assert accepts([b"BEGIN", b"ABOUT"], "ABOUT", "MOVE")
    assert not accepts([b"ABOUT", b"BEGIN"], "MOVE", "ABOUT")
    assert accepts([b"BEGIN", b"TURN x"], "MOVE", "ERROR")


def test_model_knows_what_drops_a_question() -> None:
    assert accepts([b"BEGIN", b"START 15"], "OK")
    assert accepts([b"BEGIN", b"START 15"], "MOVE", "OK")
    assert not accepts([b"BEGIN", b"START 15"], "OK", "MOVE")
    assert not accepts([b"BEGIN", b"START 15"], "MOVE")
    assert accepts([b"BEGIN", b"TURN 1,1", b"BOARD", b"7,7,2", b"DONE"], "MOVE")
    assert not accepts([b"BEGIN", b"BOARD", b"DONE"], "MOVE", "MOVE", "MOVE")
    assert accepts([b"BEGIN", b"TAKEBACK 7,7"], "OK")
    assert accepts([b"BEGIN", b"TAKEBACK 7,7"], "ERROR", "MOVE")
    assert not accepts([b"BEGIN", b"TAKEBACK 7,7"], "OK", "MOVE")


def test_model_reads_blocks() -> None:
    assert accepts([b"BOARD", b"hello", b"7,7", b"ABOUT", b"DONE"], "ABOUT", "MOVE")
    assert accepts([b"BOARD", b"7,7,1", b"TURN 7,7"], "MOVE")
    assert accepts([b"SWAP2BOARD", b"DONE"], "SWAP2")
    assert accepts([b"YXBOARD", b"7,7,1", b"done"])
    assert accepts([b"BOARD", b"7,7,1", b"DONE", b"DONE"], "ERROR", "ERROR", started=False)


def test_model_of_a_brain_that_was_not_started() -> None:
    for line in (b"BEGIN", b"TURN 1,1", b"TAKEBACK 1,1", b"RESTART", b"PLAY 1,1"):
        assert accepts([line], "ERROR", started=False)
        assert not accepts([line], "OK", started=False)
        assert not accepts([line], "MOVE", started=False)
