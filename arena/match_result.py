"""Counts of a match, from the view of its first player."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from arena.clock_use import ClockUse
from arena.elo import Estimate, estimate, pentanomial
from arena.match_config import MatchConfig
from arena.sprt import Sprt
from engine.games.record import GameRecord


@dataclass(slots=True)
class MatchResult:
    """Counts of a match, from the view of player a."""

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
    sprt: Sprt | None = None
    verdict: str | None = None
    llr: float = 0.0
    """Of the sequential test: when it was decided, or now."""
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

    def update_sprt(self) -> None:
        """Set the result of the sequential test once it is decided."""
        if self.sprt and self.verdict is None:
            pairs = list(self.pairs.values())
            self.verdict = self.sprt.verdict(pairs)
            self.llr = self.sprt.llr(pairs)

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
        if self.sprt:
            lines.append(f"  SPRT: {self.verdict or 'undecided'}, {self.sprt.describe(self.llr)}")
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
            "manager": config.limits[0].manager,
            "openings": str(config.openings) if config.openings else None,
            "games": self.games, "wins": self.wins, "draws": self.draws, "losses": self.losses,
            "pentanomial": pentanomial(list(self.pairs.values())),
            "wins_black": self.wins_black, "wins_white": self.wins_white,
            "score": e.score, "score_low": e.score_low, "score_high": e.score_high, "elo": e.elo,
            "incidents": [dict(c) for c in self.incidents], "slowest_ms": self.slowest_ms,
            "mean_ms": self.mean_ms, "clock_use": [use.to_json() for use in self.clock_use],
            "stones": self.stones, "verdict": self.verdict,
            "llr": self.llr if self.sprt else None,
            "elapsed_s": self.elapsed_s, "seed": config.seed,
        }  # fmt: skip


