"""Games as files: text that the page has read from a file becomes a tree, a tree becomes text to save."""

from __future__ import annotations

from board.messages import ENDINGS, MAX_COMMENT, MAX_NAME, MAX_TREE_TEXT, Moves, Open, Save, SetUp
from board.position import game_of
from engine.commands.charset import detector
from engine.errors import PositionError
from engine.games.files import read_tree
from engine.games.psq import to_psq
from engine.games.record import UNFINISHED, GameRecord, Note
from engine.games.sgf import tree_to_sgf
from engine.games.tree import GameTree, Node, TreeBuilder, tree_of
from engine.rules._board import EMPTY

MAX_NOTES = 5
"""What a reader had to guess, as many lines as are shown."""


def opened(request: Open) -> dict[str, object]:
    """Return the game that a file or a text holds, as JSON values; `engine.games.files` names the forms.

    Raises:
        PositionError: none of these, or a move cannot be played.
    """
    return _as_json(_read(request))


def set_up(request: SetUp) -> dict[str, object]:
    """Return a game that leads to a position, with passes where one side has more stones, as JSON values.

    Raises:
        PositionError: no game leads there.
    """
    game = request.game
    builder = TreeBuilder(game.width, game.height, game.rule)
    builder.set_up(request.stones)
    if builder.board.winner == EMPTY:
        builder.turn(request.to_move)
    return _as_json(builder.finish(opening=builder.depth))


def _as_json(tree: GameTree) -> dict[str, object]:
    record = tree.record
    notes = list(record.notes)
    if any(len(node.comment) > MAX_COMMENT for node in tree.nodes):
        notes.append(
            Note(f"comments are cut after {MAX_COMMENT} characters", code="comments_cut", n=MAX_COMMENT)
        )
    if sum(len(node.comment) for node in tree.nodes) > MAX_TREE_TEXT:
        raise PositionError("the comments of this game are too long", code="comments_too_long")
    return {
        "width": record.width, "height": record.height, "rule": int(record.rule),
        "names": [name[:MAX_NAME] for name in record.names], "opening": record.opening_stones,
        "winner": record.winner, "reason": record.reason, "ended": _ended(record),
        "notes": [_note(note) for note in notes[:MAX_NOTES]],
        "nodes": [
            {"parent": n.parent, "point": n.point, "comment": n.comment[:MAX_COMMENT], "ms": round(n.ms)}
            for n in tree.nodes
        ],
    }  # fmt: skip


def _note(note: Note) -> dict[str, object]:
    return {"text": note, "code": note.code, "values": note.values}


def _ended(record: GameRecord) -> dict[str, object] | None:
    """Return how a game ended off the board, with the words of the page; None where it did not."""
    board = record.board()
    if record.reason in ("five", UNFINISHED) or board.winner != EMPTY or not board.n_empty:
        return None
    whys = {reason: why for why, reason in ENDINGS.items()}
    return {"winner": record.winner, "why": whys.get(record.reason, "other")}


def saved(request: Save) -> str:
    """Return a tree as the text of a file.

    Raises:
        PositionError: it is no tree, or a move cannot be played.
    """
    game, nodes = request.game, list(request.nodes)
    line = _main_line(nodes)
    base = Moves(game.width, game.height, game.rule, tuple(n.point for n in line))
    played = game_of(base)
    if not played.over:
        played.ended = request.ended
    played.opening_stones = min(request.opening, len(line))
    tree = tree_of(played.record((request.names[0] or "black", request.names[1] or "white")), nodes)
    return tree_to_sgf(tree) if request.kind == "sgf" else to_psq(tree.record)


def _main_line(nodes: list[Node]) -> list[Node]:
    line, at = [], 0
    for number, node in enumerate(nodes[1:], 1):
        if node.parent == at:
            line.append(node)
            at = number
    return line


def _read(request: Open) -> GameTree:
    data = request.text if request.data is None else request.data
    if not data.strip():
        raise PositionError("the file is empty", code="empty_file")
    return read_tree(
        data, request.rule, request.width, request.height,
        detect=detector(), from_bottom=request.from_bottom,
    )  # fmt: skip
