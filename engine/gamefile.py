"""Games as text: Piskvork's .psq and SGF, read and written. The one definition of both formats.

A .psq record does not say which rule was played; SGF does. Both say everything else that `GameRecord` holds
of an ordinary game: size, moves in order (black first), time a move, names, who won.

Formats: .psq as Piskvork writes it (https://github.com/plastovicka/Piskvork), SGF FF[4] GM[4]
(https://www.red-bean.com/sgf/) with the properties that c-gomoku-cli uses (https://github.com/dhbloo/c-gomoku-cli).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from engine.errors import PositionError
from engine.rules._board import EMPTY, Board
from engine.rules.geometry import format_move, point_of
from engine.rules.rule import Rule, rule_from_mask

UNFINISHED = "unfinished"
"""Reason of a game that nobody has ended."""
SUFFIXES = (".psq", ".sgf")
MAX_FILE_BYTES = 1 << 20
"""Larger files are no game (derived: a full 22x22 board with comments takes 40 kB)."""

_PSQ_HEADER = re.compile(r"Piskvorky\s+(\d{1,4})x(\d{1,4})(?!\d)", re.ASCII)
_PSQ_MOVE = re.compile(r"(-?\d{1,4})\s*,\s*(-?\d{1,4})\s*(?:,\s*(-?\d{1,12}(?:\.\d{1,9})?))?", re.ASCII)
_PSQ_CODES = {"time": 15, "illegal": -2, "forbidden": -2, "crash": -2, "start": -2}  # protocol: Piskvork
_SGF_SIZE = re.compile(r"(\d{1,4})(?::(\d{1,4}))?", re.ASCII)
_SGF_TIME = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)\s*ms", re.ASCII)
_COLOURS = ("black", "white")


@dataclass(slots=True)
class GameRecord:
    """A game, finished or not.

    Attributes:
        opening_stones: how many of the first stones were given, not chosen by the players.
        names: of black and white.
        points: stones in playing order, opening included, black first.
        times_ms: one a stone; 0 for opening stones.
        winner: 0 black, 1 white, 2 nobody.
        reason: "five", "draw", "unfinished", or the loser's incident: "time", "illegal", "forbidden",
            "crash", "start".
        text: what exactly went wrong, else empty.
    """

    width: int
    height: int
    rule: int
    opening_stones: int
    names: tuple[str, str]
    points: list[int] = field(default_factory=list)
    times_ms: list[float] = field(default_factory=list)
    winner: int = EMPTY
    reason: str = "draw"
    text: str = ""

    @property
    def incident(self) -> bool:
        """Whether the game was lost by a failure instead of on the board."""
        return self.reason not in ("five", "draw", UNFINISHED)


def to_psq(game: GameRecord) -> str:
    """Return the game in Piskvork's format: 1-based `x,y,ms` a move, then names, then a result code."""
    rows = [f"Piskvorky {game.width}x{game.height}, 11:11, 0"]
    for point, ms in zip(game.points, game.times_ms, strict=True):
        rows.append(f"{point % game.width + 1},{point // game.width + 1},{ms:.0f}")
    rows += [*(_one_line(name) for name in game.names), str(_PSQ_CODES.get(game.reason, 0))]
    return "\n".join(rows) + "\n"


def to_sgf(game: GameRecord) -> str:
    """Return the game as SGF (GM[4]); coordinates are two letters, x then y, from the top left."""
    head = sgf_head(game)
    moves = []
    for ply, (point, ms) in enumerate(zip(game.points, game.times_ms, strict=True)):
        x, y = point % game.width, point // game.width
        comment = "opening move" if ply < game.opening_stones else f"{ms:.0f}ms"
        moves.append(f";{'BW'[ply % 2]}[{chr(97 + x)}{chr(97 + y)}]C[{comment}]")
    return head + "\n" + "\n".join(moves) + ")\n"


def sgf_head(game: GameRecord) -> str:
    """Return the root of an SGF game, its first parenthesis included: size, rule, names, result."""
    result = "0" if game.winner == EMPTY else ("B+" if game.winner == 0 else "W+")
    if game.reason == UNFINISHED:
        result = "?"
    elif game.incident:
        result += {"time": "T", "resigned": "R", "forbidden": "F", "illegal": "F"}.get(game.reason, "F")
    elif game.winner != EMPTY:
        result += "1"
    size = str(game.width) if game.width == game.height else f"{game.width}:{game.height}"
    names = [sgf_text(name) for name in game.names]
    text = f"(;FF[4]GM[4]SZ[{size}]RU[{int(game.rule)}]PB[{names[0]}]PW[{names[1]}]"
    text += f"RE[{result}]TE[{game.reason}]" + (f"GC[{sgf_text(game.text)}]" if game.text else "")
    return text


def is_psq(text: str) -> bool:
    """Return whether a text begins as a .psq record does."""
    return _PSQ_HEADER.match(text) is not None


def is_sgf(text: str) -> bool:
    """Return whether a text begins as an SGF game does."""
    return re.match(r"\s*\(\s*;", text) is not None


