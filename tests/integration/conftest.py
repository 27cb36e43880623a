"""Fixtures of the tests on a real cluster of Ray."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.on_ray import head, terms


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head that lends no core."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    made = head()
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def players(cluster: Any, tmp_path: Path, said: list[str]) -> Iterator[Any]:
    """Workers of one core."""
    from training.cluster.pool import Cluster

    cluster.add_node(num_cpus=1)
    backend = Cluster(cluster.address)
    made = backend.open(terms(tmp_path, said))
    yield made
    made.close()
    backend.close()
