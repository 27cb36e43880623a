"""Measure the ten levels of play: games between them at fixed simulations, ratings, settings for even steps.

Neighbours play most games, since only they tell how large a step is; the others play a few, which ties the
scale together. Games come in pairs with colours swapped, best on balanced openings: random ones are often won
for one side and make steps look smaller. Level 10 has no limit of its own, so --top-simulations stands in for
its time.

After a change of net: run it, take the suggested table, run it again with `--table`, and put what has even
steps into `engine/levels.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import math
import multiprocessing
import os
import random
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from engine.levels import GOVERNED, LEVELS, Level
from engine.options import parse_rule, parse_size
from training.brainproc import BrainLimits
from training.elo import Estimate, rate
from training.match import MatchConfig, MatchResult
from training.openings import random_opening, read_openings, turned
from training.opponents import make_builtin
from training.referee import play_game

VIRTUAL_DRAWS = 0.1
"""Between levels that met (derived: neighbours fix the scale; sweeps of far levels must not press it)."""


def level_player(level: Level, net: str) -> str:
    """Return the text that `training.match` makes a player of this level from."""
    settings = ",".join(f"{name}={getattr(level, name)}" for name in GOVERNED)
    return f"engine:net={net},{settings}"


def schedule(levels: int, games: int, far_games: int) -> Iterator[tuple[int, int, int]]:
    """Yield (lower, higher, games) of every two levels that meet, levels from 0."""
    for low in range(levels):
        for high in range(low + 1, levels):
            count = games if high == low + 1 else far_games
            if count:
                yield low, high, count


def suggest(levels: Sequence[Level], elos: Sequence[float], top_simulations: int) -> list[Level]:
    """Return a table with even steps between the same weakest and strongest level.

    Settings are interpolated between the measured levels around each wanted rating: simulations by their
    logarithm, the rest in proportion, the solver as in the nearer one.

    Args:
        levels: as measured, weakest first.
        elos: their ratings; where a level is not above the one below it is taken as equal.
        top_simulations: stands for no limit.
    """
    rising = [max(elos[: i + 1]) for i in range(len(elos))]
    table = [levels[0]]
    for i in range(1, len(levels) - 1):
        wanted = rising[0] + (rising[-1] - rising[0]) * i / (len(levels) - 1)
        high = next(k for k in range(1, len(levels)) if rising[k] >= wanted)
        gap = rising[high] - rising[high - 1]
        share = (wanted - rising[high - 1]) / gap if gap > 0 else 1.0
        below, above = levels[high - 1], levels[high]
        logs = [math.log2(level.simulations or top_simulations) for level in (below, above)]
        table.append(
            Level(
                simulations=round(2 ** (logs[0] + share * (logs[1] - logs[0]))),
                temperature=round(below.temperature + share * (above.temperature - below.temperature), 2),
                oversight=round(below.oversight + share * (above.oversight - below.oversight), 3),
                solver=(above if share >= 0.5 else below).solver,
            )
        )
    return [*table, levels[-1]]


def read_table(path: Path) -> tuple[Level, ...]:
    """Read a table of levels as `--save-table` writes it.

    Raises:
        ValueError: the file cannot be read, or is no list of levels, weakest first.
    """
    try:
        return tuple(Level(**row) for row in json.loads(path.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError) as error:
        raise ValueError(f"cannot read levels from {path}: {error}") from error


def report(
    levels: Sequence[Level],
    scores: dict[tuple[int, int], Estimate],
    top_simulations: int,
) -> tuple[str, list[Level]]:
    """Return the table of ratings as text, and suggested settings."""
    ratings = rate(
        {(f"{high + 1}", f"{low + 1}"): (s.score * s.games, s.games) for (low, high), s in scores.items()},
        anchor="1",
        virtual_draws=VIRTUAL_DRAWS,
    )
    elos = [ratings.get(f"{i + 1}", (0.0, 0.0)) for i in range(len(levels))]
    lines = [
        "level  simulations  temperature  oversight  solver     Elo    +-   step  against the level below"
    ]
    for i, (level, (elo, half)) in enumerate(zip(levels, elos, strict=True)):
        step = f"{elo - elos[i - 1][0]:+5.0f}" if i else "     "
        below = str(scores[i - 1, i]) if (i - 1, i) in scores else ""
        lines.append(f"{_row(i, level)}  {elo:6.0f} {half:5.0f}  {step}  {below}".rstrip())
    suggested = suggest(levels, [elo for elo, _ in elos], top_simulations)
    lines += ["", "suggested for even steps:"]
    lines += [_row(i, level) for i, level in enumerate(suggested)]
    return "\n".join(lines), suggested


def _row(index: int, level: Level) -> str:
    simulations = "-" if level.simulations is None else str(level.simulations)
    solver = "yes" if level.solver else "no"
    return (
        f"{index + 1:5d}  {simulations:>11}  {level.temperature:11.2f}  {level.oversight:9.3f}  {solver:>6}"
    )


def play_match(config: MatchConfig) -> MatchResult:
    """Play a match between two levels with one engine each: loading a net takes longer than a weak game.

    Openings come in pairs with colours swapped, as in `training.match.run_match`.
    """
    size = (config.width, config.height)
    openings = read_openings(config.openings, *size, config.rule) if config.openings else None
    specs = zip((config.a, config.b), config.limits, strict=True)
    players = [make_builtin(spec, limits, config.seed + i) for i, (spec, limits) in enumerate(specs)]
    result = MatchResult()
    try:
        for index in range(config.games):
            pair, swapped = divmod(index, 2)
            if openings is None:
                rng = random.Random(f"{config.seed} {pair}")
                opening = random_opening(rng, *size, config.rule, config.random_stones)
            else:
                opening = turned(openings[pair % len(openings)], *size, pair // len(openings))
            black, white = players[swapped], players[1 - swapped]
            names = (config.names[swapped], config.names[1 - swapped])
            result.add(index, play_game((black, white), names, size, config.rule, opening))
    finally:
        for player in players:
            player.close()
    return result


def _play(config: MatchConfig) -> Estimate:
    return play_match(config).estimate


def _configs(
    args: argparse.Namespace, levels: Sequence[Level]
) -> Iterator[tuple[tuple[int, int], MatchConfig]]:
    limits = BrainLimits(turn_ms=None, max_nodes=args.top_simulations)
    for low, high, games in schedule(len(levels), args.games, args.far_games):
        yield (low, high), MatchConfig(
            a=level_player(levels[high], args.net), b=level_player(levels[low], args.net),
            limits=(limits, limits), games=games, rule=int(args.rule),
            width=args.size[0], height=args.size[1],
            openings=args.openings, random_stones=args.random_stones,
            seed=args.seed + 1000 * (len(levels) * low + high),
            names=(f"level {high + 1}", f"level {low + 1}"),
        )  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    """Run the command; return 0, or 2 for a usage error."""
    parser = argparse.ArgumentParser(
        prog="python -m training.levels",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--games", type=int, default=40, help="games between neighbours (40)")
    parser.add_argument("--far-games", type=int, default=4, help="games between any other two levels (4)")
    parser.add_argument("--top-simulations", type=int, default=1600, help="a move of level 10 (1600)")
    parser.add_argument("--net", default="default", help="a file, or a name in engine/nets (default)")
    parser.add_argument("--table", type=Path, help="file with other levels than those of engine/levels.py")
    parser.add_argument("--save-table", type=Path, help="file for the suggested levels, for --table")
    parser.add_argument("--rule", type=parse_rule, default=0, help="number or name (freestyle)")
    parser.add_argument("--size", type=parse_size, default=(15, 15), help="board, N or WxH (15)")
    parser.add_argument("--openings", type=Path, help="file of `training.balance` (random openings)")
    parser.add_argument("--random-stones", type=int, default=4, help="stones of an opening (4)")
    parser.add_argument("--jobs", type=int, default=1, help="processes that play (1)")
    parser.add_argument("--seed", type=int, default=1, help="of openings and draws (1)")
    args = parser.parse_args(argv)
    try:
        levels = read_table(args.table) if args.table else LEVELS
        jobs = dict(_configs(args, levels))
        if min(args.games, args.top_simulations, args.jobs) < 1 or not jobs:
            raise ValueError("--games, --top-simulations and --jobs must be at least 1")
        scores: dict[tuple[int, int], Estimate] = {}
        with contextlib.ExitStack() as stack:
            play = map
            if args.jobs > 1:  # spawned, not forked: onnxruntime's threads do not survive a fork
                pool = ProcessPoolExecutor(args.jobs, multiprocessing.get_context("spawn"))
                play = stack.enter_context(pool).map
            for (low, high), score in zip(jobs, play(_play, jobs.values()), strict=True):
                scores[low, high] = score
                print(f"level {high + 1} against {low + 1}: {scores[low, high]}", flush=True)
        text, suggested = report(levels, scores, args.top_simulations)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"\n{text}")
    if args.save_table:
        temporary = args.save_table.with_suffix(".tmp")
        temporary.write_text(json.dumps([dataclasses.asdict(s) for s in suggested], indent=1), "utf-8")
        os.replace(temporary, args.save_table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