def read_game(text: str, rule: int = Rule.FREESTYLE) -> GameRecord:
    """Read a game in either format and check every move.

    Args:
        rule: played where the text does not say.

    Raises:
        PositionError: neither format, an impossible size, or a move that cannot be played; the message names
            the line.
    """
    text = text.removeprefix("\ufeff")
    if is_psq(text):
        return read_psq(text, rule)
    if is_sgf(text):
        return read_sgf(text, rule)
    raise PositionError("no game: a .psq record begins with `Piskvorky WxH`, an SGF game with `(;`")


def read_psq(text: str, rule: int = Rule.FREESTYLE) -> GameRecord:
    """Read a Piskvork record: a header with the size, then `x,y,ms` a move from 1, black first.

    Raises:
        PositionError: as in `read_game`.
    """
    header = _PSQ_HEADER.match(text)
    if header is None:
        raise PositionError("a .psq record begins with `Piskvorky WxH`")
    replay = _Replay(int(header[1]), int(header[2]), rule, line=1)
    rest: list[str] = []
    for number, line in enumerate(text.splitlines()[1:], 2):
        move = _PSQ_MOVE.fullmatch(line.strip())
        if move is not None and not rest:
            replay.place(int(move[1]) - 1, int(move[2]) - 1, float(move[3] or 0), number)
        elif line.strip():
            rest.append(line.strip())
            if len(rest) == 1 and re.match(r"-?\d+\s*,", line.strip()):
                raise PositionError(f"line {number}: {line.strip()[:30]!r} is no move `x,y,ms`")
    names = (rest[0], rest[1]) if len(rest) >= 2 else ("black", "white")
    code = rest[-1] if rest else "0"
    record = replay.record(names)
    if record.reason == UNFINISHED and code in ("15", "-2"):  # the side to move lost by an incident
        record.winner, record.reason = 1 - len(record.points) % 2, "time" if code == "15" else "crash"
    return record


def read_sgf(text: str, rule: int = Rule.FREESTYLE) -> GameRecord:
    """Read the main line of the first game in an SGF text.

    Raises:
        PositionError: as in `read_game`.
    """
    head: dict[str, str] = {}
    replay: _Replay | None = None
    times: list[float] = []
    opening_stones = 0
    for name, value, line in _sgf_properties(text):
        if name in ("AB", "AW", "AE"):
            raise PositionError(
                f"line {line}: {name} sets stones up; only games played from the start are read"
            )
        if name in ("B", "W"):
            if replay is None:
                replay = _sgf_start(head, rule, line)
            ply = len(replay.points)
            if name != "BW"[ply % 2]:
                raise PositionError(f"line {line}: move {ply + 1} is {_COLOURS[ply % 2]}'s, not {name}'s")
            if re.fullmatch(r"[a-z]{2}", value) is None:
                raise PositionError(f"line {line}: {value[:20]!r} is no move; two letters are expected")
            replay.place(ord(value[0]) - 97, ord(value[1]) - 97, 0.0, line)
            times.append(0.0)
        elif replay is None:
            head[name] = value
        elif name == "C":
            spent = _SGF_TIME.match(value)
            times[-1] = float(spent[1]) if spent else 0.0
            if value.strip() == "opening move" and opening_stones == len(times) - 1:
                opening_stones += 1
    replay = replay or _sgf_start(head, rule, 1)
    record = replay.record((head.get("PB", "black"), head.get("PW", "white")))
    record.times_ms, record.opening_stones, record.text = times, opening_stones, head.get("GC", "")
    result = re.match(r"([BW])\+", head.get("RE", ""))
    if record.reason == UNFINISHED and result is not None:
        record.winner = "BW".index(result[1])
        record.reason = head.get("TE") or {"T": "time", "F": "forbidden"}.get(head["RE"][2:3], "resigned")
    elif record.reason == UNFINISHED and head.get("RE", "").lower() in ("0", "draw"):
        record.reason = "draw"
    return record


def load_game(path: Path | str, rule: int = Rule.FREESTYLE) -> GameRecord:
    """Read a game from a file, whatever its name.

    Raises:
        PositionError: the file cannot be read or holds no playable game; the message names the file.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise PositionError(f"cannot read {path}: {_why(error)}") from error
    if len(data) > MAX_FILE_BYTES:
        raise PositionError(f"{path}: too large for a game")
    try:
        return read_game(data.decode("utf-8", errors="replace"), rule)
    except PositionError as error:
        raise PositionError(f"{path}: {error}") from error


def save_game(path: Path | str, game: GameRecord, *, overwrite: bool = False) -> None:
    """Write a game; the name's ending, .psq or .sgf, chooses the format.

    Raises:
        PositionError: another ending, the file exists and `overwrite` is false, or it cannot be written. An
            existing file stays as it was.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise PositionError(f"{path}: the name must end in {' or '.join(SUFFIXES)}")
    text = to_psq(game) if suffix == ".psq" else to_sgf(game)
    try:
        if overwrite:
            temporary = path.with_name(path.name + ".tmp")
            temporary.write_text(text, encoding="utf-8")
            os.replace(temporary, path)
        else:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except FileExistsError:
        raise PositionError(f"{path} exists already; nothing was written") from None
    except (OSError, ValueError) as error:
        raise PositionError(f"cannot write {path}: {_why(error)}") from error


