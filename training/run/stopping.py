"""Ctrl-C and SIGTERM as a flag that is checked between two steps, so that nothing is lost."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def stop_wish() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether to stop; a second signal ends the program at once.

    Raises:
        ValueError: not called in the main thread.
    """
    wished = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal wished
        if wished:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        wished = True

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: wished
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
