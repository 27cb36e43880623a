"""The Gomocup protocol, https://plastovicka.github.io/protocl2en.htm: its commands and how it is answered.

Coordinates are as sent: (a, b) is column and row, to Yixin-Board row and column.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.rules._board import MAX_SIDE, MIN_SIDE
from protocol import __version__
from protocol.format import Notation, clean, coordinates, error, messages
from protocol.position import BoardError, Pairs, Position, Stone, position_from
from protocol.query import (
    AnswerFormat,
    Command,
    Points,
    Query,
    QueryCommand,
    Reply,
    about,
    named_points,
    swap2_query,
)

if TYPE_CHECKING:
    from engine import SearchResult
    from protocol.conversation import Conversation

OK = "OK"
SWAP2_STONES = {"SWAP2BOARD": (0, 3, 5), "SWAPBOARD": (0, 3)}
"""Stones on the board when these commands ask something (protocol)."""

_NUMBER = r"([+-]?[0-9]{1,9})"
_ONE = re.compile(rf"{_NUMBER}\Z", re.ASCII)
_PAIR = re.compile(rf"{_NUMBER}\s*,\s*{_NUMBER}\Z", re.ASCII)
_LOOSE_PAIR = re.compile(rf"{_NUMBER}(?:\s*,\s*|\s+){_NUMBER}\Z", re.ASCII)
_PAIR_AND_MORE = re.compile(rf"{_NUMBER}\s*,\s*{_NUMBER}(?:\s*,\s*(.*))?\Z", re.ASCII | re.DOTALL)
_WAITS = frozenset({"TURN", "BEGIN", "PLAY", "YXNBEST", "YXBALANCEONE", "YXBALANCETWO", "PONDER"})
"""Words that wait for the answer of the command before them, also where they make no sense."""


# --- answers ------------------------------------------------------------------------------------------------


def answer_line(points: Points, names: Notation) -> str:
    """Return an answer as `7,7`, `7,7 8,8 9,9` or `SWAP`."""
    return points if isinstance(points, str) else coordinates(names.pair(p) for p in points)


class MoveFormat(AnswerFormat):
    """A move that the brain makes; the stone is placed."""

    __slots__ = ()
    must_answer = True
    shows_progress = True

    def reply(self, query: Query, points: Points, result: SearchResult | None, names: Notation) -> Reply:
        assert not isinstance(points, str)
        return Reply((answer_line(points[:1], names),), placed=points[:1])


class ChoiceFormat(AnswerFormat):
    """Points or SWAP; the position of the game learns of them by the next BOARD."""

    __slots__ = ()

    def reply(self, query: Query, points: Points, result: SearchResult | None, names: Notation) -> Reply:
        return Reply((answer_line(points, names),))


# --- commands -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Start(Command):
    """`START n`, `START w h` and `RECTSTART w,h`: a new game on an empty board of this size."""

    width: int
    height: int

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        conversation.drop_queries(next_size=(self.width, self.height))
        if MIN_SIDE <= self.width <= MAX_SIDE and MIN_SIDE <= self.height <= MAX_SIDE:
            conversation.start_game(self.width, self.height)
            conversation.send(OK)
        else:  # the text names 20, at which Piskvork offers to change to 20 x 20
            size = f"{self.width}x{self.height}"
            conversation.refuse(
                f"no board of {size}: sides from {MIN_SIDE} to {MAX_SIDE} are possible, as 20"
            )


@dataclass(frozen=True, slots=True)
class Restart(Command):
    """`RESTART`: a new game on a board of the same size."""

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        if conversation.started("RESTART") is not None:
            conversation.drop_queries()
            conversation.flush_owed_move()
            conversation.restart_game()
            conversation.send(OK)


@dataclass(frozen=True, slots=True)
class Begin(QueryCommand):
    """`BEGIN`: think and move."""

    supersedes = True

    def waits(self) -> bool:
        return True

    def query(self, position: Position, names: Notation, seed: float) -> Query:
        return about(position, "move", MoveFormat())


def _placed(conversation: Conversation, word: str, a: int, b: int) -> bool:
    """Put a stone of the side to move on a,b; say what is wrong and return False if that cannot be."""
    position, point = conversation.started(word), conversation.names.point(a, b)
    if position is None:
        return False
    if point is None:
        conversation.refuse(f"{a},{b} is off the board")
    elif not position.is_empty(point):
        conversation.refuse(f"{a},{b} is taken")
    else:
        conversation.place(point)
        return True
    return False


@dataclass(frozen=True, slots=True)
class Turn(Command):
    """`TURN a,b`: the opponent moved; think and move."""

    a: int
    b: int
    asks = True
    supersedes = True

    def waits(self) -> bool:
        return True

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        if _placed(conversation, "TURN", self.a, self.b):
            conversation.ask_move(arrival_s)


@dataclass(frozen=True, slots=True)
class Play(Command):
    """`PLAY a,b`: put your own stone there and echo it."""

    a: int
    b: int
    supersedes = True

    def waits(self) -> bool:
        return True

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        conversation.flush_owed_move()
        if _placed(conversation, "PLAY", self.a, self.b):
            conversation.stop_pondering()
            conversation.send(coordinates([(self.a, self.b)]))


@dataclass(frozen=True, slots=True)
class TakeBack(Command):
    """`TAKEBACK a,b`: remove the stone there."""

    a: int
    b: int

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        position = conversation.started("TAKEBACK")
        if position is None:
            return
        point = conversation.names.point(self.a, self.b)
        if point is None or position.is_empty(point):
            conversation.refuse(f"no stone at {self.a},{self.b}")
            return
        conversation.drop_queries()
        conversation.flush_owed_move()
        position.take_back(point)
        conversation.send(OK)


@dataclass(frozen=True, slots=True)
class Board(Command):
    """`BOARD` to `DONE`: the position; think and move.

    Attributes:
        fault: what was wrong with the first unreadable line.
    """

    stones: tuple[Stone, ...]
    fault: str | None = None
    asks = True

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        if conversation.started("BOARD") is None:
            return
        conversation.drop_queries()
        try:
            conversation.position = position_from(conversation.names, self.stones, self.fault)
        except BoardError as fault:
            conversation.refuse(str(fault))
        else:
            conversation.ask_move(arrival_s)


@dataclass(frozen=True, slots=True)
class Swap2Board(QueryCommand):
    """`SWAP2BOARD` to `DONE` and AlphaGomoku's `SWAPBOARD` to `DONE`: the stones so far."""

    stones: Pairs
    fault: str | None = None
    name: str = "SWAP2BOARD"

    @property
    def word(self) -> str:
        return self.name

    def query(self, position: Position, names: Notation, seed: float) -> Query:
        points = named_points(self.name, self.stones, self.fault, names)
        return swap2_query(self.name, ChoiceFormat(), position, points, SWAP2_STONES[self.name])


