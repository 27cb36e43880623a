"""What the tests on a real cluster of Ray share: a run's settings, its games, waiting for something."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from training.data.records import SelfPlayRecord
from training.data.shards import list_shards, read_shard
from training.play.game import Counters
from training.settings.play import Mix, PlayConfig
from training.settings.schema import RunConfig
from training.workers.interface import CycleOrder, PoolConfig, WorkerPool

PLAY = PlayConfig(simulations=12, fast_simulations=6, full_share=0.6)
MIX = Mix(((7, 7, 1.0),), ((0, 1.0),))
CONFIG = RunConfig(play=PLAY, games=8, cycle_positions=500)
SETTINGS = [
    "--preset", "smoke", "--minutes", "0", "--device", "cpu", "--set", "cycle_positions=600",
    "--set", "learner.window_min=500", "--set", "evaluation.every_minutes=100",
]  # fmt: skip
"""Of a run that learns after a few seconds, and measures nothing before its end."""


def head(**settings: Any) -> Any:
    """Start the head of a cluster, which lends no core."""
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_worker_niceness", "0")  # 15 would starve on a machine that does other work
    given = {"num_cpus": 0, "include_dashboard": False, **settings}
    return Cluster(initialize_head=True, head_node_args=given)


def terms(run_dir: Path, said: list[str]) -> PoolConfig:
    """Return what players are told; their lines go to `said`."""
    (run_dir / "records").mkdir(exist_ok=True)
    return PoolConfig(run_dir, CONFIG, 3, "cpu", 1, said.append, silence_s=5.0)


def play(
    players: WorkerPool, cycle: int, positions: int = 500, net: str = "tactical", mix: Mix = MIX
) -> Counters:
    """Play a cycle."""
    return players.play(CycleOrder(cycle, net, mix, positions), lambda *_: None, lambda: False)[0]


def command(run_dir: Path, *arguments: str) -> list[str]:
    """Return the command of a run."""
    return [sys.executable, "-m", "training.selfplay", "--run-dir", str(run_dir), *arguments]


def cycles(run_dir: Path) -> list[dict[str, Any]]:
    """Return the lines of a run's log about self-play."""
    log = run_dir / "log.jsonl"
    events = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [event for event in events if event["event"] == "play"]


def wait_for(condition: Callable[[], object], what: str, timeout_s: float = 120) -> None:
    """Wait until something is true."""
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s, what
        time.sleep(0.1)


def games(run_dir: Path) -> list[SelfPlayRecord]:
    """Return all games in the shards of a run."""
    return [game for path in list_shards(run_dir / "records") for game in read_shard(path)]


def names(found: list[SelfPlayRecord]) -> set[tuple[int, bytes]]:
    """Return what tells games apart."""
    return {(game.seed, game.moves.tobytes()) for game in found}
