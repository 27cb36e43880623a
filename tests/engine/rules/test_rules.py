"""Rules by example: runs, blocked fives, the judge's tester positions."""

from __future__ import annotations

import random

import pytest

from engine.rules import _board, geometry
from engine.rules._board import Board
from engine.rules.rule import NET_RULES, Rule, rule_from_mask, rule_from_text, rule_name
from tests.helpers.rules import row_board

# the stone at ? makes the row; which rules call it a win, for X as black and as white
WINNING_ROWS = [
    ("..XX?XX..", {0, 1, 4, 8, 9}, {0, 1, 4, 8, 9}),
    (".OXX?XXO.", {0, 1, 4}, {0, 1, 4}),  # OXXXXXO: caro calls it blocked
    ("OXXXX?O..", {0, 1, 4}, {0, 1, 4}),  # at the border
    ("XXXX?O...", {0, 1, 4, 8, 9}, {0, 1, 4, 8, 9}),  # the edge does not block
    ("XXXX?", {0, 1, 4, 8, 9}, {0, 1, 4, 8, 9}),
    (".#XXXX?O.", {0, 1, 4, 8, 9}, {0, 1, 4, 8, 9}),  # nor does an obstacle
    ("#XXXX?#", {0, 1, 4, 8, 9}, {0, 1, 4, 8, 9}),
    ("O.XXXX?.O", {0, 1, 4, 8, 9}, {0, 1, 4, 8, 9}),
    (".XXX?XX..", {0, 8}, {0, 4, 8}),  # six
    ("OXXX?XXO.", {0, 8}, {0, 4, 8}),  # six, blocked at both ends
    ("XXX?XX", {0, 8}, {0, 4, 8}),
    ("XXXX?XXXX", {0, 8}, {0, 4, 8}),  # nine
    (".XXX?.X..", set(), set()),
    ("XXX?OX...", set(), set()),
    ("XX#?XX...", set(), set()),
]


@pytest.mark.parametrize("rule", NET_RULES)
@pytest.mark.parametrize(("row", "black", "white"), WINNING_ROWS)
@pytest.mark.parametrize("y", [0, 4, 8])
def test_rows_that_win(row: str, black: set[int], white: set[int], rule: int, y: int) -> None:
    for swap, winners in ((False, black), (True, white)):
        board, point = row_board(row, rule, y, swap)
        colour = int(swap)
        before = board.hash
        assert board.winner == 2
        assert (point in board.five_points(colour)) == (rule in winners)
        board.place(point, colour)
        assert board.winner == (colour if rule in winners else 2)
        board.undo()
        assert (board.winner, board.hash) == (2, before)


@pytest.mark.parametrize("rule", NET_RULES)
def test_five_in_all_directions_up_to_the_corners(rule: int) -> None:
    for size in (5, 15, 22):
        for start in (0, size - 5):
            ramp = range(start, start + 5)
            lines = [[(i, start) for i in ramp], [(start, i) for i in ramp], [(i, i) for i in ramp]]
            lines.append([(i, size - 1 - i) for i in ramp])
            for line in lines:
                board = Board(size, size, rule)
                for x, y in line:
                    assert board.winner == 2
                    board.place(geometry.point_of(x, y, size, size), 1)
                assert board.winner == 1


def test_lines_do_not_wrap_around_the_edge() -> None:
    board = Board(7, 7, 0)
    for point in (4, 5, 6, 7, 8):
        board.place(point, 0)
    assert board.winner == 2
    for point in (6 * 7 + 5, 5 * 7 + 6):  # anti-diagonal that leaves the board
        board.place(point, 1)
    assert board.shapes(1).max() == 0


