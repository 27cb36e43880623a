"""A tactical player made by hand, and shards of its games. `training.bootstrap` trains a first net on them.

The player knows fives, fours, open threes and forks from the kernel's line tables, counts the windows of five
that are still open, and lets the solver end a game that fours alone decide. The same seed makes the same
games.
"""

from __future__ import annotations

import functools
import random
from pathlib import Path

import numpy as np
import numpy.typing as npt

from arena.openings import random_opening
from engine.rules._board import (
    BLACK,
    EMPTY,
    SHAPE_DOUBLE_FOUR,
    SHAPE_FIVE,
    SHAPE_FORK,
    SHAPE_FOUR,
    SHAPE_OPEN_FOUR,
    SHAPE_OPEN_THREE,
    Board,
)
from engine.rules.rule import Rule
from engine.threats._solver import Solver
from engine.threats.solution import Verdict
from training.data.records import DRAW, End, Flag, GameBuilder, SelfPlayRecord
from training.data.shards import list_shards, write_shard

SIZES = (15,) * 4 + (9, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20)
GAMES_PER_SHARD = 100
_NET_ID = "tactical-player"


def _shape_values(
    *, five: float, straight: float, four_fork: float, fork: float, four: float, three: float
) -> npt.NDArray[np.float64]:
    bits = np.arange(256)
    value = np.zeros(256)
    for shape, points in (
        (bits & SHAPE_OPEN_THREE, three),
        (bits & SHAPE_FOUR, four),
        (bits & SHAPE_FORK, fork),
        ((bits & SHAPE_FORK) * (bits & SHAPE_FOUR), four_fork),
        (bits & (SHAPE_OPEN_FOUR | SHAPE_DOUBLE_FOUR), straight),
        (bits & SHAPE_FIVE, five),
    ):
        value = np.where(shape != 0, np.maximum(value, points), value)
    return value


# tuned: by eye; logits of the player. A shape of the own side is worth more than stopping the opponent's.
_OWN = _shape_values(five=40, straight=20, four_fork=16, fork=9, four=3, three=4)
_OPPONENT = _shape_values(five=30, straight=13, four_fork=11, fork=6, four=2, three=2.5)
_LINE_OWN = np.array([0.3, 1.0, 3.0, 6.0, 8.0, 0.0])
_LINE_OPPONENT = np.array([0.0, 0.9, 2.5, 5.0, 7.0, 0.0])


@functools.cache
def _windows(width: int, height: int) -> npt.NDArray[np.intp]:
    """Return the points of every window of five, [n, 5]."""
    out = []
    for dx, dy in ((1, 0), (0, 1), (1, 1), (-1, 1)):
        for y in range(height):
            for x in range(width):
                ex, ey = x + 4 * dx, y + 4 * dy
                if 0 <= ex < width and 0 <= ey < height:
                    out.append([(y + k * dy) * width + x + k * dx for k in range(5)])
    return np.array(out)


def tactical_logits(board: Board) -> npt.NDArray[np.float64]:
    """Return the player's logits of all points, [A]; -inf where it may not play."""
    own, width, height = board.to_move, board.width, board.height
    cells = board.cells().ravel()
    mine, theirs = cells == own, cells == 1 - own
    windows = _windows(width, height)
    n_mine, n_theirs = mine[windows].sum(1), theirs[windows].sum(1)
    worth = np.where(n_theirs == 0, _LINE_OWN[n_mine], 0) + np.where(n_mine == 0, _LINE_OPPONENT[n_theirs], 0)
    lines = np.bincount(windows.ravel(), np.repeat(worth, 5), minlength=cells.size)
    logits = 0.18 * lines + _OWN[board.shapes(own).ravel()] + _OPPONENT[board.shapes(1 - own).ravel()]
    logits[cells != EMPTY] = -np.inf
    if own == BLACK:
        logits[board.forbidden_points()] = -np.inf
    return logits


def winning_move(board: Board, solver: Solver | None, nodes: int) -> int | None:
    """Return a move that wins for certain: a five or, with a solver, the first of a chain of fours."""
    fives = board.five_points(board.to_move)
    if fives or solver is None:
        return fives[0] if fives else None
    solution = solver.solve(board, "vcf", nodes=nodes)
    return solution.pv[0] if solution.verdict == Verdict.WIN else None


def play_game(
    rng: random.Random, side: int, rule: int, solver: Solver | None, nodes: int = 0
) -> SelfPlayRecord:
    """Play one game of the tactical player against itself from a random opening.

    Args:
        rng: its next number seeds the game.
        side: width and height.
        rule: see `Rule`.
        solver: None to end games only by fives.
        nodes: budget of the solver a move.
    """
    seed = rng.getrandbits(63)
    rng = random.Random(seed)
    opening = random_opening(rng, side, side, rule, rng.randrange(0, 9), spread=rng.choice((2, 3, 4)))
    builder = GameBuilder(rule, side, side, opening=opening, net_id=_NET_ID, seed=seed)
    board = Board.from_stones(side, side, rule, [(p, i & 1) for i, p in enumerate(opening)])
    # Unequal sides make positions that are visibly better for one of them.
    temperatures = [rng.choice((0.3, 0.6, 1.2, 2.5, 5.0)) for _ in range(2)]
    length = side * side // 2
    while True:
        logits = tactical_logits(board)
        if not np.isfinite(logits).any():
            return builder.finish(DRAW, End.BOARD_FULL)
        p = np.exp(logits - logits.max())
        p /= p.sum()
        own = board.to_move
        win = winning_move(board, solver, nodes)
        if win is not None:
            target = 0.1 * p
            target[win] += 0.9
            where = np.flatnonzero(target)
            builder.add(Flag.FULL | Flag.PROVEN_WIN, (1, 0, 0), where, target[where])
            return builder.finish(own, End.PROVEN)
        where = np.flatnonzero(p > 1e-3)
        builder.add(Flag.FULL, (0.5, 0.0, 0.5), where, p[where])
        hot = p ** (1 / temperatures[own])
        point = rng.choices(range(p.size), weights=hot.tolist())[0]
        board.place(point)
        builder.play(point)
        if board.winner != EMPTY:
            return builder.finish(board.winner, End.FIVE)
        if board.ply >= length:
            return builder.finish(DRAW, End.LENGTH)


def play_shards(folder: Path, games: int, seed: int, nodes: int) -> int:
    """Write shards of tactical games until there are `games`; return the positions written."""
    folder.mkdir(parents=True, exist_ok=True)
    solver = Solver(14) if nodes else None
    positions = 0
    for shard in range((games + GAMES_PER_SHARD - 1) // GAMES_PER_SHARD):
        path = folder / f"bootstrap-{seed}-{shard:05d}.shard"
        if path in list_shards(folder):
            continue
        rng = random.Random(f"{seed}/{shard}")
        records: list[SelfPlayRecord] = []
        while len(records) < GAMES_PER_SHARD:
            side = rng.choice(SIZES)
            rule = rng.choice((Rule.FREESTYLE, *Rule))
            if solver is not None:
                solver.clear()  # so that a game depends on its seed alone
            game = play_game(rng, side, int(rule), solver, nodes)
            # A draw has five times the positions of a won game and teaches less: most are left out.
            if game.winner != DRAW or rng.random() < 0.2:
                records.append(game)
        write_shard(path, records)
        positions += sum(r.positions for r in records)
    return positions
