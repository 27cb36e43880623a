"""The log of a run: JSON lines, one an event. `training.report` draws them."""

from __future__ import annotations

import json
import time
from pathlib import Path

from training.files.atomic import naming

LOG_BYTES = 128 << 20
"""Largest log that is read or packed (*derived*: three days of cycles of ten seconds)."""


class RunLog:
    """Appends events to `log.jsonl` of a run directory."""

    def __init__(self, run_dir: Path) -> None:
        self._path = run_dir / "log.jsonl"
        self._file = open(self._path, "a", encoding="utf-8")  # noqa: SIM115

    def event(self, kind: str, **fields: object) -> None:
        """Append one event.

        Raises:
            OSError: disk full; it names the file.
        """
        line = {"event": kind, "time": round(time.time(), 1), **fields}
        with naming(self._path):
            self._file.write(json.dumps(line, default=float) + "\n")
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
