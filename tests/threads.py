"""Search many positions with several threads and check the tree after each search.

    python -m tests.threads [--searches N] [--seed S] [--threads N] [--net NET]

Boards are small, rules, settings and evaluators vary, memory is often too little for the search, and searches
end at random: by a limit of simulations, by a stop at a random time, by a proof. Roots move on between
searches while helpers of the last one may still run. The consistency check (`Tree.check`) also runs in the
middle of searches, under the lock. A search that hangs for a minute ends the run with a traceback.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import time
from collections import Counter

from engine.config import EngineConfig
from engine.evaluator.base import Evaluator
from engine.evaluator.hashed import HashedEvaluator
from engine.evaluator.make import make_evaluator
from engine.evaluator.uniform import UniformEvaluator
from engine.rules._board import EMPTY, Board
from engine.rules.rule import ALL_RULES
from engine.search._threads import thread_counters
from engine.search.mcts import Search
from engine.search.params import SearchParams
from engine.search.stoppers import SearchState
from tests.helpers.search import random_position

MIB = 1 << 20
THREADS = (2, 2, 3, 4, 8, 16)
"""Drawn from, so that few threads are frequent."""
SETTINGS: tuple[dict[str, float], ...] = (
    {},
    {"tree_vct_visits": 2, "tree_vct_nodes": 60, "edge_cap": 8, "leaf_defences": False},
    {"transpositions": False},
    {"minimax_weight": 0.0, "edge_cap": 0, "leaf_vcf_nodes": 0, "root_solver_nodes": 0},
    {"tree_vct_visits": 1, "tree_vct_nodes": 20, "edge_cap": 4},
)
HANGS_S = 60
"""A search that takes longer hangs (derived: the longest takes a tenth of a second)."""


class RandomStop:
    """Stops after some simulations, or at a time; checks the tree now and then meanwhile."""

    def __init__(self, search: Search, rng: random.Random, longest: int) -> None:
        self._search = search
        self._rng = rng
        self._simulations = rng.randrange(1, longest)
        self._until_s = time.monotonic() + rng.choice([0.0005, 0.002, 0.02, 10.0])
        self.checks = 0

    def should_stop(self, state: SearchState) -> str | None:
        """See `engine.search.stoppers.Stopper`."""
        if self._rng.random() < 0.02:
            with self._search.tree.locked():
                if self._search.tree.nodes < 3000:
                    self._search.tree.check()
                    self.checks += 1
        state.max_slice = min(state.max_slice, self._simulations - state.simulations)
        if state.simulations >= self._simulations:
            return "node limit"
        return "time" if state.now_s > self._until_s else None


def play_on(board: Board, rng: random.Random) -> bool:
    """Play a random move; whether the game goes on."""
    moves = board.legal_points()
    if not moves:
        return False
    board.place(rng.choice(moves))
    return board.winner == EMPTY and board.n_empty > 0 and bool(board.legal_points())


def search_randomly(
    searches: int, seed: int, threads: int | None = None, longest: int = 4000, net: Evaluator | None = None
) -> Counter[str]:
    """Do searches and check every tree; return what happened, by name.

    Args:
        threads: of each search; None: random.
        longest: most simulations of a search.
        net: evaluator of all searches; None: hashed or uniform.

    Raises:
        AssertionError: a tree is not consistent, or a result is not a legal move.
    """
    rng = random.Random(seed)
    happened: Counter[str] = Counter()
    while happened["searches"] < searches:
        width, height = rng.choice([(5, 5), (6, 6), (7, 5), (9, 9), (15, 15)])
        board = random_position(rng, width, height, rng.choice(ALL_RULES), rng.choice([0, 4, 8, 14]))
        if board.winner != EMPTY or not board.legal_points():
            continue
        params = SearchParams(solver_table_log2=8, seed=rng.randrange(1000), **rng.choice(SETTINGS))  # type: ignore[arg-type]
        search = Search(params, rng.choice([1, 1, 16]) * MIB, solver=rng.random() < 0.8, threads=2)
        evaluator: Evaluator = HashedEvaluator(seed) if rng.random() < 0.8 else UniformEvaluator()
        evaluator = net or evaluator
        for _ in range(rng.randrange(1, 8)):
            one_search(search, board, evaluator, rng, threads or rng.choice(THREADS), longest, happened)
            if happened["searches"] >= searches or not play_on(board, rng):
                break
            if rng.random() < 0.1:
                search.clear()
    return happened


def one_search(
    search: Search,
    board: Board,
    evaluator: Evaluator,
    rng: random.Random,
    threads: int,
    longest: int,
    happened: Counter[str],
) -> None:
    """Search one position and check what comes of it."""
    faulthandler.dump_traceback_later(HANGS_S, exit=True)
    search.threads = threads
    stop = RandomStop(search, rng, longest)
    result = search.search(board, evaluator, [stop])
    assert board.cell(result.point) == EMPTY, f"{result.point} is taken"
    tree = search.tree
    tree.check()
    visits = sum(tree.edge_visits().tolist())
    assert visits <= tree.visits, f"{visits} visits of edges, {tree.visits} of the root"
    if rng.random() < 0.5:  # else the next search begins while helpers may still run
        assert search.helpers.join(HANGS_S), "a helper did not end"
        tree.check()
    faulthandler.cancel_dump_traceback_later()
    happened["searches"] += 1
    happened["simulations"] += result.simulations
    happened["checks in mid-search"] += stop.checks
    happened[f"ended by {result.stop_reason.split()[0]}"] += 1
    happened["searches that freed memory"] += tree.memory_bytes == MIB and result.visits > tree.nodes
    for name in ("collisions", "duplicates", "cancelled"):
        happened[name] += int(thread_counters(tree)[name])


def main() -> int:
    """Search; 0 when nothing was found."""
    summary = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tests.threads", description=summary)
    parser.add_argument("--searches", type=int, default=10_000, metavar="N", help="how many (default 10000)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the positions (default 1)")
    parser.add_argument("--threads", type=int, metavar="N", help="of each search (default: 2 to 16)")
    parser.add_argument("--longest", type=int, default=4000, metavar="N", help="simulations (default 4000)")
    parser.add_argument("--net", metavar="NET", help="evaluate with a net (default: with stubs)")
    args = parser.parse_args()
    net = None if args.net is None else make_evaluator(EngineConfig(net=args.net), args.seed)
    started_s = time.monotonic()
    happened = search_randomly(args.searches, args.seed, args.threads, args.longest, net)
    print(", ".join(f"{name}: {count:,}" for name, count in happened.items()))
    print(f"nothing found in {time.monotonic() - started_s:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
