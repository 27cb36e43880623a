"""A referee that plays whole games between brain processes and holds every slip against them.

    python -m tests.protocol.referee --profile judge --games 200 --turn-ms 100 --rules 0,1,4,8,9

plays the default brain against itself as the official judge would and prints games, moves, incidents by kind,
the overshoot over timeout_turn of every move (ms, negative is under), the largest private memory and the
results. The exit status is 1 if there was any incident. An answer that is late only because the brain's
threads waited for a core is none: `starved` counts those, and with many of them the machine is too busy to
tell. The first move of a process, where the manager charges the start of the process to it, is listed on its
own.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import multiprocessing
import os
import random
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.protocol.managers import SEATS, PiskvorkSeat
from tests.protocol.openings import place_opening, random_opening, read_openings
from tests.protocol.position import position_after
from tests.protocol.records import Forfeit, JudgedGame, Terms, as_json, summarise
from tests.protocol.seats import LocalSeat, Seat

DEFAULT_BRAIN = f"{shlex.quote(sys.executable)} -m protocol"


def draw_after(profile: str, size: int, rule: int) -> int:
    """Return after how many stones a manager calls a game drawn (protocol section 5)."""
    points = size * size
    if profile == "piskvork" or (profile == "judge" and rule == 4):
        return points - 25
    return points


def play_game(seats: Sequence[Seat], terms: Terms, *, profile: str) -> JudgedGame:
    """Play one game; player `terms.number % 2` has black. Never raises for what a player does."""
    record = JudgedGame(terms, black=terms.number % 2, moves=list(terms.opening))
    position = position_after(terms.size, terms.rule, terms.opening)
    take_back_at = _take_back_ply(seats, terms)
    try:
        for player, seat in enumerate(seats):
            loser = player
            seat.new_game(record, player)
        while True:
            if len(record.moves) >= draw_after(profile, terms.size, terms.rule):
                record.end = "draw"
                break
            if len(record.moves) == take_back_at:
                take_back_at = -1
                for player, seat in enumerate(seats):
                    loser = player
                    seat.take_back(position, 2)
                for _ in range(2):
                    position.undo()
                    record.moves.pop()
            loser = player = record.to_move()
            cell = seats[player].move(position)
            if not position.is_empty(cell):
                record.report("illegal move", player, f"{cell} after {record.moves}")
                raise Forfeit("illegal move")
            if position.is_foul(cell):
                record.report("foul", player, f"{cell} after {record.moves}")
                raise Forfeit("foul")
            position.play(cell)
            record.moves.append(cell)
            if position.over:
                record.winner, record.end = player, "five"
                break
    except Forfeit as forfeit:
        record.winner, record.end = 1 - loser, str(forfeit)
        seats[loser].close()
    for seat in seats:
        try:
            seat.end_game()
        except Forfeit:
            continue  # reported; the game has its result
    return record


def _take_back_ply(seats: Sequence[Seat], terms: Terms) -> int:
    """Return the ply at which two stones are taken back, -1 for never."""
    if not any(isinstance(seat, PiskvorkSeat) for seat in seats):
        return -1
    return len(terms.opening) + random.Random(terms.seed).choice([4, 5, 7])


def make_seat(kind: str, profile: str, seed: int) -> Seat:
    """Return a player: `tactical` inside the referee, else a brain command under a manager's profile."""
    if kind == "tactical":
        return LocalSeat(seed)
    return SEATS[profile](shlex.split(kind))


def play_series(
    profile: str, players: Sequence[str], games: Sequence[Terms], seed: int = 0, cpu: int | None = None
) -> list[JudgedGame]:
    """Play games one after the other between the same two players (brain command or `tactical`).

    Processes live as long as the profile lets them; `cpu` pins all of them to one core.
    """
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})
    seats = [make_seat(kind, profile, seed + i) for i, kind in enumerate(players)]
    records = []
    try:
        for terms in games:
            records.append(play_game(seats, terms, profile=profile))
    finally:
        for seat in seats:
            seat.close()
    return records


