"""The position hash: equal for equal positions, different for whatever makes a position different."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.rules import geometry
from engine.rules._board import Board
from engine.rules.rule import ALL_RULES
from tests.helpers.rules import SIZES

stones_of_9x9 = st.lists(
    st.tuples(st.integers(0, 80), st.integers(0, 1)), max_size=40, unique_by=lambda stone: stone[0]
)


def put(stones: list[tuple[int, int]], rule: int = 0) -> Board:
    board = Board.from_stones(9, 9, rule, stones)
    board.set_to_move(len(stones) & 1)
    return board


@settings(max_examples=200, derandomize=True)
@given(stones_of_9x9, st.randoms(use_true_random=False), st.sampled_from(ALL_RULES))
def test_the_order_of_stones_does_not_matter(
    stones: list[tuple[int, int]], rng: random.Random, rule: int
) -> None:
    shuffled = list(stones)
    rng.shuffle(shuffled)
    assert put(stones, rule).hash == put(shuffled, rule).hash


@settings(max_examples=200, derandomize=True)
@given(stones_of_9x9)
def test_undo_and_copy_restore_the_hash(stones: list[tuple[int, int]]) -> None:
    board = Board(9, 9, 4)
    before = []
    for point, colour in stones:
        before.append(board.hash)
        board.place(point, colour)
    other = board.copy()
    assert other.hash == board.hash
    while before:
        board.undo()
        assert board.hash == before.pop()
    assert other.hash == put(stones, 4).hash or other.to_move != len(stones) & 1


@pytest.mark.parametrize("rule", ALL_RULES)
def test_changes_change_the_hash(rule: int) -> None:
    base = [(40, 0), (41, 1), (31, 0)]
    hashes = {put(base, rule).hash}
    hashes |= {put([*base[:2], (p, 0)], rule).hash for p in range(81) if p not in (31, 40, 41)}
    hashes |= {put([(40, 1), (41, 0), (31, 0)], rule).hash, put([(40, 0), (41, 1), (31, 1)], rule).hash}
    to_move = put(base, rule)
    to_move.set_to_move(0)
    hashes.add(to_move.hash)
    blocked = put(base[:2], rule)
    blocked.block(31)
    hashes.add(blocked.hash)
    assert len(hashes) == 1 + 78 + 2 + 2


def test_size_and_rule_are_part_of_the_hash() -> None:
    hashes = {Board(w, h, rule).hash for w, h in SIZES for rule in ALL_RULES}
    assert len(hashes) == len(SIZES) * len(ALL_RULES)


def test_passing_twice_is_nothing() -> None:
    board = Board(9)
    before = board.hash
    board.set_to_move(1)
    assert board.hash != before
    board.set_to_move(1)
    board.set_to_move(0)
    assert board.hash == before


@pytest.mark.parametrize("rule", ALL_RULES)
def test_no_two_of_many_positions_collide(rule: int) -> None:
    rng = random.Random(rule)
    seen: dict[int, tuple[object, ...]] = {}
    for _ in range(200):
        board = Board(15, 15, rule)
        for _ in range(60):
            board.place(rng.choice(board.legal_points() or [p for p in range(225) if board.cell(p) == 2]))
            key = (board.to_move, *board.cells().ravel().tolist())
            assert seen.setdefault(board.hash, key) == key
    assert len(seen) > 11_000


@pytest.mark.parametrize(("width", "height"), [(9, 9), (7, 12)])
@pytest.mark.parametrize("rule", ALL_RULES)
def test_shapes_and_fouls_turn_with_the_board(rule: int, width: int, height: int) -> None:
    rng = random.Random(f"{rule} {width}")
    for _ in range(20):
        stones = [(p, rng.choice((0, 0, 1, 3))) for p in rng.sample(range(width * height), 25)]
        board = Board.from_stones(width, height, rule, stones)
        for s in geometry.symmetries(width, height):
            turned = Board.from_stones(
                width, height, rule, [(geometry.transform_point(p, width, height, s), c) for p, c in stones]
            )
            permutation = geometry.symmetry_permutation(width, height, s)
            for colour in (0, 1):
                assert (turned.shapes(colour).ravel() == board.shapes(colour).ravel()[permutation]).all()
            assert turned.forbidden_points() == sorted(
                geometry.transform_point(p, width, height, s) for p in board.forbidden_points()
            )


@pytest.mark.parametrize("rule", [0, 1, 8, 9])
def test_colours_are_alike_except_in_renju(rule: int) -> None:
    rng = random.Random(rule)
    for _ in range(50):
        stones = [(p, rng.choice((0, 1, 3))) for p in rng.sample(range(81), 40)]
        board = Board.from_stones(9, 9, rule, stones)
        flipped = Board.from_stones(9, 9, rule, [(p, c if c == 3 else 1 - c) for p, c in stones])
        assert (board.shapes(0) == flipped.shapes(1)).all()
        assert (board.shapes(1) == flipped.shapes(0)).all()
