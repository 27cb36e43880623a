"""Games with variations and comments: SGF trees, read and written, in the formats of `engine.gamefile`.

A tree is a list of nodes, each with the number of its parent, parents first; the first child of a node is
its main continuation. Node 0 is the empty board.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from engine.errors import PositionError
from engine.gamefile import (
    GameRecord,
    is_sgf,
    playable_point,
    read_game,
    sgf_head,
    sgf_text,
    sgf_tokens,
)
from engine.rules._board import Board
from engine.rules.geometry import format_move, xy

MAX_NODES = 20_000
"""Larger trees are refused (derived: a week of analysis; SGF of them takes 1 MB)."""

_TIME = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*ms(?:\n|$)", re.ASCII)
_OPENING = "opening move"


@dataclass(slots=True)
class Node:
    """One stone of a tree."""

    parent: int
    """Number of the node before; -1 for the empty board."""
    point: int
    """Where the stone stands; -1 for the empty board."""
    comment: str = ""
    ms: float = 0.0
    """Time that the move took."""


@dataclass(slots=True)
class GameTree:
    """A game with its variations. `record` holds what is known of it and its main line."""

    record: GameRecord
    nodes: list[Node] = field(default_factory=lambda: [Node(-1, -1)])

    def children(self) -> list[list[int]]:
        """Return for each node the numbers of its children, the main continuation first."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for number, node in enumerate(self.nodes[1:], 1):
            found[node.parent].append(number)
        return found


def read_tree(text: str, rule: int) -> GameTree:
    """Read a game with all its variations; a .psq record has none. Every move is checked.

    Args:
        rule: played where the text does not say.

    Raises:
        PositionError: as in `engine.gamefile.read_game`, also for a move of a variation.
    """
    text = text.removeprefix("\ufeff")
    record = read_game(text, rule)
    if not is_sgf(text):
        nodes = [Node(-1, -1)]
        nodes += [Node(i, p, ms=record.times_ms[i]) for i, p in enumerate(record.points)]
        return GameTree(record, nodes)
    return GameTree(record, _sgf_nodes(text, record))


def tree_of(record: GameRecord, nodes: list[Node]) -> GameTree:
    """Return the tree of these nodes, checked; its main line becomes that of the record.

    Args:
        record: size, rule, names, opening and result; points and times are replaced.

    Raises:
        PositionError: a parent that does not come before its child, too many nodes, or an impossible move.
    """
    if not nodes or nodes[0].parent != -1 or len(nodes) > MAX_NODES:
        raise PositionError(f"a tree has 1 to {MAX_NODES} nodes and begins with the empty board")
    for number, node in enumerate(nodes[1:], 1):
        if not 0 <= node.parent < number:
            raise PositionError(f"node {number}: no node {node.parent} comes before it")
    tree = GameTree(record, nodes)
    children = tree.children()
    _check(tree, children)
    line, at = [], 0
    while children[at]:
        at = children[at][0]
        line.append(nodes[at])
    tree.record = replace(record, points=[n.point for n in line], times_ms=[n.ms for n in line])
    return tree


def tree_to_sgf(tree: GameTree) -> str:
    """Return the game as SGF (GM[4]) with variations and comments."""
    record, children = tree.record, tree.children()
    parts = [sgf_head(record)]
    root = tree.nodes[0]
    if root.comment:
        parts.append(f"C[{sgf_text(root.comment)}]")
    todo: list[tuple[int, int, str]] = [(number, 0, "") for number in reversed(children[0])]
    if len(todo) > 1:
        todo = [(number, 0, "()") for number, _, _ in todo]
    while todo:
        number, ply, brackets = todo.pop()
        if number < 0:
            parts.append(")")
            continue
        node = tree.nodes[number]
        if brackets:
            parts.append("\n(")
            todo.append((-1, 0, ""))
        x, y = xy(node.point, record.width)
        parts.append(f"\n;{'BW'[ply % 2]}[{chr(97 + x)}{chr(97 + y)}]{_remark(node, ply, record)}")
        inner = "()" if len(children[number]) > 1 else ""
        todo += [(child, ply + 1, inner) for child in reversed(children[number])]
    return "".join(parts) + ")\n"


def _remark(node: Node, ply: int, record: GameRecord) -> str:
    """Return the comment of a move as `engine.gamefile` writes it, then the player's own words."""
    first = _OPENING if ply < record.opening_stones else f"{node.ms:.0f}ms"
    return f"C[{sgf_text(first + (chr(10) + node.comment if node.comment else ''))}]"


def _sgf_nodes(text: str, record: GameRecord) -> list[Node]:
    """Return the nodes of the first game of an SGF text whose head has been read."""
    board = Board(record.width, record.height, int(record.rule))
    nodes = [Node(-1, -1)]
    at, stack = 0, []
    for name, value, line in sgf_tokens(text):
        if name == "(":
            stack.append(at)
        elif name == ")":
            home = stack.pop()
            while at != home:
                at = nodes[at].parent
                board.undo()
        elif name in ("B", "W"):
            at = _add(nodes, at, board, name, value, line)
        elif name in ("AB", "AW", "AE"):
            raise PositionError(f"line {line}: {name} sets stones up; only games from the start are read")
        elif name == "C":
            _comment(nodes[at], value)
    return nodes


def _add(nodes: list[Node], at: int, board: Board, name: str, value: str, line: int) -> int:
    """Put a move behind node `at`; return its number."""
    who = f"line {line}: move {board.ply + 1}"
    if name != "BW"[board.to_move]:
        raise PositionError(f"{who} is {('black', 'white')[board.to_move]}'s, not {name}'s")
    if re.fullmatch(r"[a-z]{2}", value) is None:
        raise PositionError(f"line {line}: {value[:20]!r} is no move; two letters are expected")
    if len(nodes) >= MAX_NODES:
        raise PositionError(f"line {line}: more than {MAX_NODES} moves")
    board.place(playable_point(board, ord(value[0]) - 97, ord(value[1]) - 97, who))
    point = board.stones()[-1][0]
    nodes.append(Node(at, point))
    return len(nodes) - 1


def _comment(node: Node, value: str) -> None:
    """Take time and words from a comment."""
    if value == _OPENING or value.startswith(_OPENING + "\n"):
        value = value[len(_OPENING) :].lstrip("\n")
    elif node.parent >= 0 and (spent := _TIME.match(value)) is not None:
        node.ms = float(spent[1])
        value = value[spent.end() :]
    if value.strip():
        node.comment = f"{node.comment}\n{value}" if node.comment else value


def _check(tree: GameTree, children: list[list[int]]) -> None:
    """Play every move of a tree once.

    Raises:
        PositionError: one of them cannot be played.
    """
    record = tree.record
    try:
        board = Board(record.width, record.height, int(record.rule))
    except ValueError as error:
        raise PositionError(str(error)) from error
    todo = [*reversed(children[0])]
    while todo:
        number = todo.pop()
        if number < 0:
            board.undo()
            continue
        point = tree.nodes[number].point
        if not 0 <= point < record.width * record.height:
            raise PositionError(f"node {number}: point {point} is off the board")
        where = format_move(point, record.width)
        board.place(playable_point(board, *xy(point, record.width), f"move {board.ply + 1} ({where})"))
        todo.append(-1)
        todo += reversed(children[number])
