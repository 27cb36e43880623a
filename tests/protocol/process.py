"""The brain under test as a child process, started in the repository."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from arena.brain_process import BrainProcess
from arena.lines import Splitter, split_lines
from tests.helpers.paths import ROOT

REPOSITORY = ROOT


class Brain(BrainProcess):
    """A running brain; the repository is its default working directory and is on PYTHONPATH in any case."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        merge_stderr: bool = False,
        splitter: Splitter = split_lines,
        env: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(
            command, cwd=cwd or REPOSITORY, merge_stderr=merge_stderr, splitter=splitter,
            env={"PYTHONPATH": str(REPOSITORY), **(env or {})},
        )  # fmt: skip
