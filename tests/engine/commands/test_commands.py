import json
import subprocess
import sys

import pytest

from engine.__main__ import COMMANDS, main
from engine.commands.bench import positions
from engine.commands.speed import hard_vcf, opening
from engine.errors import PositionError
from engine.games.positions import draw, position_text, read_position
from engine.rules._board import Board
from engine.rules.rule import NET_RULES, Rule
from tests.helpers.nets import write_net
from tests.helpers.paths import ROOT

PSQ = "Piskvorky 20x15, 11:11, 0\n8,8,120\n9,9,80\n8,9,1500\nbrain a\nbrain b\n-1\n"


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    return write_net(tmp_path_factory.mktemp("nets") / "random.onnx")


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([*command.split(), "--help"])
    assert stop.value.code == 0
    assert "usage: python -m engine" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], [], ["analyse", "--size", "4"], ["analyse", "--size", "15x23"], ["analyse", "--rule", "?"],
     ["bench", "--simulations", "0"], ["speed", "--repeats", "x"]],
)  # fmt: skip
def test_wrong_usage_is_refused(arguments, capsys):
    try:
        status = main(arguments)
    except SystemExit as stop:
        status = stop.code
    assert status == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["analyse", "--net", "/no/such.onnx"], "/no/such.onnx"),
        (["analyse", "--net", "uniform", "h8h8"], "taken"),
        (["analyse", "--net", "uniform", "z9"], "off the 15x15 board"),
        (["analyse", "--net", "uniform", "a1b1a2b2a3b3a4b4a5"], "black has won"),
        (["analyse", "--set", "colour=red"], "unknown configuration key 'colour'"),
        (["analyse", "--net", "uniform", "--set", "search.nonsense=1", "h8"], "search.nonsense"),
        (["describe-net", "/no/such.onnx"], "/no/such.onnx"),
    ],
)
def test_bad_input_is_one_clear_error(arguments, message, capsys):
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ") and captured.err.count("\n") == 1
    assert message in captured.err


def test_bench_prints_one_line_that_repeats(capsys):
    lines = []
    for _ in range(2):
        assert main(["bench", "--simulations", "20"]) == 0
        lines.append(capsys.readouterr().out)
    assert lines[0] == lines[1]
    assert lines[0].count("\n") == 1
    assert int(lines[0].removeprefix("Bench: "), 16) > 0
    assert main(["bench", "--simulations", "21"]) == 0
    assert capsys.readouterr().out != lines[0]


def test_bench_covers_every_size_and_rule():
    boards = list(positions())
    assert {board.width for board in boards} == set(range(5, 23))
    assert {board.height for board in boards} == set(range(5, 23))
    assert {(b.rule, b.width) for b in boards} >= {(int(r), s) for r in NET_RULES for s in range(5, 23)}
    assert any(board.width != board.height for board in boards)
    assert all(board.winner == 2 and board.legal_points() for board in boards)
    assert max(board.ply for board in boards) > 15


def test_analyse_finds_the_win(capsys):
    assert main(["analyse", "h8a1i8a2j8a3k8b5", "--net", "uniform", "--simulations", "50"]) == 0
    text = capsys.readouterr().out
    assert "win in 1" in text and "black to move" in text
    assert ("best g8" in text) or ("best l8" in text)


def test_analyse_as_json(net, capsys):
    options = ["--net", str(net), "--simulations", "40", "--moves", "3", "--json", "--rule", "renju"]
    assert main(["analyse", "7,7 8,8", *options]) == 0
    result = json.loads(capsys.readouterr().out)
    assert len(result["candidates"]) == 3
    assert result["point"] == result["candidates"][0]["point"]
    assert result["simulations"] >= 40
    assert sum(result["wdl"]) == pytest.approx(1, abs=1e-3)


def test_analyse_reads_standard_input(net):
    drawing = ". . . . . . .\n" * 3 + ". . X O . . .\n" + ". . . . . . .\n" * 3
    done = subprocess.run(
        [sys.executable, "-m", "engine", "analyse", "-", "--net", str(net), "--simulations", "30"],
        input=drawing, capture_output=True, text=True, timeout=60, check=True, cwd=ROOT,
    )  # fmt: skip
    assert "7x7" in done.stdout and done.stderr == ""


