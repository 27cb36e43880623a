"""Matches of two players: pairs of games on one opening with colours swapped, and what is counted in them.

`training.match` is the command and says what a player is. A pair is the unit: its two games share an opening,
its score is one of five (0 to 2 points), and no opening is used by two pairs unless that is asked for.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.gamefile import GameRecord, to_psq, to_sgf
from training.measure.brainproc import BrainFailureError, BrainLimits, BrainProcess
from training.measure.clock_use import ClockUse
from training.measure.elo import Estimate, Sprt, estimate, pentanomial
from training.measure.games import GameJournal
from training.measure.opponents import is_builtin, make_builtin
from training.measure.pool import as_done, executor
from training.measure.referee import Player, play_game
from training.play.openings import OpeningError, random_opening, read_openings, turned


@dataclass(frozen=True, slots=True)
class MatchConfig:
    """What a match is; see the command's help for each field."""

    a: str
    b: str
    limits: tuple[BrainLimits, BrainLimits]
    games: int = 100
    sprt: Sprt | None = None
    rule: int = 0
    width: int = 15
    height: int = 15
    openings: Path | None = None
    repeat_openings: bool = False
    random_stones: int = 4
    concurrency: int = 1
    seed: int = 1
    draw_after: int | None = None
    save: Path | None = None
    journal: Path | None = None
    names: tuple[str, str] = ("a", "b")

    @property
    def in_process(self) -> bool:
        """Whether both players live inside of this program."""
        return is_builtin(self.a) and is_builtin(self.b)

    def settings(self, openings: list[tuple[int, ...]] | None) -> dict[str, Any]:
        """Return what a game depends on, besides its index, as plain data."""
        return {
            "a": self.a, "b": self.b, "rule": self.rule, "size": [self.width, self.height],
            "limits": [
                [one.turn_ms, one.match_ms, one.increment_ms, one.max_memory, one.max_nodes, one.tolerance_ms,
                 one.manager.name]
                for one in self.limits
            ],
            "seed": self.seed, "draw_after": self.draw_after, "random_stones": self.random_stones,
            "openings": openings, "names": list(self.names),
        }  # fmt: skip


