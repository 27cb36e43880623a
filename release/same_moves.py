"""Compare two brains move by move at fixed simulations: the same program must play the same game anywhere."""

from __future__ import annotations

from collections.abc import Sequence

from arena.brain_process import BrainProcess
from arena.position import Position
from engine.rules.geometry import format_moves

GAMES = ((15, 0), (15, 4), (20, 0), (15, 9), (15, 1))
"""(size, rule) of the compared games: those of the leagues."""
MOVES = 40
"""Plies of a game at most (derived: most are over by then)."""
PATIENCE_S = 120.0


def play_alone(command: Sequence[str], size: int, rule: int, simulations: int) -> list[int]:
    """Let a brain play both sides, every position by BOARD, and return the moves.

    Raises:
        RuntimeError: it does not answer with a legal move.
    """
    settings = ["--set", "seed=1", "--set", f"simulations={simulations}"]
    position = Position(size, size, rule)
    with BrainProcess([*command, *settings], merge_stderr=True) as brain:
        brain.send(f"START {size}")
        _answer(brain, "OK")
        brain.send(f"INFO rule {rule}\nINFO timeout_turn 60000\nINFO time_left 2147483647")
        while not position.over and len(position.points) < MOVES:
            mine = position.to_move
            stones = [f"{p % size},{p // size},{1 if c == mine else 2}" for p, c in position.stones()]
            brain.send("\n".join(["BOARD", *stones, "DONE"]))
            x, y = _answer(brain, ",").split(",")
            point = int(y) * size + int(x)
            if int(x) >= size or not position.is_legal(point):
                raise RuntimeError(f"illegal move {x},{y} after {format_moves(position.points, size)}")
            position.play(point)
    return position.points


def compare(one: Sequence[str], other: Sequence[str], simulations: int) -> bool:
    """Play the games with both brains, print where they part, and return whether they never do."""
    same = True
    for size, rule in GAMES:
        first = play_alone(one, size, rule, simulations)
        second = play_alone(other, size, rule, simulations)
        alike = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), None)
        if first == second:
            print(f"{size}x{size} rule {rule}: the same {len(first)} moves")
        else:
            same = False
            words = [format_moves(points, size) for points in (first, second)]
            print(f"{size}x{size} rule {rule}: different from ply {alike}: {words[0]} and {words[1]}")
    return same


def _answer(brain: BrainProcess, part: str) -> str:
    while (line := brain.read_line(PATIENCE_S)) is not None:
        if not line.text.startswith(("MESSAGE", "DEBUG")):
            if part in line.text:
                return line.text
            raise RuntimeError(f"unexpected answer: {line.text}")
    raise RuntimeError(f"no answer in {PATIENCE_S:.0f} s")
