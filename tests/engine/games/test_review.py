import json
import threading

import pytest

from engine import Engine, EngineConfig, Rule, SearchLimits
from engine.__main__ import main
from engine.games.files import save_game
from engine.games.record import GameRecord
from engine.games.review import line_of, review, worst
from engine.rules.geometry import parse_moves

NODES = SearchLimits(max_nodes=60)
# White answers the four h8-k8 at a1 instead of l8 or g8's end, and loses at once.
LOST = "h8g8i8a1j8a3k8a5l8"


def record(moves=LOST, opening_stones=0, rule=Rule.FREESTYLE):
    points = parse_moves(moves, 15, 15)
    return GameRecord(15, 15, rule, opening_stones, ("b", "w"), points, [0.0] * len(points))


@pytest.fixture
def engine():
    return Engine(EngineConfig(net="uniform", seed=1, memory_bytes=200 << 20))


def test_the_losing_move_is_named(engine):
    seen = []
    moves = review(engine, record(), NODES, seen.append)
    assert moves == seen and [m.ply for m in moves] == list(range(9))
    assert moves[-1].black_score == 1.0 and moves[-1].score_after == 1.0
    blocked = moves[7]  # white plays a5 although l8 had to be blocked
    assert blocked.best == parse_moves("l8", 15, 15)[0]
    assert blocked.score_after == 0.0
    assert all(0 <= m.fall <= 1 for m in moves)
    assert all(m.mark for m in worst(moves)) and worst(moves)
    assert worst(moves) == sorted(worst(moves), key=lambda m: -m.fall)


def test_opening_stones_are_not_judged(engine):
    assert [m.ply for m in review(engine, record(opening_stones=5), NODES)] == [5, 6, 7, 8]
    assert review(engine, record("h8i9a1", opening_stones=3), NODES) == []


def test_a_stop_keeps_what_was_judged(engine):
    stop = threading.Event()
    moves = review(engine, record(), NODES, lambda move: stop.set() if move.ply == 2 else None, stop)
    assert [m.ply for m in moves] == [0, 1, 2]


def test_lines_show_falls(engine):
    move = worst(review(engine, record(), NODES))[0]
    assert line_of(move, 15).count("better") == 1 and "?" in line_of(move, 15)


def test_analyse_walks_through_a_game(tmp_path, capsys):
    path = tmp_path / "lost.sgf"
    save_game(path, record())
    options = ["analyse", "--game", str(path), "--net", "uniform", "--simulations", "60"]
    assert main(options) == 0
    text = capsys.readouterr().out
    assert "  9 X l8  100.0%" in text and "lost most with" in text
    assert main([*options, "--json"]) == 0
    moves = json.loads(capsys.readouterr().out)
    assert len(moves) == 9 and moves[8]["score_after"] == 1.0
    assert main([*options, "h8"]) == 1
    assert "not both" in capsys.readouterr().err
    assert main(["analyse", "--game", str(tmp_path / "none.sgf")]) == 1
    assert "none.sgf" in capsys.readouterr().err


def test_analyse_shows_names_rule_and_comments_and_passes_over_passes(tmp_path, capsys):
    path = tmp_path / "game.sgf"
    head = "(;GM[1]CA[GBK]SZ[15]RU[renju]PB[黑方]PW[白方]"
    path.write_bytes(f"{head};B[hh]C[好棋];W[];B[ii](;W[jj])(;W[kk]))".encode("gbk"))
    assert main(["analyse", "--game", str(path), "--net", "uniform", "--simulations", "30"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "黑方 (X) against 白方 (O), 15x15 renju" and lines[1].endswith("{好棋}")
    assert [line.split()[:3] for line in lines[1:4]] == [s.split() for s in ("1 X h8", "3 X i9", "4 O j10")]
    assert "note: 1 moves of variations are not walked through" in err
