"""Look for a forced win: by continuous fours (vcf) or by fours and threes (vct).

The position is given as for `analyse`. The line shown is the longest defence; where the attacker is not to
move, the answer is what happens after a pass, and the defences that may stop it are listed.
"""

from __future__ import annotations

import argparse
import json
import time

from engine.errors import PositionError
from engine.options import add_board_options
from engine.positions import draw, position_text, read_position
from engine.rules.geometry import format_move
from engine.threats._solver import Solver
from engine.threats.solution import Verdict

COLOURS = ("black", "white")
_WORDS = {Verdict.WIN: "win", Verdict.NONE: "none", Verdict.UNKNOWN: "unknown"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("position", metavar="POSITION", help="moves, a file, or - for standard input")
    add_board_options(parser)
    parser.add_argument("--kind", choices=("vcf", "vct"), default="vct", help="threats to use (default vct)")
    parser.add_argument("--attacker", choices=COLOURS, default=None, help="default: the side to move")
    parser.add_argument(
        "--nodes", type=int, default=10_000_000, metavar="N", help="budget (default 10 million)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def run(args: argparse.Namespace) -> int:
    """Print the answer; the exit status is 0 whatever it is."""
    width, height = args.size
    board = read_position(position_text(args.position), width=width, height=height, rule=args.rule)
    attacker = board.to_move if args.attacker is None else COLOURS.index(args.attacker)
    started_s = time.perf_counter()
    try:
        answer = Solver(20).solve(board, args.kind, attacker, args.nodes)
    except ValueError as error:
        raise PositionError(str(error)) from error
    elapsed_s = time.perf_counter() - started_s
    facts = {
        "kind": args.kind,
        "attacker": COLOURS[attacker],
        "verdict": _WORDS[answer.verdict],
        "distance": answer.distance,
        "line": [format_move(p, board.width) for p in answer.line],
        "defences": [format_move(p, board.width) for p in answer.defences],
        "nodes": answer.nodes,
        "seconds": round(elapsed_s, 3),
    }
    if args.json:
        print(json.dumps(facts, indent=2))
        return 0
    print(draw(board, answer.line[0] if answer.line else None))
    print(f"\n{facts['attacker']}, {args.kind}: {facts['verdict']}", end="")
    print(f" in {answer.distance} plies" if answer.verdict is Verdict.WIN else "", end="")
    print(f"  ({answer.nodes} placements, {elapsed_s:.2f} s)")
    if answer.line:
        print("line:    ", " ".join(facts["line"]))
    if answer.defences:
        print("defences:", " ".join(facts["defences"]))
    return 0
