"""The learner: trains a net on recorded games.

It draws batches from a dataset, as many as bounded reuse allows, and writes checkpoints under
`run_dir/checkpoints`. A learner that loads a checkpoint continues exactly as the one that wrote it would
have, given the same shards.
"""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from engine.encoding import FEATURE_VERSION
from training.data.dataset import Batch, Dataset
from training.data.replay_buffer import ReplayBuffer
from training.export.card import Origin
from training.export.export import Exported, export_net
from training.learn import checkpoint, losses
from training.learn.averaged import check_features, load_averaged, plain_errors
from training.learn.data_parallel import Group
from training.learn.optimizer import kind_of, make_optimizer
from training.learn.teacher import Teacher
from training.net import trunk
from training.net.grow import grow
from training.net.network import Network, choose_device, computes_in_bf16
from training.settings.schema import LearnerConfig, LossConfig, NetConfig
from training.settings.values import from_mapping, to_mapping

_CALIBRATION_BATCH, _CALIBRATION_BATCHES = 32, 64
_DIVERGENCE_FACTOR = 3.0
"""Loss over that of a net that knows nothing from which on learning has diverged (*tuned*: with 16
positions a batch rates of 1 to 1e20 pass it at once, 0.05 does not come near)."""


class DivergedError(FloatingPointError):
    """Learning has diverged, the weights are useless; the message says when and at what rate."""


def loss_of_nothing(config: LossConfig, points: int) -> float:
    """Return the loss of a net that holds every one of `points` moves and every result for equally likely."""
    return (1 + config.reply + config.soft) * math.log(points) + config.value * math.log(3)


