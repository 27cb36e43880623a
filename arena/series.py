"""Series of refereed games under a manager's profile: planning, playing, and the command `arena.referee`."""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from arena.commands import CommandError, split_command
from arena.limits import TOURNAMENT_BYTES, BrainLimits
from arena.managers import MANAGERS, manager_named
from arena.openings import OpeningError, place_offsets, random_opening, read_offsets
from arena.players import KINDS, Player, kind_of, make_local
from arena.pool import as_done, executor, one_core_each, worker_cores
from arena.position import ArbiterFactory, KernelArbiter
from arena.records import GameSetup, PlayedGame, as_json, summarise
from arena.referee import play_game
from engine.rules.rule import NET_RULES

DEFAULT_BRAIN = f"{shlex.quote(sys.executable)} -m protocol"
COLD_START_MS = 1000.0
"""The first move of a process includes its start, so a shorter turn limit is not applied to it (derived:
the judge's own tolerance)."""
PROFILES = [name for name in MANAGERS if name != "plain"]
"""Managers with habits of their own."""


@dataclass(frozen=True, slots=True)
class Series:
    """Games between the same two players under one manager.

    Attributes:
        profile: name of the manager.
        players: brain commands, or kinds of `arena.players`.
        limits: of both.
        seed: of players inside of this program.
        arbiter: who knows the rules.
    """

    profile: str
    players: tuple[str, str]
    limits: BrainLimits
    seed: int = 0
    arbiter: ArbiterFactory = KernelArbiter


def series_limits(
    turn_ms: int = 1000,
    match_ms: int = 180_000,
    tolerance_ms: int = 1000,
    max_memory: int = TOURNAMENT_BYTES,
    start_ms: int | None = None,
) -> BrainLimits:
    """Return the limits of a series: memory is watched, waits for a core are forgiven."""
    return BrainLimits(
        turn_ms=turn_ms, match_ms=match_ms, tolerance_ms=tolerance_ms, max_memory=max_memory,
        start_ms=start_ms, cold_start_ms=COLD_START_MS, watch_memory=True,
        unhindered=True,
    )  # fmt: skip


def require_psutil() -> None:
    """Refuse to watch memory without the library for it.

    Raises:
        ValueError: psutil is not installed.
    """
    if importlib.util.find_spec("psutil") is None:
        raise ValueError("the memory of brains is watched with psutil: pip install psutil")


def play_series(series: Series, games: Sequence[GameSetup]) -> list[PlayedGame]:
    """Play games one after another; processes live as long as the profile lets them."""
    players = [_player(series, side) for side in (0, 1)]
    played = []
    try:
        for setup in games:
            played.append(play_game(players, setup, series.arbiter))
    finally:
        for player in players:
            player.close()
    return played


def _player(series: Series, side: int) -> Player:
    spec = series.players[side]
    if kind_of(spec) in KINDS:
        return make_local(spec, series.limits, series.seed + side)
    return manager_named(series.profile)(spec, series.limits, cores=worker_cores())


