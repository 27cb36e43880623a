"""Conformance case 9: every rule, by positions with one right answer; the judge's zip-tester positions."""

from __future__ import annotations

import random
import re

import pytest

from engine.rules.rule import NET_RULES
from tests.protocol.position import Cell, Position, position_after
from tests.protocol.talk import Talk, assert_legal, board_lines, board_of_moves, cells

pytestmark = pytest.mark.posix

QUIET = [(x + y % 2, y) for y in (14, 12) for x in range(0, 14, 3)]
"""Cells near the lower edge that threaten nothing together."""


def best(talk: Talk, own: list[Cell], opponent: list[Cell], *, first: bool = True) -> Cell:
    """Return the answer where `own` is to move and has black (`first`) or white; quiet stones fill up."""
    fill = [c for c in QUIET if c not in own and c not in opponent]
    own, opponent = list(own), list(opponent)
    wanted = 0 if first else 1
    while len(opponent) - len(own) != wanted:
        (own if len(opponent) - len(own) > wanted else opponent).append(fill.pop())
    return talk.move(*board_lines([(c, 1) for c in own] + [(c, 2) for c in opponent]))


def row(xs: str | range, y: int) -> list[Cell]:
    values = xs if isinstance(xs, range) else map(int, xs.split())
    return [(x, y) for x in values]


EDGE_FOURS = [
    ([(x, 0) for x in range(4)], (4, 0)),
    ([(14, y) for y in range(4)], (14, 4)),
    ([(i, i) for i in range(4)], (4, 4)),
    ([(14 - i, i) for i in range(4)], (10, 4)),
    ([(x, 7) for x in range(11, 15)], (10, 7)),
    ([(i, 4 - i) for i in range(4)], (4, 0)),
    ([(x, 0) for x in (0, 1, 3, 4)], (2, 0)),
]


@pytest.mark.parametrize("rule", NET_RULES)
@pytest.mark.parametrize("first", [True, False], ids=["black", "white"])
def test_case_09_runs_at_the_edge(talk: Talk, rule: int, first: bool) -> None:
    talk.start(15, rule, turn_ms=300)
    for four, win in EDGE_FOURS:
        assert best(talk, four, [], first=first) == win
        # the other way round: the opponent's four must be stopped there
        assert best(talk, [], four, first=first) == win


@pytest.mark.parametrize("first", [True, False], ids=["black", "white"])
@pytest.mark.parametrize("rule", NET_RULES)
def test_case_09_six(talk: Talk, rule: int, first: bool) -> None:
    """Own stones on 3-6 and 8 of a row: 7 makes six, 2 makes five."""
    six_wins = rule in (0, 8) or (rule == 4 and not first)
    talk.start(15, rule, turn_ms=300)
    answer = best(talk, row("3 4 5 6 8", 7), [], first=first)
    assert answer in ({(7, 7), (2, 7)} if six_wins else {(2, 7)})


@pytest.mark.parametrize("rule", NET_RULES)
def test_case_09_five_between_two_opponents(talk: Talk, rule: int) -> None:
    """A five blocked at both ends is none in caro; the edge does not block."""
    blocked = row("1 2 3 4", 0)
    guards = [(0, 0), (6, 0)]
    open_win = [(14, y) for y in range(3, 7)]
    talk.start(15, rule, turn_ms=300)
    wins = {(14, 7)} if rule in (8, 9) else {(14, 7), (5, 0)}
    assert best(talk, blocked + open_win, [*guards, (14, 2)]) in wins
    # a five on the edge with one opponent at its other end
    assert best(talk, row("0 1 2 3", 0), [(5, 0)]) == (4, 0)


@pytest.mark.parametrize("rule", [8, 9])
def test_case_09_six_between_two_opponents(talk: Talk, rule: int) -> None:
    """Six wins under rule 8 also when it is blocked at both ends; under rule 9 it does not."""
    six = row("2 3 4 6 7", 5)
    talk.start(15, rule, turn_ms=300)
    answer = best(talk, six, [(1, 5), (8, 5)])
    assert (answer == (5, 5)) == (rule == 8)


def test_case_09_five_with_an_overline_wins_in_renju(talk: Talk) -> None:
    five = row("3 4 5 6", 7)
    column = [(7, y) for y in (4, 5, 6, 8, 9)]
    talk.start(15, 4, turn_ms=300)
    assert best(talk, five + column, [(2, 7)]) == (7, 7)


def forbidden(talk: Talk, moves: list[Cell] | None = None) -> set[Cell]:
    """Return the answer to YXSHOWFORBID, after a silent YXBOARD with these moves."""
    if moves is not None:
        talk.say(*board_of_moves(moves, "YXBOARD"))
    answer = talk.ask("YXSHOWFORBID")
    match = re.fullmatch(r"FORBID ((?:\d{4})*)\.", answer)
    assert match, answer
    pairs = re.findall(r"(\d\d)(\d\d)", match[1])
    return {(int(x), int(y)) for x, y in pairs}


