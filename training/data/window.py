"""The window: the newest positions, for each board size its own, from which batches are drawn.

Positions are kept as moves and sparse targets and encoded when they are drawn: about 30 bytes each.
A batch holds one board size, drawn by its share of the sampling weight, so it needs no padding.

Shapes: `B` batch, `C` planes, `A` = width * height, `S` positions of a chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engine.encoding import N_PLANES, encode
from engine.rules._board import Board
from engine.rules.geometry import symmetries as symmetries_of
from training.data.augment import destinations
from training.data.records import Flag, SelfPlayRecord
from training.data.shards import NAME, RecordError, list_shards, read_shards
from training.settings.schema import LearnerConfig

Size = tuple[int, int]
_PROVEN = int(Flag.PROVEN_WIN | Flag.PROVEN_LOSS | Flag.PROVEN_DRAW)
_LARGEST_WEIGHT = 4.0  # tuned: no position is drawn more than this many times as often as the average


@dataclass(frozen=True, slots=True)
class Batch:
    """Positions of one board size.

    Attributes:
        planes: float32 [B, C, H, W].
        policy: float32 [B, A] target, sum 1; a row of 0 where there is none.
        reply: float32 [B, A] target for the opponent's answer; a row of 0 where there is none.
        z: float32 [B, 3] result as win, draw, loss of the side to move.
        root_wdl: float32 [B, 3] searched WDL; equal to `z` where the value is proven.
        rules: int64 [B].
    """

    planes: npt.NDArray[np.float32]
    policy: npt.NDArray[np.float32]
    reply: npt.NDArray[np.float32]
    z: npt.NDArray[np.float32]
    root_wdl: npt.NDArray[np.float32]
    rules: npt.NDArray[np.int64]


class Chunk:
    """Positions of one size out of one shard, as flat columns over positions (and over policy entries)."""

    def __init__(self, games: Sequence[SelfPlayRecord]) -> None:
        positions = [g.positions for g in games]
        self.games = list(games)
        self.game = np.repeat(np.arange(len(games)), positions)
        self.index = np.concatenate([np.arange(n) for n in positions])
        self.flags = np.concatenate([g.flags for g in games])
        self.surprise = np.concatenate([g.surprise for g in games]).astype(np.float32) / 16
        counts = np.concatenate([g.counts for g in games])
        self.has_policy = ((self.flags & Flag.FULL) != 0) & (counts > 0)
        self.ends = np.cumsum(counts, dtype=np.int64)
        self.starts = self.ends - counts
        self.points = np.concatenate([g.points for g in games])
        self.weights = np.concatenate([g.weights for g in games])
        self.z = np.concatenate([g.z() for g in games])
        self.root_wdl = np.concatenate([g.root_wdl() for g in games])

    def __len__(self) -> int:
        return len(self.game)

    def rule_weights(self, rules: Mapping[int, float]) -> npt.NDArray[np.float64]:
        """Return the weight of each position by its rule, float64 [S]; 1 for rules that are not given."""
        return np.array([rules.get(g.rule, 1.0) for g in self.games])[self.game]

    def fill(self, row: int, to: npt.NDArray[np.intp], out: npt.NDArray[np.float32]) -> None:
        """Write the policy target of a row into `out` [A], each point p at to[p]."""
        weights = self.weights[self.starts[row] : self.ends[row]]
        out[to[self.points[self.starts[row] : self.ends[row]]]] = weights / weights.sum(dtype=np.float32)


@dataclass(slots=True)
class _SizeWindow:
    """Chunks of one size, oldest first, and the sampling weights of their positions."""

    names: list[str] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    seen: int = 0  # usable positions ever added
    cumulative: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    starts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))


class Window:
    """Newest positions of a run.

    Args:
        config: window and sampling settings.
        report: gets a line for each shard that has to be skipped.
    """

    def __init__(self, config: LearnerConfig, report: Callable[[str], None] = print) -> None:
        self._config = config
        self._report = report
        self._sizes: dict[Size, _SizeWindow] = {}
        self._known: set[str] = set()
        self.games_seen = 0

    @property
    def seen(self) -> int:
        """Usable positions ever added, including those that have left the window."""
        return sum(w.seen for w in self._sizes.values())

    def __len__(self) -> int:
        return sum(len(c) for w in self._sizes.values() for c in w.chunks)

    def refresh(self, folder: Path) -> int:
        """Add shards of a folder that are new, in the order of their names; return the positions added."""
        before = self.seen
        new = [p for p in list_shards(folder) if p.name not in self._known]
        self._known.update(p.name for p in new)
        for path, games in read_shards(new, self._damaged):
            self.add(path.name, games)
        if new:
            self._reweigh()
        return self.seen - before

    def _damaged(self, error: RecordError) -> None:
        self._report(f"skipped: {error}")

    def add(self, name: str, games: Sequence[SelfPlayRecord]) -> None:
        """Add the games of one shard and let the oldest go; `refresh` is the usual way."""
        self.games_seen += len(games)
        by_size: dict[Size, list[SelfPlayRecord]] = {}
        for game in games:
            if game.positions:
                by_size.setdefault((game.width, game.height), []).append(game)
        for size, group in sorted(by_size.items()):
            window = self._sizes.setdefault(size, _SizeWindow())
            chunk = Chunk(group)
            window.names.append(name)
            window.chunks.append(chunk)
            window.seen += self._usable(chunk)
        self._evict()

    def _usable(self, chunk: Chunk) -> int:
        return len(chunk) if self._config.fast_weight > 0 else int(chunk.has_policy.sum())

    def _evict(self) -> None:
        c, seen = self._config, max(self.seen, 1)
        for window in self._sizes.values():
            limit = max(c.window_share * window.seen, c.window_min)
            limit = min(limit, c.window_max * window.seen / seen)
            held = [self._usable(chunk) for chunk in window.chunks]
            total = sum(held)
            drop = 0
            while drop < len(held) - 1 and total - held[drop] >= limit:
                total -= held[drop]
                drop += 1
            del window.names[:drop], window.chunks[:drop]

    def _reweigh(self) -> None:
        c, rules = self._config, self._config.rule_weights()
        for window in self._sizes.values():
            full = np.concatenate([chunk.has_policy for chunk in window.chunks])
            surprise = np.concatenate([chunk.surprise for chunk in window.chunks])
            mean = max(float(surprise[full].mean()) if full.any() else 1.0, 1e-3)
            weight = (1 - c.surprise) + c.surprise * np.minimum(surprise / mean, _LARGEST_WEIGHT)
            weight = np.where(full, weight, c.fast_weight)
            weight = weight * np.concatenate([chunk.rule_weights(rules) for chunk in window.chunks])
            window.cumulative = np.cumsum(weight, dtype=np.float64)
            window.starts = np.cumsum([0] + [len(chunk) for chunk in window.chunks])

    def draw(self, rng: np.random.Generator, batch: int) -> Batch:
        """Draw a batch of one size, each position under a random symmetry.

        Raises:
            ValueError: the window holds nothing to learn from.
        """
        sizes = sorted(self._sizes)
        mass = np.array(
            [self._sizes[s].cumulative[-1] if len(self._sizes[s].cumulative) else 0 for s in sizes]
        )
        if not sizes or mass.sum() <= 0:
            raise ValueError("the window is empty: no position with a target has been recorded yet")
        size = sizes[int(rng.choice(len(sizes), p=mass / mass.sum()))]
        window = self._sizes[size]
        places = rng.random(batch) * window.cumulative[-1]
        chosen = np.minimum(
            np.searchsorted(window.cumulative, places, side="right"), len(window.cumulative) - 1
        )
        chunk_of = np.searchsorted(window.starts, chosen, side="right") - 1
        rows = [(window.chunks[k], int(i - window.starts[k])) for k, i in zip(chunk_of, chosen, strict=True)]
        return assemble(rows, size, rng.integers(len(symmetries_of(*size)), size=batch))

    def state(self) -> dict[str, object]:
        """Return what `restore` needs: names of shards, not their contents."""
        return {
            "known": sorted(self._known),
            "games_seen": self.games_seen,
            "sizes": [[w, h, s.seen, list(s.names)] for (w, h), s in sorted(self._sizes.items())],
        }

    def restore(self, state: dict[str, object], folder: Path) -> None:
        """Read the same shards again. Missing or damaged ones are reported and left out.

        Raises:
            ValueError: the name of a shard is that of a file elsewhere.
        """
        sizes: list[tuple[int, int, int, list[str]]] = state["sizes"]  # type: ignore[assignment]
        wanted: dict[str, list[Size]] = {}
        for w, h, _, names in sizes:
            for name in names:
                if not NAME.fullmatch(name):
                    raise ValueError(f"{name!r:.80} cannot be a shard of the window")
                wanted.setdefault(name, []).append((w, h))
        self._sizes = {(w, h): _SizeWindow(seen=seen) for w, h, seen, _ in sizes}
        self._known = set(state["known"])  # type: ignore[call-overload]
        self.games_seen = int(state["games_seen"])  # type: ignore[call-overload]
        held: dict[tuple[str, Size], Chunk] = {}
        there = [folder / name for name in sorted(wanted) if (folder / name).exists()]
        if len(there) < len(wanted):
            self._report(
                f"{len(wanted) - len(there)} of the window's {len(wanted)} shards are not in {folder}"
            )
        for path, games in read_shards(there, self._damaged):
            for size in wanted[path.name]:
                held[path.name, size] = Chunk(
                    [g for g in games if (g.width, g.height) == size and g.positions]
                )
        for w, h, _, names in sizes:
            window = self._sizes[w, h]
            window.names = [name for name in names if (name, (w, h)) in held]
            window.chunks = [held[name, (w, h)] for name in window.names]
        self._sizes = {size: window for size, window in self._sizes.items() if window.chunks}
        self._reweigh()


def assemble(rows: Sequence[tuple[Chunk, int]], size: Size, symmetries: npt.NDArray[np.integer]) -> Batch:
    """Encode positions (chunk, row) of one size, each under its symmetry."""
    width, height = size
    n, points = len(rows), width * height
    planes = np.empty((n, N_PLANES, height, width), np.float32)
    policy = np.zeros((n, points), np.float32)
    reply = np.zeros((n, points), np.float32)
    z = np.zeros((n, 3), np.float32)
    root = np.zeros((n, 3), np.float32)
    rules = np.zeros(n, np.int64)
    for b, ((chunk, row), symmetry) in enumerate(zip(rows, symmetries.tolist(), strict=True)):
        game, to = chunk.games[chunk.game[row]], destinations(width, height, symmetry)
        i = int(chunk.index[row])
        ply = game.opening + i
        stones = [(p, k & 1) for k, p in enumerate(to[game.moves[:ply]].tolist())]
        board = Board.from_stones(width, height, game.rule, stones)
        board.set_to_move(ply & 1)
        planes[b] = encode(board)
        if chunk.has_policy[row]:
            chunk.fill(row, to, policy[b])
        if i + 1 < game.positions and game.counts[i + 1]:
            chunk.fill(row + 1, to, reply[b])
        elif ply + 1 < len(game.moves):
            reply[b, to[game.moves[ply + 1]]] = 1
        z[b, 1 - int(chunk.z[row])] = 1
        root[b] = z[b] if chunk.flags[row] & _PROVEN else chunk.root_wdl[row]
        rules[b] = game.rule
    root /= root.sum(axis=1, keepdims=True)
    return Batch(planes=planes, policy=policy, reply=reply, z=z, root_wdl=root, rules=rules)
