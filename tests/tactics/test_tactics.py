"""The tactics suite says what is so. TENGEN_LONG=1 judges every position anew."""

from __future__ import annotations

import collections
import os

import pytest

from engine.commands.tactics import Tactic, from_json, read_suite
from engine.rules import _board
from engine.rules.rule import NET_RULES
from tests.tactics import make
from tests.tactics.judge import FINAL_NODES, Judge

LONG = os.environ.get("TENGEN_LONG") == "1"
SUITE = read_suite()
PART = SUITE if LONG else SUITE[::6]


def test_the_suite_covers_all_rules_and_themes() -> None:
    assert len(SUITE) >= 300
    assert len({t.id for t in SUITE}) == len({(t.rule, t.board().hash) for t in SUITE}) == len(SUITE)
    by_rule = collections.Counter(t.rule for t in SUITE)
    assert set(by_rule) == set(NET_RULES) and min(by_rule.values()) >= 50
    for theme, least in (("vcf", 100), ("vct", 60), ("defence", 40), ("trap", 20), ("rule", 20)):
        assert sum(t.theme == theme for t in SUITE) >= least, theme
    for rule in NET_RULES:
        assert {t.distance for t in SUITE if t.rule == rule and t.theme == "vcf"} >= {3, 5, 7, 9}
    assert sum(t.edge for t in SUITE) >= 10


def test_positions_are_unfinished_and_good_moves_legal() -> None:
    for t in SUITE:
        board = t.board()
        assert board.winner == _board.EMPTY and board.to_move == t.to_move, t.id
        assert t.good and set(t.good) <= set(board.legal_points()), t.id
        assert t.goal in ("win", "hold") and t.distance % 2 == 1, t.id


def test_a_tactic_survives_its_text() -> None:
    for t in SUITE:
        assert from_json(t.to_json()) == t


@pytest.mark.parametrize("tactic", PART, ids=[t.id for t in PART])
def test_the_judge_finds_the_same(tactic: Tactic) -> None:
    board = tactic.board()
    found = make.find(board, Judge(FINAL_NODES))
    assert found is not None
    theme, goal, good, distance = found
    assert (goal, tuple(good)) == (tactic.goal, tactic.good)
    assert tactic.theme == "rule" or theme.removesuffix(" rule") == tactic.theme
    if goal == "win" and "vcf" in theme:
        assert distance == tactic.distance


@pytest.mark.parametrize("tactic", PART[::1 if LONG else 3], ids=[t.id for t in PART[::1 if LONG else 3]])
def test_exhaustive_search_agrees(tactic: Tactic) -> None:
    board, good = tactic.board(), list(tactic.good)
    if tactic.goal == "hold":
        assert make.confirm_hold(board, good)
        return
    vcf = Judge().solve(board, tactic.to_move, "vcf").verdict > 0
    assert make.confirm_win(board, "vcf" if vcf else "vct", tactic.distance, good)
