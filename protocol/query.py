"""Queries to the engine, from the command of the manager to the text of the answer. Nothing here searches.

A line of a manager becomes a `Command`, a command that needs thought a `Query`, its answer an `Outcome`, and
that a `Reply`.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from engine import Rule, SearchLimits
from engine.position import Stones
from protocol.position import Pairs, Position

if TYPE_CHECKING:
    from engine import SearchResult
    from protocol.conversation import Conversation
    from protocol.format import Notation

Kind = Literal["move", "nbest", "swap2", "ponder"]
SWAP: Literal["SWAP"] = "SWAP"
Points = tuple[int, ...] | Literal["SWAP"]
"""Points to put, oldest first; SWAP only in the swap2 opening."""
EVERY = 1000
"""Enough best moves for every cell (derived: the largest board has 484)."""


class Command:
    """What a manager says in a line or a block. Subclasses are frozen values.

    Attributes:
        asks: whether the brain thinks before it answers.
        silent: whether nothing is ever answered, not even a failure.
        waits_in_line: whether it waits behind other commands that wait.
        supersedes: whether Yixin-Board sends it while the brain still searches n best moves; it drops such
            a query, see `AnswerFormat.can_be_superseded`.
    """

    __slots__ = ()
    asks: ClassVar[bool] = False
    silent: ClassVar[bool] = False
    waits_in_line: ClassVar[bool] = False
    supersedes: ClassVar[bool] = False

    def waits(self) -> bool:
        """Return whether this waits for the answer to the command before it."""
        return False

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        """Do what the command asks for.

        Args:
            conversation: with the manager that sent it.
            arrival_s: when it was read, s on the clock of arrivals.
        """
        raise NotImplementedError


class QueryError(ValueError):
    """A query is invalid; the text says why."""


class QueryCommand(Command):
    """A command that becomes a query about the position on the board."""

    __slots__ = ()
    asks = True

    @property
    def word(self) -> str:
        """The word that the command begins with."""
        return type(self).__name__.upper()

    def query(self, position: Position, names: Notation, seed: float) -> Query:
        """Return what the command asks.

        Args:
            position: the stones on the board.
            names: what the manager calls a point.
            seed: of random choices.

        Raises:
            QueryError: the command does not fit the position, or its lines are wrong.
        """
        raise NotImplementedError

    def execute(self, conversation: Conversation, arrival_s: float) -> None:
        """Ask; drop the query that is being thought about unless this one waits for it."""
        position = conversation.started(self.word)
        if position is None:
            return
        if not self.waits():
            conversation.drop_queries()
        try:
            query = self.query(position, conversation.names, arrival_s)
        except QueryError as refusal:
            conversation.flush_owed_move()
            conversation.refuse(str(refusal))
        else:
            conversation.ask(query, arrival_s)


class AnswerFormat:
    """How the answer to a query is written, which depends on who asked it and how. Subclasses are values.

    Attributes:
        must_answer: whether Yixin-Board does nothing before this answer, so that it must come in any case.
        survives_restart: whether the query is about stones of its own, so that it outlives a START of the
            same size and a YXBOARD, which Yixin-Board sends meanwhile to ask for forbidden points.
        shows_progress: whether the manager may see how the search goes.
    """

    __slots__ = ()
    must_answer: ClassVar[bool] = False
    survives_restart: ClassVar[bool] = False
    shows_progress: ClassVar[bool] = False

    def can_be_superseded(self) -> bool:
        """Return whether Yixin-Board does not wait for this answer: its next command drops the query."""
        return False

    def reply(self, query: Query, points: Points, result: SearchResult | None, names: Notation) -> Reply:
        """Write an answer.

        Args:
            query: what was asked.
            points: the answer; it fits the query.
            result: the search behind it; None where there was none.
            names: what the manager calls a point.
        """
        raise NotImplementedError


@dataclass(slots=True)
class Query:
    """A query to the engine. The second group of fields is set when the worker gets it."""

    kind: Kind
    format: AnswerFormat
    width: int
    height: int
    stones: Stones
    to_move: int
    opening: tuple[int, ...] = ()
    """Points of the swap2 stones so far."""
    n: int = 1
    """How many best moves the search is to keep (kind nbest)."""
    listed: int = 0
    """How many of them are sent to the manager."""
    share: float = 1.0
    """How much of the time of a turn it may take, (0, 1]."""
    max_nodes: int | None = None
    """At most this many simulations; None: as INFO says."""

    token: int = 0
    """Tells the answers to different queries apart."""
    rule: Rule = Rule.FREESTYLE
    limits: SearchLimits = field(default_factory=SearchLimits)
    """Changes while the query is worked on."""
    arrival_s: float = 0.0
    """When its clock was started."""
    blocked: frozenset[int] = frozenset()
    """Points that are not to be played."""
    threads: int | None = None
    """As `Settings.threads`."""
    memory_bytes: int | None = None
    """As `Settings.memory`."""
    new_game: bool = False
    clear_tree: bool = False
    wants_info: bool = False
    stop: threading.Event = field(default_factory=threading.Event, repr=False)
    """Set to get the answer now, or to get rid of the query."""

    @property
    def best_moves(self) -> int | None:
        """How many best moves are looked for, None for the best one: all where some may not be played."""
        if self.kind not in ("move", "nbest") or (self.kind == "move" and not self.blocked):
            return None
        return EVERY if self.blocked else self.n

    @property
    def is_full(self) -> bool:
        """Whether no cell is free for an answer."""
        return self.kind != "swap2" and len(self.stones) >= self.width * self.height

    def fits(self, points: Points) -> bool:
        """Return whether an answer can be given to the manager: enough points, on the board and free."""
        if isinstance(points, str):
            return points == SWAP and self.kind == "swap2" and len(self.opening) > 0
        counts = {0: (3,), 3: (1, 2), 5: (1,)}[len(self.opening)] if self.kind == "swap2" else (1,)
        taken = [p for p, _ in self.stones] + list(self.opening) + list(points)
        on_board = all(0 <= p < self.width * self.height for p in points)
        return on_board and len(points) in counts and len(set(taken)) == len(taken)

    def answer_without_search(self) -> Points:
        """Return a legal answer that needs no engine. The board must not be full."""
        if self.kind == "swap2":
            # Nearly balanced, since a corner helps neither side (an idea of Rapfi, https://github.com/dhbloo/rapfi).
            return SWAP if self.opening else (0, self.width + 2, 4 * self.width + 2)
        point = self.any_legal_point()
        assert point is not None, "a full board is refused before thinking"
        return (point,)

    def any_legal_point(self) -> int | None:
        """Return a legal point after the stones that this is about, None on a full board."""
        stones, to_move = self.stones, self.to_move
        if self.opening:
            stones = tuple((point, i % 2) for i, point in enumerate(self.opening))
            to_move = len(stones) % 2
        return Position(self.width, self.height, stones, to_move).fallback(self.rule)

    def without_blocked(self, result: SearchResult) -> SearchResult:
        """Return a result without the blocked moves; as it was if nothing else was found."""
        rest = tuple(move for move in result.candidates if move.point not in self.blocked)
        if not self.blocked or not rest:
            return result
        if result.point not in self.blocked:
            return replace(result, candidates=rest)
        best = rest[0]
        return replace(
            result, candidates=rest, point=best.point, wdl=best.wdl, pv=best.pv or (best.point,),
            proven=best.proven, distance=best.distance,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer of the search to a query, or its failure."""

    token: int
    points: Points | None
    """None when it failed."""
    result: SearchResult | None = None
    remark: str | None = None
    """What a person should know besides the answer."""


