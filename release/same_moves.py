"""Compare two brains move by move at fixed simulations: the same program must play the same game anywhere."""

from __future__ import annotations

from collections.abc import Sequence

from tests.protocol.position import Position
from tests.protocol.process import Brain
from tests.protocol.records import Cell

GAMES = ((15, 0), (15, 4), (20, 0), (15, 9), (15, 1))
"""(size, rule) of the compared games: those of the leagues."""
MOVES = 40
"""Plies of a game at most (derived: most are over by then)."""
PATIENCE_S = 120.0


def play_alone(command: Sequence[str], size: int, rule: int, simulations: int) -> list[Cell]:
    """Let a brain play both sides, every position by BOARD, and return the moves.

    Raises:
        RuntimeError: it does not answer with a legal move.
    """
    settings = ["--set", "seed=1", "--set", f"simulations={simulations}"]
    position = Position(size, rule)
    with Brain([*command, *settings], merge_stderr=True) as brain:
        brain.send(f"START {size}")
        _answer(brain, "OK")
        brain.send(f"INFO rule {rule}\nINFO timeout_turn 60000\nINFO time_left 2147483647")
        while not position.over and len(position.moves) < MOVES:
            mine = position.to_move
            stones = [f"{x},{y},{1 if i % 2 == mine else 2}" for i, (x, y) in enumerate(position.moves)]
            brain.send("\n".join(["BOARD", *stones, "DONE"]))
            x, y = _answer(brain, ",").split(",")
            cell = (int(x), int(y))
            if not position.is_legal(cell):
                raise RuntimeError(f"illegal move {cell} after {position.moves}")
            position.play(cell)
    return position.moves


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
            print(f"{size}x{size} rule {rule}: different from ply {alike}: {first} and {second}")
    return same


def _answer(brain: Brain, part: str) -> str:
    while (line := brain.read_line(PATIENCE_S)) is not None:
        if not line.text.startswith(("MESSAGE", "DEBUG")):
            if part in line.text:
                return line.text
            raise RuntimeError(f"unexpected answer: {line.text}")
    raise RuntimeError(f"no answer in {PATIENCE_S:.0f} s")
