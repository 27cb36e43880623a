"""What the tests of training share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from unittest import mock

import pytest


@pytest.fixture(autouse=True)
def few_batches() -> Iterator[None]:
    """Calibrate exports on few positions. What is not loaded stays so: `make check` does without torch."""
    learner = sys.modules.get("training.learn.learner")
    if learner is None:
        yield
        return
    with mock.patch.object(learner, "_CALIBRATION_BATCHES", 8):
        yield
