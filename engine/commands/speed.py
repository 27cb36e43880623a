"""Measure how fast net, search, rules and solver are on one core of this machine. Quotes medians.

Rates are per second of processor time, so that other programs hardly matter; on an idle machine that is time.
Simulations are searched without the cache of evaluations, so that their number can be held against that of
raw evaluations of the same net on the same board.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.commands.bench import SEED
from engine.commands.options import add_board_options, add_config_options, config_from, parse_threads
from engine.commands.thread_speed import measure_threads
from engine.config import EngineConfig
from engine.encoding import encode
from engine.engine import Engine
from engine.errors import ConfigError
from engine.evaluator._lines import PATHS
from engine.evaluator.base import STUB_COST, Evaluator
from engine.evaluator.hashed import HashedEvaluator
from engine.evaluator.lines import LineEvaluator
from engine.evaluator.make import make_evaluator
from engine.rules._board import Board, place_undo_loop
from engine.rules.geometry import parse_moves
from engine.rules.rule import Rule
from engine.timing.budget import SearchLimits

OPENING = "h8i9g6j7"
"""A position of a usual opening, moved to the middle of other boards (derived: nothing in it is forced, so
that every simulation needs the net)."""
STUB_SIMULATIONS = 300_000
"""Simulations of the stub search, from an empty tree (derived: 1.5 s; the mean depth is beyond 6 plies)."""


HARD_VCF = (
    "k7g11h5h9i13h3h8i4f11l6m12d13h10f8g4m5d7h12l5f3f9j13l3d8g12c10c4i2d10j9i3g2k11k5k8c5e12d9d3k9e6m9j8e14g13g8"
    "k3g10m13d14",
    "h3k11i7g6m10m13i3f7c3e11m8d3m12d8f4j3g7j8e3m6k4i8e7g3",
    "f11f4m12k5c13h8d5j7g3l12e11i9k9k3i11j5l11g5m9l4e3d12g13i6c3g7f5g8k4m5",
)
"""Positions where black can play many fours and wins with none (found among random ones: the most nodes)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add_board_options(parser)
    add_config_options(parser)
    parser.add_argument(
        "--repeats", type=int, default=5, metavar="N", help="medians of this many (default 5)"
    )
    parser.add_argument(
        "--seconds", type=float, default=0.6, metavar="S", help="of each single measurement (default 0.6)"
    )
    parser.add_argument(
        "--lines", choices=PATHS, help="run a line net on these loops (default: this processor's fastest)"
    )
    parser.add_argument(
        "--threads", type=parse_threads, metavar="N",
        help="measure only what N threads of one search gain over one, in wall time (needs idle cores)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print the figures."""
    config = config_from(args).replace(cache_mib=0, symmetry=False, simulations=None, seed=SEED)
    if args.lines is not None:
        config = config.replace(lines=args.lines)
    repeats, seconds = max(1, args.repeats), max(0.01, args.seconds)
    if args.threads is not None:
        facts = threads_facts(config, args.size, args.rule, args.threads, repeats, seconds)
    else:
        facts = measure(config, args.size, args.rule, repeats, seconds)
    if args.json:
        print(json.dumps(facts, indent=2))
        return 0
    for key, value in facts.items():
        shown = f"{value:,.2f}" if isinstance(value, float) and value < 100 else value
        print(f"{key:<32} {f'{value:,.0f}' if isinstance(value, float) and value >= 100 else shown}")
    return 0


def measure(
    config: EngineConfig, size: tuple[int, int], rule: Rule, repeats: int, seconds: float
) -> dict[str, Any]:
    """Return all figures by name; measurements alternate, so that a slow moment affects all alike."""
    board = opening(size, rule)
    evaluator = make_evaluator(config, SEED, decorate=False)
    engine = Engine(config.replace(overhead_ms=0))
    engine.new_game(*size, rule)
    engine.set_position(board.stones())
    engine.warm_up()
    found: dict[str, list[float]] = {}
    depths: list[float] = []
    stub_depths: list[float] = []
    for _ in range(repeats):
        if evaluator.cost > STUB_COST:
            found.setdefault("evaluations_per_second", []).append(evaluations(evaluator, board, seconds))
        simulations, depth = searched(engine, seconds)
        found.setdefault("simulations_per_second", []).append(simulations)
        depths.append(depth)
        simulations, depth = stub(board, seconds)
        found.setdefault("stub_simulations_per_second", []).append(simulations)
        stub_depths.append(depth)
        found.setdefault("place_undo_per_second", []).append(place_undo(board, seconds))
        found.setdefault("vcf_nodes_per_second", []).append(vcf_nodes(seconds))
    facts: dict[str, Any] = {key: statistics.median(values) for key, values in found.items()}
    if "evaluations_per_second" in facts:
        facts["simulations_per_evaluation"] = round(
            facts["simulations_per_second"] / facts["evaluations_per_second"], 3
        )
    facts["mean_depth"] = statistics.median(depths)
    facts["stub_mean_depth"] = statistics.median(stub_depths)
    facts["net"] = evaluator.name
    if isinstance(evaluator, LineEvaluator):
        facts["lines"] = evaluator.line_net.path
    facts["board"] = f"{size[0]}x{size[1]}"
    facts["rule"] = board.rule
    facts["machine"] = machine()
    facts["repeats"] = repeats
    engine.close()
    return facts


def threads_facts(
    config: EngineConfig, size: tuple[int, int], rule: Rule, threads: int, repeats: int, seconds: float
) -> dict[str, Any]:
    """Return what several threads gain, by name.

    Raises:
        ConfigError: the net is called from Python.
    """
    evaluator = make_evaluator(config, SEED, decorate=False)
    if evaluator.backend is None:
        raise ConfigError(f"{evaluator.name} searches with one thread: it is called from Python")
    facts = measure_threads(evaluator, opening(size, rule), threads, repeats, seconds)
    if isinstance(evaluator, LineEvaluator):
        facts["lines"] = evaluator.line_net.path
    return {**facts, "board": f"{size[0]}x{size[1]}", "machine": machine()}


def opening(size: tuple[int, int], rule: int) -> Board:
    """Return the measured position: `OPENING` in the middle of the board."""
    width, height = size
    board = Board(width, height, rule)
    for point in parse_moves(OPENING, 15, 15):
        x, y = point % 15 - 7 + width // 2, point // 15 - 7 + height // 2
        if 0 <= x < width and 0 <= y < height:
            board.place(y * width + x)
    return board


def evaluations(evaluator: Evaluator, board: Board, seconds: float) -> float:
    """Return raw evaluations a second, one position a call."""
    board = board.copy()
    inputs = []
    for point in board.legal_points()[:64]:
        board.place(point)
        inputs.append((encode(board)[None].copy(), np.array([board.hash], np.uint64)))
        board.undo()
    evaluator.evaluate(*inputs[0])
    return rate(lambda i: evaluator.evaluate(*inputs[i % len(inputs)]), seconds)


def searched(engine: Engine, seconds: float) -> tuple[float, float]:
    """Return simulations a second of a search from an empty tree, and their mean depth."""
    engine.clear_tree()
    started_s = time.process_time()
    result = engine.nbest(1, SearchLimits(turn_ms=int(1000 * seconds)), engine.clock.now_s())
    return result.simulations / (time.process_time() - started_s), result.depth_mean


def stub(board: Board, seconds: float) -> tuple[float, float]:
    """Return simulations a second with the hashed evaluator inside the kernel, and their mean depth."""
    from engine.search._tree import Tree
    from engine.search.params import SearchParams
    from engine.threats._solver import Solver

    tree = Tree(SearchParams(), 256 << 20, Solver())
    tree.set_root(board)
    started_s = time.process_time()
    done = tree.run(STUB_SIMULATIONS if seconds > 0.1 else 1000, HashedEvaluator(SEED).backend, vct=False)
    return done / (time.process_time() - started_s), tree.depth_sum / max(1, tree.simulations)


def place_undo(board: Board, seconds: float) -> float:
    """Return pairs of placing and undoing a stone a second, all tables kept up to date."""
    board = board.copy()
    pairs = 20_000
    return pairs * rate(lambda i: place_undo_loop(board, pairs, i + 1), seconds)


def vcf_nodes(seconds: float) -> float:
    """Return placements a second of the solver, on positions that keep it busy."""
    from engine.threats._solver import vcf_loop

    boards = hard_vcf()
    done = 0
    started_s = time.process_time()
    while time.process_time() - started_s < seconds:
        for board in boards:
            done += vcf_loop(board, board.to_move, 20_000)
    return done / (time.process_time() - started_s)


def hard_vcf() -> list[Board]:
    """Return the positions of `HARD_VCF`, black to move."""
    boards = []
    for moves in HARD_VCF:
        board = Board(15, 15, 0)
        for point in parse_moves(moves, 15, 15):
            board.place(point)
        boards.append(board)
    return boards


def rate(call: Callable[[int], object], seconds: float) -> float:
    """Return calls a second."""
    count = 0
    started_s = time.process_time()
    while True:
        call(count)
        count += 1
        elapsed_s = time.process_time() - started_s
        if elapsed_s >= seconds:
            return count / elapsed_s


def machine() -> str:
    """Name the processor and how many of its cores this process may use."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            name = next(line.partition(":")[2].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{name}, {cores} cores, {platform.system()}, Python {platform.python_version()}"
