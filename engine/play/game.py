"""One game as a person plays it: every move is checked and refused with a reason."""

from __future__ import annotations

from collections.abc import Iterable

from engine.errors import PositionError
from engine.games.record import NO_LEGAL_MOVE, PASS, UNFINISHED, GameRecord, move_name, stones_of
from engine.games.tree import GameTree, line_tree, main_line, with_line
from engine.rules._board import EMPTY, Board
from engine.rules.geometry import xy
from engine.rules.rule import Forbidden, Rule, rule_name

COLOURS = ("black", "white")
_DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))


class Game:
    """Board, moves and times of a game. A refused move changes nothing."""

    from_bottom = False
    """Whether a person calls the lowest row 1 instead of the highest."""

    def __init__(self, width: int = 15, height: int = 15, rule: Rule = Rule.FREESTYLE) -> None:
        """Start from an empty board.

        Raises:
            PositionError: the size is out of range.
        """
        try:
            self.board = Board(width, height, int(rule))
        except ValueError as error:
            raise PositionError(str(error)) from error
        self.points: list[int] = []
        self.times_ms: list[float] = []
        self.opening_stones = 0
        self.tree: GameTree | None = None
        """The file that the game was read from, with its comments and variations."""
        self.ended: tuple[int, str] | None = None
        """Winner and reason, as records have them, of a game that ended off the board; None on the board."""

    @classmethod
    def from_record(cls, record: GameRecord) -> Game:
        """Return the game of a record.

        Raises:
            PositionError: a move of it cannot be played.
        """
        game = cls(record.width, record.height, Rule(record.rule))
        for point, ms in zip(record.points, record.times_ms, strict=True):
            game.play(point, ms)
        game.opening_stones = record.opening_stones
        if record.reason != UNFINISHED and not game.over:
            game.ended = record.winner, record.reason
        return game

    @classmethod
    def from_tree(cls, tree: GameTree) -> Game:
        """Return the game of a tree's main line, which keeps names, comments and variations for saving.

        Raises:
            PositionError: a move of it cannot be played.
        """
        game = cls.from_record(tree.record)
        game.tree = tree
        return game

    @property
    def players(self) -> tuple[str, str]:
        """Names of black and white in the file, empty where it has none."""
        if self.tree is None:
            return "", ""
        black, white = (name if name not in COLOURS else "" for name in self.tree.record.names)
        return black, white

    @property
    def comment(self) -> str:
        """What the file says of the position."""
        if self.tree is None:
            return ""
        line = [self.tree.nodes[0], *main_line(self.tree)]
        at = len(self.points)
        same = self.points == self.tree.record.points[:at]
        return line[at].comment if same and at < len(line) else ""

    @property
    def rule(self) -> Rule:
        """The rule."""
        return Rule(self.board.rule)

    @property
    def rule_name(self) -> str:
        """The rule as it is typed."""
        return rule_name(self.rule)

    @property
    def last(self) -> int | None:
        """Point of the last move, None at the beginning and after a pass."""
        return self.points[-1] if self.points and self.points[-1] != PASS else None

    @property
    def stones(self) -> list[tuple[int, int]]:
        """(point, colour), oldest first."""
        return stones_of(self.points)

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        if self.ended is not None:
            return True
        return self.board.winner != EMPTY or self.board.n_empty == 0 or not self.board.legal_points()

    @property
    def winner(self) -> int:
        """0 black, 1 white, 2 neither (yet)."""
        if self.ended is not None:
            return self.ended[0]
        if self.board.winner == EMPTY and self.board.n_empty and self.over:
            return 1 - self.board.to_move  # every move left is forbidden
        return self.board.winner

    @property
    def result(self) -> str:
        """The result as a sentence, empty while the game is not over."""
        if not self.over:
            return ""
        if self.ended is not None:
            return _result_off_the_board(*self.ended)
        if self.winner == EMPTY:
            return "The board is full: a draw."
        loser = COLOURS[1 - self.winner]
        how = "" if self.board.winner != EMPTY else f" (every move left is forbidden to {loser})"
        return f"{COLOURS[self.winner].capitalize()} wins after {len(self.stones)} stones{how}."

    def refusal(self, point: int) -> str | None:
        """Return why the side to move may not play there, None if it may."""
        board = self.board
        where = self.name(point)
        if self.over:
            return "the game is over; `new` starts another"
        if point == PASS:
            return None
        if board.cell(point) != EMPTY:
            return f"{where} is taken"
        if board.is_forbidden(point, board.to_move):
            return f"{where} is forbidden to {COLOURS[board.to_move]}: {forbidden_reason(board, point)}"
        return None

    def play(self, point: int, ms: float = 0.0) -> None:
        """Put a stone of the side to move, or let it pass.

        Raises:
            PositionError: it may not be played; the message says why.
        """
        refusal = self.refusal(point)
        if refusal is not None:
            raise PositionError(refusal)
        if point == PASS:
            self.board.set_to_move(1 - self.board.to_move)
        else:
            self.board.place(point)
        self.points.append(point)
        self.times_ms.append(ms)

    def name(self, point: int) -> str:
        """Return the name of a point, such as `h8`."""
        return move_name(point, self.board.width, self.board.height if self.from_bottom else None)

    def names(self, points: Iterable[int]) -> str:
        """Return the names of points with blanks between them."""
        return " ".join(self.name(point) for point in points)

    def resign(self, colour: int) -> None:
        """Resign for a colour.

        Raises:
            PositionError: the game is over already.
        """
        self._end(1 - colour, "resigned")

    def agree_to_draw(self) -> None:
        """End the game as a draw.

        Raises:
            PositionError: the game is over already.
        """
        self._end(EMPTY, "draw")

    def _end(self, winner: int, reason: str) -> None:
        if self.over:
            raise PositionError("the game is over; `new` starts another")
        self.ended = winner, reason

    def undo(self) -> None:
        """Take the last move back, or the end of a game that ended off the board.

        Raises:
            PositionError: there is none, or it belongs to the opening.
        """
        if self.ended is not None:
            self.ended = None
            return
        if len(self.points) <= self.opening_stones:
            raise PositionError("the opening stays; `new` starts again" if self.points else "nothing to undo")
        if self.points.pop() == PASS:
            self.board.set_to_move(1 - self.board.to_move)
        else:
            self.board.undo()
        self.times_ms.pop()

    def record(self, names: tuple[str, str]) -> GameRecord:
        """Return the game for saving."""
        board = self.board
        reason = UNFINISHED
        if self.over:
            reason = "draw" if self.winner == EMPTY else "five" if board.winner != EMPTY else NO_LEGAL_MOVE
        if self.ended is not None:
            reason = self.ended[1]
        return GameRecord(
            board.width, board.height, board.rule, self.opening_stones, names,
            list(self.points), list(self.times_ms), self.winner, reason,
        )  # fmt: skip

    def saved(self, names: tuple[str, str]) -> GameTree:
        """Return the game for a file that holds variations."""
        record = self.record(names)
        if self.tree is None:
            return line_tree(record)
        record.text = self.tree.record.text
        return with_line(self.tree, record)


