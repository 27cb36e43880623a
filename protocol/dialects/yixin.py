"""What Yixin-Board and its fork add to Gomocup: analysis, openings, blocked points, marks on the board.

What the commands mean is in https://github.com/accreator/Yixin-protocol and in the source of the boards,
https://github.com/accreator/Yixin-Board and https://github.com/dhbloo/Yixin-Board. They write a point as
row,column.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from engine.config import MAX_THREADS
from engine.cores import usable_cores
from engine.opening import most_level
from protocol.dialects import gomocup, soosorv
from protocol.dialects.gomocup import BlockParser, LineParser, parse_number, parse_pairs
from protocol.format import UNITS_A_LEAD, Notation, message
from protocol.position import BoardError, Pairs, Position, Stone, position_from
from protocol.query import (
    EVERY,
    SWAP,
    AnswerFormat,
    Command,
    Points,
    Query,
    QueryCommand,
    Reply,
    about,
    check_count,
    named_points,
    swap2_query,
)

if TYPE_CHECKING:
    from engine import SearchResult
    from protocol.conversation import Conversation

LISTED = 20
"""Moves of a search that are reported (tuned: what a person reads)."""
SWAP2_STONES = {1: 0, 2: 3, 3: 5}
"""Stones on the board at the steps of swap2; the first step comes with any (protocol)."""


# --- answers ------------------------------------------------------------------------------------------------


class BestMovesFormat(gomocup.MoveFormat):
    """The best of n moves, for which the board does not wait."""

    __slots__ = ()
    must_answer = False

    def can_be_superseded(self) -> bool:
        return True


class Swap2OfferFormat(AnswerFormat):
    """The first three stones of swap2."""

    __slots__ = ()

    def reply(self, query: Query, points: Points, result: SearchResult | None, names: Notation) -> Reply:
        assert not isinstance(points, str)
        return Reply(_swap2_moves(points, 1, names))


@dataclass(frozen=True, slots=True)
class Swap2ChoiceFormat(AnswerFormat):
    """Which colour is taken after the stones of step 2 or 3: YES is black's. Or two more stones."""

    step: int
    must_answer: ClassVar[bool] = True

    def reply(self, query: Query, points: Points, result: SearchResult | None, names: Notation) -> Reply:
        if not isinstance(points, str) and len(points) == 2:
            return Reply(_swap2_moves(points, 4, names))
        return Reply((f"MESSAGE SWAP2 SWAP{self.step - 1} {'YES' if points == SWAP else 'NO'}",))


def _swap2_moves(points: Iterable[int], first: int, names: Notation) -> tuple[str, ...]:
    pairs = enumerate(map(names.pair, points), first)
    return tuple(f"MESSAGE SWAP2 MOVE{i} {row} {column}" for i, (row, column) in pairs)


@dataclass(frozen=True, slots=True)
class BalanceFormat(AnswerFormat):
    """Stones that balance the game, found one after another.

    Attributes:
        count: how many are wanted.
        target_q: utility for the player of the last one, [-1, 1].
        places: whether Yixin-Board asks, which makes these moves.
        found: those found so far.
    """

    count: int
    target_q: float
    places: bool
    found: tuple[int, ...] = ()

    def can_be_superseded(self) -> bool:
        return self.places

    def reply(self, query: Query, points: Points, result: SearchResult | None, names: Notation) -> Reply:
        """Choose the move whose value is nearest to the target; ask for the next one, or say them all."""
        assert not isinstance(points, str)
        last = len(self.found) + 1 == self.count
        target_q = self.target_q if last else 0.0
        level = None if result is None else most_level(result.candidates, target_q)
        point = points[0] if level is None else level.point
        found = (*self.found, point)
        stones = (*query.stones, (point, query.to_move))
        if not last and len(stones) < query.width * query.height:
            following = replace(self, found=found)
            return Reply(
                next_query=replace(query, format=following, stones=stones, to_move=1 - query.to_move)
            )
        line = gomocup.answer_line(found, names)
        remark = f"MESSAGE balance {names.names(found)}"
        return Reply((remark, line), placed=found) if self.places else Reply((line,))


def balance_query(position: Position, count: int, bias: int, *, places: bool) -> Query:
    """Return the query for balancing stones.

    Args:
        position: before them.
        count: of stones, 1 or 2.
        bias: how far the side to move now is to be ahead, in Yixin's units of evaluation.
        places: whether the brain makes these moves.
    """
    target_q = math.tanh(bias / UNITS_A_LEAD)
    wanted = BalanceFormat(count, target_q if count % 2 else -target_q, places)
    return replace(about(position, "nbest", wanted), n=EVERY, share=1.0 / count)


# --- commands -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class YxBoard(Command):
    """`YXBOARD` to `DONE`: the position, without a question."""

    stones: tuple[Stone, ...]
    fault: str | None = None

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        names = conversation.names
        if conversation.position is None:
            conversation.log("YXBOARD refused: YXBOARD before START")
            return
        conversation.drop_queries(next_size=(names.width, names.height))
        try:
            conversation.position = position_from(names, self.stones, self.fault)
        except BoardError as fault:
            conversation.log(f"YXBOARD refused: {fault}")


