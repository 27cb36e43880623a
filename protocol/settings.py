"""Values of INFO, and the match clock where the manager does not send it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from engine import Rule, SearchLimits
from engine.config import MAX_MEMORY_BYTES, MAX_THREADS, MIN_THREADS
from engine.ranges import shown
from engine.rules.rule import CONTINUOUS_BIT, RULE_BITS, rule_from_mask
from engine.timing.budget import UNLIMITED_MS
from protocol.format import DETAIL, REALTIME

Dialect = Literal["gomocup", "yixin"]

YIXIN_UNTIMED_MS = (2_000_000, 100_000_000)
"""Turn and match by which Yixin-Board says that there is no limit (protocol)."""
UNTOLD_TURN_MS = 5_000
"""Time of a turn while INFO has set neither turn nor match, ms (tuned: pleasant at a terminal)."""
CLOCK_STARTS_WITH_INFO_S = 1.0
"""A think command that follows INFO time_left within this time is charged from the INFO (protocol: managers
start the turn clock before they send it; derived: they send both in one go)."""
TREE_EXTRA_BYTES = 96 << 20
"""Added to Yixin's hash_size, which means the tree only, to get the memory of the process (derived: measured
size of interpreter, libraries and net)."""
MAX_COUNT = 2**31 - 1
"""Counts from here on mean "no limit" (protocol: some managers send an unsigned -1)."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}\Z", re.ASCII)
_YIXIN_RULES = {2: Rule.RENJU, 5: Rule.FREESTYLE, 6: Rule.FREESTYLE}
_LIMIT_KEYS = frozenset(
    {"timeout_turn", "timeout_match", "time_left", "time_increment", "max_node", "max_depth"}
)


@dataclass(slots=True)
class Settings:
    """The values of INFO keys; they outlive START and RESTART."""

    turn_ms: int | None = None
    match_ms: int | None = None
    time_left_ms: int | None = None
    """As last set, less what was used since; None: never set. See `_limits_match` for 0 or less."""
    clock_runs: bool = False
    """Whether this game got a positive time_left, less than UNLIMITED_MS."""
    told_s: float = float("-inf")
    """When time_left was received in this game."""
    begun_s: float = float("-inf")
    """When this game began."""
    used_ms: float = 0.0
    """Thinking time of this game."""
    increment_ms: int = 0
    max_nodes: int | None = None
    max_depth: int | None = None
    threads: int | None = None
    """thread_num; None: never set."""
    memory_bytes: int | None = None
    """max_memory; None: never set; 0: no limit."""
    hash_bytes: int | None = None
    rule_mask: int = 0
    show_detail: int = 0
    pondering: bool = False

    def apply(self, key: str, value: str, arrival_s: float) -> bool:
        """Take in a key and its value; what is unknown or unreadable changes nothing.

        Returns:
            whether limits of a running search may have changed.
        """
        number = _integer(value)
        if number is None:
            return False
        if key == "thread_num" and not MIN_THREADS <= number <= MAX_THREADS:
            return False
        if key == "time_left":
            self.time_left_ms = number
            self.told_s = arrival_s if arrival_s >= self.begun_s else float("-inf")
            self.clock_runs = self.clock_runs or 0 < number < UNLIMITED_MS
        elif key in _FIELDS:
            name, convert = _FIELDS[key]
            setattr(self, name, convert(number))
        return key in _LIMIT_KEYS

    def problem(self, key: str, value: str) -> str:
        """Return what to tell about a key and its value that `apply` refuses, "" if nothing."""
        number = _integer(value)
        if key == "thread_num" and (number is None or not MIN_THREADS <= number <= MAX_THREADS):
            kept = "the setting of the engine" if self.threads is None else str(self.threads)
            return f"thread_num is {MIN_THREADS} to {MAX_THREADS}, not {shown(value)}; {kept} stays"
        return ""

    @property
    def shows_progress(self) -> bool:
        """Whether the manager wants to see how a search goes."""
        return bool(self.show_detail & (REALTIME | DETAIL))

    def new_game(self, now_s: float) -> None:
        """Start the match clock anew. No clock of a turn has started before now, when the game begins."""
        self.used_ms = 0.0
        self.clock_runs = False
        self.begun_s, self.told_s = now_s, float("-inf")

    def used(self, elapsed_s: float) -> None:
        """Charge the match clock for a move."""
        spent_ms = max(0.0, elapsed_s * 1000)
        self.used_ms += spent_ms - self.increment_ms
        if self.time_left_ms is not None and self._limits_match(self.time_left_ms):
            self.time_left_ms = int(self.time_left_ms - spent_ms) + self.increment_ms

    def limits(
        self,
        elapsed_s: float = 0.0,
        dialect: Dialect = "gomocup",
        *,
        share: float = 1.0,
        max_nodes: int | None = None,
    ) -> SearchLimits:
        """Return the limits of a query.

        Args:
            elapsed_s: how long it has been thought about when time_left was received; 0 before that starts.
            dialect: of the manager.
            share: how much of the time of a turn it may take, (0, 1].
            max_nodes: at most this many simulations, whatever INFO says.
        """
        limits = self._told_limits(elapsed_s, dialect)
        if max_nodes is not None:
            limits = replace(limits, max_nodes=min(max_nodes, limits.max_nodes or max_nodes))
        if share < 1.0:
            turn_ms, left_ms = (
                None if ms is None else int(ms * share) for ms in (limits.turn_ms, limits.time_left_ms)
            )
            limits = replace(limits, turn_ms=turn_ms, time_left_ms=left_ms)
        return limits

    def _told_limits(self, elapsed_s: float, dialect: Dialect) -> SearchLimits:
        """Return the limits that INFO has set."""
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
        """Return the rule to play by. Unknown bits are ignored: a game that can be played must continue."""
        if dialect == "yixin" and self.rule_mask in _YIXIN_RULES:
            return _YIXIN_RULES[self.rule_mask]
        return rule_from_mask(max(0, self.rule_mask) & RULE_BITS)

    def continuous(self, dialect: Dialect) -> bool:
        """Return whether the game continues after a five."""
        return dialect == "gomocup" and bool(self.rule_mask & CONTINUOUS_BIT) and self.rule_mask >= 0


def _integer(text: str) -> int | None:
    return int(text) if _INTEGER.match(text) else None


def _count(number: int) -> int | None:
    return number if 0 < number < MAX_COUNT else None


_FIELDS: dict[str, tuple[str, Callable[[int], object]]] = {
    "timeout_turn": ("turn_ms", int),
    "timeout_match": ("match_ms", lambda ms: ms if ms > 0 else None),
    "time_increment": ("increment_ms", lambda ms: max(0, ms)),
    "max_node": ("max_nodes", _count),
    "max_depth": ("max_depth", _count),
    "thread_num": ("threads", int),
    "max_memory": ("memory_bytes", lambda size: min(max(0, size), MAX_MEMORY_BYTES)),
    "hash_size": ("hash_bytes", lambda kib: min(kib * 1024, MAX_MEMORY_BYTES // 2) if kib > 0 else None),
    "rule": ("rule_mask", int),
    "show_detail": ("show_detail", int),
    "pondering": ("pondering", lambda number: number > 0),
    "auto_pondering": ("pondering", lambda number: number > 0),
}
"""From a key of INFO to the field of `Settings` that it sets, and what is stored of its number."""
