"""Facts of a position for the page: side to move, winner, forbidden points."""

from __future__ import annotations

from board.messages import Moves
from engine.errors import PositionError
from engine.play.game import Game, forbidden_reason
from engine.play.swap2 import FINAL, Swap2
from engine.rules._board import EMPTY, Board
from engine.rules.geometry import xy
from engine.rules.rule import Rule

_DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))


def game_of(moves: Moves) -> Game:
    """Return the game that these moves make.

    Raises:
        PositionError: one of them cannot be played; the message says which and why.
    """
    game = Game(moves.width, moves.height, Rule(moves.rule))
    for point in moves.moves:
        refusal = game.refusal(point)
        if refusal is not None:
            raise _refused(game, point, refusal)
        game.play(point)
    return game


def facts(moves: Moves, *, swap2: bool) -> dict[str, object]:
    """Return the facts about a position by name, as JSON values.

    Args:
        swap2: the position belongs to a swap2 opening; the facts then tell what is asked of whom.

    Raises:
        PositionError: as in `game_of`.
    """
    game = game_of(moves)
    board = game.board
    found: dict[str, object] = {
        "to_move": board.to_move,
        "over": game.over,
        "winner": game.winner,
        "result": game.result,
        "ending": _ending(game),
        "five": winning_line(board),
        "forbidden": {},
    }
    if not game.over:
        found["forbidden"] = {p: forbidden_reason(board, p) for p in board.forbidden_points(board.to_move)}
    if swap2:
        found["opening"] = _opening(len(moves.moves))
    return found


def _refused(game: Game, point: int, text: str) -> PositionError:
    """Return why a point cannot be played, with the code and the values that the page translates."""
    if game.over:
        return PositionError(text, code="over")
    if game.board.cell(point) != EMPTY:
        return PositionError(text, code="taken", point=game.name(point))
    reason = forbidden_reason(game.board, point)
    return PositionError(text, code="forbidden", point=game.name(point), reason=reason)


def _ending(game: Game) -> str | None:
    """Return what ended the game: five, draw, forbidden (no legal move is left); None while it continues."""
    if not game.over:
        return None
    return "draw" if game.winner == EMPTY else "five" if game.board.winner != EMPTY else "forbidden"


def winning_line(board: Board) -> list[int]:
    """Return the stones of the row that ended the game, empty while there is none."""
    stones = board.stones()
    if board.winner == EMPTY or not stones:
        return []
    last, colour = stones[-1]
    exact = Rule(board.rule).spec.exact[colour]
    line: set[int] = set()
    for dx, dy in _DIRECTIONS:
        row = [last, *_run(board, last, colour, dx, dy), *_run(board, last, colour, -dx, -dy)]
        if len(row) == 5 or (len(row) > 5 and not exact):
            line.update(row)
    return sorted(line)


def _run(board: Board, point: int, colour: int, dx: int, dy: int) -> list[int]:
    """Return the stones of a colour that follow a point in one direction."""
    found: list[int] = []
    x, y = xy(point, board.width)
    while True:
        x, y = x + dx, y + dy
        if not (0 <= x < board.width and 0 <= y < board.height):
            return found
        if board.cell(y * board.width + x) != colour:
            return found
        found.append(y * board.width + x)


def _opening(stones: int) -> dict[str, object]:
    """Return the query of the swap2 opening with this many stones on the board.

    Raises:
        PositionError: it is over by then.
    """
    if stones > FINAL:
        raise PositionError("a swap2 opening has five stones at most")
    state = Swap2(stones)
    question = state.question if stones != FINAL - 1 else "put one more stone (black)"
    return {
        "chooser": state.chooser, "may_choose": state.may_choose, "most": state.most(),
        "question": question,
    }  # fmt: skip
