"""Search the same positions in two checkouts and tell where they differ, bit for bit.

    python -m tests.golden.compare --baseline DIR

`DIR` is another checkout whose kernel is built; its `.venv` is used if it has one. A case is a position with
a way to search it: rules, sides and rectangles, every evaluator, settings of the tree, proofs, little memory,
roots that move on, batches. Its digest covers moves, visits, values, proofs, lines and counters.

This file runs in both checkouts and uses only the interfaces of `Search` and `Tree`. `OLD_SETTINGS` and
`OLD_NAMES` say what an older checkout calls a thing. A name that neither the checkout nor these maps know is
an error: a comparison that leaves something out in silence proves nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import random
import subprocess
import sys
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

OLD_MODULES: dict[str, str] = {}
"""Modules by today's name, with what an older checkout calls them."""
OLD_SETTINGS = {
    "minimax_weight": "minimax_share",
    "final_minimax_weight": "choice_minimax_share",
    "lcb_min_visit_ratio": "rival_visits",
    "lcb_stdev": "value_spread",
}
"""Settings by today's name, with what an older checkout calls them."""
ADDED_SETTINGS = frozenset({"leaf_defences"})
"""Settings that an older checkout may lack: what they switch off does not exist there."""
OLD_NAMES = {"backend": "judge", "vct": "threes"}
"""Attributes and arguments by today's name, with what an older checkout calls them."""


class UnknownNameError(Exception):
    """A checkout lacks a name, and no map says what it calls the thing."""


def module(name: str) -> Any:
    """Import a module by today's name, or by the name that an older checkout has for it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name or name not in OLD_MODULES:
            raise UnknownNameError(f"this checkout has no module {name}; add it to OLD_MODULES") from error
    return importlib.import_module(OLD_MODULES[name])


def attribute(owner: object, name: str) -> Any:
    """Return an attribute by today's name, or by the name that an older checkout has for it."""
    for known in (name, OLD_NAMES.get(name, name)):
        if hasattr(owner, known):
            return getattr(owner, known)
    raise UnknownNameError(f"{type(owner).__name__} has no {name}; add it to OLD_NAMES")


def setting_name(name: str, known: Container[str]) -> str | None:
    """Return what a checkout calls a setting; None: it may lack it, and does.

    Args:
        name: today's name.
        known: the settings of the checkout.
    """
    for candidate in (name, OLD_SETTINGS.get(name, name)):
        if candidate in known:
            return candidate
    if name in ADDED_SETTINGS:
        return None
    raise UnknownNameError(f"SearchParams has no {name}; add it to OLD_SETTINGS or ADDED_SETTINGS")


N_PLANES: int = attribute(module("engine.encoding"), "N_PLANES")
HashedEvaluator = attribute(module("engine.evaluator.hashed"), "HashedEvaluator")
UniformEvaluator = attribute(module("engine.evaluator.uniform"), "UniformEvaluator")
EMPTY: int = attribute(module("engine.rules._board"), "EMPTY")
Board = attribute(module("engine.rules._board"), "Board")
_tree = module("engine.search._tree")
Tree, gather, scatter = (attribute(_tree, name) for name in ("Tree", "gather", "scatter"))
Search = attribute(module("engine.search.mcts"), "Search")
SearchParams = attribute(module("engine.search.params"), "SearchParams")
NodeLimit = attribute(module("engine.search.stoppers"), "NodeLimit")
Solver = attribute(module("engine.threats._solver"), "Solver")

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
RULES = tuple(int(rule) for rule in attribute(module("engine.rules.rule"), "Rule") if rule < 16)
"""Rules of every checkout so far."""
SIZES = [(side, side) for side in range(5, 23)] + [(22, 5), (5, 22), (13, 9), (20, 15)]
PARAMS: dict[str, dict[str, Any]] = {
    "default": {},
    "plain": {"transpositions": False, "minimax_weight": 0.0, "tree_vct_nodes": 0, "leaf_vcf_nodes": 0},
    "no-transpositions": {"transpositions": False},
    "no-minimax": {"minimax_weight": 0.0},
    "no-threes": {"tree_vct_nodes": 0},
    "busy-threes": {"tree_vct_visits": 2, "tree_vct_nodes": 60, "edge_cap": 8, "leaf_defences": False},
    "all-moves": {"edge_cap": 0, "minimax_weight": 0.6, "policy_temperature": 1.0},
    "warm": {"c_puct": 2.0, "fpu_reduction": 0.0, "fpu_reduction_root": 0.4, "leaf_vcf_nodes": 300},
    "all-moves-at-leaves": {"leaf_defences": False},
    "no-cap": {"leaf_defences": True, "leaf_vcf_nodes": 15, "edge_cap": 0},
}
"""Settings that are searched with in turn, by today's names."""


