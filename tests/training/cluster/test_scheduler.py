"""What a cluster needs that is not Ray: orders, what they bring back, versions."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.training_games import random_game
from training.cluster.receiver import GameReceiver
from training.cluster.scheduler import MatchTask, NetName, PlayTask, Scheduler
from training.cluster.version import own_version
from training.data.journal import Journal, recover_journals
from training.data.shards import RecordError, encode, list_shards, read_shard
from training.measure.batched_match import MatchPlayer, MatchSpec
from training.play.game import Counters
from training.settings.play import Mix
from training.workers.self_play import PlayResult

MIX = Mix(((9, 9, 1.0),), ((0, 1.0),))
FIRST, SECOND = NetName("a", ".onnx"), NetName("b", ".onnx")


def played(moves: int) -> PlayResult:
    return PlayResult(Counters(moves=moves), 1.0, 1.0)


def orders(scheduler: Scheduler) -> list[PlayTask]:
    """Take all that is to be had."""
    found = []
    while (order := scheduler.next()) is not None:
        assert isinstance(order, PlayTask)
        found.append(order)
    return found


def test_orders_cover_what_is_wanted_and_no_more_than_what_may_be_ahead():
    scheduler = Scheduler(1)
    assert scheduler.next() is None, "before anything is wanted"
    scheduler.set_target(FIRST, MIX, 1000, 500, 2)
    first = orders(scheduler)
    assert 1500 <= sum(order.positions for order in first) < 1500 + first[0].positions
    assert len({order.seed for order in first}) == len(first), "each has its own seed"
    for order in first:
        scheduler.played(order, played(order.positions))
    assert scheduler.next() is None and scheduler.out == 0, "they wait for learning"
    scheduler.set_target(SECOND, MIX, 0, 500, 2)
    assert sum(order.positions for order in orders(scheduler)) >= 500


def test_an_order_that_was_lost_is_given_again_and_counted():
    scheduler = Scheduler(1)
    scheduler.set_target(FIRST, MIX, 100, 0, 1)
    given = orders(scheduler)
    scheduler.lost(given[0])
    scheduler.damaged(given[1])
    assert (scheduler.tally.lost, scheduler.tally.damaged) == (1, 1)
    again = orders(scheduler)
    assert sum(order.positions for order in again) == sum(order.positions for order in given[:2])
    assert not {order.seed for order in again} & {order.seed for order in given}, "but with other games"


def test_matches_come_first_and_lost_parts_again():
    scheduler = Scheduler(1)
    scheduler.set_target(FIRST, MIX, 100, 0, 1)
    spec = MatchSpec(MatchPlayer("a", "a"), MatchPlayer("b", "b"), 9, 9, 0, pairs=2)
    numbers = scheduler.match([(spec, FIRST, SECOND), (spec, FIRST, SECOND)])
    parts = [scheduler.next(), scheduler.next()]
    assert all(isinstance(part, MatchTask) for part in parts)
    assert [part.number for part in parts if part] == numbers
    assert parts[1]
    scheduler.lost(parts[1])
    assert scheduler.next() == parts[1]


def test_staleness_is_counted_in_nets():
    scheduler = Scheduler(1)
    scheduler.set_target(FIRST, MIX, 64, 0, 1)
    old = scheduler.next()
    scheduler.set_target(SECOND, MIX, 64, 64, 1)
    new = scheduler.next()
    assert isinstance(old, PlayTask) and isinstance(new, PlayTask)
    scheduler.played(old, played(30))
    scheduler.played(new, played(90))
    assert scheduler.tally.staleness(scheduler.generation) == (0.25, 1)


def test_games_that_arrive_are_safe_at_once(tmp_path: Path):
    receiver = GameReceiver(tmp_path, print)
    receiver.begin(3)
    games = [random_game(seed) for seed in range(4)]
    assert receiver.take(encode(games[:2]), "here") == 2
    assert recover_journals_of_a_copy(tmp_path) == 2, "a kill at this moment loses none"
    assert receiver.take(encode(games[2:]), "here") == 2
    assert receiver.seal() == 4
    assert [path.name for path in tmp_path.iterdir()] == ["000003-00.shard"]
    assert [g.seed for g in read_shard(list_shards(tmp_path)[0])] == [0, 1, 2, 3]


def recover_journals_of_a_copy(folder: Path) -> int:
    copy = folder.parent / "copy"
    copy.mkdir()
    for path in folder.glob("*.journal"):
        (copy / path.name).write_bytes(path.read_bytes())
    return recover_journals(copy, pytest.fail)


def test_a_damaged_shard_leaves_nothing(tmp_path: Path):
    receiver = GameReceiver(tmp_path, print)
    receiver.begin(1)
    data = bytearray(encode([random_game(1)]))
    data[len(data) // 2] ^= 1
    with pytest.raises(RecordError, match="answer to order 7"):
        receiver.take(bytes(data), "answer to order 7")
    assert not receiver.stuck and receiver.seal() == 0 and not list(tmp_path.iterdir())


@contextlib.contextmanager
def full_at(size: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes, as if the disk was full then."""
    import resource

    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


