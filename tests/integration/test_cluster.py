"""A real cluster of several nodes of Ray on this machine: nodes join, leave, are refused; the head is killed.

Outside of the fast suite: `make test-cluster`, which `.ci/run` does where Ray can be had.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.nets import write_net
from tests.helpers.paths import ROOT
from tests.integration.on_ray import (
    MIX,
    PLAY,
    SETTINGS,
    command,
    cycles,
    games,
    names,
    play,
    terms,
    wait_for,
)
from training.data.shards import encode, list_shards, read_shard
from training.match import main as match_main
from training.measure.batched_match import MatchPlayer, MatchSpec, play_batched
from training.workers.interface import WorkerError

pytest.importorskip("ray", reason='Ray is not installed here: pip install "ray>=2.40"')
pytestmark = [pytest.mark.cluster, pytest.mark.posix]


def test_players_of_a_cluster_do_what_local_ones_do(players: Any, tmp_path: Path) -> None:
    counters = [play(players, cycle) for cycle in (1, 2, 3)]
    found = games(tmp_path)
    assert len(found) == len(names(found)) == sum(c.games for c in counters)
    assert all(c.moves >= 500 for c in counters)
    assert {game.net_id for game in found} == {"tactical"}
    figures = players.metrics()
    assert figures["players"] == 1 and figures["lost_orders"] == 0
    assert 1 < figures["bytes_a_position"] < 60
    spec = MatchSpec(MatchPlayer("t", "tactical", 8), MatchPlayer("u", "uniform", 8), 7, 7, 0, pairs=6)
    assert players.play_match(spec, lambda: False).pairs == play_batched(spec).pairs


def test_orders_for_older_nets_are_answered_at_once() -> None:
    from training.cluster.actor import SelfPlayActor
    from training.cluster.scheduler import TASK_S, NetName, PlayTask

    player = SelfPlayActor(PLAY, 8)
    order = PlayTask(1, 5, NetName("", "tactical"), 0, MIX, 1_000_000)
    news = threading.Timer(1.0, player.invalidate, (1,))
    news.start()
    running = player.self_play(order, {})
    assert running.counters.moves and running.seconds < TASK_S / 2
    assert not player.self_play(order, {}).counters.moves, "one that waited"
    assert player.self_play(dataclasses.replace(order, generation=1, positions=50), {}).counters.moves >= 50
    news.join()


def test_a_hung_player_is_replaced_and_a_damaged_shard_played_again(
    players: Any, tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    play(players, 1)
    whole = players._receiver.take
    harm = ["once"]

    def take(shard: bytes, source: str) -> int:
        if harm:
            harm.clear()
            shard = shard[:-1] + bytes([shard[-1] ^ 1])
        return int(whole(shard, source))

    monkeypatch.setattr(players._receiver, "take", take)
    play(players, 2)
    assert sum("checksum wrong" in line and "given again" in line for line in said) == 1
    assert players.metrics()["damaged_orders"] == 1
    os.kill(players.supervisor.workers[0].pid, signal.SIGSTOP)
    play(players, 3, 4000)
    assert sum("said nothing" in line and "replaced" in line for line in said) == 1
    assert players.metrics()["lost_orders"] >= 1
    found = games(tmp_path)
    assert len(found) == len(names(found))


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
    from training.cluster.pool import Cluster

    other = tmp_path / "other"
    other.mkdir()
    root = str(ROOT)
    (other / "sitecustomize.py").write_text(f"import sys\nsys.path.insert(0, {root!r})\n{patch}")
    cluster.add_node(num_cpus=1, env_vars={"PYTHONPATH": str(other)})
    backend = Cluster(cluster.address)
    players = backend.open(terms(tmp_path, said))
    try:
        with pytest.raises(WorkerError, match=rf"no machine .* can play; .*{words}"):
            play(players, 1)
        assert len(said) == 1 and "is refused" in said[0]
    finally:
        players.close()
        backend.close()


def test_a_match_is_the_same_on_a_cluster(cluster: Any, tmp_path: Path, capsys: Any) -> None:
    cluster.add_node(num_cpus=1)
    first, second = (write_net(tmp_path / f"{n}.fp32.onnx", seed=n, net_id=f"net-{n}") for n in (1, 2))
    for a, b, count in (
        (f"engine:net={first}", f"engine:net={second}", 12), ("engine:net=uniform", "rollouts:20", 4)
    ):  # fmt: skip
        results = []
        for where in ([], ["--ray", cluster.address]):
            path = tmp_path / f"{count}-{len(where)}.json"
            words = ["--a", a, "--b", b, "--nodes", "20", "--games", str(count), "--size", "7", "--quiet"]
            assert match_main([*words, "--json", str(path), *where]) == 0, capsys.readouterr().err
            lines = path.with_name(f"{path.stem}.games.jsonl").read_text().splitlines()[1:]
            results.append(sorted((json.loads(line)["n"], json.loads(line)["moves"]) for line in lines))
        assert results[0] == results[1] and len(results[0]) == count
    assert match_main(["--a", "random", "--b", "pbrain-other", "--ray", cluster.address]) == 2


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
    begin = command(run_dir, *SETTINGS, "--set", "total_positions=1000000", "--ray", cluster.address)
    with open(lines, "w") as file:
        process = subprocess.Popen(begin, stderr=file, start_new_session=True)

    try:
        wait_for(lambda: lines.read_text().count("joins with 1 players") == 2, "two machines")
        wait_for(lambda: len(cycles(run_dir)) >= 2, "two cycles")
        cluster.remove_node(first, allow_graceful=False)
        wait_for(lambda: " left" in lines.read_text(), "a machine lost")
        cluster.add_node(num_cpus=1)
        wait_for(lambda: lines.read_text().count("joins with 1 players") == 3, "a machine more")
        now = len(cycles(run_dir))
        wait_for(lambda: len(cycles(run_dir)) >= now + 2, "two more cycles")
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
    assert len(after) == len(names(after)) > len(before)
    assert names(before) < names(after)
    assert any(game.net_id.startswith("c0") for game in after), "nets of the run played"
    assert not list((run_dir / "records").glob("*.journal"))
    assert all(encode(read_shard(path)) for path in list_shards(run_dir / "records"))
    assert all(event["staleness_most"] <= 2 for event in cycles(run_dir))
