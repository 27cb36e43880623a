"""Hold-out sets: positions that no net learned from, labelled by deep searches, and the errors of nets on
them.

A set is a file of JSON lines behind LZMA. The first line is the recipe, every other one a position:

    {"format": "tengen hold-out 1", "simulations": 50000, "net": "zero7-4x64", ...}
    {"size": [15, 15], "rule": 0, "source": "name", "moves": [112, ...], "z": 1, "wdl": [0.61, 0.02, 0.37],
     "points": [97, ...], "share": [0.702, ...], "q": [0.24, ...]}

`moves` are points from the empty board, black first. `z` is the result of the game for the side to move (1,
0, -1), `wdl` the probabilities of the deep search, `points` the moves that it visited, the most visited
first, with their shares of the visits and their utilities.
"""

from __future__ import annotations

import itertools
import json
import lzma
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.openings import is_playable
from engine.encoding import encode
from engine.evaluator.base import Evaluator
from engine.rules._board import Board
from engine.rules.rule import Rule
from training.files.atomic import write_atomically
from training.measure.balance import canonical

FORMAT = "tengen hold-out 1"
MAX_RAW_BYTES = 64 << 20
"""Of a set, unpacked (derived: 50 times what 3,000 positions take)."""
BATCH = 32
"""Positions judged at a time (derived: little memory, full speed)."""
LABELLED_BY = ("simulations", "net")
"""Entries of a recipe that sets must share to become one."""
UNSEEN = 0.01
"""A prior below which a search may never look (protocol: the issue's measure of blind spots)."""
SIBLINGS = 8
"""Moves of a position that are compared with each other, the most visited (derived: most of the visits)."""
SIBLING_SHARE = 0.002
"""Of the visits, that such a move has at least (derived: a hundred of 50,000, enough for a utility)."""
OPEN = 0.97
"""Utility from which on a move is as good as proven, which a search finds out by itself (derived)."""


