"""Records of refereed games: setup, times, incidents, and the summary over many games."""

from __future__ import annotations

import collections
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from engine.games.record import GameRecord
from engine.rules._board import EMPTY


@dataclass(frozen=True, slots=True)
class GameSetup:
    """What is agreed on before a game.

    Attributes:
        number: index of the game in its series; player `number % 2` has black.
        width, height: of the board, cells.
        rule: INFO value of the rule.
        opening: points that are already played, alternately, black first.
        draw_after: stones on the board after which the game is a draw; None: a full board.
        take_back_at: ply at which two stones are taken back under managers that do so; None: never.
        pause_at: stones on the board after which a manager that pauses games does so; None: never.
    """

    number: int
    width: int
    height: int
    rule: int
    opening: tuple[int, ...] = ()
    draw_after: int | None = None
    take_back_at: int | None = None
    pause_at: int | None = None


@dataclass(frozen=True, slots=True)
class MoveTime:
    """Time of one move of a brain.

    `cold` marks the first move of a process, whose clock includes the process start. `queued_ms` is how long
    the brain's threads, and those of the manager that ask and listen, were ready to run but had no core: at
    most so much of an overshoot is the machine's (at most, since waiting within the time that the brain meant
    to use delays nothing).
    """

    game: int
    ply: int
    player: int
    limit_ms: float | None
    elapsed_ms: float
    cold: bool
    queued_ms: float = 0.0

    @property
    def overshoot_ms(self) -> float:
        """Time beyond the limit, negative below it; minus infinity without a limit."""
        return -math.inf if self.limit_ms is None else self.elapsed_ms - self.limit_ms


@dataclass(frozen=True, slots=True)
class Incident:
    """A failure of a player by the rules of a manager."""

    kind: str
    player: int
    game: int
    ply: int
    detail: str


@dataclass(slots=True)
class PlayedGame:
    """One game, finished or not.

    Attributes:
        black: index of the player who has black.
        points: stones in playing order, opening included.
        times_ms: one a stone, on the player's own clock where it has one; 0 for opening stones.
        winner: a player's index; None for a draw or an unfinished game.
        end: "five", "draw", "unfinished", `NO_LEGAL_MOVE`, or the loser's incident.
        text: what exactly went wrong, else empty.
        times: of the moves of brains.
        starved: answers that were late only because threads of the brain or of its manager waited for a core;
            no incidents.
        conversations: by player, what was said in a game with incidents.
    """

    setup: GameSetup
    black: int
    points: list[int] = field(default_factory=list)
    times_ms: list[float] = field(default_factory=list)
    winner: int | None = None
    end: str = "unfinished"
    text: str = ""
    times: list[MoveTime] = field(default_factory=list)
    incidents: list[Incident] = field(default_factory=list)
    private_bytes: int = 0
    exit_ms: list[float] = field(default_factory=list)
    starved: int = 0
    conversations: dict[int, str] = field(default_factory=dict)

    def to_move(self) -> int:
        """Return the index of the player to move."""
        return (self.black + len(self.points)) % 2

    def colour_of(self, player: int) -> int:
        """Return the colour of a player: 0 black, 1 white."""
        return int(player != self.black)

    def report(self, kind: str, player: int, detail: str) -> None:
        """Add an incident at the current ply.

        Args:
            kind: as in `Incident`.
            player: 0 or 1, who caused it.
            detail: a text for people.
        """
        self.incidents.append(Incident(kind, player, self.setup.number, len(self.points), detail))

    def to_record(self, names: tuple[str, str]) -> GameRecord:
        """Return the game as files hold it; `names` are those of players 0 and 1."""
        setup = self.setup
        winner = EMPTY if self.winner is None else self.colour_of(self.winner)
        return GameRecord(
            setup.width, setup.height, setup.rule, len(setup.opening),
            (names[self.black], names[1 - self.black]), list(self.points), list(self.times_ms),
            winner, self.end, self.text,
        )  # fmt: skip


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(round(share * len(ordered), 6)) - 1)]


def _spread(values: Sequence[float]) -> dict[str, float]:
    shares = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
    return {"n": len(values), **{name: round(percentile(values, s), 2) for name, s in shares.items()}}


def summarise(games: Iterable[PlayedGame], names: Sequence[str]) -> dict[str, object]:
    """Return the figures of a series, ready for JSON: times in ms, memory in MiB, players by name."""
    games = list(games)
    kinds = collections.Counter((names[i.player], i.kind) for game in games for i in game.incidents)
    summary: dict[str, object] = {
        "games": len(games),
        "moves": sum(len(game.times) for game in games),
        "ends": dict(collections.Counter(game.end for game in games)),
        "results": {
            **{f"{name} wins": sum(game.winner == i for game in games) for i, name in enumerate(names)},
            "no winner": sum(game.winner is None for game in games),
        },
        "incidents": {f"{name}: {kind}": count for (name, kind), count in sorted(kinds.items())},
        "starved": sum(game.starved for game in games),
        "private_mib_max": round(max((game.private_bytes for game in games), default=0) / 2**20, 1),
    }
    times = [t for game in games for t in game.times if t.limit_ms is not None]
    for title, values in (
        ("overshoot_ms", [t.overshoot_ms for t in times if not t.cold]),
        ("overshoot_less_queueing_ms", [t.overshoot_ms - t.queued_ms for t in times if not t.cold]),
        ("cold_move_elapsed_ms", [t.elapsed_ms for t in times if t.cold]),
        ("cold_move_less_queueing_ms", [t.elapsed_ms - t.queued_ms for t in times if t.cold]),
    ):
        if values:
            summary[title] = _spread(values)
    exits = [ms for game in games for ms in game.exit_ms]
    if exits:
        summary["exit_ms"] = _spread(exits)
    return summary


def as_json(games: Iterable[PlayedGame]) -> list[dict[str, object]]:
    """Return games as plain data."""
    return [asdict(game) for game in games]