def params_of(settings: str) -> Any:
    """Return one of `PARAMS` as this checkout's `SearchParams`.

    Raises:
        UnknownNameError: the checkout does not know a setting.
    """
    known = SearchParams.__dataclass_fields__
    named = {setting_name(name, known): value for name, value in PARAMS[settings].items()}
    return SearchParams(**{name: value for name, value in named.items() if name is not None})


class Asked:
    """An evaluator that is always asked from Python, as one in onnxruntime is."""

    kernel_kind, kernel_seed, line_net = 0, 0, None
    backend, judge, cost = None, None, 4.0

    def __init__(self, inner: Any) -> None:
        self.name, self.feature_version, self.max_batch = "asked", inner.feature_version, inner.max_batch
        self.min_side, self.max_side, self.rules = inner.min_side, inner.max_side, inner.rules
        self.evaluate = inner.evaluate


def run(tree: Any, evaluator: Any, simulations: int) -> int:
    """Let the kernel do simulations with an evaluator that it can call itself."""
    done: int
    if not hasattr(evaluator, "kernel_kind"):
        solves_nodes = bool(evaluator.cost >= 1)
        try:
            done = tree.run(simulations, attribute(evaluator, "backend"), vct=solves_nodes)
        except TypeError:  # before this argument was renamed
            done = tree.run(simulations, attribute(evaluator, "backend"), **{OLD_NAMES["vct"]: solves_nodes})
    elif evaluator.line_net is not None:  # before evaluators had a backend
        done = tree.run_net(simulations, evaluator.line_net)
    else:
        done = tree.run(simulations, evaluator.kernel_kind, evaluator.kernel_seed)
    return done


class Digest:
    """Takes values of any kind and gives a short text."""

    def __init__(self) -> None:
        self._sha = hashlib.sha256()

    def add(self, *values: object) -> None:
        for value in values:
            if isinstance(value, np.ndarray):
                self._sha.update(f"{value.dtype}{value.shape}".encode() + value.tobytes())
            else:
                self._sha.update(repr(value).encode())

    def add_tree(self, tree: Any) -> None:
        self.add(tree.signature(), tree.visits, tree.wdl, tree.raw_wdl, tree.proven, tree.distance)
        self.add(tree.forced)
        self.add(tree.moves(), tree.priors(), tree.edge_visits(), tree.edge_q(), tree.edge_draw())
        self.add(tree.edge_proven(), tree.edge_distance(), tree.visited_edges(), tree.proof_move())
        if tree.proven == _tree.PROVEN_NONE:  # f09bee3 reads beyond the moves of some roots that are proven
            self.add(tree.top_two())
        self.add(tree.open_moves(), tree.pv(), tree.simulations, tree.evaluations, tree.solved_leaves)
        self.add(tree.solver_nodes, tree.depth_sum, tree.depth_max, tree.nodes, tree.memory_used)

    def text(self) -> str:
        return self._sha.hexdigest()[:20]


