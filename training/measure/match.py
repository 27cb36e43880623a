"""Matches of two players: pairs of games on one opening with colours swapped, and what is counted in them.

Further rounds through a list of openings use its mirror images. `training.match` is the command and says what
a player is.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from engine.gamefile import GameRecord, to_psq, to_sgf
from training.measure.brainproc import BrainLimits, BrainProcess
from training.measure.elo import Estimate, Sprt, estimate
from training.measure.opponents import is_builtin, make_builtin
from training.measure.referee import Player, play_game
from training.play.openings import random_opening, read_openings, turned


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
    random_stones: int = 4
    concurrency: int = 1
    seed: int = 1
    draw_after: int | None = None
    save: Path | None = None
    names: tuple[str, str] = ("a", "b")


@dataclass(slots=True)
class MatchResult:
    """Everything counted in a match, from the point of view of player a."""

    pairs: list[list[float]] = field(default_factory=list)
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
    stones: int = 0
    verdict: str | None = None
    elapsed_s: float = 0.0

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def estimate(self) -> Estimate:
        return estimate([pair for pair in self.pairs if pair])

    def add(self, index: int, game: GameRecord) -> None:
        """Count game `index`; a has black in even games."""
        a_colour = index % 2
        score = 0.5 if game.winner == 2 else float(game.winner == a_colour)
        while len(self.pairs) <= index // 2:
            self.pairs.append([])
        self.pairs[index // 2].append(score)
        self.wins += score == 1
        self.draws += score == 0.5
        self.losses += score == 0
        self.wins_black += score == 1 and a_colour == 0
        self.wins_white += score == 1 and a_colour == 1
        self.black_points += 0.5 if game.winner == 2 else float(game.winner == 0)
        self.stones += len(game.points)
        if game.incident:
            self.incidents[0 if game.winner != a_colour else 1][game.reason] += 1
        for ply in range(game.opening_stones, len(game.points)):
            side = 0 if ply % 2 == a_colour else 1
            ms = game.times_ms[ply]
            self.slowest_ms[side] = max(self.slowest_ms[side], ms)
            self.moves[side] += 1
            self.mean_ms[side] += (ms - self.mean_ms[side]) / self.moves[side]

    def summary(self, names: tuple[str, str]) -> str:
        """Return the result as a few lines."""
        lines = [
            f"{names[0]} against {names[1]}: +{self.wins} ={self.draws} -{self.losses}, {self.estimate}",
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
        if self.verdict:
            lines.append(f"  SPRT: {self.verdict}")
        return "\n".join(lines)

    def to_json(self, config: MatchConfig) -> dict[str, object]:
        """Return the result as plain data."""
        e = self.estimate
        return {
            "a": config.a, "b": config.b, "rule": config.rule, "size": [config.width, config.height],
            "turn_ms": [limits.turn_ms for limits in config.limits],
            "nodes": [limits.max_nodes for limits in config.limits],
            "games": self.games, "wins": self.wins, "draws": self.draws, "losses": self.losses,
            "wins_black": self.wins_black, "wins_white": self.wins_white,
            "score": e.score, "score_low": e.score_low, "score_high": e.score_high, "elo": e.elo,
            "incidents": [dict(c) for c in self.incidents], "slowest_ms": self.slowest_ms,
            "mean_ms": self.mean_ms, "stones": self.stones, "verdict": self.verdict,
            "elapsed_s": self.elapsed_s, "seed": config.seed,
        }  # fmt: skip


def make_player(spec: str, limits: BrainLimits, seed: int, log_path: str | None = None) -> Player:
    """Return the player that a text names (see `training.match`).

    Raises:
        ValueError: a built-in player with settings it does not know.
        BrainFailureError: a command that cannot be started.
    """
    if is_builtin(spec):
        return make_builtin(spec, limits, seed)
    return BrainProcess(spec, limits, log_path)


def run_match(
    config: MatchConfig, on_game: Callable[[MatchResult, GameRecord], None] | None = None
) -> MatchResult:
    """Play a match and return its result; `on_game(result, game)` is called after every game.

    Args:
        config: the match. Openings come from its file or, without one, from its seed.

    Raises:
        OpeningError: an unusable opening file.
        ValueError: a player that does not exist.
    """
    openings = (
        read_openings(config.openings, config.width, config.height, config.rule) if config.openings else None
    )
    result, lock, stop = MatchResult(), threading.Lock(), threading.Event()
    started_s = time.monotonic()
    for spec, limits in zip((config.a, config.b), config.limits, strict=True):
        if is_builtin(spec):
            make_builtin(spec, limits, 0).close()  # refuse a bad spec before the first game
    if config.save:
        config.save.mkdir(parents=True, exist_ok=True)

    def opening_of(pair: int) -> tuple[int, ...]:
        if openings is None:
            rng = random.Random(f"{config.seed} {pair}")
            return random_opening(rng, config.width, config.height, config.rule, config.random_stones)
        points = openings[pair % len(openings)]
        return turned(points, config.width, config.height, pair // len(openings))

    def play(index: int) -> None:
        if stop.is_set():
            return
        order = (0, 1) if index % 2 == 0 else (1, 0)
        specs = (config.a, config.b)
        players: list[Player] = []
        try:
            for side in order:
                log = str(config.save / f"{index:05d}-{side}.log") if config.save else None
                players.append(make_player(specs[side], config.limits[side], config.seed + index, log))
            game = play_game(
                (players[0], players[1]), (config.names[order[0]], config.names[order[1]]),
                (config.width, config.height), config.rule, opening_of(index // 2), config.draw_after,
            )  # fmt: skip
        finally:
            for player in players:
                player.close()
        if config.save:
            for suffix, text in (("psq", to_psq(game)), ("sgf", to_sgf(game))):
                (config.save / f"{index:05d}.{suffix}").write_text(text, encoding="utf-8")
        with lock:
            if stop.is_set():
                return
            result.add(index, game)
            result.elapsed_s = time.monotonic() - started_s
            if config.sprt:
                result.verdict = config.sprt.verdict(result.pairs)
                if result.verdict:
                    stop.set()
            if on_game:
                on_game(result, game)

    with ThreadPoolExecutor(config.concurrency) as pool:
        futures = [pool.submit(play, index) for index in range(config.games)]
        try:
            for future in futures:
                future.result()
        except BaseException:
            stop.set()
            raise
    return result
