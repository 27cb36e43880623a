"""SGF games, read and written with their variations.

Format: SGF FF[4] (https://www.red-bean.com/sgf/), with the properties that c-gomoku-cli uses
(https://github.com/dhbloo/c-gomoku-cli). Gomoku is GM[4]; many programs write the number of Go, of Hex or
none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from engine.errors import PositionError
from engine.games.psq import fitting_size
from engine.games.record import COLOURS, NO_LEGAL_MOVE, PASS, UNFINISHED, GameRecord, Note, plain_text
from engine.games.sgf_text import Event, Property, find_sgf, parse_sgf
from engine.games.tree import GameTree, Node, TreeBuilder, line_tree
from engine.rules._board import EMPTY
from engine.rules.geometry import format_move, point_of, xy
from engine.rules.rule import rule_from_mask, rule_name, rule_of_words

MAX_SET_UP = 5_000
"""Points that AB, AW and AE of a file may name together (derived: ten full boards)."""

_SIZE = re.compile(r"(\d{1,4})(?:\s*[:x,]\s*(\d{1,4}))?", re.ASCII)
_TIME = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*ms(?:\n|$)", re.ASCII)
_OPENING = "opening move"
_GOMOKU = ("", "1", "4", "11")
"""Values of GM that programs write for gomoku: none, that of Go, its own, that of Hex."""
_REASONS = (
    "five", "draw", UNFINISHED, NO_LEGAL_MOVE, "time", "illegal", "forbidden", "crash", "start", "resigned",
)  # fmt: skip
_MARKS = frozenset({"LB", "TR", "SQ", "CR", "MA", "SL", "AR", "LN", "TB", "TW", "DD", "VW"})
"""Marks on the board, which a tree does not hold."""
_SET_UP = ("AB", "AW", "AE")


def read_sgf(text: str, rule: int, width: int = 15, height: int = 15) -> GameTree:
    """Read the first game of a text with all its variations and check every move.

    Args:
        text: for which `find_sgf` finds a game, its lines ended by \\n.
        rule: that was played where the game does not say.
        width, height: of the board where it does not say; a larger one where moves are beyond it.

    Raises:
        PositionError: no SGF, another game than gomoku, an impossible size or move; the message names the
            line.
    """
    start = find_sgf(text)
    if start is None:
        raise PositionError("no SGF game: it begins with `(;`")
    end, events = parse_sgf(text, start)
    head, line = _head(events)
    notes: list[Note] = []
    if text[:start].strip():
        said = f"text before the game is left out: {_short(text[:start])}"
        notes.append(Note(said, code="text_left_out", text=_short(text[:start])))
    if find_sgf(text[end:]) is not None:
        notes.append(Note("the file holds more games; the first is read", code="more_games"))
    elif text[end:].strip():
        said = f"text behind the game is left out: {_short(text[end:])}"
        notes.append(Note(said, code="text_left_out", text=_short(text[end:])))
    game = head.get("GM", "").strip()
    if game.isdigit() and game.lstrip("0") not in _GOMOKU:
        said = f"line {line}: GM {game[:20]!r} is another game; gomoku is GM[4]"
        raise PositionError(said, code="other_game", game=game[:20])
    width, height = _size(head, events, line, width, height, notes)
    rule = _rule(head.get("RU", ""), rule, notes)
    builder = TreeBuilder(width, height, rule, f"line {line}: ")
    builder.notes = notes
    opening, resigned = _build(builder, events)
    tree = builder.finish((head.get("PB", ""), head.get("PW", "")), opening)
    tree.record.text = plain_text(head.get("GC", ""))
    _result(tree.record, head, resigned)
    return tree


def to_sgf(game: GameRecord) -> str:
    """Return a game without variations as SGF."""
    return tree_to_sgf(line_tree(game))


def tree_to_sgf(tree: GameTree) -> str:
    """Return the game as SGF (GM[4], UTF-8) with variations and comments.

    Coordinates are two letters, x then y, from the top left.
    """
    record, children = tree.record, tree.children()
    parts = [_head_text(record)]
    root = tree.nodes[0]
    if root.comment:
        parts.append(f"C[{_escaped(root.comment)}]")
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
        parts.append(f"\n;{'BW'[ply % 2]}[{_letters(node, record)}]{_remark(node, ply, record)}")
        inner = "()" if len(children[number]) > 1 else ""
        todo += [(child, ply + 1, inner) for child in reversed(children[number])]
    return "".join(parts) + ")\n"


def _letters(node: Node, record: GameRecord) -> str:
    if node.point == PASS:
        return ""
    x, y = xy(node.point, record.width)
    return f"{chr(97 + x)}{chr(97 + y)}"


def _head_text(game: GameRecord) -> str:
    """Return the root of an SGF game, its first parenthesis included: size, rule, names, result."""
    result = "0" if game.winner == EMPTY else ("B+" if game.winner == 0 else "W+")
    if game.reason == UNFINISHED:
        result = "?"
    elif game.incident:
        result += {"time": "T", "resigned": "R", "forbidden": "F", "illegal": "F"}.get(game.reason, "F")
    elif game.winner != EMPTY:
        result += "1"
    size = str(game.width) if game.width == game.height else f"{game.width}:{game.height}"
    names = [_escaped(name) for name in game.names]
    text = f"(;FF[4]GM[4]CA[UTF-8]SZ[{size}]RU[{int(game.rule)}]PB[{names[0]}]PW[{names[1]}]"
    return text + f"RE[{result}]TE[{game.reason}]" + (f"GC[{_escaped(game.text)}]" if game.text else "")


def _remark(node: Node, ply: int, record: GameRecord) -> str:
    """Return the comment of a move: its time or that it was given, then the text of the file."""
    first = _OPENING if ply < record.opening_stones else f"{node.ms:.0f}ms"
    return f"C[{_escaped(first + (chr(10) + node.comment if node.comment else ''))}]"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("]", "\\]")


# --- reading ------------------------------------------------------------------------------------------------


def _nodes_of_main_line(events: list[Event]) -> Iterator[list[Property]]:
    for event in events:
        if event == ")":
            return
        if not isinstance(event, str):
            yield event


def _head(events: list[Event]) -> tuple[dict[str, str], int]:
    """Return the properties before the first move or stone, and the line of the first."""
    head: dict[str, str] = {}
    line = 0
    for node in _nodes_of_main_line(events):
        for entry in node:
            line = line or entry.line
            head.setdefault(entry.name, entry.value)
        if any(entry.name in ("B", "W") for entry in node):
            break
    return head, line or 1


def _size(
    head: dict[str, str], events: list[Event], line: int, width: int, height: int, notes: list[Note]
) -> tuple[int, int]:
    """Return the size of the board.

    Raises:
        PositionError: SZ is none.
    """
    if "SZ" in head:
        size = _SIZE.fullmatch(head["SZ"].strip())
        if size is None:
            said = f"line {line}: {head['SZ'][:20]!r} is no board size (SZ)"
            raise PositionError(said, code="line_unread", line=line)
        return int(size[1]), int(size[2] or size[1])
    nodes = (event for event in events if not isinstance(event, str))
    values = [p.value.strip().lower() for node in nodes for p in node if p.name in ("B", "W", "AB", "AW")]
    corners = [re.fullmatch(r"([a-z])([a-z])", value, re.ASCII) for value in values]
    last = [(ord(m[1]) - 96, ord(m[2]) - 96) for m in corners if m is not None and m[0] != "tt"]
    columns, rows = (max((c[axis] for c in last), default=1) for axis in (0, 1))
    width, height = fitting_size(columns, rows, width, height)
    said = f"the game says no size (SZ); {width}x{height} is taken"
    notes.append(Note(said, code="size_unsaid", width=width, height=height))
    return width, height


def _rule(named: str, rule: int, notes: list[Note]) -> int:
    """Return the rule that a value of RU names, as far as it is known; else `rule`, with a note."""
    named = named.strip()
    if not named:
        return rule
    if re.fullmatch(r"[0-9]{1,4}", named):
        try:
            return rule_from_mask(int(named))
        except ValueError:
            pass
    else:
        known = rule_of_words(named)
        if known is not None:
            return known
    said = f"rule {_short(named)} (RU) is unknown; {rule_name(rule)} is taken"
    notes.append(Note(said, code="rule_unknown", named=_short(named), rule=int(rule)))
    return rule


def _result(record: GameRecord, head: dict[str, str], resigned: int | None) -> None:
    """Take over who won off the board, where the position does not say.

    Args:
        record: of the game; changed.
        head: its properties.
        resigned: colour that a move of the main line says to resign.
    """
    if record.reason != UNFINISHED:
        return
    text, told = head.get("RE", "").strip(), head.get("TE", "").strip()
    result = re.match(r"([BW])\s*\+\s*(.?)", text, re.IGNORECASE)
    if result is not None:
        record.winner = "BW".index(result[1].upper())
        known = told in _REASONS and told not in ("draw", UNFINISHED)
        letter = result[2].upper()
        record.reason = told if known else {"T": "time", "F": "forbidden"}.get(letter, "resigned")
    elif text.lower() in ("0", "draw", "jigo"):
        record.reason = "draw"
    elif resigned is not None:
        record.winner, record.reason = 1 - resigned, "resigned"


@dataclass(slots=True)
class _Seen:
    """What nodes say besides moves."""

    budget: int = MAX_SET_UP
    """Points that may still be set up."""
    marks: set[str] = field(default_factory=set)
    resigned: int | None = None
    """Colour that a node says to resign."""


def _build(builder: TreeBuilder, events: list[Event]) -> tuple[int, int | None]:
    """Play all nodes; of the main line return how many of its first moves were given, and who resigns."""
    stack: list[int] = []
    opening, first_line, resigned = 0, True, None
    seen = _Seen()
    for event in events:
        if event == "(":
            stack.append(builder.at)
        elif event == ")":
            builder.go_back(stack.pop())
            first_line = False
        elif not isinstance(event, str):
            before = len(builder.nodes)
            given = _play_node(builder, event, seen)
            if first_line:
                resigned = seen.resigned
            elif seen.resigned is not None:
                builder.note(f"{COLOURS[seen.resigned]} resigns in a variation", code="resigned_there")
            seen.resigned = None
            if first_line and given and opening == before - 1:
                opening = len(builder.nodes) - 1
            while first_line and opening + 1 < len(builder.nodes) and builder.is_filler(opening + 1):
                opening += 1
    if seen.marks:
        said = f"marks on the board are left out ({', '.join(sorted(seen.marks))})"
        builder.note(said, code="marks_left_out")
    return opening, resigned


def _play_node(builder: TreeBuilder, node: list[Property], seen: _Seen) -> bool:
    """Play what one node says: stones set up, whose turn it is, moves, comments.

    Returns:
        Whether no player chose it: stones set up, or a move with the comment of an opening.
    """
    given = False
    set_up = [entry for entry in node if entry.name in _SET_UP]
    if set_up:
        who = f"line {set_up[0].line}: "
        builder.set_up(_set_up(builder, set_up, seen), who)
        given = True
    for entry in node:
        if entry.name == "PL":
            who = f"line {entry.line}: "
            if entry.value.strip()[:1].upper() not in ("B", "W"):
                said = f"{who}PL {entry.value[:20]!r} is no colour"
                raise PositionError(said, code="line_unread", line=entry.line)
            builder.turn("BW".index(entry.value.strip()[0].upper()), who)
        elif entry.name in ("B", "W"):
            _play_move(builder, entry, seen)
        elif entry.name in _MARKS:
            seen.marks.add(entry.name)
    for entry in node:
        if entry.name == "N":
            _add_words(builder.nodes[builder.at], entry.value)
        elif entry.name == "C":
            given |= _comment(builder.nodes[builder.at], entry.value)
    return given


def _play_move(builder: TreeBuilder, entry: Property, seen: _Seen) -> None:
    """Play a move or a pass, or remember who resigns."""
    who = f"line {entry.line}: "
    colour = "BW".index(entry.name)
    if entry.value.strip().lower() == "resign":
        seen.resigned = colour
        return
    builder.turn(colour, who)
    point = _point(builder, entry)
    if point is None:
        builder.skip(f"{who}move {builder.depth + 1}: ")
    else:
        builder.play(*point, who)


def _point(builder: TreeBuilder, entry: Property) -> tuple[int, int] | None:
    """Return column and row of a move, None for a pass.

    Raises:
        PositionError: the value is neither.
    """
    value = entry.value.strip()
    board = builder.board
    if not value or (value == "tt" and board.width <= 19 and board.height <= 19):  # protocol: FF[3] of Go
        return None
    found = re.fullmatch(r"([A-Za-z])([A-Za-z])", value, re.ASCII)
    if found is not None:
        return ord(found[1].lower()) - 97, ord(found[2].lower()) - 97
    numbered = re.fullmatch(r"([A-Za-z])(\d{1,2})", value, re.ASCII)
    if numbered is None:
        said = f"line {entry.line}: {value[:20]!r} is no move; two letters are expected"
        raise PositionError(said, code="line_unread", line=entry.line)
    builder.note(f"moves such as {value} are read with row 1 at the top", code="rows_from_top", move=value)
    return ord(numbered[1].lower()) - 97, int(numbered[2]) - 1


def _set_up(builder: TreeBuilder, entries: list[Property], seen: _Seen) -> list[tuple[int, int]]:
    """Return the (point, colour) that AB and AW of one node put on the board, less what AE takes away.

    Raises:
        PositionError: a value is no point, or AE takes a stone away that was played.
    """
    board = builder.board
    stones: dict[int, int] = {}
    for entry in entries:
        if not entry.value.strip():
            continue
        corners = [entry.value.strip()] if ":" not in entry.value else entry.value.strip().split(":")
        who = f"line {entry.line}: "
        ends = [_point(builder, Property(entry.name, corner, entry.line)) for corner in corners]
        if len(ends) > 2 or None in ends:
            said = f"{who}{entry.value[:20]!r} is no point ({entry.name})"
            raise PositionError(said, code="line_unread", line=entry.line)
        (x0, y0), (x1, y1) = sorted(end for end in (ends[0], ends[-1]) if end is not None)
        for x in range(x0, x1 + 1):
            for y in range(min(y0, y1), max(y0, y1) + 1):
                seen.budget -= 1
                if seen.budget < 0:
                    raise PositionError(f"{who}more than {MAX_SET_UP} stones are set up")
                try:
                    point = point_of(x, y, board.width, board.height)
                except ValueError as error:
                    raise PositionError(f"{who}{entry.name}: {error}") from error
                colour = _SET_UP.index(entry.name)
                if entry.name != "AE":
                    if stones.setdefault(point, colour) != colour:
                        raise PositionError(f"{who}{format_move(point, board.width)} holds both colours")
                elif stones.pop(point, None) is None and board.cell(point) != EMPTY:
                    where = format_move(point, board.width)
                    raise PositionError(f"{who}AE takes the stone at {where} away; games only grow here")
    return list(stones.items())


def _comment(node: Node, value: str) -> bool:
    """Take time and words from a comment; return whether it says that the move was given."""
    value = value.replace("\r\n", "\n")
    given = value == _OPENING or value.startswith(_OPENING + "\n")
    if given:
        value = value[len(_OPENING) :].lstrip("\n")
    elif node.parent >= 0 and (spent := _TIME.match(value)) is not None:
        node.ms = float(spent[1])
        value = value[spent.end() :]
    _add_words(node, value)
    return given


def _add_words(node: Node, value: str) -> None:
    if value.strip():
        node.comment = f"{node.comment}\n{value}" if node.comment else value


def _short(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= 40 else text[:39] + "…")
