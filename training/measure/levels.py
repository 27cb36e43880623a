"""The ten levels of play against each other: what is played, their ratings, settings for even steps.

`training.levels` is the command.
"""

from __future__ import annotations

import contextlib
import json
import math
import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from arena.elo import Estimate, rate
from arena.match_config import MatchConfig, list_openings, opening_of
from arena.match_result import MatchResult
from arena.players import make_local
from arena.records import GameSetup
from arena.referee import play_game
from engine.levels import LEVEL_FIELDS, Level

VIRTUAL_DRAWS = 0.1
"""Between levels that met (derived: neighbours fix the scale; sweeps of far levels must not press it)."""


def level_player(level: Level, net: str) -> str:
    """Return the text that `training.match` makes a player of this level from."""
    settings = ",".join(f"{name}={getattr(level, name)}" for name in LEVEL_FIELDS)
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
        top_simulations: used where a level has no limit.
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
                blindness=round(below.blindness + share * (above.blindness - below.blindness), 3),
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
    """Return the table of ratings of the levels that played as text, and suggested settings."""
    played = sorted({level for pair in scores for level in pair})
    ratings = rate(
        {(f"{high + 1}", f"{low + 1}"): (s.score * s.games, s.games) for (low, high), s in scores.items()},
        anchor=f"{played[0] + 1}",
        virtual_draws=VIRTUAL_DRAWS,
    )
    elos = [ratings.get(f"{i + 1}", (0.0, 0.0)) for i in range(len(levels))]
    lines = [
        "level  simulations  temperature  blindness  solver     Elo    +-   step  against the level below"
    ]
    for i in played:
        level, (elo, half) = levels[i], elos[i]
        step = f"{elo - elos[i - 1][0]:+5.0f}" if i > played[0] else "     "
        below = str(scores[i - 1, i]) if (i - 1, i) in scores else ""
        lines.append(f"{_row(i, level)}  {elo:6.0f} {half:5.0f}  {step}  {below}".rstrip())
    suggested = suggest(levels, [elo for elo, _ in elos], top_simulations)
    if len(played) == len(levels):
        lines += ["", "suggested for even steps:"]
        lines += [_row(i, level) for i, level in enumerate(suggested)]
    return "\n".join(lines), suggested


def _row(index: int, level: Level) -> str:
    simulations = "-" if level.simulations is None else str(level.simulations)
    solver = "yes" if level.solver else "no"
    return (
        f"{index + 1:5d}  {simulations:>11}  {level.temperature:11.2f}  {level.blindness:9.3f}  {solver:>6}"
    )


def play_match(config: MatchConfig) -> MatchResult:
    """Play a match between two levels with one engine each: loading a net takes longer than a weak game.

    Openings come in pairs with colours swapped, as in `arena.match_runner.run_match`.
    """
    openings = list_openings(replace(config, repeat_openings=True))
    specs = zip((config.a, config.b), config.limits, strict=True)
    players = [
        make_local(spec, limits, config.seed + i, config.kinds) for i, (spec, limits) in enumerate(specs)
    ]
    result = MatchResult()
    try:
        for index in range(config.games):
            opening = opening_of(config, openings, index // 2)
            setup = GameSetup(index, config.width, config.height, config.rule, opening)
            result.add(index, play_game(players, setup).to_record(config.names))
    finally:
        for player in players:
            player.close()
    return result


def _play(config: MatchConfig) -> Estimate:
    return play_match(config).estimate


def play_levels(
    matches: Mapping[tuple[int, int], MatchConfig], processes: int
) -> Iterator[tuple[tuple[int, int], Estimate]]:
    """Play the matches and yield the score of each as soon as those before it are there.

    Args:
        matches: by the two levels that meet, (lower, higher).
        processes: that play at a time.
    """
    with contextlib.ExitStack() as stack:
        scores: Iterator[Estimate]
        if processes > 1:  # spawned, not forked: onnxruntime's threads do not survive a fork
            pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"))
            scores = stack.enter_context(pool).map(_play, matches.values())
        else:
            scores = map(_play, matches.values())
        yield from zip(matches, scores, strict=True)