@dataclass(frozen=True, slots=True)
class Progress:
    """State of a running search."""

    token: int
    result: SearchResult = field(repr=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """What is written as an answer, and what follows."""

    lines: tuple[str, ...] = ()
    placed: tuple[int, ...] = ()
    """Points on which the brain puts stones, that of the side to move first."""
    next_query: Query | None = None
    """What has to be asked before the answer is complete."""
    remarks: bool = True
    """Whether the search behind it says something about the answer."""


class Worker(Protocol):
    """The search thread as the conversation sees it. No method waits for the search."""

    def start(self, query: Query) -> None:
        """Work on this query and drop whatever else is being worked on."""

    def cancel(self) -> None:
        """Drop the current query; its outcome is of no interest."""

    def answer_now(self) -> None:
        """Make the current query answer now."""

    def relimit(self, limits: SearchLimits) -> None:
        """Change the limits of the current query."""

    def best_so_far(self, query: Query) -> int | None:
        """Return the best move that is known for this query, None if nothing is known yet."""

    def answer_by_s(self, query: Query) -> float:
        """Return when a query should be answered by all means; infinite without a time limit."""

    def now_s(self) -> float:
        """Return the time on the clock of arrivals."""


def about(position: Position, kind: Kind, answer_format: AnswerFormat) -> Query:
    """Return a query about a position."""
    return Query(kind, answer_format, position.width, position.height, position.stones, position.to_move)


def swap2_query(
    word: str,
    answer_format: AnswerFormat,
    position: Position,
    points: tuple[int, ...],
    counts: tuple[int, ...],
) -> Query:
    """Return the query what to do in a swap2 opening.

    Args:
        word: that asks.
        answer_format: of the answer.
        position: gives the size of the board.
        points: of the stones so far.
        counts: how many there may be.

    Raises:
        QueryError: there are more or fewer.
    """
    check_count(word, len(points), counts)
    return Query("swap2", answer_format, position.width, position.height, (), 0, opening=points)


def check_count(word: str, count: int, counts: tuple[int, ...]) -> None:
    """Raise QueryError if a number of stones is none of `counts`."""
    if count not in counts:
        needed = " or ".join(map(str, counts)) if len(counts) < 4 else f"{counts[0]} to {counts[-1]}"
        raise QueryError(f"{word} needs {needed} stones, not {count}")


def named_points(word: str, stones: Pairs, fault: str | None, names: Notation) -> tuple[int, ...]:
    """Return the points that the lines of a block name.

    Raises:
        QueryError: there is a fault already, or a point is off the board or named twice.
    """
    points = [names.point(a, b) for a, b in stones]
    known = tuple(point for point in points if point is not None)
    if len(known) < len(points) or len(set(known)) < len(known):
        fault = fault or f"{word} names a point that is off the board or taken"
    if fault is not None:
        raise QueryError(fault)
    return known
