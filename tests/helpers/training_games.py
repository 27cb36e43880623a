"""Random games and planes for the tests of the training, made without any search."""

import random

import numpy as np

from engine.encoding import encode
from engine.rules._board import EMPTY, Board
from engine.rules.rule import NET_RULES
from training.data.records import DRAW, End, Flag, GameBuilder, SelfPlayRecord


def random_game(seed: int, side: int = 9, rule: int = 0, height: int | None = None) -> SelfPlayRecord:
    """A game of random legal moves whose target names the winning point or a point near the last stone."""
    rng = random.Random(seed)
    height = height or side
    opening = rng.sample(range(side * height), 2)
    builder = GameBuilder(rule, side, height, opening=opening, net_id="random", seed=seed)
    board = Board.from_stones(side, height, rule, [(p, i & 1) for i, p in enumerate(opening)])
    while board.winner == EMPTY and board.ply < side * height - 1:
        legal = board.legal_points()
        if not legal:
            break
        fives = board.five_points(board.to_move)
        point = fives[0] if fives else rng.choice(legal)
        others = rng.sample(legal, min(3, len(legal)))
        points = sorted({point, *others})
        target = [0.7 if p == point else 0.1 for p in points]
        flags = Flag.FULL if board.ply % 4 else 0
        builder.add(flags, (0.6, 0.1, 0.3), points if flags else (), target if flags else (), rng.random())
        builder.play(point)
        board.place(point)
    won = board.winner != EMPTY
    return builder.finish(board.winner if won else DRAW, End.FIVE if won else End.BOARD_FULL)


def random_planes(
    seed: int, count: int, width: int = 9, height: int | None = None, most: int | None = None
) -> np.ndarray:
    """Planes [B, C, H, W] of random positions over all rules.

    They have less than half a board of stones, or at most so many.
    """
    rng = random.Random(seed)
    height = height or width
    out = []
    for i in range(count):
        board = Board(width, height, NET_RULES[i % 5])
        for _ in range(rng.randrange(width * height // 2 if most is None else most + 1)):
            legal = board.legal_points()
            if not legal:
                break
            board.place(rng.choice(legal))
        out.append(encode(board))
    return np.stack(out)
