import time

import pytest

from engine.errors import PositionError
from engine.games.files import load_game, read_game, save_game
from engine.games.positions import read_position
from engine.games.psq import to_psq
from engine.games.record import UNFINISHED, GameRecord
from engine.games.sgf import to_sgf
from engine.rules.geometry import parse_moves
from engine.rules.rule import Rule

WON = "h8a1i8a3j8a5k8a7l8"


def record(moves=WON, width=15, height=15, rule=Rule.FREESTYLE, **more):
    points = parse_moves(moves, width, height)
    times = [10.0 * (i + 1) for i in range(len(points))]
    return GameRecord(width, height, rule, 0, ("a player", "x]y\\z"), points, times, **more)


@pytest.mark.parametrize("suffix", [".psq", ".sgf"])
@pytest.mark.parametrize(
    "game",
    [
        record(winner=0, reason="five"),
        record("t1a15e3", 20, 15, reason=UNFINISHED),
        record("h8h9", rule=Rule.RENJU, reason=UNFINISHED),
        record("", 5, 22, Rule.STANDARD_CARO, reason=UNFINISHED),
        record("h8h9", reason="time", winner=1),
        record("h8h9", reason="time", winner=0),
        record("h8h9", reason="resigned", winner=1),
        record("h8h9i9", reason="resigned", winner=1),
        record("h8h9i9", reason="draw"),
    ],
    ids=["won", "rectangle", "renju", "empty", "time", "time of the other", "black resigns", "white", "draw"],
)
def test_games_are_read_back(tmp_path, game, suffix):
    path = tmp_path / f"game{suffix}"
    save_game(path, game)
    # A .psq record does not know its rule: it is taken from the caller.
    again = load_game(path, game.rule if suffix == ".psq" else Rule.FREESTYLE)
    assert again == game


def test_a_loss_without_a_legal_move_is_read_back(tmp_path):
    game = record("h8h9", rule=Rule.RENJU, reason="no legal move", winner=1)
    assert not game.incident
    save_game(tmp_path / "game.sgf", game)
    assert load_game(tmp_path / "game.sgf", Rule.FREESTYLE) == game
    save_game(tmp_path / "game.psq", game)  # which has one code for all that loses but time
    assert load_game(tmp_path / "game.psq", Rule.RENJU).winner == 1


def test_opening_stones_and_the_draw_survive_sgf():
    game = record("h8a1i8", winner=2, reason="draw", text="agreed \\ [so]")
    game.opening_stones = 2
    game.times_ms[:2] = [0.0, 0.0]
    assert read_game(to_sgf(game)) == game


def test_windows_lines_and_missing_names_are_read():
    text = to_psq(record("h8h9", 15, 15)).replace("\n", "\r\n").split("a player")[0]
    assert read_game("\ufeff" + text).names == ("black", "white")
    assert read_game(text).points == parse_moves("h8h9", 15, 15)


