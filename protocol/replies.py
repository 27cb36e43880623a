"""From answers to lines of text. Pure; every line is printable ASCII, without its line end."""

from __future__ import annotations

import math
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
UNITS_A_LEAD = 400.0
"""Units of evaluation of Rapfi and Yixin to a utility of tanh(1): 100 are a small lead, 62 % of the points
(protocol, see `evaluation`)."""
MAX_Q = 0.999999
"""Largest utility of a position that is not proven (derived: 2,901 units)."""
MAX_LINE = 20
"""Moves of an expected line that are told (derived: a line of text holds them)."""


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


def evaluation(q: float, proven: str | None, distance: int | None) -> str:
    """Return a utility in the units of Rapfi and Yixin, or their mate score.

    A win has the probability 1 / (1 + exp(-ev / 200)) there (https://github.com/dhbloo/rapfi, `config.cpp`),
    which is the utility tanh(ev / 400). A win in 7 plies is `+M7`, a loss in 4 plies `-M4`.

    Args:
        q: utility for the side to move, [-1, 1].
        proven: "win", "loss", "draw" or None.
        distance: plies to the proven end, None where unknown.
    """
    if proven in ("win", "loss"):
        return f"{'+' if proven == 'win' else '-'}M{distance or 1}"
    return str(round(UNITS_A_LEAD * math.atanh(max(-MAX_Q, min(MAX_Q, q)))))


def verdict(proven: str | None, distance: int | None) -> str:
    """Return `win in 7`, `loss in 4`, `draw` or nothing."""
    if not proven:
        return ""
    return f"{proven} in {distance}" if distance else proven


def count(number: int) -> str:
    """Return a number of simulations as Rapfi shortens it: `9999`, `12.3K`, `1.50M`."""
    if number < 10_000:
        return str(number)
    return f"{number / 1000:.1f}K" if number < 1_000_000 else f"{number / 1_000_000:.2f}M"


def summary(result: SearchResult, names: Notation) -> list[str]:
    """Return the two MESSAGE lines about a search: our own numbers, then the line that clients parse.

    The second line is that of Rapfi and Yixin. Clients such as pygomo-lib keep the last one before the move.
    Chances in the first one are in per cent, a draw counts as half a win.
    """
    win, draw, _ = result.wdl
    depth = (round(result.depth_mean), result.depth_max)
    if result.simulations == 0:
        numbers = [result.stop_reason]
        depth = (len(result.pv), len(result.pv))
    else:
        rate = result.simulations / result.elapsed_s if result.elapsed_s > 0 else 0.0
        numbers = [f"winrate {100 * (win + 0.5 * draw):.1f}", f"drawrate {100 * draw:.1f}", f"n/s {rate:.0f}"]
    numbers.append(verdict(result.proven, result.distance))
    return _messages(
        " ".join(filter(None, numbers)),
        f"depth {depth[0]}-{depth[1]} ev {evaluation(result.q, result.proven, result.distance)} "
        f"{_effort(result)} pv {names.names(result.pv[:MAX_LINE] or (result.point,))}",
    )


def best_list(result: SearchResult, names: Notation, n: int) -> list[str]:
    """Return a MESSAGE for each of the n best moves, as far as the search has looked at them.

    In the form of Rapfi's tree search: `w` and `d` are the chances of a win (a draw counts as half) and of a
    draw in per cent, `stdev` that of the result, `v` the visits of this move, `prior` that of the net.
    """
    known = [move for i, move in enumerate(result.candidates) if i == 0 or move.visits or move.proven]
    texts = []
    for rank, move in enumerate(known[:n], 1):
        win, draw, loss = move.wdl
        stdev = math.sqrt(max(0.0, win + loss - (win - loss) ** 2))
        texts.append(
            f"multipv {rank} ev {evaluation(move.q, move.proven, move.distance)} w {50 + 50 * move.q:.2f} "
            f"d {100 * draw:.2f} stdev {stdev:.2f} v {count(move.visits)} seldepth {len(move.pv)} "
            f"{_effort(result)} prior {move.prior:.2f} pv {names.names(move.pv[:12] or (move.point,))}"
        )
    return _messages(*texts)


def _effort(result: SearchResult) -> str:
    """Return simulations, simulations a ms and ms of a search."""
    elapsed_ms = 1000 * result.elapsed_s
    rate = result.simulations / elapsed_ms if elapsed_ms > 0 else 0.0
    return f"n {count(result.simulations)} n/ms {rate:.0f} tm {elapsed_ms:.0f}"


def _messages(*texts: str) -> list[str]:
    return [line for line in map(message, texts) if line]


def detail(result: SearchResult, names: Notation, shown: Sequence[int]) -> list[str]:
    """Return the lines by which the fork of Yixin-Board writes the chances of moves on their cells.

    Args:
        result: the search so far.
        names: what the manager calls a point.
        shown: points of the candidates, best first.
    """
    by_point = {move.point: move for move in result.candidates}
    lines = []
    for i, point in enumerate(shown):
        move = by_point[point]
        lines += [
            f"INFO PV {i}",
            f"INFO NUMPV {len(shown)}",
            f"INFO DEPTH {result.depth_max}",
            f"INFO NODES {move.visits}",
            f"INFO TOTALNODES {result.simulations}",
            f"INFO EVAL {evaluation(move.q, move.proven, move.distance)}",
            f"INFO WINRATE {0.5 + 0.5 * move.q:.3f}",
            clean(f"INFO BESTLINE {moves(map(names.pair, move.pv or (point,)))}"),
            "INFO PV DONE",
        ]
    return lines


def realtime(result: SearchResult, names: Notation, shown: Sequence[int]) -> list[str]:
    """Return the lines by which Yixin-Board marks the board while the engine thinks.

    Args:
        result: the search so far.
        names: what the manager calls a point.
        shown: points of the candidates, best first.
    """
    lost = {move.point for move in result.candidates if move.proven == "loss"}
    lines = ["MESSAGE REALTIME REFRESH"]
    lines += [
        f"MESSAGE REALTIME {'LOSE' if point in lost else 'POS'} {moves([names.pair(point)])}"
        for point in shown
    ]
    lines.append(f"MESSAGE REALTIME BEST {moves([names.pair(result.point)])}")
    lines.append(f"MESSAGE REALTIME VAL {100 * (result.wdl[0] + 0.5 * result.wdl[1]):.0f}")
    if result.pv:
        lines.append(clean("MESSAGE REALTIME PV " + names.names(result.pv[:MAX_LINE])))
    return lines