class HoldoutError(ValueError):
    """A set that cannot be used; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class Position:
    """One labelled position; see the head of this module for the fields. `q` is empty where not known."""

    width: int
    height: int
    rule: int
    source: str
    moves: tuple[int, ...]
    z: int
    wdl: tuple[float, float, float]
    points: tuple[int, ...]
    share: tuple[float, ...]
    q: tuple[float, ...]

    def board(self) -> Board:
        """Return the position."""
        board = Board(self.width, self.height, self.rule)
        for point in self.moves:
            board.place(point)
        return board

    def to_json(self) -> dict[str, object]:
        """Return the fields as a line of a set holds them."""
        return {
            "size": [self.width, self.height], "rule": self.rule, "source": self.source,
            "moves": self.moves, "z": self.z, "wdl": self.wdl,
            "points": self.points, "share": self.share, "q": self.q,
        }  # fmt: skip


def write_set(path: Path, recipe: dict[str, object], positions: Iterable[Position]) -> int:
    """Write a set and return its size in bytes.

    Raises:
        OSError: disk full; a file that was there stays.
    """
    lines = [{"format": FORMAT, **recipe}, *(position.to_json() for position in positions)]
    raw = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
    data = lzma.compress(raw, preset=9)
    write_atomically(path, data)
    return len(data)


def read_set(path: Path) -> tuple[dict[str, object], list[Position]]:
    """Return recipe and positions of a set.

    Raises:
        HoldoutError: the file is no set, damaged or too large; the message says where.
        OSError: it cannot be read.
    """
    try:
        unpack = lzma.LZMADecompressor(memlimit=256 << 20)
        raw = unpack.decompress(path.read_bytes(), MAX_RAW_BYTES)
        if not unpack.eof:
            raise HoldoutError(f"{path}: cut short, or more than {MAX_RAW_BYTES >> 20} MiB unpacked")
        lines = [json.loads(line) for line in raw.decode("utf-8").splitlines()]
    except (lzma.LZMAError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise HoldoutError(f"{path} is no hold-out set, or damaged: {error}") from error
    if not lines or not isinstance(lines[0], dict) or lines[0].get("format") != FORMAT:
        raise HoldoutError(f"{path} is no hold-out set of this version ({FORMAT})")
    positions = []
    for number, line in enumerate(lines[1:], 2):
        try:
            positions.append(parse_position(line))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise HoldoutError(f"{path}:{number}: {error}") from error
    if not positions:
        raise HoldoutError(f"{path} holds no position")
    return lines[0], positions


def join_sets(paths: Sequence[Path]) -> tuple[dict[str, object], list[Position]]:
    """Return recipe and positions of several sets as one.

    What is there twice, turned or mirrored, is taken once. The recipe has those of the sets as `parts`.

    Raises:
        HoldoutError: one is damaged, or was labelled by other searches or another net than the first.
        OSError: one cannot be read.
    """
    parts: list[dict[str, object]] = []
    found: dict[tuple[object, ...], Position] = {}
    for path in paths:
        recipe, positions = read_set(path)
        parts.append({name: value for name, value in recipe.items() if name != "format"})
        for name in LABELLED_BY:
            if parts[-1].get(name) != parts[0].get(name):
                raise HoldoutError(f"{path} has {name} {recipe.get(name)}, {paths[0]} {parts[0].get(name)}")
        for p in positions:
            found.setdefault((p.width, p.height, p.rule, *canonical(p.moves, p.width, p.height)), p)
    return {**{name: parts[0].get(name) for name in LABELLED_BY}, "parts": parts}, list(found.values())


def parse_position(line: Any) -> Position:
    """Return the position of a decoded line of the file.

    Raises:
        KeyError, TypeError, ValueError: the line has no position that can be used; callers name the line.
    """
    width, height = (int(side) for side in line["size"])
    rule = int(Rule(line["rule"]))
    moves = tuple(int(p) for p in line["moves"])
    points = tuple(int(p) for p in line["points"])
    share, q = (tuple(float(v) for v in line[name]) for name in ("share", "q"))
    wdl = tuple(float(v) for v in line["wdl"])
    if not (5 <= width <= 22 and 5 <= height <= 22):
        raise ValueError(f"a board of {width}x{height}")
    area = width * height
    if not all(0 <= p < area for p in (*moves, *points)) or not is_playable(moves, width, height, rule):
        raise ValueError("moves that cannot be played")
    if not points or len({*points, *moves}) < len(points) + len(moves):
        raise ValueError("points that are taken, given twice, or none")
    if not len(points) == len(share) == len(q) or len(wdl) != 3:
        raise ValueError("lists of different length")
    numbers = (*share, *q, *wdl)
    if not all(math.isfinite(v) and -1 <= v <= 1 for v in numbers) or min(share) < 0 or sum(share) <= 0:
        raise ValueError("shares or values out of range")
    if line["z"] not in (-1, 0, 1):
        raise ValueError("z is -1, 0 or 1")
    return Position(
        width, height, rule, str(line["source"])[:100], moves, int(line["z"]),
        (wdl[0], wdl[1], wdl[2]), points, share, q,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judgement:
    """Errors of a net on each position of a set, float64 [N] each; lower is better but for `top`.

    Attributes:
        policy: cross entropy of the net's policy against the visits of the deep search, in nats.
        unseen: 1 where the deep search's move has a prior below `UNSEEN`, else 0.
        top: 1 where the net's best move is that of the deep search.
        regret: utility that the deep search loses with the net's best move; a move that it did not look at
            counts as the worst that it did. nan where the utilities of moves are not known.
        brier: squared distance of the net's WDL from the result of the game, 0 to 2.
        deep: squared distance of win - loss from that of the deep search, 0 to 4.
        utility: win - loss of the net.
        z: the results.
        siblings: [N, 3] sums over the moves of a position that are still open: the product of what the net
            says of the position behind a move and of the move's utility, both less their means over these
            moves, and the squares of either; 0 where fewer than two moves are known.
    """

    policy: npt.NDArray[np.float64]
    unseen: npt.NDArray[np.float64]
    top: npt.NDArray[np.float64]
    regret: npt.NDArray[np.float64]
    brier: npt.NDArray[np.float64]
    deep: npt.NDArray[np.float64]
    utility: npt.NDArray[np.float64]
    z: npt.NDArray[np.float64]
    siblings: npt.NDArray[np.float64]

    MEASURES = ("policy", "unseen", "top", "regret", "brier", "deep")

    def auc(self) -> float:
        """Return the probability that the net prefers a won game to a lost one; nan without both."""
        won, lost = self.utility[self.z > 0], self.utility[self.z < 0]
        if not len(won) or not len(lost):
            return math.nan
        order = np.sort(lost)
        below, upto = np.searchsorted(order, won, "left"), np.searchsorted(order, won, "right")
        return float((below + upto).mean() / (2 * len(lost)))

    def order(self) -> float:
        """Return the correlation of net and deep search over the moves of each position; nan without any."""
        return float(correlation(self.siblings.sum(axis=0)))

    def order_gap(self, other: Judgement) -> tuple[float, float]:
        """Return by how much this order is better than another one's of the same positions, and the standard
        error of that (jackknife over positions).
        """
        left_out = [correlation(j.siblings.sum(axis=0) - j.siblings) for j in (self, other)]
        gaps, n = left_out[0] - left_out[1], len(self.siblings)
        return self.order() - other.order(), float(np.sqrt((n - 1) / n * ((gaps - gaps.mean()) ** 2).sum()))


def correlation(sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return correlations of sums [..., 3]: products, and squares of either side; nan without spread."""
    spread = np.sqrt(sums[..., 1] * sums[..., 2])
    found: npt.NDArray[np.float64] = np.full(spread.shape, np.nan)
    np.divide(sums[..., 0], spread, out=found, where=spread > 0)
    return found


