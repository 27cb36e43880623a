"""What a run tells: JSON lines and TensorBoard for machines, a live line for people."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TextIO


class RunLog:
    """Appends events to `log.jsonl` and their numbers to TensorBoard, where that is installed."""

    def __init__(self, run_dir: Path) -> None:
        self._file = open(run_dir / "log.jsonl", "a", encoding="utf-8")  # noqa: SIM115
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            self._board = None
        else:
            self._board = SummaryWriter(str(run_dir / "tensorboard"))

    def event(self, kind: str, **fields: object) -> None:
        """Write one event; numbers also become points of curves over cycles."""
        line = {"event": kind, "time": round(time.time(), 1), **fields}
        self._file.write(json.dumps(line, default=float) + "\n")
        self._file.flush()
        cycle = fields.get("cycle")
        if self._board is None or not isinstance(cycle, int):
            return
        for name, value in fields.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool) and name != "cycle":
                tag = f"{kind}/{fields['b']}-{fields['size']}/{name}" if kind == "match" else f"{kind}/{name}"
                self._board.add_scalar(tag, value, cycle)
        if kind == "ratings" and isinstance(fields.get("elo"), dict):
            net, elo = fields["net"], fields["elo"]
            assert isinstance(elo, dict)
            if net in elo:
                self._board.add_scalar("ratings/elo", elo[net][0], cycle)
        self._board.flush()

    def close(self) -> None:
        """Close both."""
        self._file.close()
        if self._board is not None:
            self._board.close()


class Display:
    """A live line on a terminal, a line now and then elsewhere."""

    def __init__(self, stream: TextIO = sys.stderr, every_s: float = 15.0) -> None:
        self._stream = stream
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
            parts.append(f"{left_s // 3600:.0f}:{left_s % 3600 // 60:02.0f} h left")
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
