"""Analyse lost games: where they turned, and how the net valued the winning reply.

    python -m training.match --a engine:nodes=400 --b pbrain-other --names tengen,other --save games
    python -m training.lost games --player tengen --simulations 10000

Each game is read backwards, with a search at every move of the loser, to the last one where that search gives
it an expected score of 0.4 or more (its first where none does). A line shows that move with its score, the
winner's answer with its prior, the rank of that prior and its share of the visits of a search at the winner's
turn, then the loser's score at its next turn, or that it is proven lost. A game that turns by an answer which
hardly got visits was lost by the policy; one that slides from its first move on by the opening or the value.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from engine.config import EngineConfig
from engine.engine import Engine
from engine.errors import EngineError
from engine.timing.budget import SearchLimits
from training.files import console
from training.measure.lost import Turn, lines_of, lost_games, turn_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, 1 when it was stopped (what was read is shown), 2 for an error."""
    parser = console.parser("training.lost", __doc__)
    parser.add_argument("games", type=Path, help="folder of .psq and .sgf files")
    parser.add_argument("--player", required=True, help="whose losses, by its name in the files")
    parser.add_argument("--count", type=int, default=30, help="games at most, the first ones (30)")
    parser.add_argument("--simulations", type=int, default=10_000, help="of each search (10000)")
    parser.add_argument("--net", default="default", help="a file, or a name in engine/nets (default)")
    args = parser.parse_args(arguments)
    turns: list[Turn] = []
    status = 0
    try:
        if not args.games.is_dir() or min(args.count, args.simulations) < 1:
            raise ValueError(f"{args.games} is no folder, or --count or --simulations is below 1")
        engine = Engine(EngineConfig(net=args.net), log=_say)
        try:
            limits = SearchLimits(max_nodes=args.simulations)
            for name, game in islice(lost_games(args.games, args.player, _say), args.count):
                turn = turn_of(engine, name, game, limits)
                if turn is not None:
                    turns.append(turn)
        finally:
            engine.close()
        if not turns:
            raise ValueError(f"{args.games}: no game that {args.player} lost by five")
    except KeyboardInterrupt:
        status = 1
    except (ValueError, OSError, EngineError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(*lines_of(turns), sep="\n")
    return status


def _say(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(console.run(main))