def position(rng: random.Random, width: int, height: int, rule: int, stones: int) -> Any:
    """Place stones near each other, without a five."""
    board = Board(width, height, rule)
    for _ in range(stones):
        fives = set(board.five_points(board.to_move))
        moves = [p for p in board.legal_points() if p not in fives]
        if not moves or board.n_empty <= 2:
            break
        last = [q for q, _ in board.stones()[-5:]]
        near = [
            p for p in moves
            if any(max(abs(p % width - q % width), abs(p // width - q // width)) <= 2 for q in last)
        ]  # fmt: skip
        board.place(rng.choice(near or moves))
    return board


def go_on(board: Any, point: int) -> bool:
    """Play a move; whether the game goes on."""
    board.place(point)
    return board.winner == EMPTY and board.n_empty > 0 and bool(board.legal_points())


@dataclass(frozen=True, slots=True)
class Way:
    """A position and how it is searched."""

    board: Any
    evaluator: Any
    params: Any
    simulations: int
    memory: int


def grow(digest: Digest, way: Way) -> None:
    """A tree alone, in the kernel; then noise, moves that are excluded, more simulations."""
    evaluator, simulations = way.evaluator, way.simulations
    tree = Tree(way.params, way.memory, Solver(12))
    tree.set_root(way.board)
    digest.add(run(tree, evaluator, simulations))
    digest.add_tree(tree)
    if tree.proven == _tree.PROVEN_NONE and tree.open_moves() > 3:
        tree.add_root_noise(0.3, seed=simulations)
        digest.add(run(tree, evaluator, simulations // 2))
        tree.exclude(tree.moves()[:2].tolist(), 6)
        digest.add(run(tree, evaluator, simulations // 2))
        digest.add_tree(tree)


def play(digest: Digest, way: Way) -> None:
    """Searches with proofs at the root, along a game whose tree is kept."""
    search = Search(way.params, way.memory)
    board = way.board.copy()
    for ply in range(4):
        result = search.search(board, way.evaluator, [NodeLimit(way.simulations)])
        fields = (name for name in sorted(result.__dataclass_fields__) if name != "elapsed_s")
        digest.add([(name, getattr(result, name)) for name in fields])
        digest.add_tree(search.tree)
        reply = result.pv[1] if len(result.pv) > 1 and ply % 2 else None
        if not go_on(board, result.point) or (reply is not None and not go_on(board, reply)):
            break


def batch(boards: list[Any], params: Any, seed: int, digest: Digest) -> None:
    """Many trees at once as in self-play: forced root moves, noise, moves played, subtrees kept."""
    evaluator, simulations = HashedEvaluator(seed), 120
    rng = random.Random(simulations)
    solver = Solver(12)
    trees = [Tree(params, MIB, solver) for _ in boards]
    boards = [board.copy() for board in boards]
    shape = (len(boards), N_PLANES, boards[0].height, boards[0].width)
    planes, keys = np.zeros(shape, np.float32), np.zeros(len(boards), np.uint64)
    for ply in range(3):
        over = [board.winner != EMPTY or not board.legal_points() for board in boards]
        for i, (tree, board) in enumerate(zip(trees, boards, strict=True)):
            if not over[i]:
                digest.add(tree.set_root(board))
                tree.add_root_noise(0.2 * ply, seed=ply)
        for step in range(simulations):
            status = np.array([_tree.SKIP if gone else _tree.IDLE for gone in over], np.int32)
            moves = np.full(len(boards), -1, np.int32)
            for i, tree in enumerate(trees):
                if step % 2 and not over[i] and tree.has_root and len(tree.moves()):
                    points = sorted(tree.moves().tolist())
                    moves[i] = points[rng.randrange(len(points))]
            n = gather(trees, planes, keys, status, moves, tries=1 + step % 3)
            digest.add(n, status.copy(), keys[:n].copy())
            if n:
                digest.add(planes[:n].copy())
                scatter(trees, *evaluator.evaluate(planes[:n], keys[:n]), status)
        for i, (tree, board) in enumerate(zip(trees, boards, strict=True)):
            if not over[i]:
                digest.add_tree(tree)
                proof = tree.proof_move()
                board.place(proof if proof >= 0 else tree.top_two()[0])


def cases(count: int, net: Any) -> Iterator[tuple[str, Callable[[Digest], None]]]:
    """Yield names of `count` positions and of batches, with what searches them.

    Args:
        net: a line net, or None to leave nets out.
    """
    rng = random.Random(19)
    names = list(PARAMS)
    ways = [(size, rule) for size in SIZES for rule in RULES]
    for i in range(count):
        (width, height), rule = ways[i % len(ways)]
        board = position(rng, width, height, rule, rng.randrange(min(40, width * height - 4)))
        settings = names[(i // len(RULES) + i % len(RULES)) % len(names)]
        params = params_of(settings)
        memory = MIB if i % 4 == 1 else 32 * MIB
        simulations = rng.choice((150, 300, 600)) * (4 if memory == MIB else 1)
        seed = rng.randrange(1000)
        evaluators: dict[str, Any] = {
            "uniform": UniformEvaluator(),
            "hashed": HashedEvaluator(seed),
            "asked": Asked(HashedEvaluator(seed)),
        }
        if net is not None:
            evaluators["net"] = net
        for key, evaluator in evaluators.items():
            name = f"{i} {width}x{height} rule {rule} ply {board.ply} {settings} {memory // MIB} MiB {key}"
            fewer = simulations if key != "asked" else simulations // 3
            way = Way(board, evaluator, params, fewer, memory)
            if key != "asked":
                yield f"{name} grow", partial(grow, way=way)
            if key != "uniform":
                yield f"{name} play", partial(play, way=way)
    for i in range(count // 10):
        width, height = SIZES[(3 * i) % len(SIZES)]
        boards = [position(rng, width, height, rule, rng.randrange(14)) for rule in RULES]
        settings = names[i % len(names)]
        params = params_of(settings)
        yield f"batch {i} {width}x{height} {settings}", partial(batch, boards, params, i)


def digests(count: int, net: str | None) -> Iterator[str]:
    """Yield a line `digest name` a case."""
    evaluator = None if net is None else attribute(module("engine.evaluator.make"), "load_net")(net)
    for name, search in cases(count, evaluator):
        digest = Digest()
        search(digest)
        yield f"{digest.text()} {name}"


def main() -> int:
    """Compare, or print the digests of this checkout."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--baseline", type=Path, metavar="DIR", help="the other checkout")
    parser.add_argument("--positions", type=int, default=220, metavar="N", help="how many (default 220)")
    parser.add_argument("--net", metavar="FILE", help="line net (default: the one that ships; none: no net)")
    parser.add_argument("--print", action="store_true", help="print the digests of the checkout on the path")
    args = parser.parse_args()
    net = args.net
    if net is None:
        nets = ROOT / "engine" / "nets"
        net = str(nets / (nets / "default.txt").read_text(encoding="utf-8").strip())
    if args.print:
        for line in digests(args.positions, None if net == "none" else net):
            print(line, flush=True)
        return 0
    if args.baseline is None:
        parser.error("--baseline is needed")
    command = [str(Path(__file__).resolve()), "--print", "--positions", str(args.positions), "--net", net]
    outputs = []
    for checkout in (args.baseline.resolve(), ROOT):
        own = checkout / ".venv" / "bin" / "python"
        env = {**os.environ, "PYTHONPATH": str(checkout)}
        done = subprocess.run(
            [str(own) if own.exists() else sys.executable, *command],
            cwd=checkout, env=env, stdout=subprocess.PIPE, text=True, check=False,
        )
        if done.returncode != 0:
            print(f"{checkout}: the search failed", file=sys.stderr)
            return 2
        outputs.append(done.stdout.splitlines())
    different = [new for old, new in zip(*outputs, strict=True) if old != new]
    for line in different:
        print(f"differs: {line}")
    print(f"{len(outputs[0])} cases, {len(different)} differ")
    return 1 if different else 0


if __name__ == "__main__":
    raise SystemExit(main())