@dataclass(frozen=True, slots=True)
class NBest(QueryCommand):
    """`YXNBEST n`: think about the n best moves and play the best; `YXSEARCHDEFEND`: about all (None)."""

    n: int | None
    supersedes = True

    @property
    def word(self) -> str:
        return "YXNBEST"

    def waits(self) -> bool:
        return True

    def query(self, position: Position, names: Notation, seed: float) -> Query:
        n = EVERY if self.n is None else self.n
        return replace(about(position, "nbest", BestMovesFormat()), n=n, listed=min(n, self.n or LISTED))


@dataclass(frozen=True, slots=True)
class Balance(QueryCommand):
    """`YXBALANCEONE bias` and `YXBALANCETWO bias`: make `count` moves after which nobody is ahead, or the
    side to move by `bias` units of evaluation."""

    count: int
    bias: int = 0
    supersedes = True

    def waits(self) -> bool:
        return True

    def query(self, position: Position, names: Notation, seed: float) -> Query:
        return balance_query(position, self.count, self.bias, places=True)


@dataclass(frozen=True, slots=True)
class Swap2Step(QueryCommand):
    """`YXSWAP2STEP1` to `3`: offer three stones; choose with three stones; choose with five."""

    step: int

    @property
    def word(self) -> str:
        return f"YXSWAP2STEP{self.step}"

    def query(self, position: Position, names: Notation, seed: float) -> Query:
        wanted = Swap2OfferFormat() if self.step == 1 else Swap2ChoiceFormat(self.step)
        points = () if self.step == 1 else tuple(point for point, _ in position.stones)
        query = swap2_query(self.word, wanted, position, points, (SWAP2_STONES[self.step],))
        return replace(query, max_nodes=soosorv.CHOICE_NODES)


@dataclass(frozen=True, slots=True)
class SoosorvStep(QueryCommand):
    """`YXSOOSORVSTEP1`, and steps 2 to 6 with their stones up to `DONE`.

    Attributes:
        number: how many fifth moves are to be offered (steps 4 and 5).
    """

    step: int
    number: int = 0
    stones: Pairs = ()
    fault: str | None = None

    @property
    def word(self) -> str:
        return f"YXSOOSORVSTEP{self.step}"

    def query(self, position: Position, names: Notation, seed: float) -> Query:
        points = named_points(self.word, self.stones, self.fault, names)
        check_count(self.word, len(points), soosorv.STONES[self.step])
        return soosorv.query(self.step, self.number, points, names.width, names.height, seed)


@dataclass(frozen=True, slots=True)
class Block(Command):
    """Stones up to `DONE` that may not be played: `YXBLOCK` (each of them) and `YXBLOCKPATH` (the last of a
    line that starts with the stones on the board); `undo`: they may again."""

    stones: Pairs
    path: bool
    undo: bool

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        conversation.blocked.change(conversation.names, self.stones, path=self.path, undo=self.undo)


@dataclass(frozen=True, slots=True)
class BlockReset(Command):
    """`YXBLOCKRESET` and `YXBLOCKPATHRESET`: every point may be played again."""

    path: bool

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        conversation.blocked.clear(path=self.path)


@dataclass(frozen=True, slots=True)
class ShowForbid(Command):
    """`YXSHOWFORBID`: list the points where black may not play, two digits a number, without separators."""

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        conversation.flush_owed_move()
        position = conversation.started("YXSHOWFORBID")
        if position is not None:
            points = position.board(conversation.rule()).forbidden_points()
            pairs = map(conversation.names.pair, points)
            conversation.send("FORBID " + "".join(f"{a:02d}{b:02d}" for a, b in pairs) + ".")


@dataclass(frozen=True, slots=True)
class ShowInfo(Command):
    """`YXSHOWINFO`: say how many threads and which exponent of the hash size in KB the engine takes. Sent by
    Yixin-Board before anything else."""

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        conversation.meet_yixin()
        conversation.send(f"MESSAGE INFO MAX_THREAD_NUM {min(MAX_THREADS, usable_cores())}")
        conversation.send("MESSAGE INFO MAX_HASH_SIZE 21")


@dataclass(frozen=True, slots=True)
class HashClear(Command):
    """`YXHASHCLEAR` and AlphaGomoku's `CLEARHASH`: forget what was searched."""

    silent = True

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        conversation.forget_tree = True


@dataclass(frozen=True, slots=True)
class Ignored(Command):
    """A command that asks for something this brain lacks and that needs no answer.

    Attributes:
        remark: what a person who typed it may read, "" where a program sent it.
    """

    word: str
    remark: str = ""
    silent = True

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        remark = message(self.remark)
        if remark:
            conversation.send(remark)


# --- parsing ------------------------------------------------------------------------------------------------

