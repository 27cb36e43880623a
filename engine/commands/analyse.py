"""Show the best moves of a position with visits, chances, proofs and the line that the search expects.

The position is a row of moves (`h8h9i8` or `7,7 7,8`; letters for columns, rows from the top), a file with
moves, a drawn board (X black, O white, . empty) or a saved game (.psq, SGF), or - for any of these on
standard input. With --game a whole saved game is reviewed: a line a move with black's chances, and the
moves that lost the most. Saved games are .sgf, .psq, .lib (RenLib) or moves, in any encoding.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys

from engine.commands.charset import detector
from engine.commands.options import add_board_options, add_config_options, add_rows_option, config_from
from engine.engine import Engine
from engine.errors import PositionError
from engine.games.files import load_tree
from engine.games.positions import draw, position_text, read_position
from engine.games.review import ReviewedMove, line_of, review, worst
from engine.games.tree import main_line
from engine.rules.geometry import format_move
from engine.rules.rule import rule_name
from engine.search.result import MoveStats, SearchResult
from engine.timing.budget import SearchLimits


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument(
        "position", nargs="?", default="", metavar="POSITION", help="see above (default: empty)"
    )
    parser.add_argument(
        "--game", metavar="FILE", help="walk through this game; times count for each position"
    )
    add_board_options(parser)
    add_rows_option(parser)
    add_config_options(parser, threads=True)
    parser.add_argument(
        "--time",
        type=float,
        default=None,
        metavar="SECONDS",
        help="think this long (default 5, with --game 1)",
    )
    parser.add_argument(
        "--simulations", type=int, default=None, metavar="N", help="think this many simulations"
    )
    parser.add_argument(
        "--moves", type=int, default=10, metavar="N", help="show this many moves (default 10)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def run(args: argparse.Namespace) -> int:
    """Print the analysis."""
    if args.game is not None:
        return _run_game(args)
    width, height = args.size
    board = read_position(
        position_text(args.position, detector()), width=width, height=height, rule=args.rule,
        from_bottom=args.rows_from == "bottom",
    )  # fmt: skip
    if board.winner in (0, 1):
        raise PositionError(f"the game is over: {('black', 'white')[board.winner]} has won")
    engine = Engine(config_from(args, overhead_ms=0), log=lambda line: print(line, file=sys.stderr))
    engine.new_game(board.width, board.height, args.rule)
    engine.set_position(board.stones(), board.to_move)
    engine.warm_up()
    result = engine.nbest(max(1, args.moves), _limits(args, 5.0), engine.clock.now_s())
    if args.json:
        print(json.dumps(dataclasses.asdict(result), indent=2))
    else:
        print(report(engine, result, from_bottom=args.rows_from == "bottom"))
    engine.close()
    return 0


def _run_game(args: argparse.Namespace) -> int:
    """Print a line a move of a saved game."""
    if args.position:
        raise PositionError("give a position or --game, not both")
    size, from_bottom = args.size, args.rows_from == "bottom"
    tree = load_tree(args.game, args.rule, *size, detect=detector(), from_bottom=from_bottom)
    game = tree.record
    rows = game.height if from_bottom else None
    hidden = len(tree.nodes) - 1 - len(game.points)
    for note in [*game.notes, *([f"{hidden} moves of variations are not walked through"] if hidden else [])]:
        print(f"note: {note}", file=sys.stderr)
    engine = Engine(config_from(args, overhead_ms=0), log=lambda line: print(line, file=sys.stderr))
    engine.warm_up()

    comments = [node.comment for node in main_line(tree)]
    if not args.json:
        black, white = game.names
        print(f"{black} (X) against {white} (O), {game.width}x{game.height} {rule_name(game.rule)}")

    def show(move: ReviewedMove) -> None:
        if args.json:
            return
        words = " ".join(comments[move.ply].split())
        print(line_of(move, game.width, rows) + (f"  {{{words}}}" if words else ""), flush=True)

    moves = review(engine, game, _limits(args, 1.0), show)
    net = engine.net_name
    engine.close()
    if args.json:
        print(json.dumps([dataclasses.asdict(move) | {"fall": move.fall} for move in moves], indent=2))
        return 0
    print(f"\n{len(moves)} moves; the win rate is black's, after the move, by {net}")
    for move in worst(moves):
        side = ("black", "white")[move.colour]
        print(f"{side} lost most with {line_of(move, game.width, rows).strip()}")
    return 0


def _limits(args: argparse.Namespace, default_s: float) -> SearchLimits:
    time_s = default_s if args.time is None and args.simulations is None else args.time
    return SearchLimits(
        turn_ms=None if time_s is None else max(1, int(1000 * time_s)), max_nodes=args.simulations
    )


def report(engine: Engine, result: SearchResult, *, from_bottom: bool = False) -> str:
    """Return the analysis as text; `from_bottom`: row 1 is the lowest."""
    board = engine.board
    rows = board.height if from_bottom else None
    side = ("black", "white")[board.to_move]
    speed = result.simulations / result.elapsed_s if result.elapsed_s > 0 else 0.0
    lines = [
        draw(board, result.point, from_bottom=from_bottom),
        "",
        f"{side} to move, {board.width}x{board.height}, ply {board.ply}; net: {engine.net_name}",
        f"best {format_move(result.point, board.width, rows)}  {_chances(result.wdl)}"
        f"{_proof(result.proven, result.distance)}",
        f"{result.simulations} simulations in {result.elapsed_s:.2f} s ({speed:.0f}/s), {result.evaluations} "
        f"evaluations, depth {result.depth_mean:.1f} mean, {result.depth_max} most",
        f"stopped by: {result.stop_reason}",
        "",
        "move  visits   prior      q    win  draw  loss  proof     line",
    ]
    lines += [_row(move, board.width, rows) for move in result.candidates]
    return "\n".join(lines)


def _row(move: MoveStats, width: int, rows: int | None) -> str:
    win, draws, loss = (f"{100 * chance:5.1f}" for chance in move.wdl)
    line = " ".join(format_move(p, width, rows) for p in move.pv[:12])
    proof = _proof(move.proven, move.distance).strip()
    name = format_move(move.point, width, rows)
    return (
        f"{name:<4}{move.visits:>8}  {100 * move.prior:5.1f}%  {move.q:+.3f}  "
        f"{win} {draws} {loss}  {proof:<9} {line}"
    ).rstrip()


def _chances(wdl: tuple[float, float, float]) -> str:
    return f"win {100 * wdl[0]:.1f}%  draw {100 * wdl[1]:.1f}%  loss {100 * wdl[2]:.1f}%"


def _proof(proven: str | None, distance: int | None) -> str:
    if proven is None:
        return ""
    return f"  {proven} in {distance}" if distance else f"  {proven}"
