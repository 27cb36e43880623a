"""The loop without processes: a pool with random games and chosen results stands in for the workers."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.training_games import random_game
from training.data.replay_buffer import ReplayBuffer
from training.data.shards import write_shard
from training.export import export
from training.learn.checkpoint import list_checkpoints, read_checkpoint
from training.learn.learner import DivergedError
from training.loop import Run
from training.measure.batched_match import MatchScore, MatchSpec
from training.play.evaluators import UNIFORM
from training.play.game import Counters
from training.run.bundle import pack, unpack
from training.run.display import Display
from training.run.nets import promote
from training.run.orders import Orders
from training.run.ship import ship
from training.run.state import State
from training.settings.recipes import preset
from training.settings.resolve import make_config, store_config
from training.settings.schema import RunConfig
from training.workers import local
from training.workers.interface import CycleOrder

SETTINGS = [
    "minutes=0", "device=cpu", "cycle_positions=400", "learner.net.kind=lines", "learner.net.line_hidden=16",
    "learner.window_min=100", "learner.batch=16", "learner.reuse=0.5", "learner.warmup=1",
    "evaluation.every_minutes=0", "evaluation.yardsticks=random",
]  # fmt: skip


class StandInPool:
    """Plays nothing: games are random, the newer of two nets scores `score`."""

    score = 1.0
    asked: list[str]
    planned: list[tuple[int, str]]
    played: list[tuple[str, str]]

    def __init__(self, workers: int, run_dir: Path, *_: object) -> None:
        self._records = run_dir / "records"

    def play(self, order: CycleOrder, *_: object) -> tuple[Counters, float, float]:
        cycle, net = order.cycle, order.net
        games = [random_game(1000 * cycle + i, 7) for i in range(12)]
        write_shard(self._records / f"{cycle:06d}-00.shard", games)
        self.asked.append(net if net == UNIFORM else Path(net).name)
        return Counters(games=12, moves=sum(g.positions for g in games)), 1.0, 1.0

    def play_match(self, spec: MatchSpec, stopped: Callable[[], bool]) -> MatchScore:
        self.played.append((spec.a.name, spec.b.name))
        return MatchScore(pairs=[[self.score, self.score]] * spec.pairs, plies=20 * spec.pairs)

    def metrics(self) -> dict[str, float]:
        return {}

    def plan(self, order: CycleOrder) -> None:
        net = order.net
        self.planned.append((order.cycle, net if net == UNIFORM else Path(net).name.partition(".")[0]))

    def poll(self) -> None:
        """Nobody to look after."""

    def close(self) -> Counters:
        return Counters()


@pytest.fixture(autouse=True)
def pool(monkeypatch) -> type[StandInPool]:
    kind = type("LocalPool", (StandInPool,), {"asked": [], "planned": [], "played": []})
    monkeypatch.setattr(local, "LocalPool", kind)
    monkeypatch.setattr(export, "calibrate_lines", lambda *_: None)  # 16 bits: a second less a net
    monkeypatch.setattr(export, "usual_pool", lambda *_: None)
    return kind


def config(*more: str) -> RunConfig:
    return make_config(preset("smoke").settings, [*SETTINGS, *more])


def train(run_dir: Path, cycles: int, *more: str) -> str:
    """Train so many cycles more; return what the run said."""
    run_dir.mkdir(exist_ok=True)
    settings = config(*more)
    store_config(run_dir / "config.json", "smoke", settings)
    stream = io.StringIO()
    run = Run(settings, run_dir, lambda: False, Display(stream, every_s=1e9))
    last = run.state.cycle + cycles
    run._over = lambda: run.state.cycle >= last  # type: ignore[method-assign]
    run.run()
    return stream.getvalue()


def state(run_dir: Path) -> dict[str, object]:
    return json.loads((run_dir / "state.json").read_text())


def best(run_dir: Path) -> str:
    return json.loads((run_dir / "standings.json").read_text())["best"]


def test_a_run_that_a_rate_spoils_saves_nothing_and_goes_on_with_another(tmp_path, pool):
    train(tmp_path, 2)
    good = list_checkpoints(tmp_path / "checkpoints")[-1]
    with pytest.raises(DivergedError, match=r"learner\.lr=1e\+06.*smaller --set learner\.lr"):
        train(tmp_path, 3, "learner.lr=1e6")
    assert list_checkpoints(tmp_path / "checkpoints")[-1] == good
    assert "lr=1e+06" in str(state(tmp_path)["spoilt"])
    said = train(tmp_path, 2, "learner.lr=0.002")
    batches = read_checkpoint(good)["batches"]
    assert "had spoilt the weights" in said and f"from batch {batches} with learner.lr=0.002" in said
    assert not state(tmp_path)["spoilt"]
    newest = list_checkpoints(tmp_path / "checkpoints")[-1]
    assert read_checkpoint(newest)["batches"] > batches
    assert "spoilt" not in train(tmp_path, 1, "learner.lr=0.002"), "it is said once"


def test_a_run_from_a_bundle_plays_its_best_net_and_promotes_again(tmp_path, pool):
    first, again = tmp_path / "first", tmp_path / "again"
    train(first, 3)
    promoted = best(first)
    assert promoted == "c000003"
    pack(first, tmp_path / "run.zip", 10**8)
    unpack(tmp_path / "run.zip", again)
    assert not (again / "nets").exists()
    pool.played.clear()
    pool.asked.clear()
    train(again, 2, "self_play_net=best")
    assert pool.asked[0] == f"{promoted}.fp32.onnx"
    assert ("c000004", promoted) in pool.played, "it is the one to beat"
    assert best(again) == "c000005", "and is beaten"


def test_a_run_whose_best_net_is_lost_says_so_and_promotes_again(tmp_path):
    train(tmp_path, 2)
    for path in [*tmp_path.glob("best.*"), *(tmp_path / "nets").glob(f"{best(tmp_path)}.*")]:
        path.unlink()
    lost = best(tmp_path)
    said = train(tmp_path, 1)
    assert f"the best net {lost} is not here any more" in said and best(tmp_path) > lost


def test_the_best_net_is_asked_for_and_there_is_none(tmp_path, pool):
    train(tmp_path, 2)
    (tmp_path / "standings.json").unlink()
    pool.asked.clear()
    with pytest.raises(ValueError, match="no net of this run was promoted yet"):
        train(tmp_path, 1, "self_play_net=best")
    assert not pool.asked, "nothing was played without a net"


def test_self_play_never_goes_back_to_no_net_in_silence(tmp_path, pool, monkeypatch):
    train(tmp_path, 2)
    for path in [*(tmp_path / "nets").glob("*"), *tmp_path.glob("best.*")]:
        path.unlink()
    pool.asked.clear()
    monkeypatch.setattr(Run, "_export", lambda self, cycle: None)  # an export that is refused
    with pytest.raises(ValueError, match=r"self-play has no net: .*c000002\.\* is missing"):
        train(tmp_path, 1)
    assert not pool.asked


def test_a_run_from_nothing_begins_without_a_net_whatever_plays(tmp_path, pool):
    train(tmp_path, 2, "self_play_net=best")
    assert pool.asked[0] == UNIFORM and pool.asked[1].startswith("c00000")


def test_a_run_from_a_gpu_goes_on_with_the_nets_for_a_processor(tmp_path, pool):
    train(tmp_path, 2)
    weights = tmp_path / "nets" / "c000002.pt"
    weights.write_bytes(b"what a GPU plays with")
    kept = state(tmp_path) | {"net": weights.name}
    (tmp_path / "state.json").write_text(json.dumps(kept))
    pool.asked.clear()
    train(tmp_path, 1)
    assert pool.asked == ["c000002.fp32.onnx"]


def test_the_best_net_leaves_no_file_of_another(tmp_path):
    (tmp_path / "nets").mkdir()
    for name in ("c000001.pt", "c000001.fp32.onnx", "c000002.fp32.onnx"):
        (tmp_path / "nets" / name).write_text(name)
    promote(tmp_path, "c000001", {})
    assert (tmp_path / "best.pt").read_text() == "c000001.pt"
    promote(tmp_path, "c000002", {})
    assert (tmp_path / "best.fp32.onnx").read_text() == "c000002.fp32.onnx"
    assert not (tmp_path / "best.pt").exists()


def test_a_run_that_was_stopped_before_it_knew_its_records_still_begins_with_its_weights(tmp_path, pool):
    train(tmp_path / "old", 2)
    (weights,) = list_checkpoints(tmp_path / "old" / "checkpoints")[-1:]
    new = tmp_path / "new"
    (new / "records").mkdir(parents=True)
    write_shard(new / "records" / "000000-00.shard", [random_game(i, 7) for i in range(30)])
    settings = config()
    store_config(new / "config.json", "smoke", settings)
    Run(settings, new, lambda: True, Display(io.StringIO(), every_s=1e9), {weights: 1.0}).run()
    assert not state(new)["pretrained"] and state(new)["cycle"] == 0
    pool.asked.clear()
    train(new, 1)
    assert pool.asked == ["c000000.fp32.onnx"], "and not without a net"


def test_a_net_ships_without_the_teacher_of_its_run(tmp_path):
    train(tmp_path, 2)
    store_config(tmp_path / "config.json", "smoke", config("learner.teacher=gone"))
    assert ship(tmp_path, tmp_path / "out", "mine", "strong", "").fp32.exists()


def test_a_log_begins_with_the_start_and_what_a_kill_left_is_removed(tmp_path):
    train(tmp_path, 1)
    left = [tmp_path / ".state.json.77.tmp", tmp_path / "nets" / ".c000009.md.77.tmp"]
    for path in left:
        path.write_text("half")
    pack(tmp_path, tmp_path / "run.zip", 10**8)
    unpack(tmp_path / "run.zip", tmp_path / "again")
    for path in (tmp_path / "again").glob("best.*"):
        path.unlink()  # so that nothing is left of its exports
    before = len((tmp_path / "again" / "log.jsonl").read_text().splitlines())
    train(tmp_path / "again", 1)
    lines = (tmp_path / "again" / "log.jsonl").read_text().splitlines()[before:]
    assert [json.loads(line)["event"] for line in lines][:2] == ["start", "export"]
    train(tmp_path, 1)
    assert not any(path.exists() for path in left)


@pytest.mark.parametrize("timed", [True, False])
def test_a_pause_of_self_play_is_no_time_of_the_run(tmp_path, monkeypatch, timed):
    store_config(tmp_path / "config.json", "smoke", config())
    run = Run(config(), tmp_path, lambda: False, Display(io.StringIO(), every_s=1e9))
    monkeypatch.setattr("training.loop.is_timed", lambda: timed)
    before_s = run.elapsed_s()
    run._looked_s = time.monotonic() - 100
    assert not run._stopped_meanwhile()
    assert before_s - run.elapsed_s() == pytest.approx(100 if timed else 0, abs=5)


@pytest.mark.parametrize(
    ("ahead", "nets"),
    [
        (0, [UNIFORM, "c000001", "c000002", "c000003"]),
        (1, [UNIFORM, UNIFORM, "c000001", "c000002", "c000003"]),
        (2, [UNIFORM, UNIFORM, UNIFORM, "c000001", "c000002", "c000003"]),
    ],
)
def test_cycles_are_ordered_so_far_ahead_with_the_net_of_that_time(tmp_path, pool, ahead, nets):
    train(tmp_path, 4, f"ahead_cycles={ahead}")
    assert pool.planned == list(enumerate(nets, 1))


def test_nothing_is_ordered_beyond_the_end_and_what_was_ordered_is_played(tmp_path):
    settings = config("total_positions=2100", "ahead_cycles=1", "cycle_positions=1000")
    orders, state = Orders(settings), State()
    wanted = []
    for cycle in (1, 2, 3):
        state.cycle = cycle
        wanted.append(list(orders.due(state, 0.0)))
        orders.played(cycle)
        state.positions += 1060  # a little more than was ordered, as always
        assert orders.over(state, 0.0) == (cycle == 3)
    assert wanted == [[1, 2], [3], []], "the third one, when the first two might have been too short"


def test_a_batch_is_drawn_from_no_later_cycle_than_the_run_is_in(tmp_path):
    for cycle in (1, 2):
        write_shard(tmp_path / f"{cycle:06d}-00.shard", [random_game(cycle, 7)])
    window = ReplayBuffer(tmp_path, config().learner)
    window.refresh(1)
    assert window.games_seen == 1
    window.refresh(2)
    assert window.games_seen == 2