@pytest.mark.posix
def test_games_wait_until_a_full_disk_has_room_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    said: list[str] = []
    receiver = GameReceiver(tmp_path, said.append)
    receiver.begin(1)
    monkeypatch.setattr("training.cluster.receiver._RETRY_S", 0.0)
    games = [random_game(seed) for seed in range(3)]
    with full_at(len(encode(games[:1])) + 100):
        for game in games:
            receiver.take(encode([game]), "here")
        assert receiver.stuck == 2
    assert len(said) == 1 and "000001-00.journal" in said[0] and "wait in memory" in said[0]
    receiver.flush()
    assert not receiver.stuck and "takes games again" in said[1]
    assert receiver.seal() == 3
    assert [g.seed for g in read_shard(list_shards(tmp_path)[0])] == [0, 1, 2]


@pytest.mark.posix
def test_a_disk_that_stays_full_ends_the_run_with_the_name_of_the_file(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("training.cluster.receiver.PATIENCE_S", -1.0)
    receiver = GameReceiver(tmp_path, lambda text: None)
    receiver.begin(1)
    with full_at(100), pytest.raises(OSError, match=r"000001-00\.journal") as caught:
        receiver.take(encode([random_game(1)]), "here")
    assert caught.value.errno == errno.EFBIG


@pytest.mark.posix
def test_a_journal_that_met_a_full_disk_goes_on_behind_its_last_whole_game(tmp_path: Path):
    path = tmp_path / "000001-00.journal"
    journal = Journal(path)
    journal.add(random_game(1))
    whole = path.stat().st_size
    with full_at(whole + 100), pytest.raises(OSError, match="journal"):
        journal.add(random_game(2))
    assert path.stat().st_size == whole
    journal.add(random_game(3))
    assert recover_journals(tmp_path, pytest.fail) == 2


def test_a_version_says_how_another_differs():
    ours = own_version()
    assert ours.differs(ours) == ""
    assert "feature version is 99" in ours.differs(dataclasses.replace(ours, features=99))
    assert "kernel" in ours.differs(dataclasses.replace(ours, search="other"))
    assert "sources" in ours.differs(dataclasses.replace(ours, code="other"))


def test_nothing_else_needs_ray():
    code = (
        "import sys; sys.modules['ray'] = None\n"
        "import training.selfplay, training.loop, training.match, training.workers.bench"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_without_ray_the_option_says_what_to_install(monkeypatch, capsys, tmp_path):
    from training import match, selfplay
    from training.workers import interface

    monkeypatch.setattr(interface.importlib.util, "find_spec", lambda name: None)
    assert match.main(["--a", "random", "--b", "random", "--ray", "auto"]) == 2
    assert "-m pip install \"ray>=2.40\"" in capsys.readouterr().err
    assert selfplay.main(["--ray", "auto", "--run-dir", str(tmp_path / "x"), "--preset", "smoke"]) == 2
    assert "-m pip install \"ray>=2.40\"" in capsys.readouterr().err and not (tmp_path / "x").exists()
