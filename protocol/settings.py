"""What INFO has set, and the match clock where the manager does not tell it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from engine import Rule, SearchLimits
from engine.config import MAX_MEMORY_BYTES
from engine.rules.rule import CONTINUOUS_BIT, rule_from_mask
from engine.timing.budget import UNLIMITED_MS

Dialect = Literal["gomocup", "yixin"]

YIXIN_UNTIMED_MS = (2_000_000, 100_000_000)
"""Turn and match by which Yixin-Board says that there is no limit (protocol)."""
UNTOLD_TURN_MS = 5_000
"""The turn when neither turn nor match time was ever told (tuned: pleasant at a terminal)."""
CLOCK_STARTS_WITH_INFO_S = 1.0
"""A think command that follows INFO time_left within this time is charged from the INFO (protocol: managers
start the turn clock before they send it; derived: they send both in one go)."""
TREE_EXTRA_BYTES = 96 << 20
"""Added to Yixin's hash_size, which means the tree only, to get the memory of the process (derived: measured
size of interpreter, libraries and net)."""
REALTIME, DETAIL = 1, 2
"""Bits of show_detail: marks on the board of Yixin-Board, chances on that of its fork (protocol)."""
MAX_COUNT = 2**31 - 1
"""Counts from here on mean "no limit" (protocol: some managers send an unsigned -1)."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}\Z", re.ASCII)
_YIXIN_RULES = {2: Rule.RENJU, 5: Rule.FREESTYLE, 6: Rule.FREESTYLE}
_LIMIT_KEYS = frozenset(
    {"timeout_turn", "timeout_match", "time_left", "time_increment", "max_node", "max_depth"}
)
_KEYS = _LIMIT_KEYS | {
    "max_memory", "hash_size", "rule", "game_type", "show_detail", "pondering", "auto_pondering",
}


@dataclass(slots=True)
class Settings:
    """The values of INFO keys; they outlive START and RESTART."""

    turn_ms: int | None = None
    match_ms: int | None = None
    time_left_ms: int | None = None
    """As last told, less what was used since; None: never told. See `_limits_match` for 0 or less."""
    clock_runs: bool = False
    """Whether this game was told a positive time_left, less than UNLIMITED_MS."""
    told_s: float = float("-inf")
    """When time_left was told."""
    used_ms: float = 0.0
    """Thinking time of this game."""
    increment_ms: int = 0
    max_nodes: int | None = None
    max_depth: int | None = None
    memory_bytes: int | None = None
    """max_memory; None: never told; 0: no limit."""
    hash_bytes: int | None = None
    rule_mask: int = 0
    game_type: int = 1
    show_detail: int = 0
    pondering: bool = False

    def apply(self, key: str, value: str, arrival_s: float) -> bool:
        """Take in a key and its value; what is unknown or unreadable changes nothing.

        Returns:
            whether limits of a running search may have changed.
        """
        if key not in _KEYS:
            return False
        number = _integer(value)
        if number is None:
            return False
        match key:
            case "timeout_turn":
                self.turn_ms = number
            case "timeout_match":
                self.match_ms = number if number > 0 else None
            case "time_left":
                self.time_left_ms, self.told_s = number, arrival_s
                self.clock_runs = self.clock_runs or 0 < number < UNLIMITED_MS
            case "time_increment":
                self.increment_ms = max(0, number)
            case "max_node":
                self.max_nodes = _count(number)
            case "max_depth":
                self.max_depth = _count(number)
            case "max_memory":
                self.memory_bytes = min(max(0, number), MAX_MEMORY_BYTES)
            case "hash_size":
                self.hash_bytes = min(number * 1024, MAX_MEMORY_BYTES // 2) if number > 0 else None
            case "rule":
                self.rule_mask = number
            case "game_type":
                self.game_type = number
            case "show_detail":
                self.show_detail = number
            case "pondering" | "auto_pondering":
                self.pondering = number > 0
        return key in _LIMIT_KEYS

    def new_game(self) -> None:
        """Start the match clock anew."""
        self.used_ms = 0.0
        self.clock_runs = False

    def used(self, elapsed_s: float) -> None:
        """Charge the match clock for a move."""
        spent_ms = max(0.0, elapsed_s * 1000)
        self.used_ms += spent_ms - self.increment_ms
        if self.time_left_ms is not None and self._limits_match(self.time_left_ms):
            self.time_left_ms = int(self.time_left_ms - spent_ms) + self.increment_ms

    def limits(self, elapsed_s: float = 0.0, dialect: Dialect = "gomocup") -> SearchLimits:
        """Return the limits of a move.

        Args:
            elapsed_s: how long the move has been thought about when time_left was told; 0 before it starts.
            dialect: of the manager.
        """
        if dialect == "yixin" and (self.turn_ms, self.match_ms) == YIXIN_UNTIMED_MS:
            return SearchLimits(max_nodes=self.max_nodes, max_depth=self.max_depth)
        left_ms = self._left_ms(elapsed_s)
        told = self.turn_ms is not None or (left_ms is not None and left_ms < UNLIMITED_MS)
        return SearchLimits(
            turn_ms=self.turn_ms if told or self.max_nodes or self.max_depth else UNTOLD_TURN_MS,
            match_ms=self.match_ms,
            time_left_ms=left_ms,
            increment_ms=self.increment_ms,
            max_nodes=self.max_nodes,
            max_depth=self.max_depth,
        )

    def _left_ms(self, elapsed_s: float) -> int | None:
        """Return the time left of the match when a move began; UNLIMITED_MS or None: no limit."""
        if self.time_left_ms is None:
            return None if self.match_ms is None else int(self.match_ms - self.used_ms)
        if not self._limits_match(self.time_left_ms):
            return UNLIMITED_MS
        return self.time_left_ms + int(elapsed_s * 1000)

    def _limits_match(self, left_ms: int) -> bool:
        """Return whether a time_left is a limit.

        Managers say that a game has no match clock by a time_left of UNLIMITED_MS, or by one of 0 or less
        with a timeout_match of 0 or less or none. Where a game has a clock, 0 or less: it has run out.
        """
        return 0 < left_ms < UNLIMITED_MS or (left_ms <= 0 and (self.clock_runs or self.match_ms is not None))

    def charged_from_s(self, arrival_s: float) -> float:
        """Return when the clock of a think command that arrived then was started; each INFO counts once."""
        told_s, self.told_s = self.told_s, float("-inf")
        return told_s if 0.0 <= arrival_s - told_s <= CLOCK_STARTS_WITH_INFO_S else arrival_s

    def memory(self) -> int | None:
        """Return the memory that the process may use, bytes; 0: no limit; None: the engine's own choice."""
        if self.hash_bytes is None:
            return self.memory_bytes
        wanted = self.hash_bytes + TREE_EXTRA_BYTES
        return min(wanted, self.memory_bytes) if self.memory_bytes else wanted

    def rule(self, dialect: Dialect) -> Rule:
        """Return the rule to play by. Unknown bits are ignored: a game that can be played must go on."""
        if dialect == "yixin" and self.rule_mask in _YIXIN_RULES:
            return _YIXIN_RULES[self.rule_mask]
        return rule_from_mask(max(0, self.rule_mask) & 15)

    def continuous(self, dialect: Dialect) -> bool:
        """Return whether the game goes on after a five."""
        return dialect == "gomocup" and bool(self.rule_mask & CONTINUOUS_BIT) and self.rule_mask >= 0


def _integer(text: str) -> int | None:
    return int(text) if _INTEGER.match(text) else None


def _count(number: int) -> int | None:
    return number if 0 < number < MAX_COUNT else None
