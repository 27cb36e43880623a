"""Games as files: text that the page has read from a file becomes a tree, a tree becomes text to save."""

from __future__ import annotations

from board.messages import MAX_COMMENT, MAX_NAME, MAX_TREE_TEXT, Moves, Open, Refused, Save
from board.position import game_of
from engine.errors import PositionError
from engine.gamefile import is_psq, is_sgf, to_psq
from engine.gametree import GameTree, Node, read_tree, tree_of, tree_to_sgf
from engine.rules.geometry import parse_moves


def opened(request: Open) -> dict[str, object]:
    """Return the game that a text holds, as JSON values: a .psq record, SGF, or a row of moves.

    Raises:
        PositionError: none of these, or a move cannot be played.
    """
    tree = _read(request)
    record = tree.record
    if sum(len(node.comment) for node in tree.nodes) > MAX_TREE_TEXT:
        raise PositionError("the comments of this game are too long")
    return {
        "width": record.width, "height": record.height, "rule": int(record.rule),
        "names": [name[:MAX_NAME] for name in record.names], "opening": record.opening_stones,
        "winner": record.winner, "reason": record.reason,
        "nodes": [
            {"parent": n.parent, "point": n.point, "comment": n.comment[:MAX_COMMENT], "ms": round(n.ms)}
            for n in tree.nodes
        ],
    }  # fmt: skip


def saved(request: Save) -> str:
    """Return a tree as the text of a file.

    Raises:
        PositionError: it is no tree, or a move cannot be played.
    """
    game, nodes = request.game, list(request.nodes)
    line = _main_line(nodes)
    base = Moves(game.width, game.height, game.rule, tuple(n.point for n in line))
    played = game_of(base)
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
    text = request.text.removeprefix("\ufeff")
    if is_psq(text) or is_sgf(text):
        return read_tree(text, request.rule)
    if not text.strip():
        raise Refused("the file is empty", code="empty_file")
    try:
        points = parse_moves(text, request.width, request.height)
    except ValueError as error:
        raise PositionError(
            "no game: expected a .psq record (`Piskvorky WxH`), an SGF game (`(;`) or moves such as h8 h9 i8 "
            f"({error})"
        ) from error
    width, height = request.width, request.height
    game = game_of(Moves(width, height, request.rule, tuple(points)))
    record = game.record(("black", "white"))
    return GameTree(record, [Node(-1, -1), *(Node(i, p) for i, p in enumerate(points))])