@dataclass(slots=True)
class MatchResult:
    """Everything counted in a match, from the point of view of player a."""

    pairs: dict[int, list[float]] = field(default_factory=dict)
    wins: int = 0
    draws: int = 0
    losses: int = 0
    wins_black: int = 0
    wins_white: int = 0
    black_points: float = 0.0
    incidents: tuple[Counter[str], Counter[str]] = field(default_factory=lambda: (Counter(), Counter()))
    slowest_ms: list[float] = field(default_factory=lambda: [0.0, 0.0])
    mean_ms: list[float] = field(default_factory=lambda: [0.0, 0.0])
    moves: list[int] = field(default_factory=lambda: [0, 0])
    clock_use: tuple[ClockUse, ClockUse] = field(default_factory=lambda: (ClockUse(), ClockUse()))
    stones: int = 0
    verdict: str | None = None
    elapsed_s: float = 0.0

    @property
    def games(self) -> int:
        """Games counted."""
        return self.wins + self.draws + self.losses

    @property
    def estimate(self) -> Estimate:
        """Score and Elo of a with their interval, from the pairs."""
        return estimate(list(self.pairs.values()))

    def add(self, index: int, game: GameRecord, match_ms: tuple[int, int] = (0, 0)) -> None:
        """Count game `index`; a has black in even games.

        Args:
            match_ms: match clocks of a and b, 0 without one.
        """
        a_colour = index % 2
        score = 0.5 if game.winner == 2 else float(game.winner == a_colour)
        self.pairs.setdefault(index // 2, []).append(score)
        self.wins += score == 1
        self.draws += score == 0.5
        self.losses += score == 0
        self.wins_black += score == 1 and a_colour == 0
        self.wins_white += score == 1 and a_colour == 1
        self.black_points += 0.5 if game.winner == 2 else float(game.winner == 0)
        self.stones += len(game.points)
        if game.incident:
            self.incidents[0 if game.winner != a_colour else 1][game.reason] += 1
        own: tuple[list[float], list[float]] = ([], [])
        for ply in range(game.opening_stones, len(game.points)):
            side = 0 if ply % 2 == a_colour else 1
            ms = game.times_ms[ply]
            own[side].append(ms)
            self.slowest_ms[side] = max(self.slowest_ms[side], ms)
            self.moves[side] += 1
            self.mean_ms[side] += (ms - self.mean_ms[side]) / self.moves[side]
        for side in (0, 1):
            self.clock_use[side].add(own[side], match_ms[side])

    def summary(self, names: tuple[str, str]) -> str:
        """Return the result as a few lines."""
        five = pentanomial(list(self.pairs.values()))
        lines = [
            f"{names[0]} against {names[1]}: +{self.wins} ={self.draws} -{self.losses}, {self.estimate}",
            f"  pairs by points 0, 1/2, 1, 3/2, 2: {', '.join(map(str, five))}",
            f"  {names[0]} won {self.wins_black} as black, {self.wins_white} as white; black scored "
            f"{self.black_points / max(1, self.games):.3f}; "
            f"{self.stones / max(1, self.games):.1f} stones a game; {self.elapsed_s:.0f} s",
        ]
        for side in (0, 1):
            bad = ", ".join(f"{n} {kind}" for kind, n in sorted(self.incidents[side].items())) or "none"
            lines.append(
                f"  {names[side]}: {self.mean_ms[side]:.0f} ms a move, "
                f"slowest {self.slowest_ms[side]:.0f} ms; "
                f"incidents: {bad}"
            )
            lines += [f"    {line}" for line in self.clock_use[side].lines()]
        if self.verdict:
            lines.append(f"  SPRT: {self.verdict}")
        return "\n".join(lines)

    def to_json(self, config: MatchConfig) -> dict[str, object]:
        """Return the result as plain data."""
        e = self.estimate
        return {
            "a": config.a, "b": config.b, "rule": config.rule, "size": [config.width, config.height],
            "turn_ms": [limits.turn_ms for limits in config.limits],
            "match_ms": [limits.match_ms for limits in config.limits],
            "increment_ms": [limits.increment_ms for limits in config.limits],
            "nodes": [limits.max_nodes for limits in config.limits],
            "manager": config.limits[0].manager.name,
            "openings": str(config.openings) if config.openings else None,
            "games": self.games, "wins": self.wins, "draws": self.draws, "losses": self.losses,
            "pentanomial": pentanomial(list(self.pairs.values())),
            "wins_black": self.wins_black, "wins_white": self.wins_white,
            "score": e.score, "score_low": e.score_low, "score_high": e.score_high, "elo": e.elo,
            "incidents": [dict(c) for c in self.incidents], "slowest_ms": self.slowest_ms,
            "mean_ms": self.mean_ms, "clock_use": [use.to_json() for use in self.clock_use],
            "stones": self.stones, "verdict": self.verdict,
            "elapsed_s": self.elapsed_s, "seed": config.seed,
        }  # fmt: skip


def make_player(
    spec: str, limits: BrainLimits, seed: int, log_path: str | None = None, *, own_time: bool = False
) -> Player:
    """Return the player that a text names (see `training.match`).

    Args:
        own_time: whether a player inside of this program measures processor time instead of real time.

    Raises:
        ValueError: a built-in player with settings it does not know.
        BrainFailureError: a command that cannot be started.
    """
    if is_builtin(spec):
        return make_builtin(spec, limits, seed, own_time=own_time)
    return BrainProcess(spec, limits, log_path)


def require_start(config: MatchConfig) -> None:
    """Start every brain of a match once; with a manager that does not wait for OK, nothing is asked.

    Raises:
        ValueError: one does not start, so that it would lose every game without a move.
    """
    for name, spec, limits in zip(config.names, (config.a, config.b), config.limits, strict=True):
        if is_builtin(spec):
            continue
        brain = BrainProcess(spec, limits)
        try:
            brain.new_game(config.width, config.height, config.rule)
        except BrainFailureError as failure:
            raise ValueError(f"{name} does not start ({spec}): {failure}") from failure
        finally:
            brain.close()


def list_openings(config: MatchConfig) -> list[tuple[int, ...]] | None:
    """Return the openings of a match, None where they are drawn from its seed.

    Raises:
        OpeningError: an unusable file, or one with fewer openings than the match has pairs.
    """
    if config.openings is None:
        return None
    found = read_openings(config.openings, config.width, config.height, config.rule)
    pairs = (config.games + 1) // 2
    if pairs > len(found) and not config.repeat_openings:
        raise OpeningError(
            f"{config.openings} has {len(found)} openings for {pairs} pairs; a repeated opening is no new "
            f"evidence: play {2 * len(found)} games, make a longer list (training.balance), or allow "
            "mirror images of the same (--repeat-openings)"
        )
    return found


def opening_of(config: MatchConfig, openings: list[tuple[int, ...]] | None, pair: int) -> tuple[int, ...]:
    """Return the opening of a pair; further rounds through a list use its mirror images."""
    if openings is None:
        rng = random.Random(f"{config.seed} {pair}")
        return random_opening(rng, config.width, config.height, config.rule, config.random_stones)
    points = openings[pair % len(openings)]
    return turned(points, config.width, config.height, pair // len(openings))


def play_index(config: MatchConfig, opening: tuple[int, ...], index: int) -> tuple[int, GameRecord]:
    """Play one game of a match; a function of its arguments where the players are.

    Returns:
        The index and the game.
    """
    order = (0, 1) if index % 2 == 0 else (1, 0)
    specs = (config.a, config.b)
    players: list[Player] = []
    try:
        for side in order:
            log = str(config.save / f"{index:05d}-{side}.log") if config.save else None
            players.append(
                make_player(
                    specs[side], config.limits[side], config.seed + index, log, own_time=config.in_process
                )
            )
        game = play_game(
            (players[0], players[1]), (config.names[order[0]], config.names[order[1]]),
            (config.width, config.height), config.rule, opening, config.draw_after,
        )  # fmt: skip
    finally:
        for player in players:
            player.close()
    if config.save:
        for suffix, text in (("psq", to_psq(game)), ("sgf", to_sgf(game))):
            (config.save / f"{index:05d}.{suffix}").write_text(text, encoding="utf-8")
    return index, game


def run_match(
    config: MatchConfig,
    on_game: Callable[[MatchResult, GameRecord], None] | None = None,
    on_found: Callable[[MatchResult], None] | None = None,
    lent: tuple[Executor, int] | None = None,
) -> MatchResult:
    """Play a match and return its result.

    With a journal, games that it holds are counted and not played again.

    Args:
        config: the match. Openings come from its file or, without one, from its seed.
        on_game: called after every game.
        on_found: called once, when what the journal holds has been counted.
        lent: workers elsewhere and how many there are, in place of `concurrency` here.

    Raises:
        OpeningError: an unusable opening file, or a too short one.
        GameJournalError: the journal is damaged or of another match.
        ValueError: a player that does not exist, or does not start before the first game.
    """
    openings = list_openings(config)
    for spec, limits in zip((config.a, config.b), config.limits, strict=True):
        if is_builtin(spec):
            make_builtin(spec, limits, 0).close()  # refuse a bad spec before the first game
    if config.save:
        config.save.mkdir(parents=True, exist_ok=True)
    journal = GameJournal(config.journal, config.settings(openings)) if config.journal else None
    result = MatchResult()
    match_ms = (config.limits[0].match_ms, config.limits[1].match_ms)
    started_s = time.monotonic()
    try:
        for index, game in sorted(journal.games.items()) if journal else ():
            if index < config.games:
                result.add(index, game, match_ms)
        done = {index for index in (journal.games if journal else ()) if index < config.games}
        _judge(config, result)
        if on_found:
            on_found(result)
        if len(done) < config.games and result.verdict is None:
            require_start(config)
        todo = (
            (config, opening_of(config, openings, index // 2), index)
            for index in range(config.games)
            if index not in done and result.verdict is None
        )
        own = executor(config.concurrency, processes=config.in_process and config.concurrency > 1)
        with nullcontext(lent[0]) if lent else own as pool:
            for index, game in as_done(pool, lent[1] if lent else config.concurrency, play_index, todo):
                if journal:
                    journal.add(index, game)
                result.add(index, game, match_ms)
                result.elapsed_s = time.monotonic() - started_s
                _judge(config, result)
                if on_game:
                    on_game(result, game)
    finally:
        if journal:
            journal.close()
    return result


def _judge(config: MatchConfig, result: MatchResult) -> None:
    if config.sprt and result.verdict is None:
        result.verdict = config.sprt.verdict(list(result.pairs.values()))
