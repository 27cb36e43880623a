"""What holds for all tests."""

from __future__ import annotations

import os
import signal

import pytest

for _library in ("OMP", "OPENBLAS", "MKL"):  # else the threads of two workers wait for each other, busily
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

pytest_plugins = ["tests.helpers.processor_time"]

pytest.register_assert_rewrite("tests.helpers")


def pytest_configure() -> None:
    """Listen to Ctrl-C, which a shell turns off in what it starts in the background; tests send it.

    Tests neither wait for the timing lock of the machine nor hold it.
    """
    os.environ["TENGEN_TIMING_LOCK"] = ""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
