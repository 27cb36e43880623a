"""`arena.match` with players inside this program that search: the engine, and playouts without a net."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from arena.match import make_parser, run
from arena.match_config import MatchConfig
from training.files import console
from training.measure.players import PLAYERS

_MORE = """\
    rollouts:N                  pure MCTS with N random playouts a move, no net
    engine:key=value,...        Tengen in this process; keys of `EngineConfig` (net=NAME|FILE|uniform ...)
                                and nodes=N for a fixed number of simulations; net=tactical is the engine
                                with priors made by hand

Between two players inside of this program games are played in --concurrency processes, and times are
processor time: what else the machine runs does not decide. The same openings, seeds and simulations give the
same games. With --ray such games are played on all cores of a cluster of Ray.

    python -m training.match --a engine:nodes=400 --b engine:nodes=400,search.c_puct=1.4 \\
        --games 20000 --concurrency 2 --random-stones 5 --json c_puct.json --quiet
"""


@contextmanager
def _lent(args: argparse.Namespace, config: MatchConfig) -> Iterator[tuple[Executor, int] | None]:
    """Lend the players of a cluster, if one is named.

    Raises:
        ValueError: Ray is not installed, or a match that cannot be played there.
        RuntimeError: there is no cluster.
    """
    if args.ray is None:
        yield None
        return
    if not config.in_process or config.save:
        raise ValueError("--ray is for players inside of this program, and without --save")
    from training.workers.interface import require_ray

    require_ray()
    from training.cluster.executor import cluster_executor

    with cluster_executor(args.ray, lambda line: print(line, file=sys.stderr)) as pool:
        yield pool, pool.width


def main(argv: list[str] | None = None) -> int:
    """Run the command; return 0, or 2 for a usage error."""
    parser = make_parser("training.match", _MORE)
    parser.add_argument(
        "--ray", metavar="ADDRESS", help="play on a Ray cluster, auto or HOST:PORT; for players inside"
    )
    return run(parser.parse_args(argv), PLAYERS, _lent)


if __name__ == "__main__":
    sys.exit(console.run(main))
