"""Games of bundles that a repository's history holds."""

from __future__ import annotations

import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.training_games import random_game
from training import recover as command
from training.data.shards import encode, list_shards, read_shard
from training.run.history import HistoryError, bundle_versions, game_key, recover


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, "-C", str(folder), *arguments], check=True, capture_output=True)


def bundle(path: Path, shards: dict[str, bytes]) -> None:
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("config.json", "{}")
        for name, data in shards.items():
            out.writestr(f"records/{name}", data)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three versions: a and b; renamed, b and c, which repeats a game of a; then a damaged shard."""
    folder = tmp_path_factory.mktemp("repository")
    a, b, c = ([random_game(seed=10 * k + i) for i in range(3)] for k in range(3))
    c[0] = a[0]
    git(folder, "init", "-q")
    old, new = folder / "bundles" / "r1.zip", folder / "bundles" / "r2.zip"
    bundle(old, {"000001-00.shard": encode(a), "000002-00.shard": encode(b)})
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    old.rename(new)
    bundle(new, {"000002-00.shard": encode(b), "000003-00.shard": encode(c)})
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "two")
    bundle(new, {"000004-00.shard": encode(b)[:-20] + bytes(20), "../000005-00.shard": encode(b)})
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "three")
    return folder


def test_every_version_is_found_renamed_ones_too(repository: Path) -> None:
    assert [path for _, path in bundle_versions(repository, "bundles")] == [
        "bundles/r1.zip", "bundles/r2.zip", "bundles/r2.zip",
    ]


def test_each_game_is_kept_once_and_damage_is_reported(repository: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    found = recover(repository, "bundles", tmp_path, lines.append)
    assert (found.shards, found.repeated_games, found.damaged) == (3, 1, 1)
    keys = [game_key(g) for path in list_shards(tmp_path) for g in read_shard(path)]
    assert len(keys) == len(set(keys)) == sum(found.games.values()) == 8
    assert any("skipped" in line and "000004-00.shard" in line for line in lines)


def test_a_second_call_makes_nothing_anew(repository: Path, tmp_path: Path) -> None:
    first = recover(repository, "bundles", tmp_path, lambda _: None)
    before = {p: p.stat().st_mtime_ns for p in list_shards(tmp_path)}
    second = recover(repository, "bundles", tmp_path, lambda _: None)
    assert second.positions == first.positions
    assert before == {p: p.stat().st_mtime_ns for p in list_shards(tmp_path)}


def test_games_that_differ_in_what_was_searched_are_two() -> None:
    game = random_game(seed=1)
    assert game_key(game) != game_key(replace(game, root_wl=255 - game.root_wl))


def test_the_table_counts_by_rule_and_board(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([str(tmp_path), "--repository", str(repository), "--folder", "bundles"]) == 0
    assert "3 shards, 8 games" in capsys.readouterr().out


def test_a_folder_without_bundles_is_an_error(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(HistoryError):
        recover(repository, "elsewhere", tmp_path / "out", lambda _: None)
    assert command.main([str(tmp_path / "out"), "--repository", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("error: ")
