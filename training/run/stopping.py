"""Ctrl-C and SIGTERM as a wish that is asked for between two steps, so that nothing is lost."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def stop_wish() -> Iterator[Callable[[], bool]]:
    """Yield what says whether the program was asked to stop; a second signal ends it at once.

    Raises:
        ValueError: not called in the main thread.
    """
    wished = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal wished
        if wished:
            signal.signal(number, signal.SIG_DFL)
        wished = True

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: wished
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