def plan_games(
    count: int,
    rules: Sequence[int],
    sizes: Sequence[int],
    *,
    profile: str,
    seed: int,
    openings: Sequence[Sequence[tuple[int, int]]] = (),
) -> list[GameSetup]:
    """Return the setups of a series: rules, then sizes in turn, every opening with both colours.

    Args:
        count: games.
        rules: INFO values.
        sizes: sides of square boards.
        profile: the manager, which says when a game is drawn, and whether it takes moves back.
        seed: of openings and interruptions.
        openings: offsets from the centre; those that do not fit a board are replaced by random ones.
    """
    manager = manager_named(profile)
    games = []
    for number in range(count):
        pair = number // 2
        rng = random.Random(seed * 1_000_003 + pair)
        rule = rules[pair % len(rules)]
        size = sizes[pair // len(rules) % len(sizes)]
        opening = place_offsets(openings[pair % len(openings)], size, size, rule) if openings else None
        if opening is None:
            opening = random_opening(rng, size, size, rule, rng.randrange(6))
        own = random.Random(seed + number)
        games.append(
            GameSetup(
                number, size, size, rule, opening, manager.draw_after(size * size, rule),
                take_back_at=len(opening) + own.choice([4, 5, 7]) if manager.takes_back() else None,
                pause_at=own.randrange(4, 12),
            )
        )
    return games


def run_games(
    series: Series,
    games: Sequence[GameSetup],
    *,
    concurrency: int = 1,
    pin: bool = False,
    progress: bool = False,
) -> list[PlayedGame]:
    """Play games on `concurrency` worker processes and return them in order.

    Args:
        series: the players.
        games: what to play.
        concurrency: series at a time.
        pin: keep both brains of a game on one core, as Gomocup does.
        progress: print how far it is.
    """
    one_process = series.profile not in ("judge", "qpiskvork")
    chunk = -(-len(games) // concurrency) if one_process else 2
    tasks = ((series, games[i : i + chunk]) for i in range(0, len(games), chunk))
    cores = one_core_each(concurrency) if pin else ()
    played: list[PlayedGame] = []
    with executor(concurrency, processes=concurrency > 1, cores=cores) as pool:
        for done in as_done(pool, concurrency, play_series, tasks):
            played += done
            if progress:
                print(f"\r{len(played)}/{len(games)} games", end="", file=sys.stderr, flush=True)
    if progress:
        print(file=sys.stderr)
    return sorted(played, key=lambda game: game.setup.number)


def print_summary(summary: dict[str, object], games: Iterable[PlayedGame], shown: int = 20) -> None:
    """Print the summary and the first incidents in full."""
    for key, value in summary.items():
        print(f"{key:22} {value}")
    incidents = [incident for game in games for incident in game.incidents]
    for incident in incidents[:shown]:
        print(incident)
    if len(incidents) > shown:
        print(f"... and {len(incidents) - shown} more incidents")


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _arguments(arguments: Sequence[str] | None, program: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"python -m {program}", description="Play refereed games between brain processes."
    )
    parser.add_argument("--profile", choices=PROFILES, default="judge", help="which manager to be")
    parser.add_argument("--games", type=_at_least_one, default=10)
    parser.add_argument("--turn-ms", type=int, default=100)
    parser.add_argument("--match-ms", type=int, default=180_000)
    parser.add_argument("--tolerance-ms", type=int, default=1000, help="overtime that does not lose the game")
    parser.add_argument("--rules", type=_numbers, default=list(NET_RULES), help="INFO rule values, in turn")
    parser.add_argument("--size", type=_numbers, default=[15], help="board sides, in turn")
    parser.add_argument("--max-memory", type=int, default=TOURNAMENT_BYTES, help="bytes")
    parser.add_argument("--concurrency", type=_at_least_one, default=1, help="games at a time")
    parser.add_argument("--pin", action="store_true", help="keep each game on one core, as Gomocup does")
    parser.add_argument("--openings", type=Path, help="file of openings (dx,dy from the centre)")
    parser.add_argument("--brain", default=DEFAULT_BRAIN, help="command of player A")
    parser.add_argument("--opponent", help="command of player B, `tactical` or `random`; by default as A")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write summary and every game there")
    return parser.parse_args(arguments)


def main(
    arguments: Sequence[str] | None = None,
    program: str = "arena.referee",
    arbiter: ArbiterFactory = KernelArbiter,
) -> int:
    """Run the command; return 1 if there was an incident, 2 for a usage error.

    Args:
        arguments: of the command line.
        program: how the command is called.
        arbiter: who knows the rules.
    """
    options = _arguments(arguments, program)
    players = (options.brain, options.opponent or options.brain)
    try:
        require_psutil()
        for spec in players:
            if kind_of(spec) not in KINDS:
                split_command(spec)
        if options.json and not options.json.absolute().parent.is_dir():
            raise ValueError(f"--json: there is no folder {options.json.parent}")
        games = plan_games(
            options.games, options.rules, options.size, profile=options.profile, seed=options.seed,
            openings=read_offsets(options.openings) if options.openings else (),
        )  # fmt: skip
        limits = series_limits(options.turn_ms, options.match_ms, options.tolerance_ms, options.max_memory)
        played = run_games(
            Series(options.profile, players, limits, options.seed, arbiter), games,
            concurrency=options.concurrency, pin=options.pin, progress=True,
        )  # fmt: skip
    except (CommandError, OpeningError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    summary = summarise(played, ["A", "B"])
    print_summary(summary, played)
    if options.json:
        report = {"command": vars(options), "summary": summary, "games": as_json(played)}
        options.json.write_text(json.dumps(report, default=str) + "\n")
    return 1 if summary["incidents"] else 0
