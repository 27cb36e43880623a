"""Play matches: nets, settings, built-in opponents or any Gomocup brain against each other.

A player is one of
    a shell-like command        any Gomocup brain, run as a fresh process for every game
    random                      uniformly random legal moves
    rollouts:N                  pure MCTS with N random playouts a move, no net
    engine:key=value,...        Tengen in this process; keys of `EngineConfig` (net=NAME|FILE|uniform ...)
                                and nodes=N for a fixed number of simulations; net=tactical is the engine
                                with priors made by hand

Games come in pairs on one opening with colours swapped; a pair is the unit of the interval. No opening is
used twice unless --repeat-openings allows its mirror images. The score is that of --a. A brain that does not
start is an error before the first game; later it loses the game.

Between two players inside of this program games are played in --concurrency processes, and times are
processor time: what else the machine runs does not decide. The same openings, seeds and simulations give the
same games. With --json NAME.json every finished game is kept in NAME.games.jsonl beside it, and the same
command goes on where it was stopped. With --ray such games are played on all cores of a cluster of Ray.

    python -m training.match --a engine:nodes=400 --b engine:nodes=400,search.c_puct=1.4 \\
        --games 20000 --concurrency 2 --random-stones 5 --json c_puct.json --quiet
    python -m training.match --a "python -m protocol" --b pbrain-other --manager cli --turn-ms 3000 \\
        --match-ms 18000 --openings docs/openings/freestyle15-final.txt --games 200
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.gamefile import GameRecord
from engine.rules.rule import Rule
from training.files.atomic import write_atomically
from training.measure.brainproc import BrainLimits
from training.measure.elo import Sprt
from training.measure.games import journal_of
from training.measure.managers import MANAGERS
from training.measure.match import MatchConfig, MatchResult, run_match
from training.play.openings import OpeningError

QUIET_S = 30.0
"""Seconds between the lines of a quiet match."""


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
    parser.add_argument("--increment-ms", type=int, default=0, help="ms added after each move (0)")
    parser.add_argument(
        "--manager", default="plain", choices=list(MANAGERS), help="whose manners brains meet (plain)"
    )
    parser.add_argument("--nodes", type=int, help="simulations a move for both (INFO max_node for brains)")
    parser.add_argument("--b-nodes", type=int, help="simulations a move for --b, where they differ")
    parser.add_argument("--tolerance-ms", type=int, help="overrun not yet a loss (the manager's; 1000)")
    parser.add_argument("--start-ms", type=int, default=10_000, help="time from process start to OK (10000)")
    parser.add_argument("--memory", type=int, default=367_001_600, help="INFO max_memory, bytes (367001600)")
    parser.add_argument("--rule", type=int, default=0, choices=[int(r) for r in Rule], help="0 1 4 8 9 (0)")
    parser.add_argument("--size", default="15", help="board, N or WxH (15)")
    parser.add_argument("--openings", type=Path, help="file of dx,dy lines; without it random openings")
    parser.add_argument(
        "--repeat-openings", action="store_true", help="play mirror images of a list that is too short"
    )
    parser.add_argument("--random-stones", type=int, default=4, help="stones of a random opening (4)")
    parser.add_argument("--draw-after", type=int, help="stones after which a game is a draw (full board)")
    parser.add_argument("--concurrency", type=int, default=1, help="games at a time (1)")
    parser.add_argument(
        "--ray", metavar="ADDRESS", help="play on a Ray cluster, auto or HOST:PORT; for players inside"
    )
    parser.add_argument("--seed", type=int, default=1, help="of random openings and built-in players (1)")
    parser.add_argument("--save", type=Path, help="folder for games (.psq, .sgf) and brain logs")
    parser.add_argument("--json", type=Path, help="file for the result, and beside it one for the games")
    parser.add_argument("--names", default="a,b", help="names to print and save (a,b)")
    parser.add_argument("--quiet", action="store_true", help="a line each half minute instead of each game")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run the command; return 0, or 2 for a usage error."""
    args = _arguments(argv)
    width, _, height = args.size.partition("x")
    if args.turn_ms is None and args.nodes is None:
        args.turn_ms = 1000
    manager = MANAGERS[args.manager]
    shared: dict[str, Any] = {
        "match_ms": args.match_ms, "increment_ms": args.increment_ms, "max_memory": args.memory,
        "tolerance_ms": manager.tolerance_ms if args.tolerance_ms is None else args.tolerance_ms,
        "start_ms": args.start_ms, "manager": manager,
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
            openings=args.openings, repeat_openings=args.repeat_openings, random_stones=args.random_stones,
            draw_after=args.draw_after, concurrency=max(1, args.concurrency), seed=args.seed, save=args.save,
            journal=journal_of(args.json) if args.json else None, names=(names[0], names[-1]),
        )  # fmt: skip
        progress = Progress(config.games, config.names, quiet=args.quiet)
        with _lent(args.ray, config) as lent:
            result = run_match(config, progress.show, progress.found, lent)
    except KeyboardInterrupt:
        print("stopped; the same command goes on" if args.json else "stopped", file=sys.stderr)
        return 1
    except (OpeningError, ValueError, OSError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(result.summary(config.names))
    if args.json:
        write_atomically(args.json, json.dumps(result.to_json(config), indent=1).encode())
    return 0


@contextmanager
def _lent(address: str | None, config: MatchConfig) -> Iterator[tuple[Executor, int] | None]:
    """Lend the players of a cluster, if one is named.

    Raises:
        ValueError: Ray is not installed, or a match that cannot be played there.
        RuntimeError: there is no cluster.
    """
    if address is None:
        yield None
        return
    if not config.in_process or config.save:
        raise ValueError("--ray is for players inside of this program, and without --save")
    from training.crew.players import require_ray

    require_ray()
    from training.cluster.games import far

    with far(address, lambda line: print(line, file=sys.stderr)) as pool:
        yield pool, pool.width


class Progress:
    """What the command prints while it plays."""

    def __init__(self, games: int, names: tuple[str, str], *, quiet: bool) -> None:
        self._games, self._names, self._quiet = games, names, quiet
        self._before = 0
        self._began_s = self._printed_s = time.monotonic()

    def found(self, result: MatchResult) -> None:
        """Say how many games were there already."""
        self._before = result.games
        if result.games:
            print(f"going on after {result.games} games", flush=True)

    def show(self, result: MatchResult, game: GameRecord) -> None:
        """Print a line for a game, or one now and then."""
        now_s = time.monotonic()
        if self._quiet and now_s - self._printed_s < QUIET_S and result.games < self._games:
            return
        self._printed_s = now_s
        each_s = (now_s - self._began_s) / (result.games - self._before)
        left = f"{each_s * (self._games - result.games) / 60:.0f} min left"
        score = f"+{result.wins} ={result.draws} -{result.losses}"
        if self._quiet:
            print(f"{result.games}/{self._games} {score}, {result.estimate}; {left}", flush=True)
            return
        outcome = "draw" if game.winner == 2 else f"{game.names[game.winner]} wins"
        extra = f" ({game.text})" if game.text else ""
        print(
            f"{result.games:4d}/{self._games} {outcome} by {game.reason} after {len(game.points)}{extra}; "
            f"{score} Elo {result.estimate.elo:+.0f}; {left}",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