class Learner:
    """Trains one net on the records of a run.

    Attributes:
        model: the net in training.
        averaged: its exponential moving average, the one to export.
        dataset: positions that batches are drawn from.
        batches, samples: taken so far.
        samples_consumed: samples that count against bounded reuse; see `settle`.
        config: as given.

    Args:
        config: see `LearnerConfig`.
        run_dir: holds `records` and `checkpoints`; both are made when missing.
        device: `auto`, `cpu` or `cuda`.
        report: gets a line for anything that was skipped or repaired.
        dataset: to learn from; None: a replay buffer of `run_dir/records`.

    Raises:
        ValueError: a GPU was asked for by name and there is none.
        checkpoint.CheckpointError: the teacher is missing, damaged, or made for other planes.
    """

    def __init__(
        self,
        config: LearnerConfig,
        run_dir: Path | str,
        device: str = "auto",
        report: Callable[[str], None] = print,
        dataset: Dataset | None = None,
    ) -> None:
        self.config = config
        self.run_dir = Path(run_dir)
        self.device = choose_device(device)
        if config.threads and self.device.type == "cpu":
            torch.set_num_threads(config.threads)
        self.records_dir.mkdir(parents=True, exist_ok=True)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.model = Network(config.net)
        self.model.to(self.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.averaged = copy.deepcopy(self.model).requires_grad_(False).eval()
        self.optimizer = make_optimizer(config.optimizer, self.model, config.lr, config.weight_decay)
        if dataset is None:
            dataset = ReplayBuffer(self.records_dir, config, report, self.device)
        self.dataset = dataset
        self.batches = self.samples = self.samples_consumed = 0
        self.progress: float | None = None
        self._report = report
        self._fused = self.device.type == "cpu" and trunk.able(config.net) and not config.bf16
        self._bf16 = self._prefers_bf16() if config.bf16 is None else config.bf16
        self._rng = np.random.default_rng(config.seed)
        self._group: Group | None = None
        self._teacher: Teacher | None = None
        if config.teacher:
            source = checkpoint.find_checkpoint(Path(config.teacher), report)
            self._teacher = Teacher(source, *load_averaged(source), self.device)

    def _prefers_bf16(self) -> bool:
        """Return whether bfloat16 trains faster: not where a net has passes of its own."""
        return not self._fused and computes_in_bf16(self.device)

    @property
    def computes_in(self) -> torch.dtype:
        """Type that the net computes in during training."""
        return torch.bfloat16 if self._bf16 else torch.float32

    @property
    def records_dir(self) -> Path:
        """Folder of the games of the run."""
        return self.run_dir / "records"

    @property
    def checkpoints_dir(self) -> Path:
        """Folder of the checkpoints of the run."""
        return self.run_dir / "checkpoints"

    def join(self, group: Group) -> None:
        """Train in parallel with the same learner in other processes, which have the same weights now.

        All draw the same batches, each computes a part of them.

        Raises:
            ValueError: not on a CPU, or the batch cannot be divided.
        """
        if self.device.type != "cpu":
            raise ValueError("a GPU is for one process alone")
        if self.config.batch % group.count:
            raise ValueError(f"{group.count} processes cannot share batches of {self.config.batch}")
        torch.set_num_threads(self.config.threads or 1)
        share = self.config.batch // group.count
        self._group, self.dataset.part = group, slice(group.rank * share, (group.rank + 1) * share)

    def allowance(self) -> int:
        """Return how many batches bounded reuse of the positions seen so far still allows."""
        left = self.config.reuse * self.dataset.seen - self.samples_consumed
        return max(0, math.floor(left / self.config.batch))

    def settle(self) -> None:
        """Drop the reuse that positions seen so far still allow; later batches depend on new positions."""
        self.samples_consumed = int(self.config.reuse * self.dataset.seen)

    def forget_lost(self) -> None:
        """Drop the reuse of positions that were seen and are not here any more, as in a run from a bundle."""
        self.samples_consumed = max(
            self.samples_consumed, int(self.config.reuse * (self.dataset.seen - len(self.dataset)))
        )

    def schedule_progress(self) -> float:
        """Return the part of the schedule that is done, 0 to 1: `progress`, 0 where it is not set."""
        return min(max(self.progress or 0.0, 0.0), 1.0)

    def learning_rate(self) -> float:
        """Return the rate of the next batch."""
        c, factor = self.config, 1.0
        if c.schedule == "cosine":
            factor = 0.02 + 0.98 * (1 + math.cos(math.pi * self.schedule_progress())) / 2
        return c.lr * factor * min(1.0, (self.batches + 1) / max(c.warmup, 1))

    def step(self, batches: int = 1) -> dict[str, float]:
        """Take batches and return the means of their metrics.

        Metrics are those of `losses.compute`, `lr`, `grad_norm` (before clipping) and the counters `batches`
        and `samples`.

        Raises:
            ValueError: the dataset is empty.
            DivergedError: the loss is not finite, or three times that of a net that knows nothing. Load the
                checkpoint: the weights are of no use.
        """
        sums: dict[str, Tensor] = {}
        rate, nothing = 0.0, 0.0
        for batch in self.dataset.batches(self._rng, self.config.batch, batches):
            rate += self.learning_rate() / batches
            nothing += loss_of_nothing(self.config.loss, batch.policy.shape[1]) / batches
            for name, value in self._batch(batch).items():
                sums[name] = sums[name] + value if name in sums else value
        means = dict(zip(sums, (torch.stack(list(sums.values())) / batches).tolist(), strict=True))
        if not means["loss"] < _DIVERGENCE_FACTOR * nothing:
            said = self._diverged(means["loss"])
            raise DivergedError(f"{said}; a net that knows nothing has {nothing:.1f}")
        counters = {"batches": float(self.batches), "samples": float(self.samples)}
        return {**means, "lr": rate, **counters}

    def _diverged(self, loss: float) -> str:
        return f"the loss is {loss:.4g} at batch {self.batches} with learner.lr={self.config.lr:g}"

    def _autocast(self) -> contextlib.AbstractContextManager[None]:
        if not self._bf16:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    def _batch(self, batch: Batch) -> dict[str, Tensor]:
        c, planes = self.config, batch.planes
        if not self._fused:  # its passes take planes as they are
            planes = planes.contiguous(memory_format=torch.channels_last)
        targets = losses.Targets(batch.policy, batch.reply, batch.z, batch.root_wdl)
        rate = self.learning_rate()
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self._train_mode()
        self.optimizer.zero_grad(set_to_none=True)
        with self._autocast():
            heads = self.model(planes)
        taught = self._teacher.predict(planes) if self._teacher else batch.taught
        loss, parts = losses.compute(heads, planes, targets, c.loss, taught, c.teacher_share)
        if self.device.type == "cpu" and not torch.isfinite(loss):
            raise DivergedError(self._diverged(loss.item()))
        loss.backward()  # type: ignore[no-untyped-call]
        if self._group:
            self._group.mean(self.model)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), c.clip)
        self.optimizer.step()
        self.batches += 1
        taken = len(batch.planes) * (self._group.count if self._group else 1)
        self.samples += taken
        self.samples_consumed += taken
        self._average()
        return {**{name: value.float() for name, value in parts.items()}, "grad_norm": norm.detach()}

    def _train_mode(self) -> None:
        self.model.train()
        freeze = self.config.freeze_norm
        if freeze == 0 or self.schedule_progress() > freeze:  # without an end it stays at 0
            for module in self.model.modules():
                if isinstance(module, torch.nn.BatchNorm2d):
                    module.eval()

    @torch.no_grad()
    def _average(self) -> None:
        decay = min(
            self.config.ema, (1 + self.batches) / (10 + self.batches)
        )  # the first weights soon forgotten
        means, values = (
            [t for t in (*net.parameters(), *net.buffers()) if t.is_floating_point()]
            for net in (self.averaged, self.model)
        )
        torch._foreach_lerp_(means, values, 1 - decay)  # all at once: there are many, and most are small

    def export(self, folder: Path | str, name: str, origin: Origin | None = None) -> Exported:
        """Export the averaged net, calibrated on positions of the dataset; see `export.export_net`.

        The draw has its own generator, so exporting changes nothing about what is learned.

        Raises:
            export.ExportError: the files do not compute what the net computes.
            ValueError: the dataset is empty.
        """
        rng = np.random.default_rng((self.config.seed, self.batches))
        drawn = [self.dataset.calibration(rng, _CALIBRATION_BATCH) for _ in range(_CALIBRATION_BATCHES)]
        # Where no search made a target, the policy was never learned; the last quarter is compared.
        learned = [known | (i < len(drawn) * 3 // 4) for i, (_, known) in enumerate(drawn)]
        positions = [planes[rows] for (planes, _), rows in zip(drawn, learned, strict=True) if rows.any()]
        return export_net(self.averaged, folder, name, calibration=positions, origin=origin)

    def adopt(self, sources: Mapping[Path, float]) -> None:
        """Start from the averaged weights of a checkpoint, of this net or one with fewer blocks.

        Several make a mean, which is of use only where one began with the weights of the other and did not go
        far ("Robust fine-tuning of zero-shot models", https://arxiv.org/abs/2109.01903).

        Args:
            sources: checkpoints and their shares, all above 0; they need not sum to 1.

        Raises:
            checkpoint.CheckpointError: one is damaged, or made for other planes.
            ValueError: a net cannot be grown into this one.
        """
        total, state = sum(sources.values()), self.model.state_dict()
        grown = [grow(load_averaged(path)[0], self.config.net).state_dict() for path in sources]
        for name, value in state.items():
            parts = zip(grown, sources.values(), strict=True)
            if value.is_floating_point():
                state[name] = sum((g[name] * (s / total) for g, s in parts), torch.zeros_like(grown[0][name]))
            else:
                state[name] = grown[0][name]
        for mine in (self.model, self.averaged):
            mine.load_state_dict(state)

    def save(self) -> Path:
        """Write a checkpoint atomically and return its path.

        Raises:
            checkpoint.CheckpointError: weights that are not finite; nothing was written.
            OSError: disk full; older checkpoints stay.
        """
        state = {
            "feature_version": FEATURE_VERSION,
            "config": to_mapping(self.config),
            "model": self.model.state_dict(),
            "averaged": self.averaged.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "window": self.dataset.state(),
            "batches": self.batches,
            "samples": self.samples,
            "spent": self.samples_consumed,
            "progress": self.progress,
            "rng": self._rng.bit_generator.state,
        }
        return checkpoint.write_checkpoint(
            self.checkpoints_dir, self.batches, state, self.config.keep_checkpoints
        )

    def load(self) -> bool:
        """Continue from the newest good checkpoint of the run; False when there is none.

        Raises:
            checkpoint.CheckpointError: it was made for other planes or another shape of net.
        """
        found = checkpoint.newest_good(self.checkpoints_dir, self._report)
        if found is None:
            return False
        path, state = found
        check_features(path, state, (FEATURE_VERSION,))
        with plain_errors(path):
            there = from_mapping(NetConfig, state["config"]["net"])  # older checkpoints have fewer settings
        if there != self.config.net:
            raise checkpoint.CheckpointError(
                f"{path}: holds a net {to_mapping(there)}, the settings ask for {to_mapping(self.config.net)}"
            )
        with plain_errors(path):
            self.model.load_state_dict(state["model"])
            self.averaged.load_state_dict(state["averaged"])
            if kind_of(state["optimizer"]) == self.config.optimizer:
                self.optimizer.load_state_dict(state["optimizer"])
            else:
                self._report(f"{path}: written with another optimizer; {self.config.optimizer} begins anew")
            self.batches, self.samples = int(state["batches"]), int(state["samples"])
            self.samples_consumed = int(state.get("spent", self.samples))
            self.progress = None if state["progress"] is None else float(state["progress"])
            self._rng.bit_generator.state = state["rng"]
            self.dataset.restore(state["window"])
        return True
