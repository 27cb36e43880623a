"""Play matches: nets, settings, built-in opponents or any Gomocup brain against each other.

A player is one of
    a shell-like command        any Gomocup brain, run as a fresh process for every game
    random                      uniformly random legal moves
    rollouts:N                  pure MCTS with N random playouts a move, no net
    engine:key=value,...        Tengen in this process; keys of `EngineConfig` (net=NAME|FILE|uniform ...)
                                and nodes=N for a fixed number of simulations; net=tactical is the engine
                                with priors made by hand

Games come in pairs on one opening with colours swapped; further rounds through the file use its mirror
images. The score is that of --a.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from engine.gamefile import GameRecord
from engine.rules.rule import Rule
from training.measure.brainproc import BrainLimits
from training.measure.elo import Sprt
from training.measure.match import MatchConfig, MatchResult, run_match
from training.play.openings import OpeningError


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m training.match",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--a", required=True, help="first player; the score is its")
    parser.add_argument("--b", required=True, help="second player")
    parser.add_argument("--games", type=int, default=100, help="games, or their limit under SPRT (100)")
    parser.add_argument("--sprt", metavar="ELO0,ELO1", help="stop when this test decides (errors 0.05)")
    parser.add_argument("--turn-ms", type=int, help="ms a move for both (1000 when no nodes are given)")
    parser.add_argument("--b-turn-ms", type=int, help="ms a move for --b, where it differs")
    parser.add_argument("--match-ms", type=int, default=0, help="ms a game, 0 unlimited (0)")
    parser.add_argument("--nodes", type=int, help="simulations a move for both (INFO max_node for brains)")
    parser.add_argument("--b-nodes", type=int, help="simulations a move for --b, where they differ")
    parser.add_argument("--tolerance-ms", type=int, default=1000, help="overrun not yet a loss (1000)")
    parser.add_argument("--start-ms", type=int, default=10_000, help="time from process start to OK (10000)")
    parser.add_argument("--memory", type=int, default=367_001_600, help="INFO max_memory, bytes (367001600)")
    parser.add_argument("--rule", type=int, default=0, choices=[int(r) for r in Rule], help="0 1 4 8 9 (0)")
    parser.add_argument("--size", default="15", help="board, N or WxH (15)")
    parser.add_argument("--openings", type=Path, help="file of dx,dy lines; without it random openings")
    parser.add_argument("--random-stones", type=int, default=4, help="stones of a random opening (4)")
    parser.add_argument("--draw-after", type=int, help="stones after which a game is a draw (full board)")
    parser.add_argument("--concurrency", type=int, default=1, help="games at a time (1)")
    parser.add_argument("--seed", type=int, default=1, help="of random openings and built-in players (1)")
    parser.add_argument("--save", type=Path, help="folder for games (.psq, .sgf) and brain logs")
    parser.add_argument("--json", type=Path, help="file for the result as JSON")
    parser.add_argument("--names", default="a,b", help="names to print and save (a,b)")
    parser.add_argument("--quiet", action="store_true", help="no line a game")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run the command; return 0, or 2 for a usage error."""
    args = _arguments(argv)
    width, _, height = args.size.partition("x")
    if args.turn_ms is None and args.nodes is None:
        args.turn_ms = 1000
    shared = {
        "match_ms": args.match_ms, "max_memory": args.memory,
        "tolerance_ms": args.tolerance_ms, "start_ms": args.start_ms,
    }  # fmt: skip
    try:
        b_turn = args.turn_ms if args.b_turn_ms is None else args.b_turn_ms
        b_nodes = args.nodes if args.b_nodes is None else args.b_nodes
        elo0, _, elo1 = (args.sprt or "0,0").partition(",")
        names = args.names.split(",")
        config = MatchConfig(
            a=args.a, b=args.b, games=args.games, rule=args.rule,
            width=int(width), height=int(height or width),
            limits=(
                BrainLimits(turn_ms=args.turn_ms, max_nodes=args.nodes, **shared),
                BrainLimits(turn_ms=b_turn, max_nodes=b_nodes, **shared),
            ),
            sprt=Sprt(float(elo0), float(elo1)) if args.sprt else None,
            openings=args.openings, random_stones=args.random_stones, draw_after=args.draw_after,
            concurrency=max(1, args.concurrency), seed=args.seed, save=args.save, names=(names[0], names[-1]),
        )  # fmt: skip

        def show(result: MatchResult, game: GameRecord) -> None:
            if not args.quiet:
                outcome = "draw" if game.winner == 2 else f"{game.names[game.winner]} wins"
                extra = f" ({game.text})" if game.text else ""
                print(
                    f"{result.games:4d}/{config.games} {outcome} by {game.reason} "
                    f"after {len(game.points)}{extra}; "
                    f"+{result.wins} ={result.draws} -{result.losses} Elo {result.estimate.elo:+.0f}",
                    flush=True,
                )

        result = run_match(config, show)
    except (OpeningError, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(result.summary(config.names))
    if args.json:
        temporary = args.json.with_suffix(".tmp")
        temporary.write_text(json.dumps(result.to_json(config), indent=1), encoding="utf-8")
        os.replace(temporary, args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
