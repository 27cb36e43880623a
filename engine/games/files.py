"""Games from files and texts of every form that Tengen reads, and into files.

Forms: SGF, Piskvork's .psq, RenLib's .lib, and moves as people paste them.
"""

from __future__ import annotations

import os
from pathlib import Path

from engine.errors import PositionError
from engine.games.decode import Detector, decode
from engine.games.paste import MAX_TEXT, begins_with_move, read_pasted
from engine.games.psq import is_psq, read_psq, to_psq
from engine.games.record import GameRecord, Note
from engine.games.renlib import is_renlib, read_renlib
from engine.games.sgf import read_sgf, tree_to_sgf
from engine.games.sgf_text import damage, find_sgf
from engine.games.tree import GameTree, line_tree
from engine.rules.rule import Rule

SUFFIXES = (".psq", ".sgf")
"""Endings of the files that are written."""
MAX_FILE_BYTES = 1 << 20
"""Larger files are no game (derived: a full 22x22 board with comments takes 40 kB)."""
FORMS = "SGF (`(;`), a .psq record (`Piskvorky WxH`), a RenLib library or moves such as h8 h9 i8"


def read_tree(
    data: bytes | str,
    rule: int = Rule.FREESTYLE,
    width: int = 15,
    height: int = 15,
    *,
    detect: Detector | None = None,
    from_bottom: bool = False,
) -> GameTree:
    """Read a game in whichever form, with its variations, and check every move.

    Args:
        data: content of a file, or a text that was pasted.
        rule, width, height: of the game where it does not say.
        detect: guesses the encoding of bytes that do not name it; see `engine.games.decode`.
        from_bottom: whether pasted moves count rows from the bottom.

    Raises:
        PositionError: none of the forms, an impossible size, or a move that cannot be played; the message
            is one line and names the line of the file.
    """
    if isinstance(data, bytes):
        if is_renlib(data):
            return read_renlib(data, rule, detect)
        decoded = decode(data, detect, text_damage)
        text, notes = decoded.text, decoded.notes
    else:
        text, notes = data.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"), ()
    tree = _read_text(text, rule, width, height, from_bottom)
    tree.record.notes[:0] = notes
    if len(tree.nodes) == 1:
        tree.record.notes.append(Note("the game has no moves", code="no_moves"))
    return tree


def read_game(data: bytes | str, rule: int = Rule.FREESTYLE, detect: Detector | None = None) -> GameRecord:
    """Read the main line of a game; see `read_tree`."""
    return read_tree(data, rule, detect=detect).record


def is_game(text: str) -> bool:
    """Return whether a text is a saved game, not a row of moves or a drawing."""
    return is_psq(text) or find_sgf(text) is not None


def load_tree(
    path: Path | str, rule: int = Rule.FREESTYLE, width: int = 15, height: int = 15, *,
    detect: Detector | None = None, from_bottom: bool = False,
) -> GameTree:  # fmt: skip
    """Read a game from a file, whatever its name; see `read_tree`.

    Raises:
        PositionError: the file cannot be read or holds no playable game; the message names the file.
    """
    path = Path(path)
    data = read_bytes(path)
    try:
        return read_tree(data, rule, width, height, detect=detect, from_bottom=from_bottom)
    except PositionError as error:
        raise PositionError(f"{path}: {error}") from error


def load_game(path: Path | str, rule: int = Rule.FREESTYLE, *, detect: Detector | None = None) -> GameRecord:
    """Read the main line of a game from a file; see `load_tree`."""
    return load_tree(path, rule, detect=detect).record


def read_bytes(path: Path) -> bytes:
    """Return the content of a file that may hold a game.

    Raises:
        PositionError: it cannot be read or is too large; the message names it.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise PositionError(f"cannot read {path}: {_why(error)}") from error
    if len(data) > MAX_FILE_BYTES:
        raise PositionError(f"{path}: too large for a game; at most {MAX_FILE_BYTES >> 20} MiB are read")
    return data


def save_game(path: Path | str, game: GameRecord | GameTree, *, overwrite: bool = False) -> None:
    """Write a game; the name's ending, .psq or .sgf, chooses the format. A .psq holds the main line alone.

    Raises:
        PositionError: another ending, the file exists and `overwrite` is false, or it cannot be written. An
            existing file stays as it was.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise PositionError(f"{path}: the name must end in {' or '.join(SUFFIXES)}")
    tree = line_tree(game) if isinstance(game, GameRecord) else game
    text = to_psq(tree.record) if suffix == ".psq" else tree_to_sgf(tree)
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


def _read_text(text: str, rule: int, width: int, height: int, from_bottom: bool) -> GameTree:
    if is_psq(text):
        return read_psq(text, rule, width, height)
    if find_sgf(text) is not None:
        return read_sgf(text, rule, width, height)
    if not text.strip():
        raise PositionError("no game: it is empty", code="empty_file")
    try:
        return read_pasted(text, rule, width, height, from_bottom=from_bottom)
    except PositionError as error:
        if begins_with_move(text) and len(text) <= MAX_TEXT:
            raise
        raise PositionError(f"no game: expected {FORMS} ({error})", code="no_game") from error


def text_damage(text: str) -> int:
    """Return how damaged a decoded file looks; only SGF can be, since its brackets are bytes of letters."""
    return damage(text) if find_sgf(text) is not None and not is_psq(text) else 0


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
