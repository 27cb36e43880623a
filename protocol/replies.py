"""From answers to lines of text. Pure; every line is printable ASCII, without its line end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from engine.rules._board import MAX_SIDE, MIN_SIDE
from protocol import __version__
from protocol.notation import Notation
from protocol.text import clean, error, message

if TYPE_CHECKING:
    from engine import SearchResult

OK = "OK"
SWAP: Literal["SWAP"] = "SWAP"
PROTOCOL_VERSION = "1,0"
"""Of AlphaGomoku's extended protocol (protocol)."""


def bad_size(width: int, height: int) -> str:
    """Refuse a board size. The text names 20, at which Piskvork offers to change to 20 x 20."""
    return error(f"no board of {width}x{height}: sides from {MIN_SIDE} to {MAX_SIDE} are possible, as 20")


def about() -> str:
    """Introduce the brain."""
    return f'name="Tengen", version="{__version__}", author="Tengen maintainers", country="International"'


def moves(pairs: Iterable[tuple[int, int]]) -> str:
    """Return one move, or several of the swap2 opening."""
    return " ".join(f"{a},{b}" for a, b in pairs)


def forbid(pairs: Iterable[tuple[int, int]]) -> str:
    """List forbidden points as Yixin does: two digits a number, no separators, a full stop."""
    return "FORBID " + "".join(f"{a:02d}{b:02d}" for a, b in pairs) + "."


def forbid_list(pairs: Iterable[tuple[int, int]]) -> str:
    """List forbidden points as AlphaGomoku's protocol does."""
    return f"FORBID {moves(pairs)}".rstrip()


def capabilities() -> list[str]:
    """Say what Yixin-Board may offer: search threads and the exponent of the hash size in KB."""
    return ["MESSAGE INFO MAX_THREAD_NUM 1", "MESSAGE INFO MAX_HASH_SIZE 21"]


def verdict(proven: str | None, distance: int | None) -> str:
    """Return `win in 7`, `loss in 4`, `draw` or nothing."""
    if not proven:
        return ""
    return f"{proven} in {distance}" if distance else proven


def summary(result: SearchResult, notation: Notation, *, narrow: bool = False) -> list[str]:
    """Return the MESSAGE that tells what a search found; two where the window of the manager is narrow."""
    line = "pv " + notation.names(result.pv[:20]) if result.pv else ""
    if result.simulations == 0:
        return _messages([result.stop_reason, verdict(result.proven, result.distance)], line, narrow=narrow)
    win, draw, _ = result.wdl
    rate = result.simulations / result.elapsed_s if result.elapsed_s > 0 else 0.0
    parts = [
        f"depth {result.depth_mean:.0f}-{result.depth_max}",
        f"winrate {100 * (win + 0.5 * draw):.1f}",
        f"drawrate {100 * draw:.1f}",
        verdict(result.proven, result.distance),
        f"n {result.simulations} n/s {rate:.0f} tm {1000 * result.elapsed_s:.0f}",
    ]
    return _messages(parts, line, narrow=narrow)


def _messages(parts: Sequence[str], line: str, *, narrow: bool) -> list[str]:
    numbers = " ".join(part for part in parts if part)
    texts = (numbers, line) if narrow else (f"{numbers} {line}",)
    return [text for text in map(message, texts) if text]


def best_list(result: SearchResult, notation: Notation, n: int) -> list[str]:
    """Return a MESSAGE for each of the n best moves, as far as the search has looked at them."""
    known = [move for i, move in enumerate(result.candidates) if i == 0 or move.visits or move.proven]
    lines = [
        message(
            f"best {rank} {notation.name(move.point)} winrate {50 + 50 * move.q:.1f} n {move.visits} "
            f"{verdict(move.proven, move.distance)} pv {notation.names(move.pv[:12])}"
        )
        for rank, move in enumerate(known[:n], 1)
    ]
    return [line for line in lines if line]


def detail(result: SearchResult, notation: Notation, shown: Sequence[int]) -> list[str]:
    """Return the lines by which the fork of Yixin-Board writes the chances of moves on their cells.

    Args:
        result: the search so far.
        notation: what the manager calls a point.
        shown: points of the candidates, best first.
    """
    by_point = {move.point: move for move in result.candidates}
    lines = []
    for i, point in enumerate(shown):
        move = by_point[point]
        mate = {"win": f"+M{move.distance or 1}", "loss": f"-M{move.distance or 1}"}
        lines += [
            f"INFO PV {i}",
            f"INFO NUMPV {len(shown)}",
            f"INFO DEPTH {result.depth_max}",
            f"INFO NODES {move.visits}",
            f"INFO TOTALNODES {result.simulations}",
            f"INFO EVAL {mate.get(move.proven or '', round(100 * move.q))}",
            f"INFO WINRATE {0.5 + 0.5 * move.q:.3f}",
            clean(f"INFO BESTLINE {moves(map(notation.pair, move.pv or (point,)))}"),
            "INFO PV DONE",
        ]
    return lines


def realtime(result: SearchResult, notation: Notation, shown: Sequence[int]) -> list[str]:
    """Return the lines by which Yixin-Board marks the board while the engine thinks.

    Args:
        result: the search so far.
        notation: what the manager calls a point.
        shown: points of the candidates, best first.
    """
    lost = {move.point for move in result.candidates if move.proven == "loss"}
    lines = ["MESSAGE REALTIME REFRESH"]
    lines += [
        f"MESSAGE REALTIME {'LOSE' if point in lost else 'POS'} {moves([notation.pair(point)])}"
        for point in shown
    ]
    lines.append(f"MESSAGE REALTIME BEST {moves([notation.pair(result.point)])}")
    lines.append(f"MESSAGE REALTIME VAL {100 * (result.wdl[0] + 0.5 * result.wdl[1]):.0f}")
    if result.pv:
        lines.append(clean("MESSAGE REALTIME PV " + notation.names(result.pv[:20])))
    return lines