@pytest.mark.parametrize(
    ("black", "white", "point", "foul"),
    [
        (row("3 4 5 9 10 11", 7), [], (7, 7), True),  # XXX.p.XXX, two fours on one line
        (row("3 4 7 9 10", 7), [], (6, 7), True),  # XX.pX.XX
        (row("3 5 7 9", 7), [], (6, 7), True),  # X.XpX.X
        (row("4 5 6", 7), [], (7, 7), False),  # one straight four
        ([*row("4 5 6", 7), (7, 5), (7, 6)], [(3, 7)], (7, 7), False),  # four-three
        ([*row("5 6", 7), (7, 5), (7, 6)], [], (7, 7), True),  # three-three
        ([*row("5 6", 7), (7, 5), (7, 6)], [(3, 7), (8, 7)], (7, 7), False),  # one three is dead
        (row("3 4 5 7 8", 7), [], (6, 7), True),  # overline
        ([*row("3 4 5 6", 7), (7, 4), (7, 5), (7, 6), (7, 8), (7, 9)], [], (7, 7), False),  # five first
        ([*row("5 6", 7), (7, 5), (7, 6), *row("2 10", 7)], [], (7, 7), False),  # straight four would be six
    ],
)
def test_case_09_renju_fouls(
    talk: Talk, black: list[Cell], white: list[Cell], point: Cell, foul: bool
) -> None:
    fill = [c for c in QUIET if c not in white]
    white = white + fill[: len(black) - len(white)]
    moves = [cell for pair in zip(black, white, strict=True) for cell in pair]
    talk.start(15, 4)
    assert (point in forbidden(talk, moves)) == foul
    talk.quiet()


def crowded_position(rng: random.Random) -> Position:
    """Return a renju position, black to move, that is full of black shapes."""
    position = Position(15, 4)
    while len(position.moves) < 40:
        crowd = position.to_move == 0 or rng.random() < 0.4
        low, high = (3, 11) if crowd else (0, 14)
        cell = (rng.randint(low, high), rng.randint(low, high))
        if position.is_legal(cell) and not position.wins(cell, position.to_move):
            position.play(cell)
    return position


def test_case_09_forbidden_points_are_those_of_the_naive_rules(talk: Talk) -> None:
    """Nested three-threes included: the naive rules recurse as far as it goes."""
    rng = random.Random(2)
    found = 0
    talk.start(15, 4)
    for _ in range(60):
        position = crowded_position(rng)
        expected = {c for c in position.empty_cells() if position.is_foul(c)}
        assert forbidden(talk, position.moves) == expected, position.moves
        found += len(expected)
    assert found > 60
    talk.quiet()


def test_case_09_black_never_answers_with_a_foul(talk: Talk) -> None:
    rng = random.Random(3)
    talk.start(15, 4, turn_ms=0)
    for _ in range(40):
        position = crowded_position(rng)
        assert_legal(position, talk.move(*board_of_moves(position.moves)))


@pytest.mark.parametrize("rule", [0, 1, 8, 9])
def test_no_point_is_forbidden_outside_renju(talk: Talk, rule: int) -> None:
    talk.start(15, rule)
    assert forbidden(talk, cells("h8h9i7i9h10i6i11i12")) == set()


ZIP_TESTER = [
    *((rule, "h8h9i8i9j8j9k8k9", cells("g8l8"), True) for rule in NET_RULES),
    (1, "h8h9i8h10g8h11j13h12g14h14i15", cells("f8j8"), True),
    (4, "h8h9i7i9h10i6i11i12", cells("g9"), False),
    (8, "h8f8g8f9i8f7j8l8", cells("f5f6f10f11"), True),
]


@pytest.mark.parametrize("turn_ms", [0, 300, 1000])
@pytest.mark.parametrize(("rule", "moves", "answers", "among"), ZIP_TESTER)
def test_judge_zip_tester_positions(
    talk: Talk, *, rule: int, moves: str, answers: list[Cell], among: bool, turn_ms: int
) -> None:
    talk.start(15, rule, turn_ms=turn_ms)
    answer = talk.move(*board_of_moves(cells(moves)))
    if turn_ms or moves.endswith("k8k9") or not among:  # without time or net only fives must be seen
        assert (answer in answers) == among
    assert_legal(position_after(15, rule, cells(moves)), answer)


def test_continuous_game_goes_on_after_a_five(talk: Talk) -> None:
    """Rule 2: play on; a dead five is no reason to stop, crash or repeat a cell."""
    talk.start(15, 2, turn_ms=0)
    five: list[tuple[Cell, int]] = [((x, 7), 3) for x in range(3, 8)]
    taken = {cell for cell, _ in five}
    answer = talk.move(*board_lines([*five, ((8, 8), 2)]))
    taken |= {(8, 8), answer}
    for y in range(15):
        cell = (12, y)
        if cell not in taken:
            taken.add(cell)
            answer = talk.move(f"TURN 12,{y}")
            assert answer not in taken
            taken.add(answer)
    talk.quiet()