TESTER = [
    ("h8h9i8i9j8j9k8k9", 0, {"g8", "l8"}, 0),
    ("h8h9i8i9j8j9k8k9", 1, {"g8", "l8"}, 0),
    ("h8h9i8i9j8j9k8k9", 4, {"g8", "l8"}, 0),
    ("h8h9i8i9j8j9k8k9", 8, {"g8", "l8"}, 0),
    ("h8h9i8i9j8j9k8k9", 9, {"g8", "l8"}, 0),
    ("h8f8g8f9i8f7j8l8", 8, set(), 0),  # k8 would be blocked at both ends
    ("h8f8g8f9i8f7j8l8", 9, set(), 0),
    ("h8f8g8f9i8f7j8l8", 0, {"k8"}, 0),
    ("h8f8g8f9i8f7j8l8", 8, set(), 1),
]


@pytest.mark.parametrize(("moves", "rule", "fives", "colour"), TESTER)
def test_five_points_of_the_tester_positions(moves: str, rule: int, fives: set[str], colour: int) -> None:
    board = Board(15, 15, rule)
    for point in geometry.parse_moves(moves, 15, 15):
        board.place(point)
    assert {geometry.format_move(p, 15) for p in board.five_points(colour)} == fives


def test_tester_standard_six_is_no_threat() -> None:
    board = Board(15, 15, 1)
    for point in geometry.parse_moves("h8h9i8h10g8h11j13h12g14h14i15", 15, 15):
        board.place(point)
    board.place(geometry.parse_move("h13", 15, 15), 1)  # joins h9 to h14
    assert board.winner == 2
    board.undo()
    open_fours = [p for p in range(225) if board.line_masks(p, 0, 0)["open_four"]]
    assert {geometry.format_move(p, 15) for p in open_fours} == {"f8", "j8"}


def test_tester_renju_double_three() -> None:
    board = Board(15, 15, 4)
    for point in geometry.parse_moves("h8h9i7i9h10i6i11i12", 15, 15):
        board.place(point)
    assert "g9" in {geometry.format_move(p, 15) for p in board.forbidden_points()}
    assert geometry.parse_move("g9", 15, 15) not in board.legal_points()


@pytest.mark.parametrize(("row", "rule", "open_four", "fives_after"), [
    ("..XX?X...", 0, True, 2),
    ("..XX?X.X.", 0, True, 2),
    ("..XX?X.X.", 1, False, 1),  # one end would make six
    ("O.XX?X...", 9, False, 2),  # a reply at the right end blocks the left five too
    ("O.XX?X...", 8, False, 2),
    ("O.XX?X...", 1, True, 2),
    ("X.XX?X.O.", 8, False, 2),  # a reply on the six blocks the five
    ("X.XX?X...", 8, True, 2),  # six wins here
    (".XX?X....", 0, True, 2),
    ("#.XX?X.#.", 9, True, 2),  # obstacles do not block a five
    ("XX?X.....", 0, False, 1),  # at the edge
])
def test_open_fours_row_by_row(row: str, rule: int, open_four: bool, fives_after: int) -> None:
    board, point = row_board(row, rule)
    masks = board.line_masks(point, 0, 0)
    assert masks["four"]
    assert masks["open_four"] is open_four
    board.place(point, 0)
    assert len(board.five_points(0)) == fives_after


def test_caro_four_can_be_answered_at_its_far_end() -> None:
    board, point = row_board(".OXXX?..", 9)
    board.place(point, 0)
    assert board.five_points(0) == [6]
    board.place(7, 1)
    assert board.five_points(0) == []
    board.undo()
    assert board.five_points(0) == [6]


def test_rules_from_masks() -> None:
    assert [rule_from_mask(rule) for rule in Rule] == list(Rule)
    assert rule_from_mask(2) is Rule.FREESTYLE
    assert rule_from_mask(11) is Rule.STANDARD_CARO
    assert rule_from_mask(13) is Rule.RENJU
    assert rule_from_mask(17) is rule_from_mask(18) is Rule.OMOK
    assert rule_from_mask(20) is Rule.RENJU
    for mask in (-1, 32):
        with pytest.raises(ValueError, match="bitmask"):
            rule_from_mask(mask)


