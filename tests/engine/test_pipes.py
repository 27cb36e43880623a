"""Programs whose output nobody reads any more, as in `program | head`, end in silence."""

import os
import subprocess
import sys

import pytest

from engine.pipes import CLOSED_PIPE_STATUS
from tests.helpers.paths import ROOT


@pytest.mark.posix
@pytest.mark.parametrize(
    "arguments",
    [
        ("engine", "--help"),
        ("engine", "solve", "--size", "5", "a1"),
        ("protocol", "--help"),
        ("protocol", "--version"),
        ("protocol", "--play", "--help"),
    ],
)
def test_a_closed_pipe_ends_a_program_in_silence(arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", *arguments]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    try:
        process = subprocess.run(
            command, stdout=writer, stderr=subprocess.PIPE, cwd=ROOT, env=buffered, timeout=60, check=False
        )
    finally:
        os.close(writer)
    assert (process.returncode, process.stderr) == (CLOSED_PIPE_STATUS, b"")
