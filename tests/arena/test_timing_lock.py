"""The timing lock: one holder, jobs that pause, free however the holder ends."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from arena import timing_lock
from arena.match import main
from arena.timing_lock import holding, is_timed, lock_path, pause_while_timed
from tests.helpers.paths import HELPERS, ROOT

HOLDER = """
import sys
from arena.timing_lock import holding
with holding("a long match"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _own_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(timing_lock.VARIABLE, str(tmp_path / "lock"))
    monkeypatch.setattr(timing_lock, "_LOOK_S", 0.01)


@pytest.fixture
def other() -> subprocess.Popen[str]:
    """Another process that holds the lock until its input ends or it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER], cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_job_pauses_until_the_holder_is_gone_even_if_it_was_killed(other: subprocess.Popen[str]) -> None:
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        other.kill()

    assert is_timed()
    assert pause_while_timed(say) > 0 and not is_timed() and pause_while_timed(say) == 0
    assert f"pausing: the machine is timed by a long match (process {other.pid})" == said[0]
    assert said[1].startswith("going on after a pause of") and len(said) == 2


def test_a_pause_can_be_stopped(other: subprocess.Popen[str]) -> None:
    assert pause_while_timed(stop=lambda: True) >= 0 and is_timed()


def test_who_measures_waits_for_its_turn(other: subprocess.Popen[str]) -> None:
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        assert other.stdin is not None
        other.stdin.close()

    with holding("mine", say):
        path = lock_path()
        assert path is not None and "mine (process" in path.read_text()
        assert not is_timed(), "its own process does not pause for it"
        with holding("nested"):
            pass
        assert "mine" in path.read_text()
    assert "held by a long match" in said[0] and len(said) == 1
    assert path.read_text() == ""


def test_an_empty_name_switches_it_off(monkeypatch: pytest.MonkeyPatch, other: subprocess.Popen[str]) -> None:
    monkeypatch.setenv(timing_lock.VARIABLE, "")
    assert not is_timed() and pause_while_timed() == 0
    with holding("anything"):
        assert lock_path() is None


@pytest.mark.parametrize(("options", "held"), [([], True), (["--no-lock"], False)])
def test_a_match_between_brains_with_limits_in_ms_holds_it(
    options: list[str], held: bool
) -> None:
    brain = f"{sys.executable} {HELPERS / 'dumb_brain.py'} random"
    path = lock_path()
    assert path is not None
    assert main(["--a", brain, "--b", "random", "--games", "1", "--size", "7", *options]) == 0
    assert path.exists() == held
    assert main(["--a", "random", "--b", "random", "--games", "1", "--size", "7"]) == 0


def test_a_search_for_a_label_waits(other: subprocess.Popen[str]) -> None:
    from training.measure.deep import DeepConfig, Game, Labeller

    labeller = Labeller(DeepConfig(net="uniform", simulations=20))
    ended = threading.Event()

    def end() -> None:
        ended.set()
        other.kill()

    threading.Timer(0.3, end).start()
    labeller.label(Game("x", 9, 9, 0, 0, (40, 41, 50), 0), 2)
    labeller.close()
    assert ended.is_set()


def test_self_play_waits_and_says_that_it_is_alive(other: subprocess.Popen[str], tmp_path: Path) -> None:
    from multiprocessing import Pipe

    from training.settings.play import Mix, PlayConfig

    (tmp_path / "records").mkdir()
    here, there = Pipe()
    options = {
        "play": PlayConfig(simulations=2, fast_simulations=2), "games": 2, "seed": 1,
        "device": "cpu", "index": 0, "life": 0,
    }  # fmt: skip
    from training.workers import process
    from training.workers.interface import CycleOrder

    thread = threading.Thread(target=process.work, args=(there, tmp_path, options), daemon=True)
    thread.start()
    order = CycleOrder(0, "uniform", Mix(((7, 7, 1.0),), ((0, 1.0),)), 60)
    here.send((7, "play", (order,)))
    said = [here.recv() for _ in range(4)]
    assert {message[:2] for message in said} == {("alive", 7)} and len({message[2] for message in said}) == 1
    other.kill()
    while said[-1][0] == "alive":
        said.append(here.recv())
    assert said[-1][0] == "answer"
    here.send((8, "stop", ()))
    thread.join(30)
