"""What managers call a cell, in commands and before the eyes of a person."""

import pytest

from protocol.format import Notation, notation
from protocol.query import Progress
from tests.helpers.protocol_fakes import Talk, move, result


@pytest.mark.parametrize("rows_first", [False, True])
def test_pairs_are_inverse(rows_first: bool) -> None:
    names = Notation(20, 10, rows_first=rows_first)
    assert all(names.point(*names.pair(p)) == p for p in range(200))
    assert names.point(-1, 0) is None and names.point(0, -1) is None


def test_pairs_are_column_row_or_row_column() -> None:
    assert Notation(20, 10).pair(3 * 20 + 7) == (7, 3)
    assert Notation(20, 10, rows_first=True).pair(3 * 20 + 7) == (3, 7)


def test_names_count_rows_from_the_top_or_from_below() -> None:
    assert Notation(20, 10).names([0, 3 * 20 + 7]) == "a1 h4"
    assert Notation(20, 10, rows_from="bottom").names([0, 3 * 20 + 7]) == "a10 h7"


@pytest.mark.parametrize("size", [(15, 15), (20, 20), (10, 20), (20, 10), (5, 22)])
def test_yixin_board_names_a_cell_as_its_edge_does(size: tuple[int, int]) -> None:
    """Its pairs are row,column from the top left; its labels letters, and numbers from below."""
    width, height = size
    names = notation("yixin", width, height)
    for row in range(height):
        for column in range(width):
            point = names.point(row, column)
            assert point == row * width + column
            assert names.name(point) == f"{'abcdefghijklmnopqrstuv'[column]}{height - row}"


@pytest.mark.parametrize(("size", "names"), [("15 15", "f4 f5"), ("15 20", "f9 f10"), ("20 15", "f4 f5")])
def test_messages_to_yixin_board_name_its_cells(size: str, names: str) -> None:
    """A stone that it shows at f4 (row 11 of 15 from the top) is called f4 in every line."""
    talk = Talk("yixin")
    assert talk.say(f"start {size}") == ["OK"]
    talk.say("info show_detail 1\nyxboard\n11,5,2\ndone\ntakeback 11,5\nyxnbest 2")
    width, height = talk.query.width, talk.query.height
    assert (width, height) == tuple(map(int, size.split()))
    point = 11 * width + 5
    found = result(point, candidates=(move(point, 60), move(point - width, 30)), pv=(point, point - width))
    talk.conversation.progress(Progress(talk.query.token, found))
    realtime = talk.take()
    assert "MESSAGE REALTIME BEST 11,5" in realtime and "MESSAGE REALTIME POS 10,5" in realtime
    assert realtime[-1] == f"MESSAGE REALTIME PV {names}"
    first, second, numbers, line, summary, answer = talk.answer(point, found)
    best, next_best = names.split()
    assert first.startswith(f"MESSAGE best 1 {best} ") and second.startswith(f"MESSAGE best 2 {next_best} ")
    assert numbers.startswith("MESSAGE winrate ") and line == f"MESSAGE pv {names}"
    assert summary.startswith("MESSAGE depth ") and summary.endswith(f" pv {names}") and answer == "11,5"


def test_other_managers_get_rows_from_the_top_unless_asked_for() -> None:
    point = 3 * 20 + 7
    sides = (None, "top", "bottom")
    assert [notation("gomocup", 20, 10, side).name(point) for side in sides] == ["h4", "h4", "h7"]
    assert [notation("yixin", 20, 10, side).name(point) for side in (None, "top")] == ["h7", "h4"]