def judge(evaluator: Evaluator, positions: Sequence[Position]) -> Judgement:
    """Evaluate every position, and those after its moves, by a net."""
    rows = np.zeros((len(positions), 8))
    for i, board, logits, wdl in _asked(evaluator, positions, [()] * len(positions)):
        rows[i] = _judged(positions[i], board, logits.astype(float), wdl.astype(float))
    moves = [(i, k) for i, position in enumerate(positions) for k in _open_moves(position)]
    parents = [positions[i] for i, _ in moves]
    said = np.zeros(len(moves))
    for j, _, _, wdl in _asked(evaluator, parents, [(positions[i].points[k],) for i, k in moves]):
        said[j] = float(wdl[2]) - float(wdl[0])  # the opponent is to move there
    groups: dict[int, list[tuple[float, float]]] = {}
    for (i, k), utility in zip(moves, said, strict=True):
        groups.setdefault(i, []).append((utility, positions[i].q[k]))
    siblings = np.zeros((len(positions), 3))
    for i, group in groups.items():
        here, there = (np.array(group) - np.mean(group, axis=0)).T  # what the net says, what the search found
        siblings[i] = here @ there, here @ here, there @ there
    return Judgement(*(*rows.T.copy(), siblings))


def _open_moves(position: Position) -> list[int]:
    """Return which moves of a position can be compared with each other; none where there is only one."""
    shares = zip(position.share[:SIBLINGS], position.q, strict=False)
    found = [k for k, (share, q) in enumerate(shares) if share >= SIBLING_SHARE and abs(q) < OPEN]
    return found if len(found) > 1 else []


def _asked(
    evaluator: Evaluator, positions: Sequence[Position], moves: Sequence[tuple[int, ...]]
) -> Iterator[tuple[int, Board, npt.NDArray[np.float32], npt.NDArray[np.float32]]]:
    """Yield the number of each position, its board behind some moves, and the net's logits and WDL there."""

    def size(i: int) -> tuple[int, int]:
        return positions[i].width, positions[i].height

    most = min(BATCH, evaluator.max_batch or BATCH)
    for _, same_size in itertools.groupby(sorted(range(len(positions)), key=size), key=size):
        group = list(same_size)
        for chunk in (group[at : at + most] for at in range(0, len(group), most)):
            boards = []
            for i in chunk:
                boards.append(positions[i].board())
                for point in moves[i]:
                    boards[-1].place(point)
            planes = np.ascontiguousarray(np.stack([encode(board) for board in boards]))
            logits, wdl = evaluator.evaluate(planes, np.array([board.hash for board in boards], np.uint64))
            yield from zip(chunk, boards, logits, wdl, strict=True)


