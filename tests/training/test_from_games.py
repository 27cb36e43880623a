"""Records of played games: positions with their results, each game once."""

import numpy as np

from arena.journal import GameJournal
from engine.games.record import GameRecord
from engine.rules._board import EMPTY
from engine.rules.rule import Rule
from training.data.records import DRAW
from training.data.shards import list_shards, read_shard
from training.from_games import main, records_of
from training.measure.deep import Game
from training.offline import main as offline

WIN = (40, 0, 41, 1, 42, 2, 43, 9, 44)  # on 9x9: black makes five
MIRRORED = tuple(p // 9 * 9 + 8 - p % 9 for p in WIN)


def game(points=WIN, winner=0, opening=2, rule=0):
    return Game("by hand", 9, 9, rule, opening, tuple(points), winner)


def test_positions_after_the_opening_have_the_result_for_their_side_to_move():
    (record,) = records_of([game()])
    assert record.moves.tolist() == list(WIN) and record.opening == 2 and record.winner == 0
    assert record.positions == 7 and record.z().tolist() == [1, -1, 1, -1, 1, -1, 1]
    assert np.array_equal(record.root_wdl()[:2], [[1, 0, 0], [0, 0, 1]])
    assert not record.flags.any() and not record.counts.any()
    (drawn,) = records_of([game(WIN[:6], EMPTY)])
    assert drawn.winner == DRAW and not drawn.z().any() and np.array_equal(drawn.root_wdl()[0], [0, 1, 0])


def test_what_teaches_nothing_is_left_out():
    unplayable = (*WIN[:4], WIN[0], 60)
    after_the_end = (*WIN, 70, 71)
    games = [
        game(), game(MIRRORED), game(unplayable), game(after_the_end), game(WIN[:2]), game(rule=Rule.OMOK)
    ]  # fmt: skip
    assert [record.moves.tolist() for record in records_of(games)] == [list(WIN)]
    assert len(list(records_of([game(), game(rule=Rule.CARO)]))) == 2


def write_match(path, games=2):
    journal = GameJournal(path, {"size": [9, 9], "rule": 0})
    for index in range(games):
        record = GameRecord(9, 9, 0, 2, ("a", "b"), list(WIN) if index else list(WIN[:-1]), [])
        record.times_ms = [0.0] * len(record.points)
        record.winner, record.reason = (0, "five") if index else (1, "time")
        journal.add(index, record)
    journal.close()


def test_a_match_becomes_shards_that_can_be_encoded(tmp_path, capsys):
    write_match(tmp_path / "m.games.jsonl")
    assert main([str(tmp_path / "m.games.jsonl"), "--out", str(tmp_path / "out")]) == 0
    assert "1 games of 1, 7 positions" in capsys.readouterr().out
    (shard,) = list_shards(tmp_path / "out")
    assert [record.moves.tolist() for record in read_shard(shard)] == [list(WIN)]
    encode = ["encode", "--records", str(tmp_path / "out"), "--positions", str(tmp_path / "set")]
    assert offline([*encode, "--processes", "1"]) == 0
    assert "7 positions" in capsys.readouterr().out


def test_errors_are_one_line_and_lose_nothing(tmp_path, capsys):
    write_match(tmp_path / "m.games.jsonl", games=1)
    out = tmp_path / "out"
    assert main([str(tmp_path / "m.games.jsonl"), "--out", str(out)]) == 2 and not out.exists()
    assert "no finished game" in capsys.readouterr().err
    assert main([str(tmp_path / "none.jsonl"), "--out", str(out)]) == 2
    assert "none.jsonl" in capsys.readouterr().err
    write_match(tmp_path / "n.games.jsonl")
    assert main([str(tmp_path / "n.games.jsonl"), "--out", str(out)]) == 0
    (shard,) = list_shards(out)
    before = shard.read_bytes()
    assert main([str(tmp_path / "n.games.jsonl"), "--out", str(out)]) == 2
    assert "holds shards already" in capsys.readouterr().err and shard.read_bytes() == before
