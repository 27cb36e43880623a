"""What a run tells machines: JSON lines and TensorBoard."""

from __future__ import annotations

import json
import time
from pathlib import Path

from training.files.atomic import naming

LOG_BYTES = 128 << 20
"""Largest log that is read or packed (*derived*: three days of cycles of ten seconds)."""


class RunLog:
    """Appends events to `log.jsonl` and their numbers to TensorBoard, where that is installed."""

    def __init__(self, run_dir: Path) -> None:
        self._path = run_dir / "log.jsonl"
        self._file = open(self._path, "a", encoding="utf-8")  # noqa: SIM115
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            self._board = None
        else:
            self._board = SummaryWriter(str(run_dir / "tensorboard"))

    def event(self, kind: str, **fields: object) -> None:
        """Write one event; numbers also become points of curves over cycles."""
        line = {"event": kind, "time": round(time.time(), 1), **fields}
        with naming(self._path):
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
