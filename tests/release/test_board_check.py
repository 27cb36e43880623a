"""The check of a packed board, made on the board of this checkout."""

import sys

import pytest

from release.board import play_a_move


def test_the_board_serves_its_page_and_plays_a_move():
    assert 0 <= play_a_move([sys.executable, "-m", "protocol"], 0) < 225


def test_a_program_without_a_board_is_refused():
    with pytest.raises(SystemExit, match="the board does not start"):
        play_a_move([sys.executable, "-c", "print('nothing')"], 0)
