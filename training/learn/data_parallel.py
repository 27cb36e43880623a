"""Data-parallel training: each process computes a part of a batch, all step along the mean gradient.

So every process has the same weights after every batch, and their number changes little but the time (a loss
over positions that have a target is a mean within each part): "Accurate, Large Minibatch SGD",
https://arxiv.org/abs/1706.02677. A line net learns in passes of one thread; so it learns on all cores.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from training.settings.schema import LearnerConfig

_FINISHED = 2.0  # broadcast in place of a progress: training is over


class Group:
    """Shared memory of the processes: gradients of each, the progress, and a barrier.

    Attributes:
        count: of processes.
        rank: of this one; rank 0 broadcasts the progress and saves the result.
    """

    def __init__(self, count: int, model: nn.Module) -> None:
        """Allocate the shared memory.

        Args:
            count: of processes.
            model: the trained one, or one of the same sizes.
        """
        numbers = sum(t.numel() for t in (*model.parameters(), *_statistics(model)))
        context = multiprocessing.get_context("spawn")
        self.count, self.rank = count, 0
        self._shared = context.RawArray("f", 2 * count * numbers)
        self._progress = context.RawArray("d", 1)
        self._barrier = context.Barrier(count)
        self._half = 0

    def mean(self, model: nn.Module) -> None:
        """Put the mean over all processes into a model's gradients and into the statistics of its
        normalisation; the same bits in all of them.

        Raises:
            threading.BrokenBarrierError: a process has ended.
        """
        tensors = [p.grad for p in model.parameters() if p.grad is not None] + _statistics(model)
        shared = torch.from_numpy(np.frombuffer(self._shared, np.float32)).view(2, self.count, -1)
        shared = shared[self._half]
        self._half ^= 1  # when this half is used again, every process has read it
        torch.cat([tensor.flatten() for tensor in tensors], out=shared[self.rank])
        self._barrier.wait()
        parts = torch.split(shared.mean(0), [tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view(tensor.shape))

    def broadcast(self, progress: float) -> None:
        """Send the progress to the others, which `receive` it.

        Raises:
            threading.BrokenBarrierError: a process has ended.
        """
        self._progress[0] = progress
        self._barrier.wait()

    def receive(self) -> float:
        """Wait for rank 0 to `broadcast`; return the progress.

        Raises:
            threading.BrokenBarrierError: a process has ended.
        """
        self._barrier.wait()
        return float(self._progress[0])

    def end(self) -> None:
        """Release the other processes from waiting for this one."""
        self._barrier.abort()


def _statistics(model: nn.Module) -> list[Tensor]:
    """Return the means and variances that normalisation has learned."""
    norms = (module for module in model.modules() if isinstance(module, nn.BatchNorm2d))
    found = (t for norm in norms for t in (norm.running_mean, norm.running_var))
    return [t for t in found if t is not None]


@contextlib.contextmanager
def start_workers(
    group: Group, config: LearnerConfig, run_dir: Path, positions: Sequence[Path], chunk: int
) -> Iterator[None]:
    """Start the other processes, which load the newest checkpoint of a run and train in parallel.

    Args:
        group: what they share with this one.
        config: of the learner, theirs too.
        run_dir: of the checkpoint.
        positions: folders of encoded positions that they learn from.
        chunk: batches between two broadcasts of the progress.

    Raises:
        RuntimeError: one of them has ended before it was told to.
    """
    context = multiprocessing.get_context("spawn")
    others = [
        context.Process(
            target=_train, args=(group, rank, config, run_dir, list(positions), chunk), daemon=True
        )
        for rank in range(1, group.count)
    ]

    def watch(process: multiprocessing.process.BaseProcess) -> None:
        process.join()
        if process.exitcode:
            group.end()

    for process in others:
        process.start()
    watchers = [threading.Thread(target=watch, args=(process,), daemon=True) for process in others]
    for watcher in watchers:
        watcher.start()
    try:
        yield
        group.broadcast(_FINISHED)
        for watcher in watchers:
            watcher.join()
    except threading.BrokenBarrierError:
        raise RuntimeError("a worker process has ended; the same command continues") from None
    finally:
        for process in others:
            process.terminate()


def _train(
    group: Group, rank: int, config: LearnerConfig, run_dir: Path, positions: list[Path], chunk: int
) -> None:
    from training.learn.encoded_dataset import EncodedDataset
    from training.learn.learner import Learner

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # rank 0 gets the signal and broadcasts the end
    threading.Thread(target=_end_with_rank_0, daemon=True).start()
    group.rank = rank
    dataset = EncodedDataset(positions, config, torch.device("cpu"), report=lambda line: None)
    learner = Learner(config, run_dir, "cpu", dataset=dataset)
    learner.load()
    learner.join(group)
    with contextlib.suppress(threading.BrokenBarrierError):
        while (progress := group.receive()) < _FINISHED:
            learner.progress = progress
            learner.step(chunk)


def _end_with_rank_0() -> None:
    first = multiprocessing.parent_process()
    assert first is not None
    first.join()
    os._exit(1)  # it was killed: the barrier would never open
