"""The replay buffer: the newest positions, those of each board size apart, from which batches are drawn.

Positions are kept as moves and sparse targets and encoded when they are drawn: about 30 bytes each.
A batch holds one board size, drawn by its share of the sampling weight, so it needs no padding.

Shapes: `B` batch, `C` planes, `A` = width * height, `S` positions of a chunk.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from engine.encoding import encode_games
from engine.rules.geometry import symmetries as symmetries_of
from training.data.augment import destinations
from training.data.dataset import Batch
from training.data.records import SAMPLED, Flag, SelfPlayRecord
from training.data.shards import NAME, RecordError, list_shards, read_shards
from training.settings.schema import LearnerConfig

Size = tuple[int, int]
_PROVEN = int(Flag.PROVEN_WIN | Flag.PROVEN_LOSS | Flag.PROVEN_DRAW)
_LARGEST_WEIGHT = 4.0  # tuned: no position is drawn more than this many times as often as the average


@dataclass(frozen=True, slots=True)
class HostBatch:
    """A `training.data.dataset.Batch` as arrays, before it goes to the device of the learner."""

    planes: npt.NDArray[np.float32]
    policy: npt.NDArray[np.float32]
    reply: npt.NDArray[np.float32]
    z: npt.NDArray[np.float32]
    root_wdl: npt.NDArray[np.float32]
    rules: npt.NDArray[np.int64]


def _later(name: str, cycle: int | None) -> bool:
    return cycle is not None and name[:6].isdigit() and int(name[:6]) > cycle


class Chunk:
    """Positions of one size out of one shard, as flat columns over positions (and over policy entries)."""

    def __init__(self, games: Sequence[SelfPlayRecord]) -> None:
        positions = [g.positions for g in games]
        self.games = list(games)
        self.game = np.repeat(np.arange(len(games)), positions)
        self.index = np.concatenate([np.arange(n) for n in positions])
        self.flags = np.concatenate([g.flags for g in games])
        self.sampled = {
            name: np.concatenate([getattr(g, name) for g in games]).astype(np.float32) * np.float32(unit)
            for name, unit in SAMPLED.items()
        }
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

    def target(self, row: int) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint8]]:
        """Return points and weights of the policy target of a row."""
        part = slice(self.starts[row], self.ends[row])
        return self.points[part], self.weights[part]


def chunks_of(games: Sequence[SelfPlayRecord]) -> dict[Size, Chunk]:
    """Return the positions of games by the size of their boards, the smallest first."""
    by_size: dict[Size, list[SelfPlayRecord]] = {}
    for game in games:
        if game.positions:
            by_size.setdefault((game.width, game.height), []).append(game)
    return {size: Chunk(group) for size, group in sorted(by_size.items())}


def sampling_weights(
    full: npt.NDArray[np.bool_],
    sampled: Mapping[str, npt.NDArray[np.floating[Any]]],
    by_rule: npt.NDArray[np.float64],
    config: LearnerConfig,
) -> npt.NDArray[np.float64]:
    """Return how often to draw each of `S` positions of one size, relative to each other; float64 [S].

    Args:
        full: bool [S], those with a policy target.
        sampled: columns that weights depend on (`training.data.records.SAMPLED`), [S] each.
        by_rule: [S] weights of their rules.
        config: sampling settings.
    """
    surprise = sampled["surprise"]
    mean = max(float(surprise[full].mean()) if full.any() else 1.0, 1e-3)
    weight = (1 - config.surprise) + config.surprise * np.minimum(surprise / mean, _LARGEST_WEIGHT)
    weighed: npt.NDArray[np.float64] = np.where(full, weight, config.fast_weight) * by_rule
    return weighed


@dataclass(slots=True)
class _SizeBuffer:
    """Chunks of one size, oldest first, and the sampling weights of their positions."""

    names: list[str] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    seen: int = 0  # usable positions ever added
    cumulative: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    starts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))


class ReplayBuffer:
    """Newest positions of a run; a `training.data.dataset.Dataset`.

    Args:
        folder: of the run's shards.
        config: window and sampling settings.
        report: gets a line for each shard that has to be skipped.
        device: that batches go to.
    """

    def __init__(
        self,
        folder: Path,
        config: LearnerConfig,
        report: Callable[[str], None] = print,
        device: torch.device | None = None,
    ) -> None:
        self._folder, self._config, self._report = folder, config, report
        self._device = device or torch.device("cpu")
        # A GPU computes while the next batch is drawn; elsewhere a thread would take a core from the learner.
        self.draws_ahead = self._device.type == "cuda"
        self._sizes: dict[Size, _SizeBuffer] = {}
        self._known: set[str] = set()
        self.games_seen = 0
        self.part = slice(None)

    @property
    def seen(self) -> int:
        """Usable positions ever added, including those that have left the window."""
        return sum(w.seen for w in self._sizes.values())

    def __len__(self) -> int:
        return sum(len(c) for w in self._sizes.values() for c in w.chunks)

    def refresh(self, cycle: int | None = None) -> int:
        """Add shards that are new, in the order of their names; return the positions added.

        Args:
            cycle: leave out those of later ones (`training.data.journal.shard_stem`); None: take all.
        """
        before = self.seen
        there = [p for p in list_shards(self._folder) if not _later(p.name, cycle)]
        new = [p for p in there if p.name not in self._known]
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
        for size, chunk in chunks_of(games).items():
            window = self._sizes.setdefault(size, _SizeBuffer())
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
            if not window.chunks:  # a size that was played, of which no shard is left
                continue
            weight = sampling_weights(
                np.concatenate([chunk.has_policy for chunk in window.chunks]),
                {name: np.concatenate([chunk.sampled[name] for chunk in window.chunks]) for name in SAMPLED},
                np.concatenate([chunk.rule_weights(rules) for chunk in window.chunks]),
                c,
            )
            window.cumulative = np.cumsum(weight, dtype=np.float64)
            window.starts = np.cumsum([0] + [len(chunk) for chunk in window.chunks])
        # Records stay until their turn comes to go. The collector of garbage, which took a twentieth of the
        # time of learning, need not look at each of them again and again.
        gc.collect()
        gc.freeze()

    def draw(self, rng: np.random.Generator, batch: int, part: slice = slice(None)) -> HostBatch:
        """Draw a batch of one size, each position under a random symmetry; of its positions return a part.

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
        symmetries = rng.integers(len(symmetries_of(*size)), size=batch)
        return assemble(rows[part], size, symmetries[part])

    def batches(self, rng: np.random.Generator, batch: int, count: int) -> Iterator[Batch]:
        """See `Dataset.batches`; the same ones come and `rng` ends in the same state, drawn ahead or not."""
        if not self.draws_ahead or count < 2:
            for _ in range(count):
                yield self._on_device(self.draw(rng, batch, self.part))
            return
        with ThreadPoolExecutor(1, "draw") as thread:
            following = thread.submit(self.draw, rng, batch, self.part)
            for left in reversed(range(count)):
                drawn = following.result()
                if left:
                    following = thread.submit(self.draw, rng, batch, self.part)
                yield self._on_device(drawn)

    def _on_device(self, drawn: HostBatch) -> Batch:
        def sent(array: npt.NDArray[Any]) -> Tensor:
            return torch.from_numpy(array).to(self._device, non_blocking=True)

        return Batch(
            sent(drawn.planes), sent(drawn.policy), sent(drawn.reply), sent(drawn.z), sent(drawn.root_wdl),
            sent(drawn.rules),
        )  # fmt: skip

    def calibration(
        self, rng: np.random.Generator, batch: int
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """See `Dataset.calibration`."""
        drawn = self.draw(rng, batch)
        known: npt.NDArray[np.bool_] = np.any(drawn.policy > 0, axis=1)
        return drawn.planes, known

    def sides(self) -> tuple[int, int]:
        """See `Dataset.sides`."""
        sides = [side for size in self._sizes for side in size]
        return min(sides), max(sides)

    def state(self) -> dict[str, object]:
        """Return what `restore` needs: names of shards, not their contents."""
        return {
            "known": sorted(self._known),
            "games_seen": self.games_seen,
            "sizes": [[w, h, s.seen, list(s.names)] for (w, h), s in sorted(self._sizes.items())],
        }

    def restore(self, state: dict[str, object]) -> None:
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
        folder = self._folder
        self._sizes = {(w, h): _SizeBuffer(seen=seen) for w, h, seen, _ in sizes}
        self._known = set(state["known"])  # type: ignore[call-overload]
        self.games_seen = int(state["games_seen"])  # type: ignore[call-overload]
        held: dict[tuple[str, Size], Chunk] = {}
        there = [folder / name for name in sorted(wanted) if (folder / name).exists()]
        if len(there) < len(wanted):
            self._report(
                f"batches were drawn from {len(wanted)} shards of games; {len(there)} of these are in "
                f"{folder}, and learning goes on with them and with new ones (a bundle holds the newest only)"
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
        self._reweigh()


@functools.cache
def _turned(width: int, height: int) -> npt.NDArray[np.intp]:
    """Return where each point goes under each symmetry, intp [symmetries, A]."""
    return np.stack([destinations(width, height, i) for i in range(len(symmetries_of(width, height)))])


class _Targets:
    """Sparse targets of a batch while it is put together."""

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._points: list[npt.NDArray[np.uint16]] = []
        self._weights: list[npt.NDArray[np.uint8]] = []

    def add(self, row: int, points: npt.NDArray[np.uint16], weights: npt.NDArray[np.uint8]) -> None:
        """Give a row of the batch at least one point, with weights of any scale."""
        self._rows.append(row)
        self._points.append(points)
        self._weights.append(weights)

    def spread(self, to: npt.NDArray[np.intp], rows: int) -> npt.NDArray[np.float32]:
        """Return float32 [B, A], rows of sum 1 or 0.

        Args:
            to: [B, A] where each point of a row goes.
            rows: B.
        """
        out = np.zeros((rows, to.shape[1]), np.float32)
        if self._rows:
            lengths = np.array([len(points) for points in self._points])
            weights = np.concatenate(self._weights).astype(np.float32)
            totals = np.add.reduceat(weights, np.cumsum(lengths) - lengths)
            at = np.repeat(np.array(self._rows), lengths)
            out[at, to[at, np.concatenate(self._points)]] = weights / np.repeat(totals, lengths)
        return out


_CERTAIN = np.ones(1, np.uint8)


def assemble(rows: Sequence[tuple[Chunk, int]], size: Size, symmetries: npt.NDArray[np.integer]) -> HostBatch:
    """Encode positions (chunk, row) of one size, each under its symmetry."""
    n, to = len(rows), _turned(*size)[symmetries]
    moves, rules, results = [], [], []
    plies = np.zeros(n, np.int32)
    policy, reply = _Targets(), _Targets()
    root = np.zeros((n, 3), np.float32)
    z = np.zeros((n, 3), np.float32)
    for b, (chunk, row) in enumerate(rows):
        game, i = chunk.games[chunk.game[row]], int(chunk.index[row])
        ply = game.opening + i
        plies[b] = ply
        moves.append(game.moves[:ply])
        rules.append(game.rule)
        if chunk.has_policy[row]:
            policy.add(b, *chunk.target(row))
        if i + 1 < game.positions and game.counts[i + 1]:
            reply.add(b, *chunk.target(row + 1))
        elif ply + 1 < len(game.moves):
            reply.add(b, game.moves[ply + 1 : ply + 2], _CERTAIN)
        results.append(1 - int(chunk.z[row]))
        if not chunk.flags[row] & _PROVEN:
            root[b] = chunk.root_wdl[row]
    z[np.arange(n), results] = 1
    root = np.where(root.any(axis=1, keepdims=True), root, z)
    root /= root.sum(axis=1, keepdims=True)
    turned = to[np.repeat(np.arange(n), plies), np.concatenate(moves)].astype(np.uint16)
    return HostBatch(
        planes=encode_games(*size, rules, plies, turned), policy=policy.spread(to, n),
        reply=reply.spread(to, n), z=z, root_wdl=root, rules=np.array(rules, np.int64),
    )  # fmt: skip
