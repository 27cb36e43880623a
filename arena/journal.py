"""The finished games of a match in one file, a line each, so that a stopped match can continue.

The first line says which match it is; a file of another match is refused. A last line that was cut off by a
crash is dropped; anything else that is damaged is an error, since games would be lost or counted twice.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import IO, Any

from arena.timing_lock import try_lock
from engine.errors import PositionError
from engine.games.record import GameRecord
from engine.rules._board import EMPTY, MAX_SIDE, MIN_SIDE
from engine.rules.geometry import format_moves, parse_moves
from engine.rules.rule import Rule

VERSION = 1
_KEY = "tengen_match"


class GameJournalError(ValueError):
    """A file of games cannot be continued; the message names it and says why."""


class GameJournal:
    """Games by their index in the match. Not thread-safe."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        """Begin a file, or continue with one.

        Args:
            path: the file; made with its first line if it is missing.
            settings: what makes the match; plain JSON data.

        Raises:
            GameJournalError: the file is damaged, belongs to another match, or another process writes it.
            OSError: it cannot be read or written.
        """
        self.path = path
        self.games: dict[int, GameRecord] = {}
        settings = json.loads(json.dumps(settings))
        self._file: IO[bytes] = open(path, "a+b")  # noqa: SIM115 - closed by close
        try:
            if not try_lock(self._file):
                raise GameJournalError(f"{path}: another process plays this match")
            self._file.seek(0)
            data = self._file.read()
            keep = 0
            if data:
                _, self.games, keep = _parse(path, data, settings)
            self._file.truncate(keep)
        except BaseException:
            self._file.close()
            raise
        if not keep:
            self._write({_KEY: VERSION, "settings": settings})

    def add(self, index: int, game: GameRecord) -> None:
        """Write a finished game."""
        self.games[index] = game
        self._write(_to_line(index, game))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        self._file.flush()


def read_journal(path: Path) -> tuple[dict[str, Any], dict[int, GameRecord]]:
    """Return the settings of a match and its finished games by their index, whichever match it was.

    The settings have a rule and a size that the kernel plays. The moves are on the board, no more is checked.

    Raises:
        GameJournalError: the file is none, or damaged.
        OSError: it cannot be read.
    """
    settings, games, _ = _parse(path, path.read_bytes(), None)
    try:
        Rule(settings["rule"])
        if not all(MIN_SIDE <= int(side) <= MAX_SIDE for side in settings["size"]):
            raise ValueError(f"a board of {settings['size']}")
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise GameJournalError(f"{path} is no file of a match, or is damaged: {error}") from error
    return settings, games


def _parse(
    path: Path, data: bytes, expected: dict[str, Any] | None
) -> tuple[dict[str, Any], dict[int, GameRecord], int]:
    """Return settings and games of a file, and how many of its bytes are whole lines.

    Args:
        expected: settings of the match that the file must be of; None: of any.
    """
    whole = data.rfind(b"\n") + 1
    settings, games = expected or {}, {}
    for number, line in enumerate(data[:whole].splitlines(), 1):
        try:
            found = json.loads(line)
            if number > 1:
                index, game = _from_line(found, settings)
                games[index] = game
            else:
                settings = _settings(path, found, expected)
        except GameJournalError:
            raise
        except (ValueError, LookupError, TypeError, OverflowError, RecursionError, PositionError) as error:
            raise GameJournalError(f"{path}, line {number} is damaged: {error}") from error
    return settings, games, whole


def _settings(path: Path, head: dict[str, Any], expected: dict[str, Any] | None) -> dict[str, Any]:
    if head[_KEY] != VERSION:
        raise GameJournalError(f"{path} is of version {head[_KEY]}, not {VERSION}")
    found: dict[str, Any] = head["settings"]
    if expected is not None:
        for key in sorted(found.keys() | expected.keys()):
            if found.get(key) != expected.get(key):
                was, now = (shortened(side.get(key)) for side in (found, expected))
                raise GameJournalError(
                    f"{path} holds games of another match: {key} was {was}, not {now}; name another file"
                )
    return found


def shortened(value: object, most: int = 60) -> str:
    """Return a setting as text for a message; of a long one, such as all openings, the beginning."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."


def _to_line(index: int, game: GameRecord) -> dict[str, Any]:
    return {
        "n": index, "moves": format_moves(game.points, game.width), "opening": game.opening_stones,
        "ms": [round(ms) for ms in game.times_ms], "winner": game.winner, "reason": game.reason,
        "text": game.text, "names": list(game.names),
    }  # fmt: skip


def _from_line(line: dict[str, Any], settings: dict[str, Any]) -> tuple[int, GameRecord]:
    width, height = (int(side) for side in settings["size"])
    black, white = (str(name) for name in line["names"])
    points = parse_moves(line["moves"], width, height)
    times_ms = [float(ms) for ms in line["ms"]]
    opening, winner, index = int(line["opening"]), int(line["winner"]), int(line["n"])
    if len(times_ms) != len(points) or not 0 <= opening <= len(points) or winner not in (0, 1, EMPTY):
        raise ValueError("moves, times and winner do not fit each other")
    if index < 0:
        raise ValueError(f"game {index}")
    game = GameRecord(width, height, settings["rule"], opening, (black, white), points, times_ms)
    game.winner, game.reason, game.text = winner, str(line["reason"]), str(line["text"])
    return index, game


def journal_of(json_path: Path) -> Path:
    """Return the file of games next to a result file."""
    return json_path.with_name(json_path.stem + ".games" + os.extsep + "jsonl")


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all, also after a crash.

    Raises:
        OSError: disk full or no permission; no half file is left behind.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
