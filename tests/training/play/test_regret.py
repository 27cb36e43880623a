"""Starts from regret: which positions have it, and that games begin there."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from engine.rules._board import EMPTY, Board
from training.data.records import DRAW, End, Flag, GameBuilder, SelfPlayRecord
from training.play.evaluators import load_evaluator
from training.play.groups import GameGroups
from training.play.regret import FORESIGHT, KEPT, LEAST, Mistakes, regrets
from training.settings.play import Mix, OpeningConfig, PlayConfig
from training.settings.schema import RunConfig
from training.settings.values import ConfigError

SIDE = 9


def game(
    black: list[float], winner: int, end: End = End.PROVEN, opening: int = 2, rule: int = 0
) -> SelfPlayRecord:
    """A game whose searches thought so well of black, win - loss, one after the other."""
    builder = GameBuilder(rule, SIDE, SIDE, opening=list(range(opening)), net_id="n", seed=1)
    for i, value in enumerate(black):
        side = (opening + i) % 2
        own = value if side == 0 else -value
        builder.add(Flag.FULL, ((1 + own) / 2, 0.0, (1 - own) / 2))
        if i < len(black) - 1:
            builder.play(opening + i)
    return builder.finish(winner, end)


def test_the_side_that_was_too_sure_has_the_regret():
    # Black to move at even places. Black believes in its game until white's proof.
    found = regrets(game([0.6, 0.6, 0.7, 0.6, -1.0], winner=1))
    assert found == pytest.approx([1.6, 0.0, 1.7, 0.0, 0.0], abs=0.02)
    # White believed (black at -0.5) and lost: white's positions have it, black's none.
    found = regrets(game([-0.5, -0.5, -0.5, -0.5, 1.0], winner=0))
    assert found == pytest.approx([0.0, 1.5, 0.0, 1.5, 0.0], abs=0.02)


def test_what_falls_later_than_can_be_foreseen_is_no_regret():
    steady = [0.5] * (2 * FORESIGHT + 2) + [-1.0] * 2
    found = regrets(game(steady, winner=1))
    assert found[0] == pytest.approx(0.0, abs=0.02) and found[2] == pytest.approx(1.5, abs=0.02)


def test_a_draw_counts_as_nothing_and_a_cut_game_as_its_last_value():
    assert regrets(game([0.6, 0.6, 0.6], winner=DRAW, end=End.BOARD_FULL))[0] == pytest.approx(0.6, abs=0.02)
    assert regrets(game([0.6, 0.6, 0.6], winner=DRAW, end=End.LENGTH)).max() < 0.02


def test_the_worst_position_is_remembered_and_drawn_once():
    mistakes = Mistakes()
    mistakes.learn(game([0.1, 0.1, 0.1], winner=DRAW))
    assert not len(mistakes), "a regret below the least"
    mistakes.learn(game([0.6, 0.6, 0.7, 0.6, -1.0], winner=1, rule=4))
    start = mistakes.draw(np.random.default_rng(1))
    assert start is not None and start.rule == 4 and start.regret > LEAST
    assert start.points == (0, 1, 2, 3), "two stones given, two moves played before the worst position"
    assert mistakes.draw(np.random.default_rng(1)) is None


def test_larger_regrets_are_drawn_more_often_and_old_ones_are_forgotten():
    rng, large = np.random.default_rng(1), 0
    for _ in range(300):
        mistakes = Mistakes()
        mistakes.learn(game([0.9, 0.9, -1.0], winner=1))
        mistakes.learn(game([-0.4, -0.4, -1.0], winner=1, opening=4))
        start = mistakes.draw(rng)
        assert start is not None
        large += len(start.points) == 2
    assert 200 < large < 260  # 1.9 against 0.6
    for _ in range(KEPT + 10):
        mistakes.learn(game([0.9, 0.9, -1.0], winner=1))
    assert len(mistakes) == KEPT


def played(share: float, positions: int) -> tuple[list[SelfPlayRecord], int]:
    config = PlayConfig(
        simulations=12, fast_simulations=6, full_share=0.6,
        opening=OpeningConfig(max_stones=2, regret_share=share),
    )  # fmt: skip
    groups = GameGroups(config, 8, seed=5)
    groups.use(load_evaluator("tactical"))
    counters = groups.play(Mix(((SIDE, SIDE, 1.0),), ((0, 1.0), (4, 1.0))), positions, lambda: False)
    return groups.finished, counters.regretted


def test_games_begin_where_others_went_wrong():
    plain, none = played(0.0, 500)
    games, regretted = played(0.5, 2000)
    assert none == 0 and max(g.opening for g in plain) <= 2
    long = [g for g in games if g.opening > 2]
    assert regretted >= len(long) > 20
    for record in long:
        board = Board(record.width, record.height, record.rule)
        for point in record.moves[: record.opening].tolist():
            board.place(point)
        assert board.winner == EMPTY
        assert any(
            len(g.moves) > record.opening
            and g.rule == record.rule
            and g.moves[: record.opening].tolist() == record.moves[: record.opening].tolist()
            for g in games
            if g is not record
        )
    again, _ = played(0.5, 2000)
    assert [g.moves.tolist() for g in games] == [g.moves.tolist() for g in again]


def test_a_share_is_a_share():
    play = PlayConfig(opening=OpeningConfig(regret_share=1.5))
    with pytest.raises(ConfigError, match="regret_share"):
        dataclasses.replace(RunConfig(), play=play)
