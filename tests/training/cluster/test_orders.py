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
from training.cluster.inbox import Inbox
from training.cluster.orders import Desk, MatchOrder, NetName, Played, PlayOrder
from training.cluster.version import own_version
from training.data.journal import Journal, recover_journals
from training.data.shards import RecordError, encode, list_shards, read_shard
from training.measure.arena import ArenaPlayer, ArenaSpec
from training.play.game import Counters
from training.settings.play import Mix

MIX = Mix(((9, 9, 1.0),), ((0, 1.0),))
FIRST, SECOND = NetName("a", ".onnx"), NetName("b", ".onnx")


def played(moves: int) -> Played:
    return Played(b"", Counters(moves=moves), 1.0, 1.0)


def orders(desk: Desk) -> list[PlayOrder]:
    """Take all that is to be had."""
    found = []
    while (order := desk.next()) is not None:
        assert isinstance(order, PlayOrder)
        found.append(order)
    return found


def test_orders_cover_what_is_wanted_and_no_more_than_what_may_be_ahead():
    desk = Desk(1)
    assert desk.next() is None, "before anything is wanted"
    desk.wish(FIRST, MIX, 1000, 500, 2)
    first = orders(desk)
    assert 1500 <= sum(order.positions for order in first) < 1500 + first[0].positions
    assert len({order.seed for order in first}) == len(first), "each has its own seed"
    for order in first:
        desk.played(order, played(order.positions))
    assert desk.next() is None and desk.out == 0, "they wait for learning"
    desk.wish(SECOND, MIX, 0, 500, 2)
    assert sum(order.positions for order in orders(desk)) >= 500


def test_an_order_that_was_lost_is_given_again_and_counted():
    desk = Desk(1)
    desk.wish(FIRST, MIX, 100, 0, 1)
    given = orders(desk)
    desk.lost(given[0])
    desk.damaged(given[1])
    assert (desk.tally.lost, desk.tally.damaged) == (1, 1)
    again = orders(desk)
    assert sum(order.positions for order in again) == sum(order.positions for order in given[:2])
    assert not {order.seed for order in again} & {order.seed for order in given}, "but with other games"


def test_matches_come_first_and_lost_parts_again():
    desk = Desk(1)
    desk.wish(FIRST, MIX, 100, 0, 1)
    spec = ArenaSpec(ArenaPlayer("a", "a"), ArenaPlayer("b", "b"), 9, 9, 0, pairs=2)
    numbers = desk.match([(spec, FIRST, SECOND), (spec, FIRST, SECOND)])
    parts = [desk.next(), desk.next()]
    assert all(isinstance(part, MatchOrder) for part in parts)
    assert [part.number for part in parts if part] == numbers
    assert parts[1]
    desk.lost(parts[1])
    assert desk.next() == parts[1]


def test_staleness_is_counted_in_nets():
    desk = Desk(1)
    desk.wish(FIRST, MIX, 64, 0, 1)
    old = desk.next()
    desk.wish(SECOND, MIX, 64, 64, 1)
    new = desk.next()
    assert isinstance(old, PlayOrder) and isinstance(new, PlayOrder)
    desk.played(old, played(30))
    desk.played(new, played(90))
    assert desk.tally.staleness(desk.generation) == (0.25, 1)


def test_games_that_arrive_are_safe_at_once(tmp_path: Path):
    inbox = Inbox(tmp_path, print)
    inbox.begin(3)
    games = [random_game(seed) for seed in range(4)]
    assert inbox.take(encode(games[:2]), "here") == 2
    assert recover_journals_of_a_copy(tmp_path) == 2, "a kill at this moment loses none"
    assert inbox.take(encode(games[2:]), "here") == 2
    assert inbox.seal() == 4
    assert [path.name for path in tmp_path.iterdir()] == ["000003-00.shard"]
    assert [g.seed for g in read_shard(list_shards(tmp_path)[0])] == [0, 1, 2, 3]


def recover_journals_of_a_copy(folder: Path) -> int:
    copy = folder.parent / "copy"
    copy.mkdir()
    for path in folder.glob("*.journal"):
        (copy / path.name).write_bytes(path.read_bytes())
    return recover_journals(copy, pytest.fail)


def test_a_damaged_shard_leaves_nothing(tmp_path: Path):
    inbox = Inbox(tmp_path, print)
    inbox.begin(1)
    data = bytearray(encode([random_game(1)]))
    data[len(data) // 2] ^= 1
    with pytest.raises(RecordError, match="answer to order 7"):
        inbox.take(bytes(data), "answer to order 7")
    assert not inbox.stuck and inbox.seal() == 0 and not list(tmp_path.iterdir())


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
    inbox = Inbox(tmp_path, said.append)
    inbox.begin(1)
    monkeypatch.setattr("training.cluster.inbox._RETRY_S", 0.0)
    games = [random_game(seed) for seed in range(3)]
    with full_at(len(encode(games[:1])) + 100):
        for game in games:
            inbox.take(encode([game]), "here")
        assert inbox.stuck == 2
    assert len(said) == 1 and "000001-00.journal" in said[0] and "wait in memory" in said[0]
    inbox.flush()
    assert not inbox.stuck and "takes games again" in said[1]
    assert inbox.seal() == 3
    assert [g.seed for g in read_shard(list_shards(tmp_path)[0])] == [0, 1, 2]


@pytest.mark.posix
def test_a_disk_that_stays_full_ends_the_run_with_the_name_of_the_file(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("training.cluster.inbox.PATIENCE_S", -1.0)
    inbox = Inbox(tmp_path, lambda text: None)
    inbox.begin(1)
    with full_at(100), pytest.raises(OSError, match=r"000001-00\.journal") as caught:
        inbox.take(encode([random_game(1)]), "here")
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
        "import training.selfplay, training.loop, training.match, training.crew.bench"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_without_ray_the_option_says_what_to_install(monkeypatch, capsys, tmp_path):
    from training import match, selfplay
    from training.crew import players

    monkeypatch.setattr(players.importlib.util, "find_spec", lambda name: None)
    assert match.main(["--a", "random", "--b", "random", "--ray", "auto"]) == 2
    assert "-m pip install \"ray>=2.40\"" in capsys.readouterr().err
    assert selfplay.main(["--ray", "auto", "--run-dir", str(tmp_path / "x"), "--preset", "smoke"]) == 2
    assert "-m pip install \"ray>=2.40\"" in capsys.readouterr().err and not (tmp_path / "x").exists()
