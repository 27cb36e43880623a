"""Games with variations and comments, and the builder that every reader uses.

A tree is a list of nodes, each with the number of its parent, parents first; the first child of a node is
its main continuation. Node 0 is the empty board. Colours alternate from black on; where a file has it
otherwise (white first, two moves of one side, stones set up) passes are between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from engine.errors import PositionError
from engine.games.record import COLOURS, PASS, UNFINISHED, GameRecord, Note, plain_text, playable_point
from engine.rules._board import EMPTY, Board
from engine.rules.geometry import format_move, xy

MAX_NODES = 50_000
"""Larger trees are refused (derived: RenLib's own library of all openings has 46,000)."""


@dataclass(slots=True)
class Node:
    """One move of a tree."""

    parent: int
    """Number of the node before; -1 for the empty board."""
    point: int
    """Point of the stone; -1 for the empty board and for a pass (`engine.games.record.PASS`)."""
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


class TreeBuilder:
    """Builds a tree move by move; refuses the first move that cannot be played.

    Attributes:
        board: position of node `at`; read it, do not change it.
        nodes: of the tree so far.
        at: number of the node behind which the next move comes.
        notes: what was guessed or left out, a line each.
    """

    def __init__(self, width: int, height: int, rule: int, who: str = "") -> None:
        """Begin with an empty board.

        Raises:
            PositionError: the size does not exist; the message begins with `who`.
        """
        try:
            self.board = Board(width, height, int(rule))
        except ValueError as error:
            raise PositionError(f"{who}{error}", code="bad_size", width=width, height=height) from error
        self.nodes = [Node(-1, -1)]
        self.at = 0
        self.notes: list[Note] = []
        self._depths = [0]
        self._passes: dict[int, int] = {}  # of a node: the filler behind it
        self._fillers: set[int] = set()

    @property
    def depth(self) -> int:
        """Moves up to node `at`."""
        return self._depths[self.at]

    def is_filler(self, number: int) -> bool:
        """Return whether a node is a pass that no file says, which is between moves of one side."""
        return number in self._fillers

    def note(self, text: str, /, *, code: str = "", **values: object) -> None:
        """Add a note, once."""
        if text not in self.notes:
            self.notes.append(Note(text, code=code, **values))

    def play(self, x: int, y: int, who: str = "", ms: float = 0.0) -> None:
        """Play a stone of the side to move and make its node the current one.

        Raises:
            PositionError: it cannot be played, or the tree is full; the message begins with `who`.
        """
        who = f"{who}move {self.depth + 1}"
        try:
            point = playable_point(self.board, x, y, who)
        except PositionError as error:
            error.values["n"] = self.depth + 1
            raise
        self._add(point, ms, who)

    def skip(self, who: str = "", *, given: bool = True) -> None:
        """Let the side to move pass; after the end of a game only a note is made of it.

        Args:
            who: begins a message.
            given: whether the file says so; False: the pass fills in for a side that is left out.

        Raises:
            PositionError: the tree is full.
        """
        if self.board.winner != EMPTY:
            self.note(f"a pass after the end is left out ({who.rstrip(': ')})", code="pass_left_out")
            return
        if not given and self.at in self._passes:
            self.at = self._passes[self.at]
            self.board.set_to_move(1 - self.board.to_move)
            return
        before = self.at
        self._add(PASS, 0.0, who)
        if not given:
            self._passes[before] = self.at
            self._fillers.add(self.at)

    def turn(self, colour: int, who: str = "") -> None:
        """Set the side to move, by a pass of the other if need be."""
        if self.board.to_move != colour:
            self.skip(who, given=False)

    def set_up(self, stones: Sequence[tuple[int, int]], who: str = "") -> None:
        """Put stones that no player chose, in an order in which they may be played, with passes between.

        Args:
            stones: (point, colour); those that are on the board already are left out.
            who: begins a message.

        Raises:
            PositionError: a point holds the other colour, or black's stones make a shape that is forbidden.
        """
        board = self.board
        todo: dict[int, int] = {}
        for point, colour in stones:
            cell = todo.get(point, board.cell(point))
            if cell not in (EMPTY, colour):
                raise PositionError(f"{who}{format_move(point, board.width)} holds both colours")
            if board.cell(point) == EMPTY:
                todo[point] = colour
        skipped = False
        while todo:
            colour = board.to_move
            own = [p for p, c in todo.items() if c == colour]
            if board.winner != EMPTY:
                raise PositionError(f"{who}stones are set up beyond a row that has won")
            fives = board.five_points(colour) if len(todo) > 1 else []
            free = (p for p in own if p not in fives and not board.is_forbidden(p, colour))
            chosen = next(free, None)
            if chosen is None and (skipped or len(own) == len(todo)):
                chosen = own[0]  # a forbidden or a second winning stone: `play` says what is wrong with it
            skipped = chosen is None
            if chosen is None:
                self.skip(who, given=False)
                continue
            self.play(*xy(chosen, board.width), who)
            del todo[chosen]

    def go_back(self, number: int) -> None:
        """Undo moves until node `number`, an ancestor of the current one."""
        while self.at != number:
            node = self.nodes[self.at]
            if node.point == PASS:
                self.board.set_to_move(1 - self.board.to_move)
            else:
                self.board.undo()
            self.at = node.parent

    def finish(self, names: tuple[str, str] = COLOURS, opening: int = 0) -> GameTree:
        """Return the tree with its record; the result is what the main line's last position says."""
        board = self.board
        self.go_back(0)
        for node in self.nodes:
            node.comment = plain_text(node.comment)
        black, white = (" ".join(plain_text(name).split()) for name in names)
        players = (black or COLOURS[0], white or COLOURS[1])
        record = GameRecord(board.width, board.height, board.rule, opening, players, reason=UNFINISHED)
        record.notes = self.notes
        tree = GameTree(record, self.nodes)
        line = main_line(tree)
        record.points, record.times_ms = [n.point for n in line], [n.ms for n in line]
        end = record.board()
        record.winner = end.winner
        if end.winner != EMPTY:
            record.reason = "five"
        elif not end.n_empty:
            record.reason = "draw"
        return tree

    def _add(self, point: int, ms: float, who: str) -> None:
        board, depth = self.board, self.depth
        if len(self.nodes) >= MAX_NODES:
            raise PositionError(f"{who.rstrip(': ')}: more than {MAX_NODES} moves")
        if depth >= 2 * board.points:
            raise PositionError(f"{who.rstrip(': ')}: more passes than a game can have")
        self.nodes.append(Node(self.at, point, ms=max(0.0, ms)))
        self.at = len(self.nodes) - 1
        self._depths.append(depth + 1)
        if point == PASS:
            board.set_to_move(1 - board.to_move)
        else:
            board.place(point)


def main_line(tree: GameTree) -> list[Node]:
    """Return the nodes of the main line, without the empty board."""
    first = [-1] * len(tree.nodes)
    for number in range(len(tree.nodes) - 1, 0, -1):
        first[tree.nodes[number].parent] = number
    line, at = [], first[0]
    while at > 0:
        line.append(tree.nodes[at])
        at = first[at]
    return line


def line_tree(record: GameRecord) -> GameTree:
    """Return a game without variations as a tree."""
    moves = zip(record.points, record.times_ms, strict=True)
    return GameTree(record, [Node(-1, -1), *(Node(i, p, ms=ms) for i, (p, ms) in enumerate(moves))])


def with_line(tree: GameTree, record: GameRecord) -> GameTree:
    """Return a tree with a game as its main line; other lines and all comments stay.

    What followed the last move of the game before is left out: it was taken back.

    Args:
        tree: as it was read.
        record: of the game as it was played on from the tree.
    """
    nodes = [replace(node) for node in tree.nodes]
    children = tree.children()
    at, line = 0, [0]
    for point, ms in zip(record.points, record.times_ms, strict=True):
        child = next((c for c in children[at] if nodes[c].point == point), None)
        if child is None:
            child = len(nodes)
            nodes.append(Node(at, point, ms=ms))
            children[at].append(child)
            children.append([])
        at = child
        line.append(at)
    children[at] = []
    first = set(line)
    kept: list[Node] = []
    numbers = {-1: -1}
    todo = [0]
    while todo:
        number = todo.pop()
        numbers[number] = len(kept)
        kept.append(replace(nodes[number], parent=numbers[nodes[number].parent]))
        todo += sorted(children[number], key=lambda child: (child in first, -child))
    return GameTree(record, kept)


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
    _check(tree)
    line = main_line(tree)
    tree.record = replace(record, points=[n.point for n in line], times_ms=[n.ms for n in line])
    return tree


def _check(tree: GameTree) -> None:
    """Play every move of a tree once.

    Raises:
        PositionError: one of them cannot be played.
    """
    record, children = tree.record, tree.children()
    builder = TreeBuilder(record.width, record.height, record.rule)
    built = {0: 0}  # number there, by number here
    todo = [*reversed(children[0])]
    while todo:
        number = todo.pop()
        point = tree.nodes[number].point
        builder.go_back(built[tree.nodes[number].parent])
        if point == PASS:
            builder.skip(f"node {number}: ")
        elif 0 <= point < record.width * record.height:
            builder.play(*xy(point, record.width))
        else:
            raise PositionError(f"node {number}: point {point} is off the board")
        built[number] = builder.at
        todo += reversed(children[number])
