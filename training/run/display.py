"""A run for people: a live line."""

from __future__ import annotations

import sys
import time
from typing import TextIO


def time_text(seconds: float) -> str:
    """Return a length of time as people say it: "45 s", "5 min", "2 h 05 min"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = int(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


class Display:
    """A live line on a terminal, a line now and then elsewhere."""

    def __init__(self, stream: TextIO | None = None, every_s: float = 15.0) -> None:
        self._stream = stream = stream or sys.stderr
        self._live = stream.isatty()
        self._every_s = 0.3 if self._live else every_s
        self._next_s = 0.0
        self._width = 0

    def say(self, text: str) -> None:
        """Write a line that stays."""
        self._clear()
        print(text, file=self._stream, flush=True)

    def status(
        self, *, stage: str, detail: str, cycle: int, games: int, positions: int, rate: float,
        metrics: dict[str, float], elo: float | None, left_s: float | None,
    ) -> None:  # fmt: skip
        """Show where the run stands, if the last time is long enough ago."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + self._every_s
        parts = [f"cycle {cycle} {stage}: {detail}", f"{games} games", f"{positions} positions"]
        if rate:
            parts.append(f"{rate:.0f} positions/s")
        parts += [f"{name} {metrics[name]:.3f}" for name in ("policy", "value", "loss") if name in metrics]
        if elo is not None:
            parts.append(f"Elo {elo:+.0f}")
        if left_s is not None:
            parts.append(f"{time_text(left_s)} left")
        text = " | ".join(parts)
        if self._live:
            self._stream.write("\r" + text.ljust(self._width))
            self._stream.flush()
            self._width = len(text)
        else:
            print(text, file=self._stream, flush=True)

    def _clear(self) -> None:
        if self._live and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._width = 0
