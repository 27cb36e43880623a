"""Workers of a match: threads for brains, processes for players inside this program.

Players inside share one net a process, and one game runs in a process at a time, so that a game is the same
in any of them. Brains are processes themselves; threads only talk to them.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeVar

from arena.brain_process import kill_all

T = TypeVar("T")

AHEAD = 2
"""Tasks handed out for each worker (derived: no worker waits, and a stop loses few)."""


_LOOK_S = 0.1  # between two looks at brains that have begun

_WORKER = threading.local()
_GIVEN_UP = threading.Event()
"""Set where the games were asked to stop: in a worker process, or for all threads of this one."""


@contextmanager
def executor(workers: int, *, processes: bool, cores: Sequence[int] = ()) -> Iterator[Executor]:
    """Lend workers; what they have not begun when the block ends is dropped.

    Args:
        workers: games at a time.
        processes: whether they are processes, else threads.
        cores: one for each worker, where its games are to be played (see `worker_cores`); may be empty.
    """
    pool: Executor
    if processes:
        context = multiprocessing.get_context("spawn")
        given = None
        if cores:
            given = context.Queue()
            for core in cores[:workers]:
                given.put(core)
        pool = _WorkerProcesses(workers, context, _begin_process, (given,))
    else:
        _GIVEN_UP.clear()
        free: queue.SimpleQueue[int] = queue.SimpleQueue()
        for core in cores[:workers]:
            free.put(core)
        pool = ThreadPoolExecutor(workers, initializer=_take_core, initargs=(free if cores else None,))
    try:
        yield pool
    except KeyboardInterrupt:
        if processes:
            _interrupt_workers()
        else:
            _interrupt_threads(pool)
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def worker_cores() -> frozenset[int] | None:
    """Return the core on which this worker's games are played; None for all."""
    return getattr(_WORKER, "cores", None)


def one_core_each(workers: int) -> list[int]:
    """Return a core for each worker.

    Raises:
        ValueError: this process may use fewer cores, or the system does not say.
    """
    if not hasattr(os, "sched_getaffinity"):
        raise ValueError("this system cannot keep a game on one core")
    cores = sorted(os.sched_getaffinity(0))
    if workers > len(cores):
        raise ValueError(f"{workers} games at a time on a core each need more than {len(cores)} cores")
    return cores[:workers]


def _take_core(free: queue.SimpleQueue[int] | multiprocessing.Queue[int] | None) -> None:
    _WORKER.cores = None if free is None else frozenset({free.get()})


def _interrupt_workers() -> None:
    """Let workers give up their tasks, as Ctrl-C at a terminal does; a second time does nothing."""
    for worker in multiprocessing.active_children():
        if worker.pid is not None:
            with suppress(OSError):
                os.kill(worker.pid, signal.SIGINT)


def _interrupt_threads(pool: Executor) -> None:
    """Let threads give up their games: brains are killed, and what begins meanwhile is killed too."""
    _GIVEN_UP.set()
    pool.shutdown(wait=False, cancel_futures=True)
    ended = threading.Event()

    def kill() -> None:
        while not ended.wait(_LOOK_S):
            kill_all()

    threading.Thread(target=kill, daemon=True).start()
    try:
        pool.shutdown(wait=True)
    finally:
        ended.set()


def raise_if_given_up() -> None:
    """Refuse the result of a game whose brains were killed since the games were asked to stop.

    Raises:
        SystemExit: they were.
    """
    if _GIVEN_UP.is_set():
        raise SystemExit(1)


def _give_up(number: int, frame: object) -> None:
    """End what this worker does, once: its brains are ended on the way, which must not be cut short."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _GIVEN_UP.set()
    raise SystemExit(1)


def _unless_given_up(task: Callable[..., T], *arguments: object, **named: object) -> T:
    """Run a task; a worker that gave up still gets those that had been handed out to it."""
    raise_if_given_up()
    return task(*arguments, **named)


class _WorkerProcesses(ProcessPoolExecutor):
    """Worker processes that begin nothing once they were asked to stop."""

    def submit(self, fn: Callable[..., T], /, *args: object, **kwargs: object) -> Future[T]:
        return super().submit(partial(_unless_given_up, fn), *args, **kwargs)


def _begin_process(free: multiprocessing.Queue[int] | None) -> None:
    signal.signal(signal.SIGINT, _give_up)
    _end_with_parent()
    _take_core(free)


def _end_with_parent() -> None:
    """Let this worker end when the program that began it is gone, however that ended.

    It would wait for work for ever: the workers hold one another's end of the queue open.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None, "only workers call this"

    def watch() -> None:
        parent.join()
        kill_all()
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