@dataclass(frozen=True, slots=True)
class Info(Command):
    """`INFO key value`; the key in lower case, the value as sent. Never answered, but for a remark on a
    number of threads that cannot be."""

    key: str
    value: str
    silent = True
    waits_in_line = True

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        settings = conversation.settings
        for line in messages(settings.problem(self.key, self.value)):
            conversation.send(line)
        if not settings.apply(self.key, self.value, arrival_s) or not conversation.thinking:
            return
        if self.key == "timeout_turn" and settings.turn_ms is not None and settings.turn_ms <= 0:
            conversation.answer_now()
        else:
            conversation.relimit()


@dataclass(frozen=True, slots=True)
class About(Command):
    """`ABOUT`: name, version, author and country of the brain."""

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        conversation.send(
            f'name="Tengen", version="{__version__}", author="Tengen maintainers", country="International"'
        )


@dataclass(frozen=True, slots=True)
class Stop(Command):
    """`STOP` and `YXSTOP`: move now."""

    silent = True

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        conversation.flush_owed_move()
        conversation.answer_now()


@dataclass(frozen=True, slots=True)
class Invalid(Command):
    """A known command (`word`, upper case) that makes no sense; the answer is `ERROR reason`."""

    word: str
    reason: str

    def waits(self) -> bool:
        return self.word in _WAITS

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        if self.word in ("START", "RECTSTART"):
            conversation.drop_queries()
        conversation.send(error(self.reason))