def test_bad_arguments_are_refused_and_leave_the_board_unchanged() -> None:
    for size in ((4, 5), (5, 4), (23, 10), (10, 23), (0, 0), (-1, 5)):
        with pytest.raises(ValueError, match="cells a side"):
            Board(*size)
    for rule in (2, 3, 5, 10, 17, 256, -1):
        with pytest.raises(ValueError, match="rule must be"):
            Board(15, 15, rule)
    board = Board(5, 6)
    board.place(7)
    before = board.hash, board.stones()
    for call, text in (
        (lambda: board.place(7), "taken"),
        (lambda: board.place(30), "off the board"),
        (lambda: board.place(-1), "off the board"),
        (lambda: board.place(8, 2), "colour"),
        (lambda: board.block(7), "taken"),
        (lambda: board.set_to_move(3), "colour"),
        (lambda: board.cell(30), "off the board"),
        (lambda: board.line_masks(3, 4, 0), "direction"),
    ):
        with pytest.raises(ValueError, match=text):
            call()
        assert (board.hash, board.stones()) == before
    board.undo()
    with pytest.raises(ValueError, match="take back"):
        board.undo()


def test_a_full_board_and_back() -> None:
    for width, height in ((5, 5), (22, 22), (22, 5)):
        board = Board(width, height, 4)
        empty = board.hash
        for point in range(board.points):
            board.place(point)
        assert board.n_empty == 0
        assert board.legal_points() == board.forbidden_points() == []
        for _ in range(board.points):
            board.undo()
        assert (board.hash, board.n_empty, board.winner, board.ply) == (empty, board.points, 2, 0)
        assert board.shapes(0).max() == board.shapes(1).max() == 0


def test_pickle_keeps_position_and_turn() -> None:
    import pickle

    board = Board(7, 9, 9)
    board.place(3)
    board.block(5)
    board.place(8)
    board.set_to_move(1)
    again = pickle.loads(pickle.dumps(board))
    assert (again.hash, again.stones(), again.to_move) == (board.hash, board.stones(), 1)


@pytest.mark.parametrize("rule", NET_RULES)
def test_vectors_and_plain_code_make_the_same_tables(rule: int) -> None:
    """The naive twin is compared with the one that this processor takes; here both are, on the same games."""
    rng = random.Random(rule)
    before = _board.use_vectors(True)
    try:
        for side in (5, 9, 15, 22):
            boards = Board(side, side, rule), Board(side, side, rule)
            for point in rng.sample(range(side * side), min(side * side, 90)):
                colour, undo = rng.randint(0, 1), rng.random() < 0.2
                for board, vectors in zip(boards, (True, False), strict=True):
                    _board.use_vectors(vectors)
                    board.place(point, colour)
                    if undo:
                        board.undo()
                for d in range(4):
                    for c in (0, 1):
                        masks = [board.line_masks(point, d, c) for board in boards]
                        assert masks[0] == masks[1], (side, point, d, c)
                for c in (0, 1):
                    assert (boards[0].shapes(c) == boards[1].shapes(c)).all()
                    assert boards[0].five_points(c) == boards[1].five_points(c)
    finally:
        _board.use_vectors(before)


@pytest.mark.skipif(not _board.use_vectors(True), reason="neither AVX2 nor NEON here")
def test_plain_code_plays_when_told() -> None:
    assert _board.use_vectors(False) is True
    assert _board.use_vectors(True) is False


def test_a_rule_is_named_by_number_or_name():
    assert [rule_from_text(str(int(rule))) for rule in Rule] == list(Rule)
    assert [rule_from_text(rule_name(rule)) for rule in Rule] == list(Rule)
    assert rule_from_text(" Standard_Caro ") is Rule.STANDARD_CARO
    for text in ("", "chess", "64", "-1", "²", "1.0"):
        with pytest.raises(ValueError, match="unknown rule"):
            rule_from_text(text)
