"""Encoded positions that are on the device of the learner, drawn and turned there.

Turned planes are those of the turned board, but for points that a bounded solver names (planes 14, 15 and
22): it finds one of several wins, and which one depends on the order in which it looks. In up to 15 % of
positions such a plane of a turned board is not the turned one; both say what is true.

Shapes: `B` batch, `N` positions of a size, `C` planes, `A` = width * height.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from engine.encoding import N_PLANES
from engine.rules.geometry import symmetries, symmetry_permutation
from training.data.dataset import Batch
from training.data.encoded import NO_RESULT, Part, join, read_array, read_part, read_sizes, write_array
from training.data.replay_buffer import Size, sampling_weights
from training.files.atomic import write_atomically
from training.files.foreign import read_bounded
from training.net.network import Heads
from training.settings.schema import LearnerConfig

_STEP = 1 / 16  # nats; eight bits reach 15.9, a chance of one in eight million
LABELS = {
    "taught-policy": np.uint8, "taught-soft": np.uint8, "taught-reply": np.uint8, "taught-wdl": np.float16,
}  # fmt: skip
"""Arrays of what a teacher says of a size: log policies in steps of -1/16 nat, and log win, draw, loss."""


class _Size:
    """Positions of one size on a device."""

    def __init__(
        self, size: Size, part: Part, labels: dict[str, npt.NDArray[Any]], weight: npt.NDArray[np.float64],
        device: torch.device,
    ) -> None:  # fmt: skip
        self.size, self.device, self.count = size, device, len(part)
        self.mass = float(weight.sum())
        self._cumulative = torch.from_numpy(np.cumsum(weight)).to(device)
        self._arrays = {
            name: torch.from_numpy(np.ascontiguousarray(getattr(part, name))).to(device)
            for name in ("planes", "policy", "reply", "result", "root", "rule")
        }
        self._labels = {name: torch.from_numpy(array).to(device) for name, array in labels.items()}
        self.symmetries = len(symmetries(*size))
        turns = np.stack([symmetry_permutation(*size, i) for i in range(self.symmetries)])
        self._turns = torch.from_numpy(turns.astype(np.int64)).to(device)
        self._shifts = torch.arange(7, -1, -1, dtype=torch.uint8, device=device)

    def planes(self, at: Tensor, turn: Tensor | None = None) -> Tensor:
        """Return float32 [B, C, H, W] of positions.

        Args:
            at: int64 [B] which.
            turn: int64 [B, A] the cell that each one comes from; None: as they are.
        """
        width, height = self.size
        bits = (self._arrays["planes"][at][:, :, None] >> self._shifts) & 1
        flat = bits.flatten(1)[:, : N_PLANES * width * height].view(len(at), N_PLANES, -1)
        if turn is not None:
            flat = flat.gather(2, turn[:, None, :].expand(-1, N_PLANES, -1))
        return flat.view(len(at), N_PLANES, height, width).float()

    def draw(self, places: npt.NDArray[np.float64]) -> Batch:
        """Return the positions at places [2, B], 0 to 1, of the sampling weight and of all turns."""
        chance = torch.from_numpy(places).to(self.device)
        at = torch.searchsorted(self._cumulative, chance[0] * self._cumulative[-1], right=True)
        at = at.clamp_max(self.count - 1)
        turn = self._turns[(chance[1] * self.symmetries).long().clamp_max(self.symmetries - 1)]

        def cells(array: Tensor) -> Tensor:
            return array[at].gather(1, turn).float()

        def target(array: Tensor) -> Tensor:
            found = cells(array)
            return found / found.sum(1, keepdim=True).clamp_min(1)

        root = self._arrays["root"][at].float()
        searched = root / root.sum(1, keepdim=True).clamp_min(1)
        result = self._arrays["result"][at].long()
        played = torch.nn.functional.one_hot(result, NO_RESULT + 1)[:, :3] * root.any(1, keepdim=True)
        taught = None
        if self._labels:
            policies = ("policy", "soft", "reply")
            said = {name: cells(self._labels[f"taught-{name}"]) * -_STEP for name in policies}
            taught = Heads(**said, wdl=self._labels["taught-wdl"][at].float())
        return Batch(
            planes=self.planes(at, turn),
            policy=target(self._arrays["policy"]),
            reply=target(self._arrays["reply"]),
            z=played + (result == NO_RESULT)[:, None] * searched,
            root_wdl=searched,
            rules=self._arrays["rule"][at].long(),
            taught=taught,
        )


class EncodedDataset:
    """All positions of some folders; a `training.data.dataset.Dataset`.

    Attributes:
        games_seen: games behind them.
        taught: whether a teacher has labelled them.
        part: which of the positions of each batch are taken.
    """

    def __init__(
        self, folders: Sequence[Path], config: LearnerConfig, device: torch.device, labels: bool = True,
        report: Callable[[str], None] = print,
    ) -> None:  # fmt: skip
        """Read folders.

        Args:
            folders: of `training.data.encoded`.
            config: sampling settings.
            device: where the arrays are to lie, about a kilobyte a position and another one of labels.
            report: gets a line where a checkpoint has learned from other positions.
            labels: whether to take what a teacher says of them, where that is there; False: none is drawn.

        Raises:
            ValueError: what is there is damaged or incomplete, no position has a weight above 0, or a teacher
                has labelled some folders and others not.
        """
        found = [(folder, *read_sizes(folder)) for folder in folders]
        self.games_seen = sum(games for _, games, _ in found)
        bare = [folder for folder, _, sizes in found if not has_labels(folder, sizes)]
        self.taught = labels and not bare
        if labels and 0 < len(bare) < len(found):
            raise ValueError(f"{bare[0]} has no labels of a teacher, other positions have")
        self.part, self._report = slice(None), report
        self._sizes: list[_Size] = []
        idle = 0
        rules = config.rule_weights()
        for size in sorted({size for _, _, sizes in found for size in sizes}):
            there = [(folder, sizes[size]) for folder, _, sizes in found if size in sizes]
            part = join([read_part(folder, size, count) for folder, count in there])
            weight = sampling_weights(
                part.policy.max(axis=1) > 0,
                {name: values.astype(np.float32) for name, values in part.sampled.items()},
                np.array([rules.get(rule, 1.0) for rule in range(256)])[part.rule], config,
            )  # fmt: skip
            if not self.taught:
                weight[~part.root.any(axis=1)] = 0  # sibling positions have no searched value
            idle += int((weight <= 0).sum())
            said = _read_labels(there, size) if self.taught else {}
            self._sizes.append(_Size(size, part, said, weight, device))
        total = sum(group.mass for group in self._sizes)
        if labels and total <= 0:
            raise ValueError("no position has a weight above 0")
        if labels and idle:
            report(
                f"{idle:,} of {len(self):,} positions are never learned from: without policy of a search "
                f"(learner.fast_weight={config.fast_weight:g}), or neither value nor label"
            )
        self._shares = np.array([group.mass / (total or 1.0) for group in self._sizes])

    def __len__(self) -> int:
        return sum(group.count for group in self._sizes)

    @property
    def seen(self) -> int:
        """Positions, all of them."""
        return len(self)

    def _draw(self, rng: np.random.Generator, batch: int, part: slice) -> Batch:
        group = self._sizes[int(rng.choice(len(self._sizes), p=self._shares))]
        return group.draw(rng.random((2, batch))[:, part])

    def batches(self, rng: np.random.Generator, batch: int, count: int) -> Iterator[Batch]:
        """See `Dataset.batches`."""
        for _ in range(count):
            yield self._draw(rng, batch, self.part)

    def calibration(
        self, rng: np.random.Generator, batch: int
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """See `Dataset.calibration`."""
        drawn = self._draw(rng, batch, slice(None))
        return drawn.planes.cpu().numpy(), drawn.policy.any(1).cpu().numpy()

    def state(self) -> dict[str, object]:
        """See `Dataset.state`."""
        sizes = [[*group.size, group.count, []] for group in self._sizes]
        return {"known": [], "games_seen": self.games_seen, "sizes": sizes}

    def restore(self, state: dict[str, object]) -> None:
        """See `Dataset.restore`: all positions are here; other ones than before are reported."""
        if state != self.state():
            self._report(f"the checkpoint has learned from other positions than these {len(self)}")

    def sides(self) -> tuple[int, int]:
        """See `Dataset.sides`."""
        sides = [side for group in self._sizes for side in group.size]
        return min(sides), max(sides)

    @property
    def sizes(self) -> list[Size]:
        """Sizes of the boards."""
        return [group.size for group in self._sizes]

    def positions(self, size: Size, batch: int) -> Iterator[Tensor]:
        """Yield the planes of all positions of a size as they are, float32 [B, C, H, W]."""
        group = self._sizes[self.sizes.index(size)]
        for start in range(0, group.count, batch):
            yield group.planes(torch.arange(start, min(start + batch, group.count), device=group.device))


def has_labels(folder: Path, sizes: Iterable[Size]) -> bool:
    """Return whether a teacher has labelled all sizes of a folder."""
    return all((folder / f"{w}x{h}.{name}.npy").exists() for w, h in sizes for name in LABELS)


def begin_labels(folder: Path, teacher: Path) -> set[Size]:
    """Note who labels the positions of a folder; return the sizes that this one has labelled already.

    Raises:
        ValueError: another teacher has begun.
    """
    path, digest = folder / "teacher.txt", hashlib.blake2b(teacher.read_bytes(), digest_size=16).hexdigest()
    try:
        if read_bounded(path, 100) != digest.encode():
            raise ValueError(f"{folder} another teacher labelled it: encode the records again for this one")
    except FileNotFoundError:
        write_atomically(path, digest.encode())
    return {size for size in read_sizes(folder)[1] if has_labels(folder, [size])}


def _read_labels(there: Sequence[tuple[Path, int]], size: Size) -> dict[str, npt.NDArray[Any]]:
    area = size[0] * size[1]
    return {
        name: np.concatenate([
            read_array(folder, size, name, (count, 3 if name == "taught-wdl" else area), kind)
            for folder, count in there
        ])
        for name, kind in LABELS.items()
    }  # fmt: skip


def write_labels(folder: Path, size: Size, heads: list[Heads]) -> None:
    """Write what a teacher says of all positions of a size, as log probabilities of slabs in their order."""
    for name in ("policy", "soft", "reply"):
        slabs = [(getattr(part, name) / -_STEP).round().clamp(0, 255).to(torch.uint8).cpu() for part in heads]
        write_array(folder, size, f"taught-{name}", torch.cat(slabs).numpy())
    wdl = torch.cat([part.wdl.cpu() for part in heads]).numpy()
    write_array(folder, size, "taught-wdl", np.maximum(wdl, -60).astype(np.float16))
