"""Add positions inside the proofs of recorded games, so that their values are learned too.

    python -m training.endings runs/old/records runs/longer
    python -m training.selfplay --run-dir runs/new --records runs/longer --set learner.fast_weight=0.5

Self-play with `play.endings` records such positions itself; this is for games that were played without it.
Shards keep their names; those that are there already are left alone, so the same command continues where it
was stopped.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from engine.threats._solver import Solver
from training.data.shards import RecordError, list_shards, read_shards, write_shard
from training.files import console
from training.play.endings import played_on


@console.command(ValueError, OSError)
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: None takes those of the process.

    Returns:
        0; 1 when it was stopped, so that the same command continues; 2 for an error, which is printed.
    """
    parser = console.parser("training.endings", __doc__)
    parser.add_argument("records", type=Path, help="folder of shards")
    parser.add_argument("out", type=Path, help="folder of the new ones; made when missing")
    parser.add_argument("--nodes", type=int, default=3000, help="of the solver for each game (3000)")
    args = parser.parse_args(arguments)
    if args.nodes < 1:
        raise ValueError(f"--nodes is at least 1, not {args.nodes}")
    shards = list_shards(args.records)
    if not shards:
        raise ValueError(f"{args.records}: no shards")
    args.out.mkdir(parents=True, exist_ok=True)
    if args.out.resolve() == args.records.resolve():
        raise ValueError("the new shards need a folder of their own")
    _extend([path for path in shards if not (args.out / path.name).exists()], args.out, args.nodes)
    return 0


def _damaged(error: RecordError) -> None:
    print(f"skipped: {error}", file=sys.stderr)


def _extend(shards: Sequence[Path], out: Path, nodes: int) -> None:
    solver = Solver(14)
    for path, games in read_shards(shards, _damaged):
        longer = [played_on(game, solver, nodes) for game in games]
        before, after = (sum(game.positions for game in part) for part in (games, longer))
        write_shard(out / path.name, longer)
        print(f"{path.name}: {len(games)} games, {before} positions and {after - before} behind proofs")


if __name__ == "__main__":
    sys.exit(console.run(main))
