"""Lines of text for managers and their users. Imports nothing heavy.

Every line is printable ASCII, short and never empty. A cell is a point inside of the brain, index
y * width + x from the top left.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from protocol import __version__

if TYPE_CHECKING:
    from engine import SearchResult
    from engine.search.result import MoveStats

LINE_CAP = 240
"""Longest line that is sent (protocol: managers cut or lose what is longer than about 250)."""
UNITS_A_LEAD = 400.0
"""Units of evaluation of Rapfi and Yixin to a utility of tanh(1): 100 are a small lead, 62 % of the points
(protocol, see `evaluation`)."""
MAX_Q = 0.999999
"""Largest utility of a position that is not proven (derived: 2,901 units)."""
MAX_LINE = 20
"""Moves of an expected line that are told (derived: a line of text holds them)."""
MAX_SHOWN = 10
"""Candidates that are shown while the brain thinks (tuned: what a person reads)."""
REALTIME, DETAIL = 1, 2
"""Bits of show_detail: marks on the board of Yixin-Board, values on that of its fork (protocol)."""
PLAY_OPTIONS = (("--play", "a game at the terminal"), ("--board", "a board in the browser"))
"""Options by which a person plays, and what they begin."""

RowsFrom = Literal["top", "bottom"]
"""Side of the board that has row 1 in the name of a cell: `top` as Rapfi writes lines of moves and as clients
read them, `bottom` as the labels of Yixin-Board's board and as players of renju count (protocol)."""


# --- lines --------------------------------------------------------------------------------------------------


def clean(text: str, cap: int = LINE_CAP) -> str:
    """Return text as one line of printable ASCII of at most `cap` characters."""
    return "".join(c if " " <= c <= "~" else "?" for c in " ".join(text.split()))[:cap].rstrip()


def error(reason: str) -> str:
    """Say that a known command cannot be carried out."""
    return clean(f"ERROR {reason}")


def message(text: str) -> str | None:
    """Return a MESSAGE line for the user, None for an empty text (protocol: no bare MESSAGE)."""
    text = clean(text, LINE_CAP - len("MESSAGE "))
    return f"MESSAGE {text}" if text else None


def messages(*texts: str) -> list[str]:
    """Return MESSAGE lines for the user, without empty ones."""
    return [line for line in map(message, texts) if line]


def coordinates(pairs: Iterable[tuple[int, int]]) -> str:
    """Return points as `7,7 8,8`."""
    return " ".join(f"{a},{b}" for a, b in pairs)


# --- names of cells -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Notation:
    """What a manager calls the cells of a board: a pair of numbers in commands, a name in messages.

    Attributes:
        width, height: cells.
        rows_first: whether a pair is row,column (Yixin) instead of column,row.
        rows_from: side of row 1 in the name of a cell.
    """

    width: int
    height: int
    rows_first: bool = False
    rows_from: RowsFrom = "top"

    def point(self, a: int, b: int) -> int | None:
        """Return the point that the manager calls a,b, or None off the board."""
        x, y = (b, a) if self.rows_first else (a, b)
        return y * self.width + x if 0 <= x < self.width and 0 <= y < self.height else None

    def pair(self, point: int) -> tuple[int, int]:
        """Return what the manager calls a point in a command or an answer."""
        x, y = point % self.width, point // self.width
        return (y, x) if self.rows_first else (x, y)

    def name(self, point: int) -> str:
        """Return what a person sees a point called, as `h8`."""
        x, y = point % self.width, point // self.width
        row = self.height - y if self.rows_from == "bottom" else y + 1
        return f"{chr(ord('a') + x)}{row}"

    def names(self, points: Iterable[int]) -> str:
        """Return the names of points with blanks between them."""
        return " ".join(self.name(point) for point in points)


def notation(dialect: str, width: int, height: int, rows_from: RowsFrom | None = None) -> Notation:
    """Return the names of cells as the managers of a dialect have them.

    Args:
        dialect: `gomocup` or `yixin`.
        width, height: of the board.
        rows_from: side of row 1 in names; None: bottom for `yixin`, else top.
    """
    yixin = dialect == "yixin"
    return Notation(width, height, rows_first=yixin, rows_from=rows_from or ("bottom" if yixin else "top"))


# --- what a search found ------------------------------------------------------------------------------------


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


def search_lines(result: SearchResult, names: Notation, listed: int, *, in_words: bool) -> list[str]:
    """Return the MESSAGE lines about a search.

    Args:
        result: of the search.
        names: what the manager calls a point.
        listed: how many of the best moves are told, 0: none.
        in_words: whether a person reads them in a narrow window, as in Yixin-Board, rather than a client.
    """
    best = (best_words if in_words else best_list)(result, names, listed)
    return best + summary(result, names, line_apart=in_words)


