"""Requests of the page: JSON objects, checked here and nowhere else.

A request is an object with `type`, `id` (a number that its answers repeat) and the fields of the class of
that type below. The engine process gets the same requests from the server, one a line. `board/answers.py` has
the answers.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from engine.errors import EngineError
from engine.games.files import MAX_FILE_BYTES
from engine.games.record import PASS
from engine.games.tree import MAX_NODES, Node
from engine.levels import STRONGEST, WEAKEST
from engine.rules._board import EMPTY, MAX_SIDE, MIN_SIDE
from engine.rules.rule import Rule

MAX_MESSAGE_BYTES = 4 * MAX_FILE_BYTES
"""A longer message closes the connection (derived: a game file whose every character is written as an escape
still fits in)."""
MAX_ID = 1 << 53
MAX_COMMENT = 4000
"""Characters of the comment on one move."""
MAX_TREE_TEXT = MAX_FILE_BYTES // 2
"""Characters of all comments of a tree, so that it can be read again once it is saved."""
MAX_NAME = 80
MAX_LINES = 20
"""Moves that an analysis lists at most."""
MAX_SIMULATIONS = 1_000_000_000
ENDINGS = {"time": "time", "resign": "resigned", "draw": "draw", "other": "crash"}
"""How a game may end off the board, by the page's word: the reason in a record."""
MIN_MS, MAX_MS = 20, 3_600_000
"""Bounds of every time that a page can ask for, ms."""


class MessageError(EngineError, ValueError):
    """A message is invalid; the text says why, `id` which it was (0: unknown)."""

    def __init__(self, text: str, id: int = 0) -> None:
        super().__init__(text)
        self.id = id


@dataclass(frozen=True, slots=True)
class Moves:
    """A position: the moves that led to it, as points, black first; -1 for a pass."""

    width: int
    height: int
    rule: int
    moves: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Position:
    """What holds in this position? `swap2`: it belongs to a swap2 opening."""

    id: int
    game: Moves
    swap2: bool = False


@dataclass(frozen=True, slots=True)
class Think:
    """Which move would the engine of a level play, in `turn_ms` at most, or by the clock?"""

    id: int
    game: Moves
    level: int
    turn_ms: int
    left_ms: int | None = None
    increment_ms: int = 0
    brain: int | None = None  # number of another brain that moves instead


@dataclass(frozen=True, slots=True)
class AnswerSwap2:
    """What does the engine answer in the swap2 opening that these 0, 3 or 5 stones belong to?"""

    id: int
    game: Moves
    level: int
    turn_ms: int


@dataclass(frozen=True, slots=True)
class Analyse:
    """Which are the best moves? Answers follow until another request, `Stop`, or `limit_ms`."""

    id: int
    game: Moves
    lines: int = 8
    limit_ms: int | None = None
    max_nodes: int | None = None
    """Simulations after which the analysis ends."""


@dataclass(frozen=True, slots=True)
class Balance:
    """Which moves, one or two in a row, leave the game even? `turn_ms` for all of them."""

    id: int
    game: Moves
    count: int
    turn_ms: int


