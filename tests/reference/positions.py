"""Random positions that have something to solve: few cells, stones close together, nobody has won."""

from __future__ import annotations

import random

from engine.rules._board import Board
from tests.reference.rules import COLOURS, NaiveBoard

CODES = "XO.#"


def random_position(
    rng: random.Random, rule: int, sides: tuple[int, int], stones: tuple[int, int], obstacles: float = 0.0
) -> NaiveBoard:
    """Place alternate colours at random, mostly next to earlier stones.

    Args:
        sides: least and greatest width and height.
        stones: least and greatest number of stones (fewer than the cells of the board).
        obstacles: chance of an obstacle after each stone.
    """
    width = rng.randint(*sides)
    height = width if rng.random() < 0.6 else rng.randint(*sides)
    board = NaiveBoard(width, height, rule)
    reach = rng.choice((1, 1, 2, 3))
    colour = 0
    wanted = min(rng.randint(*stones), width * height - 2)
    tries = 0
    while wanted and tries < 400:
        tries += 1
        if board.history and rng.random() < 0.9:
            x, y = divmod(rng.choice(board.history)[0], width)[::-1]
            x, y = x + rng.randint(-reach, reach), y + rng.randint(-reach, reach)
        else:
            x, y = rng.randrange(width), rng.randrange(height)
        if not (0 <= x < width and 0 <= y < height) or board.cells[y * width + x] != ".":
            continue
        board.place(y * width + x, COLOURS[colour])
        if board.winner != 2:
            board.undo()
            continue
        colour = 1 - colour
        wanted -= 1
        empty = [p for p, c in enumerate(board.cells) if c == "."]
        if len(empty) > 2 and rng.random() < obstacles:
            board.place(rng.choice(empty), "#")
    return board


def kernel_board(naive: NaiveBoard) -> Board:
    """Return the same position on the kernel's board, played in the same order.

    The order matters under caro, where a five may be built only after both its ends are blocked.
    The side to move is the one with fewer stones.
    """
    stones = [(p, CODES.index(naive.cells[p])) for p, _ in naive.history]
    assert len(stones) == len(naive.cells) - naive.cells.count(".")
    board = Board.from_stones(naive.width, naive.height, naive.rule, stones)
    board.set_to_move(int(naive.cells.count("X") > naive.cells.count("O")))
    return board


def show(naive: NaiveBoard) -> str:
    """Draw a position for a failure message."""
    w = naive.width
    rows = ["".join(naive.cells[y * w : y * w + w]) for y in range(naive.height)]
    return "\n".join([f"rule {naive.rule}", *rows])