def plan_games(
    count: int,
    rules: Sequence[int],
    sizes: Sequence[int],
    *,
    seed: int,
    turn_ms: int,
    match_ms: int,
    tolerance_ms: int,
    max_memory: int,
    openings: Sequence[list[tuple[int, int]]] = (),
) -> list[Terms]:
    """Return the terms of a run: rules, then sizes in turn, every opening with both colours."""
    games = []
    for number in range(count):
        pair = number // 2
        rng = random.Random(seed * 1_000_003 + pair)
        rule = rules[pair % len(rules)]
        size = sizes[pair // len(rules) % len(sizes)]
        opening = None
        if openings:
            opening = place_opening(openings[pair % len(openings)], size, rule)
        if opening is None:
            opening = random_opening(size, rule, rng)
        games.append(
            Terms(
                number=number,
                size=size,
                rule=rule,
                opening=opening,
                turn_ms=turn_ms,
                match_ms=match_ms,
                tolerance_ms=tolerance_ms,
                max_memory=max_memory,
                seed=seed + number,
            )
        )
    return games


def run_games(
    profile: str,
    players: Sequence[str],
    games: Sequence[Terms],
    *,
    concurrency: int = 1,
    seed: int = 0,
    pin: bool = False,
    progress: bool = False,
) -> list[JudgedGame]:
    """Play games on `concurrency` worker processes and return their records in order."""
    if concurrency == 1:
        return play_series(profile, players, games, seed, 0 if pin else None)
    chunk = 2 if profile in ("judge", "qpiskvork") else -(-len(games) // concurrency)
    cores = sorted(os.sched_getaffinity(0)) if pin else []
    context = multiprocessing.get_context("spawn")
    records: list[JudgedGame] = []
    with concurrent.futures.ProcessPoolExecutor(concurrency, mp_context=context) as pool:
        jobs = [
            pool.submit(
                play_series,
                profile,
                players,
                games[i : i + chunk],
                seed + i,
                cores[i // chunk % len(cores)] if pin else None,
            )
            for i in range(0, len(games), chunk)
        ]
        for job in concurrent.futures.as_completed(jobs):
            records += job.result()
            if progress:
                print(f"\r{len(records)}/{len(games)} games", end="", file=sys.stderr, flush=True)
    if progress:
        print(file=sys.stderr)
    return sorted(records, key=lambda record: record.terms.number)


def print_summary(summary: dict[str, object], records: Iterable[JudgedGame], shown: int = 20) -> None:
    """Print the summary and the first incidents in full."""
    for key, value in summary.items():
        print(f"{key:22} {value}")
    incidents = [incident for record in records for incident in record.incidents]
    for incident in incidents[:shown]:
        print(incident)
    if len(incidents) > shown:
        print(f"... and {len(incidents) - shown} more incidents")


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.protocol.referee", description="Play refereed games between brain processes."
    )
    parser.add_argument("--profile", choices=SEATS, default="judge", help="which manager to be")
    parser.add_argument("--games", type=int, default=10)
    parser.add_argument("--turn-ms", type=int, default=100)
    parser.add_argument("--match-ms", type=int, default=180_000)
    parser.add_argument("--tolerance-ms", type=int, default=1000, help="overtime that does not lose the game")
    parser.add_argument("--rules", type=_numbers, default=[0, 1, 4, 8, 9], help="INFO rule values, in turn")
    parser.add_argument("--size", type=_numbers, default=[15], help="board sides, in turn")
    parser.add_argument("--max-memory", type=int, default=367_001_600, help="bytes")
    parser.add_argument("--concurrency", type=int, default=1, help="games at a time")
    parser.add_argument("--pin", action="store_true", help="keep each game on one core, as Gomocup does")
    parser.add_argument("--openings", type=Path, help="file of openings (dx,dy from the centre)")
    parser.add_argument("--brain", default=DEFAULT_BRAIN, help="command of player A")
    parser.add_argument("--opponent", help="command of player B, or `tactical`; by default as player A")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write summary and every game there")
    options = parser.parse_args(arguments)

    games = plan_games(
        options.games,
        options.rules,
        options.size,
        seed=options.seed,
        turn_ms=options.turn_ms,
        match_ms=options.match_ms,
        tolerance_ms=options.tolerance_ms,
        max_memory=options.max_memory,
        openings=read_openings(options.openings) if options.openings else (),
    )
    players = [options.brain, options.opponent or options.brain]
    records = run_games(
        options.profile,
        players,
        games,
        concurrency=options.concurrency,
        seed=options.seed,
        pin=options.pin,
        progress=True,
    )
    summary = summarise(records, ["A", "B"])
    print_summary(summary, records)
    if options.json:
        report = {"command": vars(options), "summary": summary, "games": as_json(records)}
        options.json.write_text(json.dumps(report, default=str) + "\n")
    return 1 if summary["incidents"] else 0


if __name__ == "__main__":
    sys.exit(main())