def summary(result: SearchResult, names: Notation, *, line_apart: bool = False) -> list[str]:
    """Return the MESSAGE lines about a search: our own numbers, then the line that clients parse.

    The last line is that of Rapfi and Yixin. Clients such as pygomo-lib keep the last one before the move.
    Chances in the first one are in per cent, a draw counts as half a win.

    Args:
        result: of the search.
        names: what the manager calls a point.
        line_apart: whether the expected line also has a line of its own, for a narrow window.
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
    line = f"pv {names.names(result.pv[:MAX_LINE] or (result.point,))}"
    return messages(
        " ".join(filter(None, numbers)),
        line if line_apart else "",
        f"depth {depth[0]}-{depth[1]} ev {evaluation(result.q, result.proven, result.distance)} "
        f"{_effort(result)} {line}",
    )


def best_list(result: SearchResult, names: Notation, n: int) -> list[str]:
    """Return a MESSAGE for each of the n best moves, as far as the search has looked at them.

    In the form of Rapfi's tree search: `w` and `d` are the probabilities of a win (a draw counts as half) and
    of a draw in per cent, `stdev` that of the result, `v` the visits of this move, `prior` that of the net.
    """
    texts = []
    for rank, move in enumerate(_known(result)[:n], 1):
        win, draw, loss = move.wdl
        stdev = math.sqrt(max(0.0, win + loss - (win - loss) ** 2))
        texts.append(
            f"multipv {rank} ev {evaluation(move.q, move.proven, move.distance)} w {50 + 50 * move.q:.2f} "
            f"d {100 * draw:.2f} stdev {stdev:.2f} v {count(move.visits)} seldepth {len(move.pv)} "
            f"{_effort(result)} prior {move.prior:.2f} pv {names.names(move.pv[:12] or (move.point,))}"
        )
    return messages(*texts)


def best_words(result: SearchResult, names: Notation, n: int) -> list[str]:
    """Return the same in words, for the log of Yixin-Board, which a person reads."""
    return messages(
        *(
            f"best {rank} {names.name(move.point)} winrate {50 + 50 * move.q:.1f} n {move.visits} "
            f"{verdict(move.proven, move.distance)} pv {names.names(move.pv[:12])}"
            for rank, move in enumerate(_known(result)[:n], 1)
        )
    )


def _known(result: SearchResult) -> list[MoveStats]:
    """Return the candidates that the search has looked at, best first."""
    return [move for i, move in enumerate(result.candidates) if i == 0 or move.visits or move.proven]


def _effort(result: SearchResult) -> str:
    """Return simulations, simulations a ms and ms of a search."""
    elapsed_ms = 1000 * result.elapsed_s
    rate = result.simulations / elapsed_ms if elapsed_ms > 0 else 0.0
    return f"n {count(result.simulations)} n/ms {rate:.0f} tm {elapsed_ms:.0f}"


def progress_lines(result: SearchResult, names: Notation, show_detail: int) -> list[str]:
    """Return the lines about a search that continues, as the bits of `INFO show_detail` ask for.

    Args:
        result: the search so far.
        names: what the manager calls a point.
        show_detail: bits REALTIME and DETAIL.
    """
    shown = [move.point for move in result.candidates[:MAX_SHOWN] if move.visits > 0]
    lines = _realtime(result, names, shown) if show_detail & REALTIME else []
    return lines + (_detail(result, names, shown) if show_detail & DETAIL else [])


def _realtime(result: SearchResult, names: Notation, shown: list[int]) -> list[str]:
    """Return the lines by which Yixin-Board marks the board."""
    lost = {move.point for move in result.candidates if move.proven == "loss"}
    lines = ["MESSAGE REALTIME REFRESH"]
    for point in shown:
        kind = "LOSE" if point in lost else "POS"
        lines.append(f"MESSAGE REALTIME {kind} {coordinates([names.pair(point)])}")
    lines.append(f"MESSAGE REALTIME BEST {coordinates([names.pair(result.point)])}")
    lines.append(f"MESSAGE REALTIME VAL {100 * (result.wdl[0] + 0.5 * result.wdl[1]):.0f}")
    if result.pv:
        lines.append(clean("MESSAGE REALTIME PV " + names.names(result.pv[:MAX_LINE])))
    return lines


def _detail(result: SearchResult, names: Notation, shown: list[int]) -> list[str]:
    """Return the lines by which the fork of Yixin-Board writes the values of moves on their cells."""
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
            clean(f"INFO BESTLINE {coordinates(map(names.pair, move.pv or (point,)))}"),
            "INFO PV DONE",
        ]
    return lines


# --- for a person at a terminal -----------------------------------------------------------------------------


def greeting(program: str) -> list[str]:
    """Return two lines: what this is, and what a person will want instead."""
    ways = "; ".join(f"`{program} {option}` is {what}" for option, what in PLAY_OPTIONS)
    return messages(
        f"Tengen {__version__}, a gomoku brain: it waits for commands of a manager such as Piskvork.",
        f"To play: {ways}. Here `help` and `quit` work.",
    )


def help_lines(program: str) -> list[str]:
    """Return what can be typed."""
    return messages(
        "START 15 puts up a board, BEGIN lets the brain open, TURN 7,7 plays there (column,row from 0).",
        "INFO timeout_turn 1000 gives it a second a move, INFO rule 4 is renju, ABOUT says who it is.",
        "These are the commands of the Gomocup protocol, https://plastovicka.github.io/protocl2en.htm",
        *(f"{program} {option} begins {what}." for option, what in PLAY_OPTIONS),
        f"{program} --help lists the options. quit, END or Ctrl-D leaves.",
    )
