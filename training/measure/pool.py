"""Where the games of a match are played: threads for brains, processes for players inside of this program.

Players inside share one net a process, and one game runs in a process at a time, so that a game is the same
in any of them. Brains are processes themselves; threads only talk to them.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

AHEAD = 2
"""Tasks handed out for each worker (derived: nobody waits, and a stop loses few)."""


@contextmanager
def executor(workers: int, *, processes: bool) -> Iterator[Executor]:
    """Lend workers; what they have not begun when the block ends is dropped."""
    pool: Executor
    if processes:
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent)
    else:
        pool = ThreadPoolExecutor(workers)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """Let this worker end when the program that began it is gone, however that ended.

    It would wait for work for ever: the workers hold one another's end of the queue open.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None, "only workers call this"

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def as_done(
    pool: Executor, workers: int, task: Callable[..., T], arguments: Iterable[tuple[object, ...]]
) -> Iterator[T]:
    """Yield results as they come, with few tasks handed out at a time; an error of a task is raised here.

    What is done at the same moment comes in the order of its arguments, with one worker everything does.
    """
    waiting = enumerate(arguments)
    running: dict[Future[T], int] = {}
    while True:
        for number, given in waiting:
            running[pool.submit(task, *given)] = number
            if len(running) >= AHEAD * workers:
                break
        if not running:
            return
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in sorted(done, key=running.__getitem__):
            del running[future]
            yield future.result()
