"""Workers that are killed are started again, and nothing that they have finished is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from training.data.shards import list_shards, read_shard
from training.measure.batched_match import MatchPlayer, MatchSpec, play_batched
from training.settings.play import Mix, PlayConfig
from training.workers.interface import CycleOrder, WorkerError
from training.workers.local import LocalPool

PLAY = PlayConfig(simulations=12, fast_simulations=6, full_share=0.6)
MIX = Mix(((7, 7, 1.0),), ((0, 1.0),))


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def pool(tmp_path: Path, said: list[str]) -> Iterator[LocalPool]:
    (tmp_path / "records").mkdir()
    pool = LocalPool(2, tmp_path, PLAY, 8, 3, "cpu", said.append)
    yield pool
    pool.close()


def kill(pool: LocalPool, index: int) -> int:
    (worker,) = [w for w in pool.supervisor.workers if w.place.name == f"self-play worker {index}"]
    os.kill(worker.pid, signal.SIGKILL)
    worker.link.process.join(5)
    return worker.pid


def test_a_killed_worker_goes_on_where_it_was(pool: LocalPool, said: list[str], tmp_path: Path) -> None:
    killed: list[int] = []
    seen = []
    journals = [tmp_path / "records" / f"000001-00{life}.journal" for life in ("", "-1")]

    def watch(games: int, positions: int) -> None:
        seen.append((games, positions))
        journal = journals[len(killed)] if len(killed) < 2 else None
        if journal is not None and journal.exists() and journal.stat().st_size:
            killed.append(kill(pool, 0))

    counters, _, _ = pool.play(CycleOrder(1, "tactical", MIX, 24_000), watch, lambda: False)
    assert len(set(killed)) == 2
    assert len(said) == 2 and "exit code -9" in said[0]
    assert seen == sorted(seen)
    assert not list((tmp_path / "records").glob("*.journal"))
    shards = [path.name for path in list_shards(tmp_path / "records")]
    assert len(shards) == 4 and sum("recovered" in name for name in shards) == 2
    games = [game for path in list_shards(tmp_path / "records") for game in read_shard(path)]
    assert len(games) == len({(game.seed, game.moves.tobytes()) for game in games}) == counters.games
    # What was searched and not finished stays in flight: sixteen games of less than 49 moves at the end.
    assert 24_000 - 16 * 49 <= sum(game.positions for game in games) <= counters.moves
    assert counters.moves >= 24_000


def test_a_worker_that_died_while_idle_gets_its_next_order(pool: LocalPool, said: list[str]) -> None:
    kill(pool, 1)
    counters, _, _ = pool.play(CycleOrder(1, "tactical", MIX, 2000), lambda *_: None, lambda: False)
    assert counters.moves >= 2000 and len(said) == 1
    player = MatchPlayer("t", "tactical", 8)
    spec = MatchSpec(player, MatchPlayer("r", "rollouts:30"), 7, 7, 0, pairs=6)
    kill(pool, 0)
    assert pool.play_match(spec, lambda: False).pairs == play_batched(spec).pairs


@pytest.mark.parametrize("order", ["play", "match"])
def test_a_worker_that_hangs_is_started_again(tmp_path: Path, order: str) -> None:
    """A stopped process stands in for one that hangs."""
    (tmp_path / "records").mkdir()
    said: list[str] = []
    hung: list[int] = []

    def report(line: str) -> None:
        said.append(line)
        pool.supervisor.silence_s = 0.0  # enough seen; the next one may take its time to start

    pool = LocalPool(2, tmp_path, PLAY, 8, 3, "cpu", report)

    def hang(*_: object) -> bool:
        if not hung:
            hung.append(pool.supervisor.workers[0].pid)
            os.kill(hung[0], signal.SIGSTOP)
            pool.supervisor.silence_s = 5.0
        return False

    try:
        begun, _, _ = pool.play(CycleOrder(1, "tactical", MIX, 500), lambda *_: None, lambda: False)
        if order == "play":
            # The other worker alone plays 24,000 positions in 10 s, and has to wait for the silence.
            counters, _, _ = pool.play(CycleOrder(2, "tactical", MIX, 24_000), hang, lambda: False)
            games = [game for path in list_shards(tmp_path / "records") for game in read_shard(path)]
            assert counters.moves >= 24_000 and len(games) == begun.games + counters.games
        else:
            rollouts = MatchPlayer("r", "rollouts:30")
            spec = MatchSpec(MatchPlayer("t", "tactical", 8), rollouts, 7, 7, 0, pairs=6)
            assert pool.play_match(spec, hang).pairs == play_batched(spec).pairs
    finally:
        pool.close()
    assert said == ["self-play worker 0 was lost (said nothing for 5 s): replaced"]
    assert not list((tmp_path / "records").glob("*.journal"))


def test_workers_go_on_behind_a_cycle_and_a_match_does_not_wait_for_them(
    pool: LocalPool, tmp_path: Path
) -> None:
    pool.plan(CycleOrder(1, "tactical", MIX, 500))
    pool.plan(CycleOrder(2, "tactical", MIX, 10**6))
    first, _, _ = pool.play(CycleOrder(1, "uniform", MIX, 1), lambda *_: None, lambda: False)
    assert first.moves >= 500, "as it was planned"
    player = MatchPlayer("t", "tactical", 8)
    spec = MatchSpec(player, MatchPlayer("r", "rollouts:30"), 7, 7, 0, pairs=6)
    score = pool.play_match(spec, lambda: False)
    assert score.pairs == play_batched(spec).pairs, "cycle 2 is far from its end"
    late = pool.close()
    shards = {path.name[:6]: read_shard(path) for path in list_shards(tmp_path / "records")}
    assert set(shards) == {"000001", "000002"}
    games = [game for path in list_shards(tmp_path / "records") for game in read_shard(path)]
    assert late.moves > 0 and first.games + late.games == len(games), "nothing that was played is forgotten"


def test_a_worker_that_dies_while_the_run_learns_is_started_again(pool: LocalPool, said: list[str]) -> None:
    pool.plan(CycleOrder(1, "tactical", MIX, 500))
    pool.plan(CycleOrder(2, "tactical", MIX, 3000))
    pool.play(CycleOrder(1, "tactical", MIX, 500), lambda *_: None, lambda: False)
    kill(pool, 1)
    pool.poll()
    assert len(said) == 1 and "replaced" in said[0]
    counters, _, _ = pool.play(CycleOrder(2, "tactical", MIX, 3000), lambda *_: None, lambda: False)
    assert counters.moves >= 3000 and len(said) == 1


def test_a_file_that_a_worker_cannot_write_is_named(tmp_path: Path) -> None:
    pool = LocalPool(1, tmp_path / "gone", PLAY, 8, 3, "cpu")
    try:
        with pytest.raises(WorkerError, match=r"worker 0 failed: .*000001-00\.journal") as caught:
            pool.play(CycleOrder(1, "tactical", MIX, 100), lambda *_: None, lambda: False)
        assert "Traceback" not in str(caught.value)
    finally:
        pool.close()


def test_what_kills_a_worker_every_time_ends_the_run(pool: LocalPool, said: list[str]) -> None:
    def watch(games: int, positions: int) -> None:
        if "self-play worker 0" in {worker.place.name for worker in pool.supervisor.workers}:
            kill(pool, 0)

    with pytest.raises(WorkerError, match=r"worker 0 was lost 3 times in a row \(exit code -9\)"):
        pool.play(CycleOrder(1, "tactical", MIX, 10**9), watch, lambda: False)
    assert len(said) == 2