@dataclass(frozen=True, slots=True)
class Review:
    """Where was the game lost? One answer a move; `turn_ms` for each position."""

    id: int
    game: Moves
    opening: int
    turn_ms: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop thinking."""

    id: int


@dataclass(frozen=True, slots=True)
class Look:
    """Whether the page is visible."""

    id: int
    visible: bool


@dataclass(frozen=True, slots=True)
class Open:
    """Which game does this text, or the content of this file, hold? `rule` and size where it does not say."""

    id: int
    text: str
    rule: int
    width: int
    height: int
    from_bottom: bool = False
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class SetUp:
    """Which game leads to these stones, (point, colour), with this colour to move? `game` has no moves."""

    id: int
    game: Moves
    stones: tuple[tuple[int, int], ...]
    to_move: int


@dataclass(frozen=True, slots=True)
class Save:
    """How is this game written as a file of this kind?"""

    id: int
    kind: str
    game: Moves
    names: tuple[str, str]
    opening: int
    nodes: tuple[Node, ...]
    ended: tuple[int, str] | None = None
    """Winner (2: neither) and reason, as records have them, of a game that ended off the board."""


EngineRequest = Think | AnswerSwap2 | Analyse | Balance | Review | Stop
"""Requests that the engine process answers."""
Request = EngineRequest | Position | Look | Open | SetUp | Save


class _Fields:
    """Takes fields out of an object and refuses what does not fit."""

    def __init__(self, data: Mapping[str, Any], id: int) -> None:
        self.data, self.id = dict(data), id

    def refuse(self, text: str) -> MessageError:
        return MessageError(text, self.id)

    def take(self, name: str, default: object = ...) -> Any:
        if name not in self.data and default is ...:
            raise self.refuse(f"{name} is missing")
        return self.data.pop(name, default)

    def number(self, name: str, low: int, high: int, default: object = ...) -> int:
        value = self.take(name, default)
        if type(value) is not int or not low <= value <= high:
            raise self.refuse(f"{name} must be a whole number from {low} to {high}")
        return value

    def maybe(self, name: str, low: int, high: int) -> int | None:
        return (
            None
            if self.data.get(name) is None and self.take(name, None) is None
            else self.number(name, low, high)
        )

    def flag(self, name: str, default: object = ...) -> bool:
        value = self.take(name, default)
        if type(value) is not bool:
            raise self.refuse(f"{name} must be true or false")
        return value

    def text(self, name: str, longest: int) -> str:
        value = self.take(name)
        if not isinstance(value, str) or len(value) > longest:
            raise self.refuse(f"{name} must be a text of at most {longest} characters")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:  # half of a pair of surrogates
            return value.encode("utf-8", "replace").decode("utf-8")
        return value

    def bytes(self, name: str, longest: int) -> bytes:
        value = self.take(name)
        try:
            data = base64.b64decode(value, validate=True) if isinstance(value, str) else None
        except ValueError:
            data = None
        if data is None or len(data) > longest:
            raise self.refuse(f"{name} must be at most {longest} bytes, written in base64")
        return data

    def items(self, name: str, most: int) -> list[Any]:
        value = self.take(name)
        if not isinstance(value, list) or len(value) > most:
            raise self.refuse(f"{name} must be a list of at most {most}")
        return value

    def inner(self, name: str) -> _Fields:
        value = self.take(name)
        if not isinstance(value, dict):
            raise self.refuse(f"{name} must be an object")
        return _Fields(value, self.id)

    def done(self) -> None:
        if self.data:
            raise self.refuse(f"unknown field {next(iter(self.data))[:40]!r}")


def _rule(fields: _Fields) -> int:
    value = fields.take("rule")
    if type(value) is not int or value not in {int(rule) for rule in Rule}:
        raise fields.refuse("rule must be one of " + ", ".join(str(int(rule)) for rule in Rule))
    return value


def _moves(fields: _Fields) -> Moves:
    inner = fields.inner("game")
    width = inner.number("width", MIN_SIDE, MAX_SIDE)
    height = inner.number("height", MIN_SIDE, MAX_SIDE)
    rule = _rule(inner)
    points = inner.items("moves", 2 * width * height)
    if not all(type(p) is int and PASS <= p < width * height for p in points):
        raise fields.refuse(f"moves must be points of the board, or {PASS} for a pass")
    stones = [p for p in points if p != PASS]
    if len(set(stones)) != len(stones):
        raise fields.refuse("two moves on one point")
    inner.done()
    return Moves(width, height, rule, tuple(points))


def _position(f: _Fields) -> Request:
    return Position(f.id, _moves(f), f.flag("swap2", False))


def _think(f: _Fields) -> Request:
    return Think(
        f.id, _moves(f), f.number("level", WEAKEST, STRONGEST), f.number("turn_ms", MIN_MS, MAX_MS),
        f.maybe("left_ms", 0, MAX_MS * 24), f.number("increment_ms", 0, MAX_MS, 0), f.maybe("brain", 0, 99),
    )  # fmt: skip


def _swap2(f: _Fields) -> Request:
    game = _moves(f)
    if len(game.moves) not in (0, 3, 5):
        raise f.refuse("swap2 asks with 0, 3 or 5 stones")
    level, turn_ms = f.number("level", WEAKEST, STRONGEST), f.number("turn_ms", MIN_MS, MAX_MS)
    return AnswerSwap2(f.id, game, level, turn_ms)


def _analyse(f: _Fields) -> Request:
    return Analyse(
        f.id, _moves(f), f.number("lines", 1, MAX_LINES, 8), f.maybe("limit_ms", MIN_MS, MAX_MS),
        f.maybe("max_nodes", 1, MAX_SIMULATIONS),
    )  # fmt: skip


def _balance(f: _Fields) -> Request:
    return Balance(f.id, _moves(f), f.number("count", 1, 2), f.number("turn_ms", MIN_MS, 60_000))


def _review(f: _Fields) -> Request:
    game = _moves(f)
    opening = f.number("opening", 0, len(game.moves), 0)
    return Review(f.id, game, opening, f.number("turn_ms", MIN_MS, 60_000))


def _open(f: _Fields) -> Request:
    width, height = f.number("width", MIN_SIDE, MAX_SIDE, 15), f.number("height", MIN_SIDE, MAX_SIDE, 15)
    text, data = "", None
    if "data" in f.data:
        data = f.bytes("data", MAX_FILE_BYTES)
    else:
        text = f.text("text", MAX_FILE_BYTES)
    return Open(f.id, text, _rule(f), width, height, f.flag("from_bottom", False), data)


def _setup(f: _Fields) -> Request:
    game = _moves(f)
    if game.moves:
        raise f.refuse("a position is set up on an empty board")
    points = game.width * game.height
    stones = tuple(tuple(s) if isinstance(s, list) else () for s in f.items("stones", points))
    if any(list(map(type, s)) != [int, int] or not 0 <= s[0] < points or s[1] not in (0, 1) for s in stones):
        raise f.refuse("stones must be points of the board with their colours")
    if len({point for point, _ in stones}) != len(stones):
        raise f.refuse("two stones on one point")
    return SetUp(f.id, game, stones, f.number("to_move", 0, 1))


def _save(f: _Fields) -> Request:
    kind = f.take("kind")
    if kind not in ("sgf", "psq"):
        raise f.refuse("kind must be sgf or psq")
    game = _moves(f)
    names = [" ".join(name.split())[:MAX_NAME] for name in f.items("names", 2) if isinstance(name, str)]
    if len(names) != 2:
        raise f.refuse("names must be two texts")
    opening = f.number("opening", 0, len(game.moves), 0)
    points = game.width * game.height
    nodes = tuple(_node(f, item, points) for item in f.items("nodes", MAX_NODES))
    if sum(len(node.comment) for node in nodes) > MAX_TREE_TEXT:
        raise f.refuse(f"the comments together are longer than {MAX_TREE_TEXT} characters")
    return Save(f.id, kind, game, (names[0], names[1]), opening, nodes, _ended(f))


def _ended(fields: _Fields) -> tuple[int, str] | None:
    """Return how the page says that a game ended off the board."""
    if fields.data.get("ended") is None:
        return fields.take("ended", None)  # type: ignore[no-any-return]
    inner = fields.inner("ended")
    why = inner.take("why")
    if not isinstance(why, str) or why not in ENDINGS:
        raise fields.refuse("why must be one of " + ", ".join(ENDINGS))
    winner = inner.number("winner", 0, 2)
    if (winner == EMPTY) != (why == "draw"):
        raise fields.refuse("a draw has no winner, and all else has one")
    inner.done()
    return winner, ENDINGS[why]


def _node(fields: _Fields, item: object, points: int) -> Node:
    if not isinstance(item, dict):
        raise fields.refuse("a node must be an object")
    inner = _Fields(item, fields.id)
    ms = inner.take("ms", 0)
    if type(ms) not in (int, float) or not 0 <= ms < math.inf:
        raise fields.refuse("ms must be a time")
    ms = min(ms, MAX_MS * 24)  # a page may be left open for days before a move
    comment = inner.text("comment", MAX_COMMENT) if "comment" in inner.data else ""
    parent, point = inner.number("parent", -1, MAX_NODES), inner.number("point", PASS, points - 1)
    node = Node(parent, point, comment, float(ms))
    inner.done()
    return node


_PARSERS: dict[str, Callable[[_Fields], Request]] = {
    "position": _position, "think": _think, "swap2": _swap2, "analyse": _analyse, "balance": _balance,
    "review": _review,
    "stop": lambda f: Stop(f.id), "look": lambda f: Look(f.id, f.flag("visible")), "open": _open,
    "setup": _setup, "save": _save,
}  # fmt: skip
_TYPES: dict[type, str] = {
    Think: "think", AnswerSwap2: "swap2", Analyse: "analyse", Balance: "balance", Review: "review",
    Stop: "stop",
}  # fmt: skip


def parse_request(text: str | bytes) -> Request:
    """Return the request that a message of the page holds.

    Raises:
        MessageError: it holds none; nothing else is raised, whatever the text.
    """
    if len(text) > MAX_MESSAGE_BYTES:
        raise MessageError(f"a message may be {MAX_MESSAGE_BYTES} bytes long")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise MessageError("a message must be JSON") from None
    if not isinstance(data, dict):
        raise MessageError("a message must be an object")
    id = data.pop("id", 0)
    if type(id) is not int or not 0 <= id <= MAX_ID:
        raise MessageError("id must be a whole number")
    kind = data.pop("type", None)
    parser = _PARSERS.get(kind) if isinstance(kind, str) else None
    if parser is None:
        raise MessageError("unknown type of message", id)
    fields = _Fields(data, id)
    request = parser(fields)
    fields.done()
    return request


def to_line(request: EngineRequest) -> bytes:
    """Return a request as one line that `parse_request` reads."""
    fields = {name: value for name, value in asdict(request).items() if value is not None}
    return json.dumps({"type": _TYPES[type(request)], **fields}, separators=(",", ":")).encode() + b"\n"
