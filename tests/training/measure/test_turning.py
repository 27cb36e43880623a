"""Turning points: what counts as seen, the file, the statistics, the command."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from engine.config import EngineConfig
from engine.search.stoppers import SearchState
from tests.helpers.paths import ROOT
from training import turning as command
from training.measure.turning import (
    FALL,
    Sighting,
    SuiteError,
    TurningPoint,
    TurnStopper,
    ratio,
    read_suite,
    summary,
    watch,
    with_references,
    write_suite,
)

# Black's last move is far away; white's answer makes an open three into an open four.
MOVES = (0, 112, 14, 113, 210, 114, 224)
POINT = TurningPoint("a/1", 0, 15, 15, MOVES, 115, 0.1, -0.2, "fit")


def state(point: int, q: float, proven: str | None = None, updated_at: int = 8) -> SearchState:
    return SearchState(simulations=8, updated_at=updated_at, best_point=point, best_q=q, proven=proven)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("side", "seen", "what"),
    [
        ("before", False, state(MOVES[-1], 0.1)),
        ("before", True, state(5, 0.1)),
        ("before", True, state(MOVES[-1], 0.1 - FALL)),
        ("before", False, state(5, 0.1, updated_at=4)),
        ("behind", False, state(5, -0.2 - FALL + 0.01)),
        ("behind", True, state(5, -0.2 - FALL)),
        ("behind", True, state(5, -0.2, proven="loss")),
    ],
)
def test_a_turn_is_seen_by_move_score_or_proof(side: str, seen: bool, what: SearchState) -> None:
    stopper = TurnStopper(POINT, side)  # type: ignore[arg-type]
    assert (stopper.should_stop(what) is not None) == stopper.seen == seen


def test_the_loser_is_to_move_in_both_positions() -> None:
    assert [POINT.position(side).ply for side in ("before", "behind")] == [6, 8]  # type: ignore[arg-type]
    assert {POINT.position(side).to_move for side in ("before", "behind")} == {0}  # type: ignore[arg-type]


def test_a_suite_is_read_as_it_was_written(tmp_path: Path) -> None:
    suite = [POINT, replace(POINT, before=None, half="confirm")]
    write_suite(tmp_path / "s.jsonl", suite)
    assert read_suite(tmp_path / "s.jsonl") == suite


def test_the_suite_has_two_halves_in_each_league() -> None:
    suite = read_suite(ROOT / "docs" / "tuning" / "turning-points.jsonl")
    leagues = Counter((point.width, point.rule, point.half) for point in suite)
    boards = ((15, 0), (20, 0), (15, 1), (15, 4))
    assert set(leagues) == {(*board, half) for board in boards for half in ("fit", "confirm")}
    assert min(leagues.values()) >= 25
    for page in ("CHANGELOG.md", "docs/commands.md", "training/record/search.md"):
        assert f"turning-points.jsonl` has {len(suite)}" in (ROOT / page).read_text("utf-8"), page


@pytest.mark.parametrize("change", [{"moves": [0, 0]}, {"half": "third"}, {"answer": 999}, {"rule": 77}])
def test_damage_is_named_with_its_line(tmp_path: Path, change: dict[str, object]) -> None:
    write_suite(tmp_path / "s.jsonl", [POINT])
    table = json.loads((tmp_path / "s.jsonl").read_text())
    (tmp_path / "s.jsonl").write_text(json.dumps({**table, **change}) + "\n")
    with pytest.raises(SuiteError, match="line 1"):
        read_suite(tmp_path / "s.jsonl")


def test_searches_repeat_themselves_and_what_is_seen_at_once_is_left_out() -> None:
    config = EngineConfig(net="uniform", seed=1)
    assert all(point.behind is None for point in with_references([POINT], config))  # an open four
    suite = [replace(POINT, before=0.0, behind=0.9)]
    first = watch(suite, config, 200)
    assert first == watch(suite, config, 200)
    assert [s.side for s in first] == ["before", "behind"]


def test_the_ratio_of_a_search_to_itself_is_one_and_of_twice_the_simulations_two() -> None:
    counts = [Sighting(i, "behind", 100 * (i + 1), True) for i in range(9)]
    twice = [replace(s, simulations=2 * s.simulations) for s in counts]
    assert ratio(counts, counts) == pytest.approx((1, 1, 1))
    assert ratio(twice, counts) == pytest.approx((2, 2, 2))
    value, low, high = summary(counts).median
    assert value == 500 and low < value < high


def test_the_command_measures_defaults_and_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_suite(tmp_path / "s.jsonl", [POINT])
    arguments = ["measure", str(tmp_path / "s.jsonl"), "--limit", "64", "--workers", "1"]
    assert command.main([*arguments, "--set", "search.c_puct=2", "--json", str(tmp_path / "out.json")]) == 0
    out = capsys.readouterr().out
    assert "in front of the move, 1 positions" in out and "times the simulations of the defaults" in out
    assert len(json.loads((tmp_path / "out.json").read_text())["changed"]) == 2
    assert command.main([*arguments, "--tree-mib", "1"]) == 0
    out = capsys.readouterr().out
    assert "1 MiB: in front of the move" in out and "needs 1.000" in out, "64 simulations fill no memory"
    assert command.main([*arguments, "--tree-mib", "0"]) == 2
    assert command.main(["measure", str(tmp_path / "none.jsonl")]) == 2
    assert command.main([*arguments, "--half", "confirm"]) == 2
