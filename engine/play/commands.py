"""Parser of what a person types: text -> Command. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from engine.errors import PositionError
from engine.games.paste import read_moves

HELP = (
    ("h8, h 8, 7,7", "play there"),
    ("hint", "show a good move"),
    ("undo", "take your move back"),
    ("resign", "give the game up"),
    ("draw", "offer a draw"),
    ("a [SECONDS]", "best moves"),
    ("analyse all", "look back at it all"),
    ("level N [M]", "1 to 10"),
    ("time SECONDS", "for a move"),
    ("colour C", "black, white, both"),
    ("", "or none: just watch"),
    ("go", "engine plays on"),
    ("save FILE", ".psq or .sgf"),
    ("save! FILE", "replaces the file"),
    ("load FILE", "a saved game"),
    ("new 20 renju", "size, rule, swap2"),
    ("size 20", "a new game on it"),
    ("rule renju", "a new game under it"),
    ("rows bottom", "where row 1 is"),
    ("yes, no", "when you are asked"),
    ("board", "draw again"),
    ("quit", "or Ctrl-D"),
    ("Ctrl-C", "the engine moves now"),
)
"""Every command with a few words, as narrow as the panel next to a 20x20 board on 80 columns."""

_NAMES = {
    "?": "help", "help": "help", "hint": "hint", "undo": "undo", "u": "undo", "a": "analyse",
    "analyse": "analyse", "analyze": "analyse", "review": "review", "level": "level", "time": "time",
    "colour": "colour", "color": "colour", "go": "go", "save": "save", "save!": "save!", "load": "load",
    "new": "new", "board": "board", "quit": "quit", "exit": "quit", "q": "quit", "black": "black",
    "white": "white", "resign": "resign", "draw": "draw", "size": "size", "rule": "rule", "yes": "yes",
    "y": "yes", "no": "no", "n": "no", "rows": "rows",
}  # fmt: skip
_BARE = frozenset(
    {"help", "hint", "undo", "review", "go", "board", "quit", "black", "white", "resign", "draw", "yes", "no"}
)
THROWS_AWAY = frozenset({"new", "size", "rule", "load", "quit"})
"""Commands that end a game which may not be finished; the session asks first."""
FILES = frozenset({"save", "save!", "load"})
"""Commands with the name of a file, which is kept as it was typed."""
_APART = re.compile(r"(?:[a-z]\s+[0-9]{1,2}\s*)+", re.ASCII)
"""Moves with a blank inside, as `h 9`."""
_SHOWN = 24  # characters of bad input that a message repeats


@dataclass(frozen=True, slots=True)
class Command:
    """One line: `name` is "" for an empty one, "move" for points, else a command of HELP."""

    name: str
    argument: str = ""
    points: tuple[int, ...] = ()


def parse_command(text: str, width: int, height: int, *, from_bottom: bool = False) -> Command:
    """Read one line. `a 9` is an analysis of nine seconds, other letters with a blank behind are moves.

    Args:
        text: what was typed.
        width, height: of the board that moves are on.
        from_bottom: whether row 1 is the lowest.

    Raises:
        PositionError: neither a command nor moves on the board; the message fits on one line.
    """
    text = "".join(c if c.isprintable() else " " for c in text).strip()
    if not text:
        return Command("")
    word, _, argument = text.partition(" ")
    argument = argument.strip()
    name = _NAMES.get(_plain(word))
    if _APART.fullmatch(_plain(text)) and name != "analyse":
        text, name = "".join(text.split()), None
    if name == "analyse" and _plain(argument) == "all":
        return Command("review")
    if name in _BARE and argument:
        raise PositionError(f"{name} takes nothing behind it, not {_short(argument)}")
    if name is not None:
        kept = argument if name in FILES else unicodedata.normalize("NFKC", argument)
        return Command(name, _unquoted(kept))
    try:
        return Command("move", points=tuple(read_moves(text, width, height, from_bottom=from_bottom)))
    except PositionError as error:
        if "is off the" in str(error):
            raise
        raise PositionError(
            f"{_short(text)} is no move and no command; a move is h8 or 7,7, `help` lists the rest"
        ) from error


def _plain(text: str) -> str:
    """Return a text in small letters, with full-width letters and digits as others."""
    return unicodedata.normalize("NFKC", text).lower()


def _unquoted(argument: str) -> str:
    if len(argument) > 1 and argument[0] == argument[-1] and argument[0] in "'\"":
        return argument[1:-1]
    return argument


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