def _judged(
    position: Position, board: Board, logits: npt.NDArray[np.float64], wdl: npt.NDArray[np.float64]
) -> list[float]:
    legal = np.array(board.legal_points())
    weights = np.exp(logits[legal] - logits[legal].max())
    prior = np.zeros(board.points)
    prior[legal] = weights / weights.sum()
    points, share = np.array(position.points), np.array(position.share)
    policy = -float(share @ np.log(np.maximum(prior[points], 1e-12))) / float(share.sum())
    best = int(prior.argmax())
    values = dict(zip(position.points, position.q, strict=bool(position.q)))
    regret = max(0.0, position.q[0] - values.get(best, min(position.q))) if position.q else math.nan
    result = np.array([position.z > 0, position.z == 0, position.z < 0], float)
    utility = float(wdl[0] - wdl[2])
    deep = position.wdl[0] - position.wdl[2]
    return [
        policy, float(prior[points[0]] < UNSEEN), float(best == points[0]), regret,
        float(((wdl - result) ** 2).sum()), (utility - deep) ** 2, utility, float(position.z),
    ]  # fmt: skip


def table(names: Sequence[str], judgements: Sequence[Judgement]) -> list[str]:
    """Return lines for people: a row a net, then how others differ from the first, with 95 % intervals."""
    width = max(map(len, (*names, "net")))
    head = f"{'net':<{width}}  policy  <1 % prior  same best  regret   Brier  to deep     AUC   order"
    rows = [head]
    for name, j in zip(names, judgements, strict=True):
        p, u, t, r, b, d = (float(getattr(j, m).mean()) for m in Judgement.MEASURES)
        regret = f"{'-' if math.isnan(r) else f'{r:.4f}':>6}"
        rows.append(
            f"{name:<{width}}  {p:6.3f}  {u:10.1%}  {t:9.1%}  {regret}  {b:6.4f}  {d:7.4f}  {j.auc():6.4f}"
            f"  {j.order():6.4f}"
        )
    for name, j in zip(names[1:], judgements[1:], strict=True):
        parts = []
        for measure in Judgement.MEASURES:
            gap = getattr(j, measure) - getattr(judgements[0], measure)
            if math.isnan(gap.mean()):
                continue
            parts.append(f"{measure} {gap.mean():+.4f} +- {1.96 * gap.std() / math.sqrt(len(gap)):.4f}")
        gap_of_orders, deviation = j.order_gap(judgements[0])
        if not math.isnan(gap_of_orders):
            parts.append(f"order {gap_of_orders:+.4f} +- {1.96 * deviation:.4f}")
        rows.append(f"{name} minus {names[0]}: {', '.join(parts)}")
    return rows


def table_by_size(
    names: Sequence[str], judgements: Sequence[Judgement], positions: Sequence[Position]
) -> list[str]:
    """Return lines for people: a row a net, cross entropy of the policy / Brier score on each board."""
    sizes = sorted({(p.width, p.height) for p in positions})
    masks = [np.array([(p.width, p.height) == size for p in positions]) for size in sizes]
    width = max(map(len, (*names, "policy / Brier")))
    heads = (f"{w}x{h} ({mask.sum()})" for (w, h), mask in zip(sizes, masks, strict=True))
    rows = [f"{'policy / Brier':<{width}}" + "".join(f"  {head:>14}" for head in heads)]
    for name, j in zip(names, judgements, strict=True):
        cells = (f"{j.policy[mask].mean():.3f} / {j.brier[mask].mean():.3f}" for mask in masks)
        rows.append(f"{name:<{width}}" + "".join(f"  {cell:>14}" for cell in cells))
    return rows
