"""The referee catches a brain that misbehaves, and has nothing to say about one that does not."""

from __future__ import annotations

import itertools
import random
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from arena.brain_process import BrainProcess
from arena.managers import MANAGERS, base
from arena.managers.plain import PlainManager
from arena.openings import OpeningError, place_offsets, random_opening, read_offsets
from arena.position import KernelArbiter, Position
from arena.records import GameSetup, PlayedGame, percentile, summarise
from arena.series import PROFILES, Series, main, plan_games, play_series, series_limits
from engine.rules.rule import NET_RULES
from tests.protocol.referee import referee
from tests.reference.arbiter import NaiveArbiter

pytestmark = pytest.mark.posix

STUB = f"{shlex.quote(sys.executable)} -S -E {shlex.quote(str(Path(__file__).with_name('stub.py')))}"


def setups(count: int, opening: tuple[int, ...] = (40, 50), rule: int = 0) -> list[GameSetup]:
    return [GameSetup(n, 9, 9, rule, opening, take_back_at=len(opening) + 4) for n in range(count)]


def play(profile: str, fault: str = "", games: int = 1, **limits: int) -> list[PlayedGame]:
    """Play the stub (player 0) against the tactical player."""
    players = [f"{STUB} {fault}", "tactical"]
    return referee(profile, players, _planned(profile, games), series_limits(**limits))


def _planned(profile: str, count: int) -> list[GameSetup]:
    takes_back = MANAGERS[profile].takes_back()
    return setups(count) if takes_back else [replace(s, take_back_at=None) for s in setups(count)]


def kinds(records: list[PlayedGame]) -> set[str]:
    assert all(i.player == 0 for r in records for i in r.incidents)
    return {i.kind for r in records for i in r.incidents}


@pytest.mark.parametrize("profile", PROFILES)
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
        ("occupied", "illegal", True),
        ("off-board", "illegal", True),
        ("crash", "crash", True),
        ("deaf", "no exit", False),
        ("bare-message", "bad message", False),
        ("double", "stray line", False),
    ],
)
@pytest.mark.parametrize("profile", PROFILES)
def test_fault_is_caught_by_every_manager(profile: str, fault: str, kind: str, loses: bool) -> None:
    records = play(profile, fault, turn_ms=100, tolerance_ms=300)
    assert kind in kinds(records)
    assert not loses or (records[0].end == kind and records[0].winner == 1)


@pytest.mark.parametrize("profile", PROFILES)
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
    monkeypatch.setattr(BrainProcess, "hindered_ms", lambda brain: next(waited_ms))
    records = play("judge", "late", turn_ms=100)
    assert kinds(records) == set()
    assert records[0].starved >= 1 and summarise(records, ["A", "B"])["starved"] == records[0].starved


def test_a_manager_that_waits_for_a_core_before_it_asks_makes_no_incident(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited_ms = itertools.count(0.0, 10_000.0)
    monkeypatch.setattr(base, "waited_here_ms", lambda: next(waited_ms))
    assert kinds(play("judge", "late", turn_ms=100)) == set()


def test_foul_loses() -> None:
    # black to move; the first empty cell, 0,0, completes six in the top row
    stones = ((1, 0), (1, 8), (2, 0), (3, 8), (3, 0), (5, 8), (4, 0), (7, 8), (5, 0), (8, 5))
    (game,) = referee(
        "judge", ["tactical", STUB], [GameSetup(1, 9, 9, 4, tuple(y * 9 + x for x, y in stones))],
        series_limits(),
    )  # fmt: skip
    assert game.end == "forbidden" and game.winner == 0


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
    games = plan_games(40, [0, 4], [9, 15], profile="judge", seed=3)
    assert {(g.rule, g.width) for g in games} == {(0, 9), (4, 9), (0, 15), (4, 15)}
    for first, second in zip(games[::2], games[1::2], strict=True):
        assert (first.opening, first.rule, first.width) == (second.opening, second.rule, second.width)
        assert not Position(first.width, first.width, first.rule, first.opening, NaiveArbiter).over


def test_openings_are_read_from_offsets(tmp_path: Path) -> None:
    path = tmp_path / "openings.txt"
    path.write_text("0,0, -1, 2\n\n7,7\n")
    assert read_offsets(path) == [[(0, 0), (-1, 2)], [(7, 7)]]
    assert place_offsets([(0, 0), (-1, 2)], 15, 15, 0) == (7 * 15 + 7, 9 * 15 + 6)
    assert place_offsets([(9, 9)], 15, 15, 0) is None
    path.write_text("1,2,3\n")
    with pytest.raises(OpeningError, match="odd"):
        read_offsets(path)


def test_random_openings_repeat_with_the_seed() -> None:
    draws = [random_opening(random.Random(7), 15, 15, 4, 5) for _ in range(2)]
    assert draws[0] == draws[1]


def test_a_fifth_manager_is_one_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile that is only defined is found by its name and plays."""
    monkeypatch.setattr("arena.managers.base.MANAGERS", dict(MANAGERS))

    class LeagueManager(PlainManager):
        name = "league"
        line_end = b"\n"
        keys = ("timeout_turn", "rule")

    from arena.managers import base

    assert base.MANAGERS.pop("league") is LeagueManager
    monkeypatch.setitem(MANAGERS, "league", LeagueManager)
    assert kinds(play("league", games=2)) == set()
    (game,) = play("league", "chatty")
    said = game.conversations[0]
    assert game.end == "stray line" and "-> INFO timeout_turn 1000\n" in said and "max_memory" not in said


def test_an_incident_keeps_the_conversation() -> None:
    (game,) = play("cli", "double")
    lines = game.conversations[0].splitlines()
    assert lines[0].endswith("-> ABOUT") and any("<- OK" in line for line in lines)
    assert play("cli")[0].conversations == {}


@pytest.mark.parametrize("rule", NET_RULES)
def test_both_arbiters_say_the_same(rule: int) -> None:
    """Random games: what is forbidden, what wins and who has won."""
    rng = random.Random(rule)
    for _ in range(3):
        kernel, naive = (Position(9, 9, rule, arbiter=which) for which in (KernelArbiter, NaiveArbiter))
        while not kernel.over and kernel.legal_points():
            near = kernel.near_points(1) or [40]
            for point in near:
                assert kernel.is_forbidden(point) == naive.is_forbidden(point)
                assert kernel.wins(point, kernel.to_move) == naive.wins(point, naive.to_move)
            point = rng.choice([p for p in near if kernel.is_legal(p)] or kernel.legal_points())
            kernel.play(point)
            naive.play(point)
            assert kernel.winner == naive.winner


def test_games_are_the_same_in_processes() -> None:
    series = Series("judge", (STUB, "tactical"), series_limits())
    from arena.series import run_games

    games = [replace(s, take_back_at=None) for s in setups(4)]
    alone, shared = (run_games(series, games, concurrency=n) for n in (1, 2))
    assert [g.points for g in alone] == [g.points for g in shared]
    assert play_series(series, games[:1])[0].points == alone[0].points


def test_a_command_that_is_none_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--brain", "/no such/pbrain", "--games", "2"]) == 2
    assert capsys.readouterr().err == "error: there is no program '/no'\n"
    assert main(["--games", "2", "--json", "/no such/report.json"]) == 2
    assert capsys.readouterr().err == "error: --json: there is no folder /no such\n"
    for option in ("--games", "--concurrency"):
        with pytest.raises(SystemExit):
            main([option, "0"])
        assert f"argument {option}: must be at least 1" in capsys.readouterr().err
