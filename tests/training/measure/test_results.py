"""How well values predict results: positions of games, correlations worked out by hand, the command."""

import hashlib
import json

import numpy as np
import pytest

from arena.journal import GameJournal
from engine.games.record import GameRecord
from engine.rules._board import EMPTY
from tests.helpers.paths import ROOT
from training.data.records import End, GameBuilder
from training.data.shards import list_shards, read_shard, write_shard
from training.holdout import main
from training.measure.deep import Game, match_games
from training.measure.results import Predictions, gap, predict, table

WIN = (40, 0, 41, 1, 42, 2, 43, 9, 44)  # on 9x9: black makes five
LOSS = (0, 40, 1, 41, 2, 42, 9, 43, 80, 44)


class Counts:
    """A net that says more the more stones there are, and refuses more than two positions."""

    max_batch = 2

    def evaluate(self, planes, keys):
        assert len(planes) <= 2
        stones = planes[:, 1:3].sum((1, 2, 3))
        wdl = np.zeros((len(planes), 3), np.float32)
        wdl[:, 0] = stones / 100
        return np.zeros((len(planes), planes.shape[2] * planes.shape[3]), np.float32), wdl


def game(points=WIN, winner=0, opening=2, size=9):
    return Game("by hand", size, size, 0, opening, tuple(points), winner)


def test_every_third_position_after_the_opening_is_taken_with_its_result():
    said = predict(Counts(), [game(), game(LOSS, 1), game((200, 201, 202, 203), EMPTY, 0, 15)])
    assert said.stones.tolist() == [2, 5, 8, 2, 5, 8, 0, 3]
    assert said.result.tolist() == [1, -1, 1, -1, 1, -1, 0, 0]  # black moves at 2 and 8, white at 5
    assert said.game.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]
    assert np.allclose(said.utility, said.stones / 100)


def example(seed=1, games=7, noise=0.5):
    rng = np.random.default_rng(seed)
    owner = np.sort(rng.integers(0, games, 60))
    owner[-1] = games - 1
    result = rng.choice([-1.0, 0.0, 1.0], 60)
    utility = 0.3 * result + noise * rng.normal(size=60)
    return Predictions(utility, result, rng.integers(0, 100, 60), owner)


def test_a_correlation_is_that_of_numpy_in_all_and_by_stones():
    said = example()
    wanted = np.corrcoef(said.utility, said.result)[0, 1]
    part = (said.stones >= 16) & (said.stones < 40)
    line = table(["net"], [said])[1].split()
    assert float(line[1]) == pytest.approx(wanted, abs=1e-4)
    assert float(line[3]) == pytest.approx(np.corrcoef(said.utility[part], said.result[part])[0, 1], abs=1e-4)


def test_the_error_of_a_difference_leaves_out_one_game_at_a_time():
    said, better = example(), example()
    better = Predictions(better.utility + 0.2 * better.result, better.result, better.stones, better.game)
    more, error = gap(better.sums(), said.sums())

    def difference(keep):
        first, second = (np.corrcoef(s.utility[keep], s.result[keep])[0, 1] for s in (said, better))
        return second - first

    left_out = np.array([difference(said.game != number) for number in range(7)])
    assert more == pytest.approx(difference(said.game >= 0))
    assert error == pytest.approx(np.sqrt(6 / 7 * ((left_out - left_out.mean()) ** 2).sum()))


def write_match(path):
    journal = GameJournal(path, {"size": [9, 9], "rule": 0})
    for index, reason in ((1, "five"), (0, "time"), (2, "five")):
        record = GameRecord(9, 9, 0, 2, ("a", "b"), list(WIN), [0.0] * len(WIN))
        record.winner, record.reason = 0, reason
        journal.add(index, record)
    journal.close()


def test_games_of_a_match_count_unless_they_ended_by_an_incident(tmp_path):
    file = tmp_path / "m.games.jsonl"
    write_match(file)
    assert list(match_games(file)) == [Game(file.name, 9, 9, 0, 2, WIN, 0)] * 2


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\x00\n",
        b"{}\n",
        b'{"tengen_match":1,"settings":7}\n',
        b'{"tengen_match":9,"settings":{}}\n',
        b'{"tengen_match":1,"settings":{"size":[9,9]}}\n',
        b'{"tengen_match":1,"settings":{"size":[9,9],"rule":77}}\n',
        b'{"tengen_match":1,"settings":{"size":[9,9],"rule":0}}\n{"n":0}\n',
        b'{"tengen_match":1,"settings":{"size":[9,900],"rule":0}}\n',
        b'{"tengen_match":1,"settings":{"size":[9,Infinity],"rule":0}}\n',
        b"[" * 100_000 + b"\n",
    ],
)
def test_a_file_that_is_no_match_is_one_line(tmp_path, capsys, text):
    file = tmp_path / "m.games.jsonl"
    file.write_bytes(text)
    assert main(["results", "tactical", "--games", str(file)]) == 2
    error = capsys.readouterr().err
    assert str(file) in error and error.count("\n") == 1


def test_command_takes_matches_and_self_play_and_compares_nets(tmp_path, capsys):
    write_match(tmp_path / "m.games.jsonl")
    builder = GameBuilder(0, 15, 15, opening=[112, 113], net_id="x", seed=1)
    for point in (97, 128, 82, 143, 127, 158, 67):
        builder.add(0, (0.5, 0.2, 0.3))
        builder.play(point)
    write_shard(tmp_path / "000000-00.shard", [builder.finish(0, End.FIVE)])
    match, records = str(tmp_path / "m.games.jsonl"), str(tmp_path)
    assert main(["results", "tactical", "uniform", "--games", match, "--records", records]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "3 games, 9 positions"
    assert lines[2].split()[0] == "tactical" and lines[4].startswith("uniform minus tactical: ")


def test_nothing_to_ask_about_is_one_line(tmp_path, capsys):
    assert main(["results", "tactical"]) == 2
    assert "no finished game" in capsys.readouterr().err
    head = {"tengen_match": 1, "settings": {"size": [9, 9], "rule": 0}}
    (tmp_path / "m.games.jsonl").write_text(json.dumps(head) + "\n")
    assert main(["results", "tactical", "--games", str(tmp_path / "m.games.jsonl")]) == 2


def test_the_strong_games_of_the_project_are_those_of_the_record():
    files = list_shards(ROOT / "docs" / "strong-games")
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    assert digest in (ROOT / "training" / "record" / "measurement.md").read_text(encoding="utf-8")
    games = [game for file in files for game in read_shard(file)]
    assert len(games) == 982 and {(g.width, g.height, g.rule) for g in games} == {(15, 15, 0)}
