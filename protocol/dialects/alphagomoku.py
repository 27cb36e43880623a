"""What AlphaGomoku's protocol adds to Gomocup: pondering, forbidden points, balancing, more openings.

https://github.com/MaciejKozarzewski/AlphaGomoku/tree/master/doc/protocols
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine import SearchLimits
from protocol.dialects.gomocup import (
    BlockParser,
    Invalid,
    LineParser,
    parse_number,
    parse_stones,
    parse_swap2,
)
from protocol.dialects.yixin import HashClear, balance_query
from protocol.format import Notation, coordinates
from protocol.position import BoardError, Position, Stone, position_from
from protocol.query import Command, Query, QueryCommand, QueryError

if TYPE_CHECKING:
    from protocol.conversation import Conversation

VERSION = "1,0"
"""Of the extended protocol (protocol)."""


@dataclass(frozen=True, slots=True)
class BalancePosition(QueryCommand):
    """`BALANCE n` and a position to `DONE`: find `count` stones that balance the game."""

    count: int
    stones: tuple[Stone, ...] = ()
    fault: str | None = None

    @property
    def word(self) -> str:
        return "BALANCE"

    def query(self, position: Position, names: Notation, seed: float) -> Query:
        try:
            position = position_from(names, self.stones, self.fault)
        except BoardError as fault:
            raise QueryError(str(fault)) from fault
        return balance_query(position, self.count, 0, places=False)


@dataclass(frozen=True, slots=True)
class Ponder(Command):
    """`PONDER ms`: search without an answer, without a limit if `ms` is None."""

    ms: int | None = None

    def waits(self) -> bool:
        return True

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        if conversation.started("PONDER") is not None:
            conversation.ponder(SearchLimits(turn_ms=self.ms))


@dataclass(frozen=True, slots=True)
class ForbidBoard(Command):
    """`SHOWFORBID` to `DONE`: list the points of this position where black may not play."""

    stones: tuple[Stone, ...]
    fault: str | None = None

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        if conversation.started("SHOWFORBID") is None:
            return
        names = conversation.names
        try:
            position = position_from(names, self.stones, self.fault)
        except BoardError as fault:
            conversation.refuse(str(fault))
            return
        points = position.board(conversation.rule()).forbidden_points()
        conversation.send(f"FORBID {coordinates(map(names.pair, points))}".rstrip())


@dataclass(frozen=True, slots=True)
class ProtocolVersion(Command):
    """`PROTOCOLVERSION`: say which version of the protocol is spoken."""

    def waits(self) -> bool:
        return True

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        if not conversation.yixin:
            conversation.send(VERSION)


def _ponder(word: str, rest: str) -> Command:
    number = parse_number(rest)
    if number is None and rest:
        return Invalid(word, "PONDER needs a number of ms, or none")
    return Ponder(number if number is not None and number >= 0 else None)


def _balance(word: str, rest: str, lines: list[str]) -> Command:
    count = parse_number(rest)
    if count is None or not 1 <= count <= 2:
        return Invalid(word, "BALANCE needs 1 or 2, the number of stones")
    return BalancePosition(count, *parse_stones(lines))


def _numbered(word: str, steps: int) -> list[str]:
    return [f"{word}STEP{step}" for step in range(1, steps + 1)]


_REFUSED = (
    "SWAP1STBOARD", "PROBOARD", "LONGPROBOARD", *_numbered("SWAP5", 3), *_numbered("RIF", 5),
    *_numbered("YAMAGUCHI", 5), *_numbered("SOOSYRV", 6), *_numbered("TARAGUCHI", 4), *_numbered("SAKATA", 3),
    *_numbered("TARANNIKOV", 2), *_numbered("LIANHUAN", 2),
)  # fmt: skip
"""Questions with a block about openings that are not played here (protocol)."""
TAILS = frozenset({"RIFSTEP5", "YAMAGUCHISTEP5"})
"""Blocks after which one more line of points may follow, and whose end may be a lone PLAY (protocol)."""

LINES: dict[str, LineParser] = {
    "PONDER": _ponder,
    "CLEARHASH": lambda word, rest: HashClear(),
    "PROTOCOLVERSION": lambda word, rest: ProtocolVersion(),
}
BLOCKS: dict[str, BlockParser] = {
    **dict.fromkeys(_REFUSED, lambda word, rest, lines: Invalid(word, f"{word} is not supported")),
    "BALANCE": _balance,
    "SHOWFORBID": lambda word, rest, lines: ForbidBoard(*parse_stones(lines)),
    "SWAPBOARD": parse_swap2,
}