def playable_point(board: Board, x: int, y: int, who: str) -> int:
    """Return the point of a recorded move of the side to move.

    Raises:
        PositionError: it cannot be played; the message begins with `who`.
    """
    try:
        point = point_of(x, y, board.width, board.height)
    except ValueError as error:
        raise PositionError(f"{who}: {error}") from error
    where = format_move(point, board.width)
    if board.winner != EMPTY:
        raise PositionError(f"{who} at {where}: {_COLOURS[board.winner]} has already won")
    if board.cell(point) != EMPTY:
        raise PositionError(f"{who}: {where} is taken")
    if board.to_move == 0 and board.is_forbidden(point):
        raise PositionError(f"{who}: {where} is forbidden to black under renju")
    return point


class _Replay:
    """Plays a record's moves on a board; refuses the first that cannot be played, naming its line."""

    def __init__(self, width: int, height: int, rule: int, line: int) -> None:
        try:
            self.board = Board(width, height, int(rule))
        except ValueError as error:
            raise PositionError(f"line {line}: {error}") from error
        self.points: list[int] = []
        self.times_ms: list[float] = []

    def place(self, x: int, y: int, ms: float, line: int) -> None:
        board = self.board
        point = playable_point(board, x, y, f"line {line}: move {len(self.points) + 1}")
        board.place(point)
        self.points.append(point)
        self.times_ms.append(max(0.0, ms))

    def record(self, names: tuple[str, str]) -> GameRecord:
        board = self.board
        game = GameRecord(board.width, board.height, board.rule, 0, names, self.points, self.times_ms)
        game.winner = board.winner
        if board.winner == EMPTY:
            game.reason = UNFINISHED if board.n_empty else "draw"
        else:
            game.reason = "five"
        return game


def _sgf_start(head: dict[str, str], rule: int, line: int) -> _Replay:
    """Make the empty board that the properties of an SGF root describe."""
    if head.get("GM", "4").strip() != "4":
        raise PositionError(f"line {line}: GM {head['GM'][:20]!r} is another game; gomoku is GM[4]")
    size = _SGF_SIZE.fullmatch(head.get("SZ", "").strip())
    if size is None:
        raise PositionError(f"line {line}: {head.get('SZ', '')[:20]!r} is no board size (SZ)")
    named = head.get("RU", "").strip()
    try:
        if re.fullmatch(r"[0-9]{1,4}", named):
            rule = rule_from_mask(int(named))
        elif named:
            rule = Rule[named.upper().replace("-", "_")]
    except (ValueError, KeyError):
        raise PositionError(f"line {line}: unknown rule {named[:20]!r} (RU)") from None
    return _Replay(int(size[1]), int(size[2] or size[1]), rule, line)


def _sgf_properties(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield (name, value, line) along the main line: the first branch wherever the game splits.

    Raises:
        PositionError: the text breaks off, or is no SGF.
    """
    for name, value, line in sgf_tokens(text):
        if name == ")":
            return  # the end of the first branch
        if name not in ("(", ";"):
            yield name, value, line


def sgf_tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield the pieces of an SGF text from its first parenthesis on, each with its line.

    Yields:
        (name, value, line) for each value of a property; "(", ")" and ";" as names without a value.

    Raises:
        PositionError: the text breaks off before the end of its first game, or is no SGF.
    """
    name = ident = ""
    after_value = False
    depth = 0
    at = text.index("(")
    line = 1 + text.count("\n", 0, at)
    while at < len(text):
        char = text[at]
        if char == "[":
            started = line
            value = []
            at += 1
            while at < len(text) and text[at] != "]":
                if text[at] == "\\":
                    at += 1
                if at < len(text):
                    line += text[at] == "\n"
                    value.append(text[at])
                at += 1
            if at >= len(text):
                raise PositionError(f"line {started}: a `[` is never closed")
            name = ident or name
            ident = ""
            if not name:
                raise PositionError(f"line {started}: a value without a property")
            after_value = True
            yield name, "".join(value), started
        elif char in "();":
            depth += {"(": 1, ")": -1}.get(char, 0)
            yield char, "", line
            if depth <= 0:
                return
            name = ident = ""
            after_value = False
        elif char.isascii() and char.isalpha():
            if after_value:
                after_value, name = False, ""
            ident += char if char.isupper() else ""
        elif char == "\n":
            line += 1
        elif not char.isspace():
            raise PositionError(f"line {line}: unexpected {char!r}")
        at += 1
    raise PositionError(f"line {line}: the game breaks off; its last `)` is missing")


def sgf_text(value: str) -> str:
    """Return a text as the value of an SGF property."""
    return value.replace("\\", "\\\\").replace("]", "\\]")


def _one_line(name: str) -> str:
    return " ".join(name.split()) or "?"


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
