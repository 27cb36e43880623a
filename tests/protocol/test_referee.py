"""The referee catches a brain that misbehaves, and has nothing to say about one that does not."""

from __future__ import annotations

import itertools
import random
import shlex
import sys
from pathlib import Path

import pytest

from tests.protocol.managers import SEATS
from tests.protocol.openings import place_opening, random_opening, read_openings
from tests.protocol.position import position_after
from tests.protocol.process import Brain
from tests.protocol.records import JudgedGame, Terms, percentile, summarise
from tests.protocol.referee import main, plan_games, play_series

pytestmark = pytest.mark.posix

STUB = f"{shlex.quote(sys.executable)} -S -E {shlex.quote(str(Path(__file__).with_name('stub.py')))}"


def play(profile: str, fault: str = "", games: int = 1, **terms: int) -> list[JudgedGame]:
    """Play the stub (player 0) against the tactical player."""
    series = [
        Terms(n, size=9, rule=0, opening=((4, 4), (5, 5)), **{"turn_ms": 1000, **terms}) for n in range(games)
    ]
    return play_series(profile, [f"{STUB} {fault}", "tactical"], series)


def kinds(records: list[JudgedGame]) -> set[str]:
    assert all(i.player == 0 for r in records for i in r.incidents)
    return {i.kind for r in records for i in r.incidents}


@pytest.mark.parametrize("profile", SEATS)
def test_well_behaved_brain_has_no_incidents(profile: str) -> None:
    records = play(profile, games=3)
    assert kinds(records) == set()
    assert all(r.end == "five" and r.winner == 1 for r in records)
    assert all(r.times for r in records)
    assert sum(len(r.exit_ms) for r in records) >= 1


@pytest.mark.parametrize(
    ("fault", "kind", "loses"),
    [
        ("late", "time", False),
        ("mute", "time", True),
        ("occupied", "illegal move", True),
        ("off-board", "illegal move", True),
        ("crash", "crash", True),
        ("deaf", "no exit", False),
        ("bare-message", "bad message", False),
        ("double", "stray line", False),
    ],
)
@pytest.mark.parametrize("profile", SEATS)
def test_fault_is_caught_by_every_manager(profile: str, fault: str, kind: str, loses: bool) -> None:
    records = play(profile, fault, turn_ms=100, tolerance_ms=300)
    assert kind in kinds(records)
    assert not loses or (records[0].end == kind and records[0].winner == 1)


@pytest.mark.parametrize("profile", SEATS)
def test_wrong_line_loses_where_the_manager_reads_strictly(profile: str) -> None:
    records = play(profile, "chatty")
    assert kinds(records) == {"stray line"}
    assert (records[0].end == "stray line") == (profile != "judge")


def test_words_on_stderr_reach_piskvork_only() -> None:
    assert kinds(play("piskvork", "noisy")) == {"stray line"}
    assert kinds(play("judge", "noisy")) == set()


def test_ok_must_be_the_whole_line() -> None:
    assert "stray line" in kinds(play("cli", "rude"))


def test_memory_beyond_the_limit_is_an_incident() -> None:
    assert "memory" in kinds(play("judge", "fat", max_memory=40 << 20))


def test_late_move_is_measured() -> None:
    records = play("judge", "late", turn_ms=100)
    late = [t.overshoot_ms for t in records[0].times if t.overshoot_ms > 0 and not t.cold]
    assert late and min(late) >= 50


def test_waiting_for_a_core_is_counted_but_no_incident(monkeypatch: pytest.MonkeyPatch) -> None:
    waited_ms = itertools.count(0.0, 10_000.0)
    monkeypatch.setattr(Brain, "queued_ms", lambda brain: next(waited_ms))
    records = play("judge", "late", turn_ms=100)
    assert kinds(records) == set()
    assert records[0].starved >= 1 and summarise(records, ["A", "B"])["starved"] == records[0].starved


def test_foul_loses() -> None:
    # black to move; the first empty cell, 0,0, completes six in the top row
    stones = ((1, 0), (1, 8), (2, 0), (3, 8), (3, 0), (5, 8), (4, 0), (7, 8), (5, 0), (8, 5))
    terms = Terms(1, size=9, rule=4, opening=stones)
    records = play_series("judge", ["tactical", STUB], [terms])
    assert records[0].end == "foul" and records[0].winner == 0


def test_takebacks_are_part_of_a_piskvork_game() -> None:
    # the stub raises on a TAKEBACK of a cell it does not know, which would be a crash
    records = play("piskvork", games=2)
    assert kinds(records) == set()


def test_summary_counts_moves_and_incidents(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "games.json"
    arguments = ["--games", "2", "--rules", "0", "--size", "9", "--turn-ms", "500", "--json", str(out)]
    status = main([*arguments, "--brain", f"{STUB} crash", "--opponent", "tactical"])
    assert status == 1 and "crash" in capsys.readouterr().out and '"crash"' in out.read_text()
    records = play("judge")
    summary = summarise(records, ["A", "B"])
    assert summary["moves"] == len(records[0].times) and summary["incidents"] == {}


def test_percentile_is_the_value_that_a_share_does_not_exceed() -> None:
    values = [float(v) for v in range(1, 1001)]
    assert [percentile(values, s) for s in (0.5, 0.99, 0.999, 1.0)] == [500.0, 990.0, 999.0, 1000.0]


def test_plan_gives_both_colours_every_rule_and_legal_openings() -> None:
    games = plan_games(
        40, [0, 4], [9, 15], seed=3, turn_ms=1, match_ms=1, tolerance_ms=1, max_memory=0, openings=()
    )
    assert {(t.rule, t.size) for t in games} == {(0, 9), (4, 9), (0, 15), (4, 15)}
    for first, second in zip(games[::2], games[1::2], strict=True):
        assert (first.opening, first.rule, first.size) == (second.opening, second.rule, second.size)
        assert not position_after(first.size, first.rule, first.opening).over


def test_openings_are_read_from_offsets(tmp_path: Path) -> None:
    path = tmp_path / "openings.txt"
    path.write_text("0,0, -1, 2\n\n7,7\n")
    assert read_openings(path) == [[(0, 0), (-1, 2)], [(7, 7)]]
    assert place_opening([(0, 0), (-1, 2)], 15, 0) == ((7, 7), (6, 9))
    assert place_opening([(9, 9)], 15, 0) is None
    path.write_text("1,2,3\n")
    with pytest.raises(ValueError, match="odd"):
        read_openings(path)


def test_random_openings_repeat_with_the_seed() -> None:
    draws = [random_opening(15, 4, random.Random(7)) for _ in range(2)]
    assert draws[0] == draws[1]
