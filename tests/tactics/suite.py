"""Load the tactics suite: positions with a proven best answer. See SOURCE for how they were made."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from engine.rules._board import Board
from engine.rules.geometry import format_moves, parse_moves

PATH = Path(__file__).with_name("suite.jsonl")


@dataclass(frozen=True, slots=True)
class Tactic:
    """One position and the moves that solve it. Points are `y * width + x`."""

    id: str
    theme: str
    """vcf, vct: a forced win by fours, by fours and threes. defence: the opponent threatens a forced win and
    few moves stop it. trap: the same, and the moves that look strongest lose. rule: a win or a defence
    that freestyle would answer wrongly."""
    rule: int
    width: int
    height: int
    moves: tuple[int, ...]
    """From the empty board, black first."""
    to_move: int
    goal: str
    """win: play a move that keeps a proven win. hold: play a move that leaves the opponent no forced win."""
    good: tuple[int, ...]
    """The moves that reach the goal, ascending: all that hold; of winning moves those that are threats."""
    distance: int
    """Plies of the shortest win that is known until the five stands (exact for VCF), of the mover (goal win),
    or of the opponent after a pass (goal hold)."""
    edge: bool
    """All good moves lie on the two outermost rows or columns."""

    def board(self) -> Board:
        """Return the position."""
        board = Board(self.width, self.height, self.rule)
        for point in self.moves:
            board.place(point)
        return board

    def to_json(self) -> str:
        """Return the line of the data file."""
        return json.dumps(
            {
                "id": self.id,
                "theme": self.theme,
                "rule": self.rule,
                "width": self.width,
                "height": self.height,
                "moves": format_moves(self.moves, self.width),
                "to_move": self.to_move,
                "goal": self.goal,
                "good": format_moves(self.good, self.width),
                "distance": self.distance,
                "edge": self.edge,
            }
        )


def from_json(line: str) -> Tactic:
    """Return the tactic of a line of the data file."""
    data = json.loads(line)
    width, height = data["width"], data["height"]
    for key in ("moves", "good"):
        data[key] = tuple(parse_moves(data[key], width, height))
    return Tactic(**data)


def load(path: Path = PATH) -> list[Tactic]:
    """Return all tactics of a file, in order."""
    return [from_json(line) for line in path.read_text(encoding="ascii").splitlines() if line]