def _result_off_the_board(winner: int, reason: str) -> str:
    """Return the result of a game that ended by resignation, agreement, time or a failure, as a sentence."""
    if winner == EMPTY:
        return "A draw by agreement."
    won, lost = COLOURS[winner], COLOURS[1 - winner].capitalize()
    how = {
        "resigned": "resigns", "time": "is out of time", "illegal": "made an illegal move",
        "forbidden": "made a forbidden move",
    }.get(reason, "could not go on")  # fmt: skip
    return f"{lost} {how}, {won} wins."


def forbidden_reason(board: Board, point: int) -> str:
    """Return which forbidden shape the side to move would make on a point that is forbidden to it."""
    colour = board.to_move
    forbidden = Rule(board.rule).spec.forbidden[colour]
    if Forbidden.OVERLINE in forbidden and max(_run(board, point, dx, dy) for dx, dy in _DIRECTIONS) > 5:
        return "overline"
    masks = [board.line_masks(point, direction, colour) for direction in range(4)]
    fours = sum(2 if m["double_four"] else int(m["four"] or m["open_four"]) for m in masks)
    return "double four" if Forbidden.DOUBLE_FOUR in forbidden and fours >= 2 else "double three"


def _run(board: Board, point: int, dx: int, dy: int) -> int:
    """Return how long a row of the side to move through an empty point would be."""
    length = 1
    for sign in (1, -1):
        x, y = xy(point, board.width)
        while True:
            x, y = x + sign * dx, y + sign * dy
            if not (0 <= x < board.width and 0 <= y < board.height):
                break
            if board.cell(y * board.width + x) != board.to_move:
                break
            length += 1
    return length
