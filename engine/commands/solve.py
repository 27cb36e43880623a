"""Search for a forced win by fours, then by fours and threes, and show the line, the defences and the nodes.

The position is given as for `analyse`. For the side that is not to move, the result is that of the position
after a pass, with every move that may still stop the win.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass

from engine.commands.charset import detector
from engine.commands.options import add_board_options, add_rows_option
from engine.errors import PositionError
from engine.games.positions import draw, position_text, read_position
from engine.rules._board import BLACK, EMPTY, WHITE, Board
from engine.rules.geometry import format_move
from engine.threats._solver import Solver
from engine.threats.solution import Solution, Verdict

SIDES = ("black", "white")


@dataclass(frozen=True, slots=True)
class Answer:
    """A query about `board`, and the last result of the solver."""

    board: Board
    attacker: int
    kind: str
    solution: Solution
    nodes: int
    """Placements of all kinds tried."""
    elapsed_s: float
    from_bottom: bool = False
    """Whether row 1 is the lowest."""

    def name(self, point: int) -> str:
        """Return the name of a point."""
        return format_move(point, self.board.width, self.board.height if self.from_bottom else None)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("position", metavar="POSITION", help="moves, drawing, .psq record, file, or -")
    add_board_options(parser)
    add_rows_option(parser)
    parser.add_argument("--kind", choices=("vcf", "vct", "both"), default="both", help="what to look for")
    parser.add_argument("--attacker", choices=SIDES, help="whose win (default: the side to move)")
    parser.add_argument(
        "--nodes", type=int, default=5_000_000, metavar="N", help="placements a kind (default 5,000,000)"
    )
    parser.add_argument(
        "--table",
        type=int,
        default=20,
        metavar="LOG2",
        help="2 to this power positions are remembered (default 20)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def run(args: argparse.Namespace) -> int:
    """Print the solution."""
    width, height = args.size
    board = read_position(
        position_text(args.position, detector()), width=width, height=height, rule=args.rule,
        from_bottom=args.rows_from == "bottom",
    )  # fmt: skip
    check(board)
    if args.nodes < 1 or not 4 <= args.table <= 28:
        raise PositionError("--nodes must be at least 1, and --table 4 to 28")
    attacker = board.to_move if args.attacker is None else SIDES.index(args.attacker)
    solver = Solver(args.table)
    started_s = time.perf_counter()
    nodes = 0
    for kind in ("vcf", "vct") if args.kind == "both" else (args.kind,):
        solution = solver.solve(board, kind, attacker, args.nodes)
        nodes += solution.nodes
        if solution.verdict is Verdict.WIN:
            break
    elapsed_s = time.perf_counter() - started_s
    found = Answer(board, attacker, kind, solution, nodes, elapsed_s, args.rows_from == "bottom")
    print(json.dumps(facts(found), indent=2) if args.json else report(found))
    return 0


def check(board: Board) -> None:
    """Refuse a position that no game can reach or that has nothing to solve.

    Raises:
        PositionError: naming the reason.
    """
    cells = board.cells()
    black, white = int((cells == BLACK).sum()), int((cells == WHITE).sum())
    if board.winner != EMPTY:
        raise PositionError(f"the game is over: {SIDES[board.winner]} has won")
    if not 0 <= black - white <= 1:
        raise PositionError(
            f"{black} black and {white} white stones cannot come from a game: black has as many or one more"
        )
    if not (cells == EMPTY).any():
        raise PositionError("the board is full")


def facts(found: Answer) -> dict[str, object]:
    """Return the answer as JSON values; points as letter and number."""
    board, solution = found.board, found.solution
    return {
        "attacker": SIDES[found.attacker],
        "to_move": SIDES[board.to_move],
        "kind": found.kind,
        "verdict": solution.verdict.name.lower(),
        "distance": solution.distance,
        "line": [found.name(p) for p in solution.pv],
        "defences": [found.name(p) for p in solution.defences],
        "nodes": found.nodes,
        "elapsed_s": found.elapsed_s,
    }


def report(found: Answer) -> str:
    """Return the answer as text."""
    board, attacker, solution = found.board, found.attacker, found.solution
    after = "" if attacker == board.to_move else f", if {SIDES[1 - attacker]} passed"
    verdict = {
        Verdict.WIN: f"win in {solution.distance} plies{after}",
        Verdict.NONE: f"none{after}; all attacks were tried",
        Verdict.UNKNOWN: f"unknown; none found within the budget{after}",
    }[solution.verdict]
    lines = [
        draw(board, solution.pv[0] if solution.pv else None, from_bottom=found.from_bottom),
        "",
        f"{SIDES[board.to_move]} to move, {board.width}x{board.height}, rule {board.rule}, ply {board.ply}",
        f"{SIDES[attacker]}, {found.kind}: {verdict}",
    ]
    if solution.pv:
        lines.append("line: " + " ".join(found.name(p) for p in solution.pv))
        if attacker != board.to_move:
            defences = " ".join(found.name(p) for p in solution.defences)
            lines.append(f"only these may defend: {defences or 'none'}")
    lines.append(f"{found.nodes} nodes in {found.elapsed_s:.3f} s")
    return "\n".join(lines)
