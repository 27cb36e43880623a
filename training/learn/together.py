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

_OVER = 2.0  # told in the place of a progress: nothing more is to be learned


class Group:
    """What the processes share: a place for the gradients of each, a progress, and a barrier.

    Attributes:
        count: of processes.
        rank: of this one; the first, 0, tells the others how far learning has come and keeps the result.
    """

    def __init__(self, count: int, model: nn.Module) -> None:
        """Allocate the shared memory.

        Args:
            count: of processes.
            model: that they learn, or one like it.
        """
        numbers = sum(t.numel() for t in (*model.parameters(), *_statistics(model)))
        context = multiprocessing.get_context("spawn")
        self.count, self.rank = count, 0
        self._room = context.RawArray("f", 2 * count * numbers)
        self._told = context.RawArray("d", 1)
        self._barrier = context.Barrier(count)
        self._half = 0

    def mean(self, model: nn.Module) -> None:
        """Put the mean over all processes into a model's gradients and into the statistics of its
        normalisation; the same bits in all of them.

        Raises:
            threading.BrokenBarrierError: a process has ended.
        """
        tensors = [p.grad for p in model.parameters() if p.grad is not None] + _statistics(model)
        room = torch.from_numpy(np.frombuffer(self._room, np.float32)).view(2, self.count, -1)
        room = room[self._half]
        self._half ^= 1  # by the time it is this half's turn again everybody has read it
        torch.cat([tensor.flatten() for tensor in tensors], out=room[self.rank])
        self._barrier.wait()
        parts = torch.split(room.mean(0), [tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view(tensor.shape))

    def tell(self, progress: float) -> None:
        """Tell the others, who `ask`, how far learning has come.

        Raises:
            threading.BrokenBarrierError: a process has ended.
        """
        self._told[0] = progress
        self._barrier.wait()

    def ask(self) -> float:
        """Wait for the first process to `tell`; return what it says.

        Raises:
            threading.BrokenBarrierError: a process has ended.
        """
        self._barrier.wait()
        return float(self._told[0])

    def end(self) -> None:
        """Release the other processes from waiting for this one."""
        self._barrier.abort()


def _statistics(model: nn.Module) -> list[Tensor]:
    """Return the means and variances that normalisation has learned."""
    norms = (module for module in model.modules() if isinstance(module, nn.BatchNorm2d))
    found = (t for norm in norms for t in (norm.running_mean, norm.running_var))
    return [t for t in found if t is not None]


@contextlib.contextmanager
def companions(
    group: Group, config: LearnerConfig, run_dir: Path, positions: Sequence[Path], chunk: int
) -> Iterator[None]:
    """Start the other processes, which begin with the newest checkpoint of a run and learn along.

    Args:
        group: what they share with this one.
        config: of the learner, theirs too.
        run_dir: of the checkpoint.
        positions: folders of encoded positions that they learn from.
        chunk: batches between two words of this process on the progress.

    Raises:
        RuntimeError: one of them has ended before it was told to.
    """
    context = multiprocessing.get_context("spawn")
    others = [
        context.Process(
            target=_learn_along, args=(group, rank, config, run_dir, list(positions), chunk), daemon=True
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
        group.tell(_OVER)
        for watcher in watchers:
            watcher.join()
    except threading.BrokenBarrierError:
        raise RuntimeError("a process that learned along has ended; the same command goes on") from None
    finally:
        for process in others:
            process.terminate()


def _learn_along(
    group: Group, rank: int, config: LearnerConfig, run_dir: Path, positions: list[Path], chunk: int
) -> None:
    from training.learn.encoded_dataset import EncodedDataset
    from training.learn.learner import Learner

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process is asked, and says when it is over
    threading.Thread(target=_end_with_the_first, daemon=True).start()
    group.rank = rank
    dataset = EncodedDataset(positions, config, torch.device("cpu"), report=lambda line: None)
    learner = Learner(config, run_dir, "cpu", dataset=dataset)
    learner.load()
    learner.join(group)
    with contextlib.suppress(threading.BrokenBarrierError):
        while (progress := group.ask()) < _OVER:
            learner.progress = progress
            learner.step(chunk)


def _end_with_the_first() -> None:
    first = multiprocessing.parent_process()
    assert first is not None
    first.join()
    os._exit(1)  # it was killed: nobody would come to the barrier any more
