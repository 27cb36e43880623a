"""Play a game at the terminal, against the engine, against another person, or watch the engine.

Moves are typed as h8 (letter: column, number: row from the top) or 7,7 (column and row from 0); `help` lists
the other commands.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from engine.commands.options import add_board_options, add_config_options, add_rows_option, config_from
from engine.errors import EngineError, PositionError
from engine.levels import LEVEL_FIELDS, STRONGEST, WEAKEST

if TYPE_CHECKING:
    from engine.config import EngineConfig
    from engine.play.players import Opponent

MISSING = (
    "error: the game at the terminal needs the package rich; get it with `make play`, or `pip install rich`"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument(
        "--colour",
        choices=["black", "white", "both", "none"],
        default="black",
        help="yours; none lets the engine play itself (default black)",
    )
    parser.add_argument(
        "--level",
        metavar="N[,M]",
        default="5",
        help=f"of the engine, {WEAKEST} beginner to {STRONGEST} full strength; two are black's and white's "
        "(default 5)",
    )
    parser.add_argument(
        "--time", metavar="SECONDS", default="3", help="the engine's for a move, at most (default 3)"
    )
    add_board_options(parser)
    parser.add_argument(
        "--opponent", metavar="PATH", help="play against this Gomocup brain: a path, or a command in quotes"
    )
    parser.add_argument("--swap2", action="store_true", help="begin with the swap2 opening")
    parser.add_argument("--load", metavar="FILE", help="go on with a game: .sgf, .psq, .lib, or moves")
    parser.add_argument(
        "--delay", type=float, default=0.5, metavar="SECONDS",
        help="pause between moves that are watched (default 0.5)",
    )  # fmt: skip
    add_rows_option(parser)
    parser.add_argument("--ascii", action="store_true", help="letters instead of stones")
    add_config_options(parser, threads=True)


def _check_options(
    args: argparse.Namespace, config: EngineConfig, make_opponent: Callable[[str], Opponent] | None
) -> None:
    """Refuse options that do not go together.

    Raises:
        PositionError: two of them do not.
    """
    if config.level is not None or any(
        getattr(config, name) != getattr(type(config)(), name) for name in LEVEL_FIELDS
    ):
        raise PositionError(f"--level decides the strength here; leave out level, {', '.join(LEVEL_FIELDS)}")
    if args.opponent is not None and make_opponent is None:
        raise PositionError("--opponent is for `python -m arena.play`, which takes the same options")
    if args.opponent is not None and args.swap2:
        raise PositionError("--opponent and --swap2 do not go together: few brains know that opening")
    if args.load is not None and args.swap2:
        raise PositionError("--load and --swap2 do not go together")


def run(args: argparse.Namespace, make_opponent: Callable[[str], Opponent] | None = None) -> int:
    """Play; return 0 after a session, 2 without the terminal library.

    Args:
        args: of `add_arguments`.
        make_opponent: returns the player that --opponent names.

    Raises:
        EngineError: an option, the net or the game to load is unusable.
    """
    if importlib.util.find_spec("rich") is None:
        print(MISSING, file=sys.stderr)
        return 2
    from rich.console import Console

    from engine.commands.charset import detector
    from engine.games.files import load_tree
    from engine.play.actions import act, check, parse_levels, parse_seconds
    from engine.play.game import Game
    from engine.play.players import HUMANS, Players
    from engine.play.screen import Screen
    from engine.play.session import Session
    from engine.play.terminal import Lines
    from engine.play.thinker import Thinker

    config = config_from(args)
    _check_options(args, config, make_opponent)
    players = Players(
        HUMANS[args.colour],
        parse_levels(args.level),
        parse_seconds(args.time),
        min(60.0, max(0.0, args.delay)),
    )
    if args.opponent is not None and make_opponent is not None:
        players.opponent = make_opponent(args.opponent)
    width, height = args.size
    game = Game(width, height, args.rule)
    if args.load is not None:
        tree = load_tree(
            args.load, args.rule, width, height, detect=detector(), from_bottom=args.rows_from == "bottom"
        )
        game = Game.from_tree(tree)
    screen = Screen(Console(highlight=False), ascii_only=args.ascii)
    messages: list[str] = []
    session: Session | None = None

    def tick(elapsed_s: float) -> None:
        if session is not None:
            session.tick(elapsed_s)

    thinker = Thinker(config, log=messages.append, tick=tick)
    from_bottom = args.rows_from == "bottom"
    session = Session(
        game, players, thinker, screen, act, check=check, swap2=args.swap2, from_bottom=from_bottom
    )
    if args.load is not None:
        session.tell(f"{len(game.stones)} stones, {game.rule_name}")
    try:
        return session.run(Lines(sys.stdin, session.redraw))
    finally:
        thinker.close()
        if players.opponent is not None:
            players.opponent.close()
        for message in messages:
            print(message, file=sys.stderr)


def main(argv: Sequence[str], make_opponent: Callable[[str], Opponent] | None = None) -> int:
    """Run as a program of its own, e.g. of the packed brain; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="play", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser)
    try:
        return run(parser.parse_args(argv), make_opponent)
    except EngineError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
