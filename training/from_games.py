"""Make records of played games, so that nets learn from their results.

    python -m training.match --a engine:nodes=400 --b engine:net=other.fp32.onnx,nodes=400 --games 2000 \\
        --openings docs/openings/freestyle15-fit.txt --repeat-openings --concurrency 2 --json runs/strong.json
    python -m training.from_games runs/strong.games.jsonl --out runs/strong
    python -m training.offline encode --records runs/strong --positions runs/strong-set

Each position after the opening is recorded with the result of the game, without a policy; it counts in
learning where `learner.fast_weight` is above 0. A game that is there twice, turned or mirrored, is taken
once. Games that ended by an incident (time, an illegal move, a crash) are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from arena.openings import is_playable
from engine.rules._board import EMPTY
from engine.rules.rule import NET_RULES
from training.data.records import DRAW, End, GameBuilder, SelfPlayRecord
from training.data.shards import SUFFIX, list_shards, write_shard
from training.files import console
from training.measure.balance import canonical
from training.measure.deep import Game, gather

_GAMES_A_SHARD = 200


def records_of(games: Iterable[Game]) -> Iterator[SelfPlayRecord]:
    """Yield records of games that a net can learn from, each game once under the symmetries of the board."""
    seen = set()
    for game in games:
        size = game.width, game.height
        key = (game.rule, *size, *canonical(game.points, *size))
        if game.rule not in NET_RULES or len(game.points) <= game.opening or key in seen:
            continue
        if not is_playable(game.points[:-1], *size, game.rule):
            continue
        seen.add(key)
        yield _record(game)


def _record(game: Game) -> SelfPlayRecord:
    builder = GameBuilder(
        game.rule, game.width, game.height,
        opening=game.points[: game.opening], net_id=game.source, seed=0,
    )  # fmt: skip
    drawn = game.winner == EMPTY
    for ply in range(game.opening, len(game.points)):
        won = game.winner == ply % 2
        builder.add(0, (0.0, 1.0, 0.0) if drawn else (float(won), 0.0, float(not won)))
        builder.play(game.points[ply])
    return builder.finish(DRAW if drawn else game.winner, End.BOARD_FULL if drawn else End.FIVE)


@console.command(ValueError, OSError)
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: None takes those of the process.

    Returns:
        0, or 2 for an error, which is printed.
    """
    parser = console.parser("training.from_games", __doc__)
    what = "file of games of a match, or folder of .psq or .sgf"
    parser.add_argument("games", type=Path, nargs="+", metavar="PATH", help=what)
    parser.add_argument("--out", type=Path, required=True, help="folder of the shards; new or empty of them")
    args = parser.parse_args(arguments)
    if args.out.is_dir() and list_shards(args.out):
        raise ValueError(f"{args.out} holds shards already")
    played, _ = gather(args.games, (), lambda line: print(line, file=sys.stderr))
    records = list(records_of(played))
    if not records:
        raise ValueError("no finished game with a position after its opening")
    args.out.mkdir(parents=True, exist_ok=True)
    for number, at in enumerate(range(0, len(records), _GAMES_A_SHARD)):
        write_shard(args.out / f"{number:06d}-00{SUFFIX}", records[at : at + _GAMES_A_SHARD])
    print(f"{args.out}: {len(records)} games of {len(played)}, {sum(r.positions for r in records)} positions")
    return 0


if __name__ == "__main__":
    sys.exit(console.run(main))
