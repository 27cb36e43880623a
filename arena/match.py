"""Play matches between Gomocup brains: pairs of games, intervals, sequential tests, files.

A player is one of
    a command or a path         any Gomocup brain, run as a fresh process for every game
    random                      uniformly random legal moves
    tactical                    wins, blocks, and else plays near other stones
{more}
Games come in pairs on one opening with colours swapped; a pair is the unit of the interval and of --sprt.
No opening is used twice unless --repeat-openings allows its mirror images. The score is that of --a. A brain
that does not start is an error before the first game; later it loses the game.

With --json NAME.json every finished game is kept in NAME.games.jsonl next to it, and the same command
continues where it was stopped. A match between brains with limits in ms holds the timing lock: it waits until
nothing else is timed, and training and labelling pause while it plays (--no-lock: neither). --one-core keeps
the two brains of a game on one core, so that two games can be timed in parallel on two cores.

    python -m {program} --a "python -m protocol" --b pbrain-other --manager cli --turn-ms 3000 \\
        --match-ms 18000 --openings docs/openings/freestyle15-frozen.txt --games 200
    python -m {program} --a "python -m protocol" --b "python -m protocol --set search.c_puct=1.4" \\
        --both lines=avx2 --turn-ms 8000 --concurrency 2 --one-core --sprt 0,20 --games 800 --json c_puct.json
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from arena.journal import journal_of, write_whole
from arena.limits import TOURNAMENT_BYTES, BrainLimits
from arena.managers import MANAGERS, manager_named
from arena.match_config import MatchConfig
from arena.match_result import MatchResult
from arena.match_runner import run_match
from arena.players import KINDS, Kinds, kind_of
from arena.sprt import Sprt
from arena.timing_lock import holding
from engine.errors import EngineError
from engine.games.record import GameRecord
from engine.pipes import run_piped
from engine.rules.rule import Rule, rule_from_text, rule_name

QUIET_S = 30.0
"""Seconds between the lines of a quiet match."""
Lend = Callable[[argparse.Namespace, MatchConfig], AbstractContextManager[tuple[Executor, int] | None]]
"""Lends workers elsewhere, and says how many; None for those of this machine."""


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    try:
        return int(width), int(height or width)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: N or WxH") from None


def _sprt(text: str) -> Sprt:
    low, _, high = text.partition(",")
    try:
        test = Sprt(float(low), float(high))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not two numbers, ELO0,ELO1") from None
    if not -1000 <= test.elo0 < test.elo1 <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r}: ELO0 must be below ELO1, both within 1000 of 0")
    return test


def _rule(text: str) -> int:
    try:
        return int(rule_from_text(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def make_parser(program: str = "arena.match", more: str = "") -> argparse.ArgumentParser:
    """Return the parser of the command.

    Args:
        program: how it is called.
        more: lines of the help on further kinds of players.
    """
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog=f"python -m {program}",
        description=__doc__.replace("{program}", program).replace("{more}", more),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--a", required=True, help="first player; the score is its")
    parser.add_argument("--b", required=True, help="second player")
    parser.add_argument(
        "--both", metavar="KEY=VALUE", action="append", default=[],
        help="a setting of both players, which are then both Tengen, as in --both lines=avx2",
    )  # fmt: skip
    parser.add_argument("--games", type=int, default=100, help="games, or their limit under SPRT (100)")
    parser.add_argument(
        "--sprt", metavar="ELO0,ELO1", type=_sprt, help="stop when this test decides (errors 0.05)"
    )
    parser.add_argument("--turn-ms", type=int, help="ms a move for both (1000 when no nodes are given)")
    parser.add_argument("--b-turn-ms", type=int, help="ms a move for --b, where it differs")
    parser.add_argument("--match-ms", type=int, default=0, help="ms a game, 0 unlimited (0)")
    parser.add_argument("--increment-ms", type=int, default=0, help="ms added after each move (0)")
    parser.add_argument(
        "--manager", default="plain", choices=list(MANAGERS), help="manager that runs the brains (plain)"
    )
    parser.add_argument("--nodes", type=int, help="simulations a move for both (INFO max_node for brains)")
    parser.add_argument("--b-nodes", type=int, help="simulations a move for --b, where they differ")
    parser.add_argument("--tolerance-ms", type=int, help="overrun not yet a loss (the manager's; 1000)")
    parser.add_argument("--start-ms", type=int, default=10_000, help="time from process start to OK (10000)")
    parser.add_argument(
        "--memory", type=int, default=TOURNAMENT_BYTES, help=f"INFO max_memory, bytes ({TOURNAMENT_BYTES})"
    )
    rules = ", ".join(f"{int(rule)} {rule_name(rule)}" for rule in Rule)
    parser.add_argument("--rule", type=_rule, default=0, help=f"number or name: {rules} (0)")
    parser.add_argument("--size", type=_size, default=(15, 15), help="board, N or WxH (15)")
    parser.add_argument("--openings", type=Path, help="file of dx,dy lines; without it random openings")
    parser.add_argument(
        "--repeat-openings", action="store_true", help="play mirror images of a list that is too short"
    )
    parser.add_argument("--random-stones", type=int, default=4, help="stones of a random opening (4)")
    parser.add_argument("--draw-after", type=int, help="stones after which a game is a draw (full board)")
    parser.add_argument("--concurrency", type=int, default=1, help="games at a time (1)")
    parser.add_argument("--one-core", action="store_true", help="each game on a core of its own")
    parser.add_argument("--no-lock", action="store_true", help="neither hold the timing lock nor wait for it")
    parser.add_argument("--seed", type=int, default=1, help="of random openings and players inside (1)")
    parser.add_argument("--save", type=Path, help="folder for games (.psq, .sgf) and brain logs")
    parser.add_argument("--json", type=Path, help="file for the result, and beside it one for the games")
    parser.add_argument("--names", default="a,b", help="names to print and save (a,b)")
    parser.add_argument("--quiet", action="store_true", help="a line each half minute instead of each game")
    return parser


def with_settings(spec: str, settings: list[str], kinds: Kinds) -> str:
    """Return a player of ours with further settings.

    Raises:
        ValueError: a player that has no settings.
    """
    if not settings:
        return spec
    if kind_of(spec) in kinds:
        if kind_of(spec) != "engine":
            raise ValueError(f"--both is for two players of Tengen, not for {spec!r}")
        head, _, own = spec.partition(":")
        return f"{head}:{','.join(filter(None, [own, *settings]))}"
    if os.path.isfile(spec):
        spec = shlex.quote(spec)
    return " ".join([spec, *(f"--set {shlex.quote(setting)}" for setting in settings)])


def _config(args: argparse.Namespace, kinds: Kinds) -> MatchConfig:
    """Return the match that the arguments describe.

    Raises:
        ValueError: an argument that makes no sense.
    """
    turn_ms = 1000 if args.turn_ms is None and args.nodes is None else args.turn_ms
    tolerance_ms = args.tolerance_ms
    shared: dict[str, Any] = {
        "match_ms": args.match_ms, "increment_ms": args.increment_ms, "max_memory": args.memory,
        "tolerance_ms": manager_named(args.manager).tolerance_ms if tolerance_ms is None else tolerance_ms,
        "start_ms": args.start_ms, "manager": args.manager,
    }  # fmt: skip
    b_turn_ms = turn_ms if args.b_turn_ms is None else args.b_turn_ms
    b_nodes = args.nodes if args.b_nodes is None else args.b_nodes
    names = args.names.split(",")
    return MatchConfig(
        a=with_settings(args.a, args.both, kinds), b=with_settings(args.b, args.both, kinds),
        games=args.games, rule=args.rule, width=args.size[0], height=args.size[1],
        limits=(
            BrainLimits(turn_ms=turn_ms, max_nodes=args.nodes, **shared),
            BrainLimits(turn_ms=b_turn_ms, max_nodes=b_nodes, **shared),
        ),
        sprt=args.sprt,
        openings=args.openings, repeat_openings=args.repeat_openings, random_stones=args.random_stones,
        draw_after=args.draw_after, concurrency=max(1, args.concurrency), one_core=args.one_core,
        pauses=not args.no_lock,
        seed=args.seed, save=args.save, journal=journal_of(args.json) if args.json else None,
        names=(names[0], names[-1]), kinds=kinds,
    )  # fmt: skip


def run(args: argparse.Namespace, kinds: Kinds, lend: Lend | None = None) -> int:
    """Play the match that the arguments describe; return 0, or 2 for a usage error.

    Args:
        args: of `make_parser`.
        kinds: players inside of this program.
        lend: workers elsewhere.
    """
    try:
        config = _config(args, kinds)
        progress = Progress(config.games, config.names, quiet=args.quiet)
        timed = config.is_timed and not args.no_lock
        with (
            holding(f"match of {config.names[0]} and {config.names[1]}", _say) if timed else nullcontext(),
            lend(args, config) if lend else nullcontext() as lent,
        ):
            result = run_match(config, progress.show, progress.found, lent)
    except KeyboardInterrupt:
        print("stopped; the same command continues" if args.json else "stopped", file=sys.stderr)
        return 1
    except BrokenPipeError:
        raise  # the output has no reader: no failure of the match
    except (ValueError, OSError, RuntimeError, EngineError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(result.summary(config.names))
    if args.json:
        write_whole(args.json, json.dumps(result.to_json(config), indent=1).encode())
    return 0


def main(argv: list[str] | None = None) -> int:
    """Run the command; return 0, or 2 for a usage error."""
    args = make_parser().parse_args(argv)
    for spec in (args.a, args.b):
        if kind_of(spec) in ("engine", "rollouts"):
            _say(f"error: {kind_of(spec)} needs a net or a search: python -m training.match")
            return 2
    return run(args, KINDS)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


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
    sys.exit(run_piped(main))
