"""Another brain as opponent of a person: moves in any position, and one clear line for every failure."""

from __future__ import annotations

import shlex
import sys
import threading
from pathlib import Path

import pytest

from arena import opponent as module
from arena.opponent import BrainOpponent, OpponentError
from arena.play import TerminalOpponent, main
from arena.records import GameSetup
from engine.config import EngineConfig
from engine.play.actions import act
from engine.play.commands import parse_command
from engine.play.game import Game
from engine.play.players import Players
from engine.play.screen import Screen
from engine.play.session import Session
from engine.play.thinker import Thinker
from tests.helpers.paths import HELPERS

BRAIN = f"{shlex.quote(sys.executable)} {shlex.quote(str(HELPERS / 'dumb_brain.py'))}"
SETUP = GameSetup(0, 9, 9, 0)
NEVER = threading.Event()


@pytest.fixture(autouse=True)
def _short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_MS", 400)


@pytest.fixture
def brain(request: pytest.FixtureRequest):
    made = BrainOpponent(f"{BRAIN} {getattr(request, 'param', 'first')}")
    yield made
    made.close()


def moves(brain: BrainOpponent, count: int, turn_ms: int = 20_000) -> list[int]:
    """Let the brain play white against stones in the last row."""
    points: list[int] = []
    for own in range(count):
        points.append(80 - own)
        points.append(brain.move(SETUP, points, turn_ms, NEVER))
    return points


def test_it_plays_on_whatever_is_taken_back(brain: BrainOpponent) -> None:
    points = moves(brain, 2)
    assert points[1::2] == [0, 1] and brain.remark == "thinking" and brain.name == "dumb_brain"
    process = brain._manager.brain.process.pid
    assert brain.move(SETUP, [80, 0, 70], 20_000, NEVER) == 1, "the position is told by BOARD"
    assert brain.move(SETUP, [80], 20_000, NEVER) == 0, "a new game"
    assert brain._manager.brain.process.pid == process, "in the same process"
    assert brain.move(GameSetup(0, 7, 7, 0), [40], 20_000, NEVER) == 0
    assert brain.move(GameSetup(0, 7, 7, 0), [], 20_000, NEVER) == 0


@pytest.mark.parametrize("brain", ["words"], indirect=True)
def test_a_brain_that_reads_values_up_to_a_blank_can_play(brain: BrainOpponent) -> None:
    assert len(moves(brain, 2)) == 4


@pytest.mark.parametrize(
    ("brain", "why"),
    [
        ("crash", "dumb_brain ended: exit status 1"),
        ("hang", "dumb_brain gave no move in 0.3 s and 0.4 s more; it was ended"),
        ("taken", r"dumb_brain played .*, which is taken"),
        ("babble", "dumb_brain said 'ERROR no idea' instead of a move"),
        ("refuse", "dumb_brain does not start: START was answered by 'ERROR size'"),
    ],
    indirect=["brain"],
)
def test_a_failure_is_one_line_and_the_brain_can_be_asked_again(brain: BrainOpponent, why: str) -> None:
    with pytest.raises(OpponentError, match=f"^{why}$"):
        moves(brain, 3, 300 if "no move" in why else 20_000)
    if "start" not in why:
        assert brain.move(SETUP, [80, 0, 79, 1, 78], 20_000, NEVER) not in (80, 0, 79, 1, 78)


@pytest.mark.parametrize("brain", ["hang"], indirect=True)
def test_a_wait_can_be_ended(brain: BrainOpponent) -> None:
    stop = threading.Event()
    points = moves(brain, 2)
    threading.Timer(0.2, stop.set).start()
    with pytest.raises(OpponentError, match=r"^dumb_brain was stopped$"):
        brain.move(SETUP, [*points, 70], 60_000, stop)
    assert brain._manager is None


@pytest.mark.posix
def test_names_are_those_of_programs(tmp_path: Path) -> None:
    for name, called in (("pbrain-x.exe", "pbrain-x"), ("pbrain v1.2", "pbrain v1.2"), ("run.sh", "run")):
        path = tmp_path / name
        path.write_text("#!/bin/sh\nexit 1\n")
        path.chmod(0o755)
        assert BrainOpponent(str(path)).name == called
    with pytest.raises(OpponentError, match="there is no program"):
        BrainOpponent("/no/such/pbrain")


@pytest.fixture
def session(brain: BrainOpponent):
    from io import StringIO

    from rich.console import Console

    thinker = Thinker(EngineConfig(net="uniform", seed=1), log=lambda text: None, tick=lambda s: None)
    player = TerminalOpponent(" ".join(map(shlex.quote, brain.command)))
    screen = Screen(Console(file=StringIO(), width=100, height=40))
    made = Session(Game(9, 9), Players(opponent=player, time_s=20.0), thinker, screen, act)
    yield made
    player.close()
    thinker.close()


def type_in(session: Session, text: str) -> None:
    session._act(session, parse_command(text, 9, 9))
    while session.engine_is_due:
        try:
            session._engine_turn()
        except OpponentError as error:
            session.say(str(error), bad=True)
            session.paused = True


@pytest.mark.parametrize("brain", ["first"], indirect=True)
def test_a_game_at_the_terminal(session: Session) -> None:
    type_in(session, "e5")
    assert session.game.points == [40, 0] and session.message.startswith("white plays a1 (thinking).")
    assert "  white (O): dumb_brain" in session.default_panel()
    type_in(session, "undo")
    type_in(session, "i9")
    assert session.game.points == [80, 0]
    assert session.players.name(1) == "dumb_brain" and session.players.name(0) == "human"


@pytest.mark.parametrize("brain", ["crash"], indirect=True)
def test_a_crash_pauses_the_game_and_go_asks_again(session: Session) -> None:
    for text in ("e5", "i9", "i8"):
        type_in(session, text)
    assert session.message == "dumb_brain ended: exit status 1" and session.bad and session.paused
    assert session._turn_text() == "Paused, white (dumb_brain) to move; `go` plays on."
    type_in(session, "go")
    assert len(session.game.points) == 6 and not session.paused


def test_wrong_options_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    from engine.__main__ import main as engine

    for run, arguments, why in (
        (main, ["--opponent", "/no/such/pbrain"], "there is no program '/no/such/pbrain'"),
        (main, ["--opponent", "x", "--swap2"], "do not go together"),
        (engine, ["play", "--opponent", "x"], "python -m arena.play"),
    ):
        assert run(arguments) == 1
        error = capsys.readouterr().err
        assert why in error and error.count("\n") == 1