_NO_DATABASE = "this engine has no database"
_NO_FILE = "this engine keeps what it searched in memory only"
_LINE_REMARKS = {
    "YXDRAW": "DRAW REJECT",
    "YXRESIGN": "RESIGN ACCEPT",
    "YXPRINTFEATURE": "plays freestyle, standard and renju on boards of 5 to 22 cells a side; swap2, "
    "soosorv, n best moves, balance, blocked moves; no database, no hash files",
    "YXSHOWHASHUSAGE": "the tree grows up to the hash size",
    "YXFORBID": "points cannot be forbidden by hand; use block",
    "YXSAVEDATABASE": _NO_DATABASE,
    "YXDBCHECK": _NO_DATABASE,
    "YXDBFIX": _NO_DATABASE,
}
"""Commands of one line that expect nothing but a word to the person who typed them (protocol)."""
PATHS = {
    "YXHASHDUMP": _NO_FILE,
    "YXHASHLOAD": _NO_FILE,
    **dict.fromkeys(
        (
            "YXSETDATABASE", "YXDBTOPOS", "YXDBTOTXT", "YXDBTOTXTALL", "YXTXTTODB", "YXLIBTODB", "YXDBTOLIB",
            "YXDBSPLIT", "YXDBMERGE",
        ),
        _NO_DATABASE,
    ),
}  # fmt: skip
"""The same with one more line, a path (protocol)."""
_BLOCK_REMARKS = {
    **dict.fromkeys(  # sent after every move, not by a person
        ("YXQUERYDATABASEALL", "YXQUERYDATABASEALLT", "YXQUERYDATABASETEXT"), ""
    ),
    **dict.fromkeys(
        (
            "YXQUERYDATABASEONE", "YXEDITTVDDATABASE", "YXEDITTEXTDATABASE", "YXEDITLABELDATABASE",
            "YXDELETEDATABASEONE", "YXDELETEDATABASEALL", "YXSETBESTMOVEDATABASE",
            "YXCLEARBESTMOVEDATABASE",
        ),
        _NO_DATABASE,
    ),
}  # fmt: skip
"""The same with lines up to DONE (protocol)."""
_REMARKS = {**_LINE_REMARKS, **PATHS, **_BLOCK_REMARKS}


def ignore(word: str, rest: str = "", lines: Sequence[str] = ()) -> Command:
    """Return the command for what this brain lacks."""
    return Ignored(word, _REMARKS[word])


def _nbest(word: str, rest: str) -> Command:
    number = parse_number(rest)
    if number is None or number < 1:
        return gomocup.Invalid(word, "YXNBEST needs a number of moves")
    return NBest(number)


def _balance(word: str, rest: str) -> Command:
    number = parse_number(rest)
    if number is None and rest:
        return gomocup.Invalid(word, f"{word} needs a number, how far to be ahead")
    return Balance(1 if word == "YXBALANCEONE" else 2, number or 0)


def _block(word: str, rest: str, lines: list[str]) -> Command:
    return Block(parse_pairs(word, lines)[0], path="PATH" in word, undo=word.endswith("UNDO"))


def _soosorv(word: str, rest: str, lines: list[str]) -> Command:
    stones, fault = parse_pairs(word, lines)
    step, number = int(word[-1]), parse_number(rest)
    if step in (4, 5) and (number is None or number < 1):
        fault = fault or f"{word} needs a number of fifth moves"
    return SoosorvStep(step, number or 0, stones, fault)


LINES: dict[str, LineParser] = {
    **dict.fromkeys(_LINE_REMARKS, ignore),
    **{f"YXSWAP2STEP{step}": lambda word, rest: Swap2Step(int(word[-1])) for step in SWAP2_STONES},
    "YXSTOP": lambda word, rest: gomocup.Stop(),
    "YXSHOWFORBID": lambda word, rest: ShowForbid(),
    "YXSHOWINFO": lambda word, rest: ShowInfo(),
    "YXHASHCLEAR": lambda word, rest: HashClear(),
    "YXNBEST": _nbest,
    "YXSEARCHDEFEND": lambda word, rest: NBest(None),
    "YXBALANCEONE": _balance,
    "YXBALANCETWO": _balance,
    "YXSOOSORVSTEP1": lambda word, rest: SoosorvStep(1),
    "YXBLOCKRESET": lambda word, rest: BlockReset(path=False),
    "YXBLOCKPATHRESET": lambda word, rest: BlockReset(path=True),
}
BLOCKS: dict[str, BlockParser] = {
    **dict.fromkeys(_BLOCK_REMARKS, ignore),
    **dict.fromkeys(("YXBLOCK", "YXBLOCKUNDO", "YXBLOCKPATH", "YXBLOCKPATHUNDO"), _block),
    **dict.fromkeys((f"YXSOOSORVSTEP{step}" for step in range(2, 7)), _soosorv),
    "YXBOARD": lambda word, rest, lines: YxBoard(*gomocup.parse_stones(lines)),
}