def test_solve_finds_a_win_by_fours_and_its_line(capsys):
    threatened = "h8a1i8a3j8"  # black has an open three, white is to move
    assert main(["solve", threatened, "--attacker", "black", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == "win" and answer["distance"] == len(answer["line"])
    assert {"g8", "k8"} <= set(answer["defences"])
    assert main(["solve", "h8i9", "--kind", "vcf"]) == 0
    assert "black, vcf: none" in capsys.readouterr().out


def test_describe_net(net, capsys):
    assert main(["describe-net", str(net), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["net_id"] == "random-1x8" and facts["check"] == "passed"
    assert len(facts["sha256"]) == 64
    assert main(["describe-net", str(net)]) == 0
    assert "feature_version" in capsys.readouterr().out


def test_speed_names_its_figures(net, capsys):
    assert (
        main(["speed", "--json", "--repeats", "1", "--seconds", "0.05", "--net", str(net), "--size", "9"])
        == 0
    )
    facts = json.loads(capsys.readouterr().out)
    for key in (
        "evaluations_per_second", "simulations_per_second", "stub_simulations_per_second",
        "place_undo_per_second", "vcf_nodes_per_second", "mean_depth",
    ):  # fmt: skip
        assert facts[key] > 0, key
    assert facts["net"] == "random-1x8" and facts["board"] == "9x9" and facts["machine"]


def test_measured_positions_are_open():
    for size in ((15, 15), (20, 20), (5, 5), (22, 9)):
        for rule in Rule:
            board = opening(size, rule)
            assert board.winner == 2 and board.ply >= 3
            assert not board.five_points(0) and not board.five_points(1)
    for board in hard_vcf():
        assert board.winner == 2 and not board.five_points(0) and not board.five_points(1)


def test_positions_from_moves():
    board = read_position("h8 h9i8", rule=4)
    assert board.stones() == [(7 * 15 + 7, 0), (8 * 15 + 7, 1), (7 * 15 + 8, 0)]
    assert board.rule == 4 and board.to_move == 1
    assert read_position("", width=20, height=15).points == 300


def test_positions_from_psq(tmp_path):
    board = read_position(PSQ)
    assert (board.width, board.height) == (20, 15)
    assert board.stones() == [(7 * 20 + 7, 0), (8 * 20 + 8, 1), (8 * 20 + 7, 0)]
    path = tmp_path / "game.psq"
    path.write_bytes(PSQ.replace("\n", "\r\n").encode())
    assert read_position(position_text(str(path))).hash == board.hash


def test_drawn_boards_are_read_back():
    board = Board(9, 7, 8)
    for point in (10, 11, 30, 31, 32):
        board.place(point)
    board.block(40)
    for mark in (None, 30, 0):
        again = read_position(draw(board, mark), rule=8)
        assert again.cells().tolist() == board.cells().tolist()
        assert again.to_move == board.to_move and again.hash == board.hash


def test_drawn_boards_tell_the_side_to_move():
    assert read_position("X....\n.....\n.....\n.....\n.....").to_move == 1
    assert read_position("XO...\n.....\n.....\n.....\n.....").to_move == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("X....\n...\n.....\n.....\n.....", "one length"),
        ("X?...\n.....\n.....\n.....\n.....", "unknown cell"),
        ("X...\n....\n....\n....", "4"),
        ("h8h8", "taken"),
        ("h8 nonsense", "not a move"),
        ("Piskvorky 15x15, 1:1, 0\n16,1,0\n", "off the 15x15 board"),
        ("Piskvorky 50x50, 1:1, 0\n", "50"),
    ],
)
def test_bad_positions_are_refused(text, message):
    with pytest.raises(PositionError, match=message):
        read_position(text)


def test_a_move_is_marked_on_the_board():
    board = Board(5, 5)
    board.place(12)
    text = draw(board, 13)
    assert text.splitlines()[0].split() == list("abcde")
    assert "X[.]" in text
    assert ".]. . ." in draw(board, 0)


def test_rows_are_counted_from_the_bottom_in_and_out(tmp_path, capsys):
    moves = "h8 a15 h9 b15 h10 c15"  # black has an open three in the column of h
    options = ["--net", "uniform", "--rows-from", "bottom"]
    assert main(["analyse", moves, "--simulations", "50", *options]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[1].startswith(" 15 O O O") and text.splitlines()[15].startswith("  1 ")
    assert main(["solve", moves, "--rows-from", "bottom"]) == 0
    found = capsys.readouterr().out
    assert "line: h11" in found or "line: h7" in found
    path = tmp_path / "game.txt"
    path.write_text("1. h1 2. a15")
    assert main(["analyse", "--game", str(path), "--simulations", "20", *options]) == 0
    assert "1 X h1" in capsys.readouterr().out
