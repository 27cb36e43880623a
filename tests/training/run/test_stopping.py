"""The wish to stop, and signals that end a program at once."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.helpers.paths import ROOT

PROGRAM = """
import signal
from training.run.stopping import stop_wish
with stop_wish() as stopped:
    for _ in range({times}):
        signal.raise_signal(signal.SIGINT)
    print(stopped(), flush=True)
"""


@pytest.mark.posix
@pytest.mark.parametrize(
    ("times", "said", "status"), [(0, "False\n", 0), (1, "True\n", 0), (2, "", -signal.SIGINT)]
)
def test_one_signal_is_a_wish_and_a_second_one_the_end(times: int, said: str, status: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(times=times)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == (said, status)
