"""Finished games as text: Piskvork's .psq and SGF."""

from __future__ import annotations

from engine.rules._board import EMPTY
from training.referee import PlayedGame

_PSQ_CODES = {"time": 15, "illegal": -2, "forbidden": -2, "crash": -2, "start": -2}  # protocol: Piskvork


def to_psq(game: PlayedGame) -> str:
    """Return the game in Piskvork's format: 1-based `x,y,ms` a move, then names, then a result code."""
    rows = [f"Piskvorky {game.width}x{game.height}, 11:11, 0"]
    for point, ms in zip(game.points, game.times_ms, strict=True):
        rows.append(f"{point % game.width + 1},{point // game.width + 1},{ms:.0f}")
    rows += [*game.names, str(_PSQ_CODES.get(game.reason, 0))]
    return "\n".join(rows) + "\n"


def to_sgf(game: PlayedGame) -> str:
    """Return the game as SGF (GM[4]); coordinates are two letters, x then y, from the top left."""
    result = "0" if game.winner == EMPTY else ("B+" if game.winner == 0 else "W+")
    if game.incident:
        result += {"time": "T", "forbidden": "F", "illegal": "F"}.get(game.reason, "F")
    elif game.winner != EMPTY:
        result += "1"
    size = str(game.width) if game.width == game.height else f"{game.width}:{game.height}"
    head = f"(;FF[4]GM[4]SZ[{size}]RU[{game.rule}]PB[{_text(game.names[0])}]PW[{_text(game.names[1])}]"
    head += f"RE[{result}]TE[{game.reason}]" + (f"GC[{_text(game.text)}]" if game.text else "")
    moves = []
    for ply, (point, ms) in enumerate(zip(game.points, game.times_ms, strict=True)):
        x, y = point % game.width, point // game.width
        comment = "opening move" if ply < game.opening_stones else f"{ms:.0f}ms"
        moves.append(f";{'BW'[ply % 2]}[{chr(97 + x)}{chr(97 + y)}]C[{comment}]")
    return head + "\n" + "\n".join(moves) + ")\n"


def _text(value: str) -> str:
    return value.replace("\\", "\\\\").replace("]", "\\]")