@dataclass(frozen=True, slots=True)
class Unknown(Command):
    """A line that is no command."""

    text: str

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        if not conversation.yixin:  # Yixin-Board would take the answer for a move (protocol)
            conversation.send(clean(f"UNKNOWN command {clean(self.text, 40)}"))


# --- parsing ------------------------------------------------------------------------------------------------

LineParser = Callable[[str, str], Command]
"""From a word in upper case and the rest of its line to a command."""
BlockParser = Callable[[str, str, list[str]], Command]
"""The same with the lines of the block."""


def parse_number(text: str) -> int | None:
    """Return the integer that a text is, None if it is none."""
    match = _ONE.match(text)
    return None if match is None else int(match[1])


def parse_stones(lines: list[str]) -> tuple[tuple[Stone, ...], str | None]:
    """Read lines x,y,owner. Unreadable ones are left out; an unreadable owner is None.

    Returns:
        the stones, and what is wrong with the first unreadable line.
    """
    stones, fault = [], None
    for line in lines:
        match = _PAIR_AND_MORE.match(line)
        owner = match[3].strip() if match is not None and match[3] is not None else ""
        if match is not None:
            known = int(owner) if owner in ("1", "2", "3") else None
            stones.append(Stone(int(match[1]), int(match[2]), known))
        if match is None or stones[-1].owner is None:
            fault = fault or f"BOARD lines are x,y,owner, not {line[:40]}"
    return tuple(stones), fault


def parse_pairs(word: str, lines: list[str]) -> tuple[Pairs, str | None]:
    """Read lines x,y of the block of a command. Unreadable ones are left out.

    Returns:
        the coordinates, and what is wrong with the first unreadable line.
    """
    stones, fault = [], None
    for line in lines:
        pair = _PAIR.match(line)
        if pair is None:
            fault = fault or f"{word} lines are x,y, not {line[:40]}"
        else:
            stones.append((int(pair[1]), int(pair[2])))
    return tuple(stones), fault


def parse_swap2(word: str, rest: str, lines: list[str]) -> Command:
    """Read the lines of a SWAP2BOARD or SWAPBOARD block."""
    return Swap2Board(*parse_pairs(word, lines), word)


def _pointed(command: Callable[[int, int], Command]) -> LineParser:
    def parse(word: str, rest: str) -> Command:
        pair = _PAIR.match(rest)
        return Invalid(word, f"{word} needs x,y") if pair is None else command(int(pair[1]), int(pair[2]))

    return parse


def _start(word: str, rest: str) -> Command:
    one, two = _ONE.match(rest), _LOOSE_PAIR.match(rest)
    if one is not None and word == "START":
        return Start(int(one[1]), int(one[1]))
    if two is not None:
        return Start(int(two[1]), int(two[2]))
    return Invalid(
        word, f"{word} needs " + ("a board size, such as 20" if word == "START" else "width,height")
    )


def _info(word: str, rest: str) -> Command:
    key, _, value = rest.replace("\t", " ").partition(" ")
    return Info(key.lower(), value.strip())


LINES: dict[str, LineParser] = {
    "START": _start,
    "RECTSTART": _start,
    "RESTART": lambda word, rest: Restart(),
    "BEGIN": lambda word, rest: Begin(),
    "TURN": _pointed(Turn),
    "PLAY": _pointed(Play),
    "TAKEBACK": _pointed(TakeBack),
    "INFO": _info,
    "ABOUT": lambda word, rest: About(),
    "STOP": lambda word, rest: Stop(),
    "DONE": lambda word, rest: Invalid(word, "DONE without BOARD"),
}
BLOCKS: dict[str, BlockParser] = {
    "BOARD": lambda word, rest, lines: Board(*parse_stones(lines)),
    "SWAP2BOARD": parse_swap2,
}
