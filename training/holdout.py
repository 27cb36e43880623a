"""Judge nets on positions that none of them learned from.

    python -m training.holdout judge runs/mine/nets/c000012.fp32.onnx newer.fp32.onnx --records kept
    python -m training.holdout judge older.fp32.onnx newest.fp32.onnx --set holdout.jsonl.xz
    python -m training.holdout results older.fp32.onnx newest.fp32.onnx --games match.games.jsonl
    python -m training.holdout make --out holdout.jsonl.xz --games matches/rapfi --records kept
    python -m training.holdout join holdout.jsonl.xz more.jsonl.xz --out both.jsonl.xz

`judge` takes seconds. With `--records` it asks about shards of self-play that were kept out of all learning:
one position a game, with the targets that a learner would take; "the search" is that of the self-play. With
`--set` it asks about a file that `make` wrote, labelled by deep searches. Its columns: cross entropy of the
policy against the visits of the search; how often the search's move has a prior below 1 %, where a search may
never look; how often the best moves are the same; the utility that the net's best move gives away; Brier
score of win, draw and loss against the result of the game; squared distance of win - loss from the search's;
how well win - loss tells won games from lost ones (area under the curve). Below stands how the other nets
differ from the first, with 95 % intervals, then all nets on each size of the board. These numbers say what a
net has learned, games say how it plays.

`results` asks how well the values of nets predict the results of games: for every third position of games
that were saved, of a match (the file of games next to its --json) or of self-play, it prints the correlation
of win - loss with the result, in all and by the number of stones. The games should be strong ones, from
openings that no net learned from.

`make` draws one position a game, from games that were saved (`training.match --save`) and from the records of
self-play, half of each where there are enough, and searches each for a long time. It continues where it was
stopped (FILE.progress). Positions that the search solves are left out: there a net decides nothing. `join`
makes one set of several that were labelled alike.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from arena.openings import is_playable
from engine.errors import EngineError
from engine.evaluator.make import net_path
from training.files import console
from training.measure.deep import (
    DeepConfig,
    Labeller,
    Progress,
    draw,
    gather,
    labels,
    recorded_positions,
)
from training.measure.holdout import (
    HoldoutError,
    join_sets,
    judge,
    parse_position,
    read_set,
    table,
    table_by_size,
    write_set,
)
from training.measure.results import predict
from training.measure.results import table as results_table
from training.play.evaluators import load_evaluator

_GAMES = "folder of .psq or .sgf, or file of games of a match"


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = console.parser("training.holdout", __doc__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    judging = commands.add_parser("judge", help="judge nets")
    judging.add_argument("nets", nargs="+", metavar="NET", help="file of a net, `uniform` or `tactical`")
    source = judging.add_mutually_exclusive_group(required=True)
    source.add_argument("--set", type=Path, metavar="FILE", help="that `make` wrote")
    source.add_argument("--records", type=Path, metavar="FOLDER", help="of shards that no net learned from")
    asking = commands.add_parser("results", help="how well values of nets predict results of games")
    asking.add_argument("nets", nargs="+", metavar="NET", help="file of a net, `uniform` or `tactical`")
    asking.add_argument("--games", type=Path, action="append", default=[], metavar="PATH", help=_GAMES)
    asking.add_argument("--records", type=Path, action="append", default=[], help="folder of shards")
    making = commands.add_parser("make", help="label positions")
    making.add_argument("--out", type=Path, required=True, help="file to write")
    making.add_argument("--games", type=Path, action="append", default=[], metavar="PATH", help=_GAMES)
    making.add_argument("--records", type=Path, action="append", default=[], help="folder of shards")
    making.add_argument("--count", type=int, default=3600, help="positions to search (3600)")
    making.add_argument("--simulations", type=int, default=50_000, help="of each search (50000)")
    making.add_argument("--net", default="default", help="a file, or a name in engine/nets (default)")
    making.add_argument("--seed", type=int, default=1, help="of the draw and of the searches (1)")
    making.add_argument("--workers", type=int, default=1, help="processes (1)")
    joining = commands.add_parser("join", help="make one set of several")
    joining.add_argument("sets", nargs="+", type=Path, metavar="SET", help="that `make` wrote")
    joining.add_argument("--out", type=Path, required=True, help="file to write")
    return parser.parse_args(arguments)


def _judge(args: argparse.Namespace) -> None:
    if args.records is not None:
        _needs_folder(args.records)
        positions = recorded_positions(args.records, 1, _skipped)
        if not positions:
            raise ValueError(f"{args.records}: no position that was searched in full")
        print(f"{args.records}: {len(positions)} positions, one a game, with the targets of their self-play")
    else:
        recipe, positions = read_set(args.set)
        simulations = recipe.get("simulations")
        print(f"{args.set.name}: {len(positions)} positions, searched with {simulations} simulations")
    names = _names(args.nets)
    judgements = [judge(load_evaluator(net), positions) for net in args.nets]
    for line in (*table(names, judgements), *table_by_size(names, judgements, positions)):
        print(line)


def _names(nets: Sequence[str]) -> list[str]:
    return [Path(net).name.removesuffix(".onnx").removesuffix(".fp32") for net in nets]


def _results(args: argparse.Namespace) -> None:
    for folder in args.records:
        _needs_folder(folder)
    played, recorded = gather(args.games, args.records, _skipped)
    games = [g for g in (*played, *recorded) if is_playable(g.points[:-1], g.width, g.height, g.rule)]
    games.sort(key=lambda game: (game.width, game.height))
    nets = [predict(load_evaluator(net), games) for net in args.nets] if games else []
    if not nets or not len(nets[0].result):
        raise ValueError("no finished game with a position after its opening; --games or --records is needed")
    print(f"{len(games)} games, {len(nets[0].result)} positions")
    for line in results_table(_names(args.nets), nets):
        print(line)


def _needs_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder")


def _skipped(line: str) -> None:
    print(line, file=sys.stderr)


def _make(args: argparse.Namespace) -> None:
    if min(args.count, args.simulations, args.workers) < 1 or not (args.games or args.records):
        raise ValueError(
            "--count, --simulations and --workers are at least 1; --games or --records is needed"
        )
    for folder in args.records:
        _needs_folder(folder)
    net = net_path(args.net).name if args.net == "default" else args.net  # the default will be another one
    config = DeepConfig(args.simulations, net, args.seed)
    played, recorded = gather(args.games, args.records, _skipped)
    half = min(len(played), max(args.count // 2, args.count - len(recorded)))
    drawn = draw(played, half, args.seed)
    drawn += draw(recorded, args.count - len(drawn), args.seed)
    if not drawn:
        raise ValueError("no finished game with a position to search")
    progress = Progress(args.out.with_name(args.out.name + ".progress"), config, len(drawn))
    Labeller(config, _skipped).close()  # a net that is missing or damaged is an error here
    with contextlib.closing(labels(config, drawn[len(progress.lines) :], args.workers)) as labelled:
        for position in labelled:
            progress.add(position)
            if sys.stderr.isatty():
                print(f"\r{len(progress.lines)}/{len(drawn)}", end="", file=sys.stderr)
    positions = [parse_position(line) for line in progress.lines if line is not None]
    size = write_set(args.out, {**asdict(config), "drawn": len(drawn)}, positions)
    progress.path.unlink()
    print(f"{args.out}: {len(positions)} positions of {len(drawn)}, the others are solved; {size} bytes")


def _join(args: argparse.Namespace) -> None:
    recipe, positions = join_sets(args.sets)
    size = write_set(args.out, recipe, positions)
    print(f"{args.out}: {len(positions)} positions of {len(args.sets)} sets; {size} bytes")


_COMMANDS = {"judge": _judge, "results": _results, "make": _make, "join": _join}


@console.command(HoldoutError, ValueError, OSError, EngineError)
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, 1 when it was stopped (`make` continues), 2 for an error."""
    args = _arguments(arguments)
    _COMMANDS[args.command](args)
    return 0


if __name__ == "__main__":
    sys.exit(console.run(main))