def test_the_first_branch_of_an_sgf_game_is_its_main_line():
    text = "(;GM[4]SZ[15]C[a \\] bracket\nand a line](;B[hh];W[ii](;B[jj])(;B[kk]))(;B[aa]))"
    assert read_game(text).points == parse_moves("h8i9j10", 15, 15)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no game"),
        ("hello", "no game"),
        ("Piskvorky 15x15, 11:11, 0\n8,8,0\n16,1,0\n", r"line 3: move 2: 15,0 is off the 15x15 board"),
        ("Piskvorky 15x15, 11:11, 0\n8,8,0\n0,1,0\n", "line 3: move 2: -1,0 is off"),
        ("Piskvorky 15x15, 11:11, 0\n8,8,0\n\n8,8,0\n", "line 4: move 2: h8 is taken"),
        ("Piskvorky 15x15, 11:11, 0\n8,8,0\n8,x,0\n", "line 3: '8,x,0' is no move"),
        ("Piskvorky 50x50, 11:11, 0\n", "line 1: .*50"),
        ("(;GM[4]SZ[15];B[hh]\n;W[hh])", "line 2: move 2: h8 is taken"),
        ("(;GM[4]SZ[15];B[hh];W[pp])", "line 1: move 2: .* off the 15x15 board"),
        ("(;GM[4]SZ[15];B[h?])", "line 1: 'h[?]' is no move"),
        ("(;GM[2]SZ[8];B[hh])", "GM '2' is another game"),
        ("(;GM[4]SZ[big];B[hh])", "'big' is no board size"),
        ("(;GM[4]SZ[15]AB[hh]AW[hh];W[aa])", "line 1: h8 holds both colours"),
        ("(;GM[4]SZ[15];B[hh]\n;AE[hh])", "line 2: AE takes the stone at h8 away"),
        ("(;GM[4]SZ[15]AB[zz])", "AB: 25,25 is off"),
        ("(;GM[4]SZ[15]PL[G];B[hh])", "PL 'G' is no colour"),
        ("(;GM[4]SZ[15];B[hh", "never closed"),
        ("(;GM[4]SZ[15];B[hh]", "breaks off"),
        ("(;[hh])", "value without a property"),
        ("(;GM[4]SZ[15]%)", "unexpected '%'"),
        ("8\n,8,0\n", "no game"),
    ],
)
def test_bad_games_are_refused_with_the_line(text, message):
    with pytest.raises(PositionError, match=message):
        read_game(text)


def test_moves_after_the_end_and_forbidden_moves_are_refused():
    with pytest.raises(PositionError, match="line 11: move 10 at a9: black has already won"):
        read_game(to_psq(record(WON + "a9")))
    double_three = record("h8a1i8a3j9a5j10a7j8", rule=Rule.RENJU)
    assert read_game(to_psq(double_three), Rule.FREESTYLE).points == double_three.points
    with pytest.raises(PositionError, match="move 9: j8 is forbidden to black"):
        read_game(to_sgf(double_three))


def test_files_are_not_overwritten_unasked(tmp_path):
    path = tmp_path / "game.sgf"
    save_game(path, record())
    before = path.read_text()
    with pytest.raises(PositionError, match="exists already"):
        save_game(path, record("h8"))
    assert path.read_text() == before
    save_game(path, record("h8"), overwrite=True)
    assert load_game(path).points == [112]
    assert [p.name for p in tmp_path.iterdir()] == ["game.sgf"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("game.txt", "must end in .psq or .sgf"), ("no/game.psq", "cannot write"), ("", "must end in")],
)
def test_bad_names_are_refused(tmp_path, name, message):
    with pytest.raises(PositionError, match=message):
        save_game(tmp_path / name, record())
    assert list(tmp_path.iterdir()) == []


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(PositionError, match="cannot read"):
        load_game(tmp_path / "none.psq")
    with pytest.raises(PositionError, match="cannot read"):
        load_game(tmp_path)
    (tmp_path / "bytes.psq").write_bytes(bytes(range(256)))
    with pytest.raises(PositionError, match=r"bytes.psq: the text is not UTF-8"):
        load_game(tmp_path / "bytes.psq")
    (tmp_path / "large.psq").write_bytes(b"Piskvorky 15x15\n" + b"\n" * (1 << 21))
    with pytest.raises(PositionError, match="too large"):
        load_game(tmp_path / "large.psq")


def test_positions_are_read_from_either_format():
    for text in (to_psq(record("h8h9i9", 20, 15)), to_sgf(record("h8h9i9", 20, 15, Rule.STANDARD))):
        board = read_position(text, rule=Rule.STANDARD)
        assert (board.width, board.height, board.rule, board.to_move) == (20, 15, 1, 1)


@pytest.mark.parametrize("text", [". . . . .\n7,7 " + "9" * 25_000 + "x", "1\n" * 20_000])
def test_a_text_of_many_digits_is_refused_soon(text):
    began_s = time.process_time()
    with pytest.raises(PositionError):
        read_position(text)
    assert time.process_time() - began_s < 2
