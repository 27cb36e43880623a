"""A real cluster of several nodes of Ray on this machine: nodes join, leave, are refused; the head is killed.

Outside of the fast suite; `.ci/run` runs them where Ray is installed: pytest -m cluster.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from training.crew.crew import WorkerError
from training.crew.players import Terms
from training.data.records import SelfPlayRecord
from training.data.shards import encode, list_shards, read_shard
from training.match import main as match_main
from training.measure.arena import ArenaPlayer, ArenaSpec, play_arena
from training.settings.play import Mix, PlayConfig
from training.settings.schema import RunConfig

ray = pytest.importorskip("ray", reason="Ray is not installed here: pip install 'tengen[ray]'")
pytestmark = [pytest.mark.cluster, pytest.mark.posix]

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
PLAY = PlayConfig(simulations=12, fast_simulations=6, full_share=0.6)
MIX = Mix(((7, 7, 1.0),), ((0, 1.0),))
CONFIG = RunConfig(play=PLAY, games=8, cycle_positions=500, worker_silence_s=5.0)


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A head that lends no core."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def players(cluster: Any, tmp_path: Path, said: list[str]) -> Iterator[Any]:
    """Players of one core."""
    from training.cluster.players import Cluster

    cluster.add_node(num_cpus=1)
    (tmp_path / "records").mkdir()
    venue = Cluster(cluster.address)
    made = venue.open(Terms(tmp_path, CONFIG, 3, "cpu", 1, said.append))
    yield made
    made.close()
    venue.close()


def wait_for(condition: Callable[[], object], what: str, timeout_s: float = 90) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s, what
        time.sleep(0.1)


def games(run_dir: Path) -> list[SelfPlayRecord]:
    return [game for path in list_shards(run_dir / "records") for game in read_shard(path)]


def distinct(found: list[SelfPlayRecord]) -> int:
    return len({(game.seed, game.moves.tobytes()) for game in found})


def play(players: Any, cycle: int, positions: int = 500) -> Any:
    return players.play(cycle, "tactical", MIX, positions, lambda *_: None, lambda: False)[0]


def test_players_of_a_cluster_do_what_local_ones_do(players: Any, tmp_path: Path) -> None:
    counters = [play(players, cycle) for cycle in (1, 2, 3)]
    found = games(tmp_path)
    assert len(found) == distinct(found) == sum(c.games for c in counters)
    assert all(c.moves >= 500 for c in counters)
    assert {game.net_id for game in found} == {"tactical"}
    figures = players.figures()
    assert figures["players"] == 1 and figures["lost_orders"] == 0
    assert 1 < figures["bytes_a_position"] < 60
    spec = ArenaSpec(ArenaPlayer("t", "tactical", 8), ArenaPlayer("u", "uniform", 8), 7, 7, 0, pairs=6)
    assert players.arena(spec, lambda: False).pairs == play_arena(spec).pairs


def test_a_hung_player_is_replaced_and_a_damaged_shard_played_again(
    players: Any, tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    play(players, 1)
    whole = players._inbox.take
    harm = ["once"]

    def take(shard: bytes, source: str) -> int:
        if harm:
            harm.clear()
            shard = shard[:-1] + bytes([shard[-1] ^ 1])
        return int(whole(shard, source))

    monkeypatch.setattr(players._inbox, "take", take)
    play(players, 2)
    assert sum("checksum wrong" in line and "given again" in line for line in said) == 1
    assert players.figures()["damaged_orders"] == 1
    os.kill(players._staff._members[0].pid, signal.SIGSTOP)
    play(players, 3, 4000)
    assert sum("killed and replaced" in line for line in said) == 1
    assert players.figures()["lost_orders"] >= 1
    found = games(tmp_path)
    assert len(found) == distinct(found)


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ("from engine import encoding\nencoding.FEATURE_VERSION = 999\n", "feature version is 999, that of"),
        ("sys.modules['engine.rules._board'] = None\n", "compiled kernel is not installed there"),
    ],
)
def test_a_machine_of_another_version_or_without_the_kernel_is_refused(
    cluster: Any, tmp_path: Path, said: list[str], patch: str, words: str
) -> None:
    from training.cluster.players import Cluster

    other = tmp_path / "other"
    other.mkdir()
    root = str(Path(__file__).resolve().parents[2])
    (other / "sitecustomize.py").write_text(f"import sys\nsys.path.insert(0, {root!r})\n{patch}")
    cluster.add_node(num_cpus=1, env_vars={"PYTHONPATH": str(other)})
    (tmp_path / "records").mkdir()
    venue = Cluster(cluster.address)
    players = venue.open(Terms(tmp_path, CONFIG, 3, "cpu", 1, said.append))
    try:
        with pytest.raises(WorkerError, match=rf"no machine .* can play; .*{words}"):
            play(players, 1)
        assert len(said) == 1 and "is refused" in said[0]
    finally:
        players.close()
        venue.close()


def test_a_match_is_the_same_on_a_cluster(cluster: Any, tmp_path: Path, capsys: Any) -> None:
    cluster.add_node(num_cpus=1)
    players = ["--a", "engine:net=uniform,nodes=20", "--b", "rollouts:20", "--nodes", "20"]
    results = []
    for name, where in (("here", []), ("far", ["--ray", cluster.address])):
        path = tmp_path / f"{name}.json"
        words = [*players, "--games", "4", "--size", "7", "--quiet", "--json", str(path), *where]
        assert match_main(words) == 0, capsys.readouterr().err
        lines = path.with_name(f"{name}.games.jsonl").read_text().splitlines()[1:]
        results.append(sorted((json.loads(line)["n"], json.loads(line)["moves"]) for line in lines))
    assert results[0] == results[1] and len(results[0]) == 4
    assert match_main([*players[:2], "--b", "pbrain-other", "--ray", cluster.address]) == 2


def command(run_dir: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "training.selfplay", "--run-dir", str(run_dir), *arguments]


def test_an_address_where_nothing_listens_is_one_error(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        for where in (address, "nowhere"):
            done = subprocess.run(
                command(tmp_path / "x", "--preset", "smoke", "--ray", where),
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 1 and where in done.stderr
            assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "x").exists()


def test_a_run_outlives_its_machines_and_its_head(cluster: Any, tmp_path: Path) -> None:
    """Three nodes with the head; one is killed, one joins late, the head's process is killed and goes on."""
    first, _ = (cluster.add_node(num_cpus=1) for _ in range(2))
    run_dir, lines = tmp_path / "run", tmp_path / "stderr"
    settings = [
        "--preset", "smoke", "--minutes", "0", "--device", "cpu", "--set", "cycle_positions=600",
        "--set", "learner.window_min=500", "--set", "evaluation.every_minutes=100",
    ]  # fmt: skip
    begin = command(run_dir, *settings, "--set", "total_positions=1000000", "--ray", cluster.address)
    with open(lines, "w") as file:
        process = subprocess.Popen(begin, stderr=file, start_new_session=True)

    def cycles() -> list[dict[str, Any]]:
        log = run_dir / "log.jsonl"
        events = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        return [event for event in events if event["event"] == "play"]

    try:
        wait_for(lambda: lines.read_text().count("joins with 1 players") == 2, "two machines", 120)
        wait_for(lambda: len(cycles()) >= 2, "two cycles", 120)
        cluster.remove_node(first, allow_graceful=False)
        wait_for(lambda: " left" in lines.read_text(), "a machine lost", 120)
        cluster.add_node(num_cpus=1)
        wait_for(lambda: lines.read_text().count("joins with 1 players") == 3, "a machine more", 120)
        now = len(cycles())
        wait_for(lambda: len(cycles()) >= now + 2, "two more cycles", 120)
        wait_for(lambda: any(p.stat().st_size for p in (run_dir / "records").glob("*.journal")), "games")
    finally:
        assert process.poll() is None, lines.read_text()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    before = games(run_dir)
    positions = json.loads((run_dir / "state.json").read_text())["positions"]
    done = subprocess.run(
        command(run_dir, "--set", f"total_positions={positions + 1500}", "--ray", cluster.address),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "recovered" in done.stderr and "continuing at cycle" in done.stderr
    after = games(run_dir)
    assert len(after) == distinct(after) > len(before)
    assert {(g.seed, g.moves.tobytes()) for g in before} < {(g.seed, g.moves.tobytes()) for g in after}
    assert any(game.net_id.startswith("c0") for game in after), "nets of the run played"
    assert not list((run_dir / "records").glob("*.journal"))
    assert all(encode(read_shard(path)) for path in list_shards(run_dir / "records"))
    assert all(event["staleness_most"] <= 3 for event in cycles())
