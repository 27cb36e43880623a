"""What ends a run on a cluster of Ray does so with one clear error, and no finished game is lost."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from arena.limits import BrainLimits
from arena.match_config import MatchConfig
from arena.match_runner import play_index
from tests.helpers.paths import ROOT
from tests.integration.on_ray import (
    SETTINGS,
    command,
    cycles,
    games,
    head,
    names,
    play,
    terms,
    wait_for,
)
from training.data.journal import read_journal
from training.settings.play import Mix
from training.workers.interface import WorkerError

ray = pytest.importorskip("ray", reason='Ray is not installed here: pip install "ray>=2.40"')
pytestmark = [pytest.mark.cluster, pytest.mark.posix]

NET = next((ROOT / "engine" / "nets").glob("*.fp32.onnx"))


def test_the_head_of_ray_is_killed_and_the_run_goes_on_with_another(cluster: Any, tmp_path: Path) -> None:
    cluster.add_node(num_cpus=1)
    run_dir, lines = tmp_path / "run", tmp_path / "stderr"
    with open(lines, "w") as file:
        process = subprocess.Popen(
            command(run_dir, *SETTINGS, "--set", "total_positions=1000000", "--ray", cluster.address),
            stderr=file, start_new_session=True,
        )  # fmt: skip
    journals = run_dir / "records"
    try:
        wait_for(lambda: len(cycles(run_dir)) >= 2, "two cycles")
        wait_for(lambda: any(path.stat().st_size > 200 for path in journals.glob("*.journal")), "games")
        for kept in cluster.head_node.all_processes.values():
            for one in kept:
                os.kill(one.process.pid, signal.SIGKILL)
        finished = names(games(run_dir))
        for path in journals.glob("*.journal"):
            finished |= names(read_journal(path, pytest.fail))
        assert process.wait(60) == 1, lines.read_text()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    errors = [line for line in lines.read_text().splitlines() if "error" in line]
    assert len(errors) == 1 and "Ray's processes on this machine have ended; start Ray again" in errors[0]
    positions = sum(event["positions_per_s"] * event["seconds"] for event in cycles(run_dir))
    again = head()
    try:
        again.add_node(num_cpus=1)
        done = subprocess.run(
            command(run_dir, "--set", f"total_positions={positions + 1000:.0f}", "--ray", again.address),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        again.shutdown()
    assert done.returncode == 0 and "continuing at cycle" in done.stderr, done.stderr
    found = games(run_dir)
    assert finished < names(found) and len(found) == len(names(found))
    assert not list(journals.glob("*.journal"))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_silent_head_is_an_error_before_ray_ends_the_process(
    players: Any, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: signal.Signals
) -> None:
    """Its other processes on this machine live. For one that is stopped the system accepts connections."""
    monkeypatch.setattr("training.cluster.connection._HEAD_PATIENCE_S", 3.0)
    counters = play(players, 1)
    (server,) = cluster.head_node.all_processes["gcs_server"]
    os.kill(server.process.pid, how)
    with pytest.raises(WorkerError, match=r"the head of the cluster at .* does not answer any more"):
        play(players, 2, 1_000_000)
    players.close()
    server.process.kill()
    assert len(names(games(tmp_path))) >= counters.games


def test_a_net_that_the_object_store_does_not_take_is_one_error(tmp_path: Path, said: list[str]) -> None:
    """The store is full, and so is the disk that Ray would use in place of it."""
    from training.cluster.pool import Cluster

    full = head(object_store_memory=80 << 20, _system_config={"local_fs_capacity_threshold": 0.0})
    try:
        full.add_node(num_cpus=1)
        backend = Cluster(full.address)
        players = backend.open(terms(tmp_path, said))
        counters = play(players, 1)
        filling = []
        for size in (8 << 20, 1 << 18):
            with pytest.raises(ray.exceptions.OutOfDiskError):
                while True:
                    filling.append(ray.put(bytes(size)))
        with pytest.raises(RuntimeError) as caught:
            play(players, 2, net=str(NET))
        assert str(caught.value).startswith(f"Ray's object store does not take the net {NET}: ")
        assert len(str(caught.value).splitlines()) == 1
        assert len(names(games(tmp_path))) >= counters.games
        filling.clear()
        assert play(players, 2).moves >= 500, "with room again it goes on"
        players.close()
        backend.close()
    finally:
        ray.shutdown()
        full.shutdown()


def test_a_machine_with_a_full_disk_is_left_alone(
    cluster: Any, tmp_path: Path, said: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    """Its files end at half the size of the net."""
    from training.cluster.pool import Cluster

    limit = NET.stat().st_size // 2
    (tmp_path / "sitecustomize.py").write_text(
        f"import resource, sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
    )
    cluster.add_node(num_cpus=1, env_vars={"PYTHONPATH": str(tmp_path), "TMPDIR": str(tmp_path)})
    backend = Cluster(cluster.address)
    players = backend.open(terms(tmp_path, said))
    try:
        first = play(players, 1)
        cluster.add_node(num_cpus=1)
        wait_for(lambda: sum("joins with 1" in line for line in said) == 2, "a machine with room")
        cycle, mix = itertools.count(2), Mix(((9, 9, 1.0),), ((0, 1.0),))

        def given_up() -> bool:
            play(players, next(cycle), 200, str(NET), mix)  # who gets no orders cannot fail
            return any("left alone" in line for line in said)

        wait_for(given_up, "the full one given up")
        line = next(line for line in said if "left alone" in line)
        assert "Traceback" not in capfd.readouterr().err, "the lines about it are enough"
        assert "lost 3 times in a row" in line and "File too large" in line and ".onnx" in line
        play(players, next(cycle))
        found = games(tmp_path)
        assert len(found) == len(names(found)) >= first.games
    finally:
        players.close()
        backend.close()


def test_a_game_that_nobody_can_play_any_more_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from training.cluster import executor
    asked = threading.Event()

    class Nobody:
        head = None

        def places(self) -> None:
            asked.wait(10)
            raise WorkerError("no machine of the cluster can play")

    monkeypatch.setattr(executor, "RayTransport", lambda *_: Nobody())
    pool = executor.GameExecutor(lambda line: None)
    limits = BrainLimits(turn_ms=None, max_nodes=10)
    game = (play_index, MatchConfig("random", "random", (limits, limits)), (), 0)
    waiting = pool.submit(*game)
    asked.set()
    with pytest.raises(WorkerError, match="no machine"):
        waiting.result(10)
    with pytest.raises(WorkerError, match="no machine"):
        pool.submit(*game)
    pool.shutdown()
