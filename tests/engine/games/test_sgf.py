"""Forms of SGF and .psq that other programs write."""

import pytest

from engine.errors import PositionError
from engine.games import tree
from engine.games.files import load_game, read_game, read_tree, save_game
from engine.games.psq import to_psq
from engine.games.record import PASS, move_name
from engine.games.sgf import MAX_SET_UP, to_sgf, tree_to_sgf
from engine.rules.rule import Rule

FOUR = "SZ[15];B[hh];W[ii];B[gg];W[jj])"


def moves_of(game):
    return " ".join(move_name(point, game.width) for point in game.points)


@pytest.mark.parametrize("number", ["GM[1]", "GM[4]", "GM[11]", "GM[01]", "GM[gomoku]", ""])
def test_programs_write_several_numbers_for_gomoku(number):
    game = read_game(f"(;FF[4]{number}RE[B+]HA[0]KM[0]{FOUR}")
    assert moves_of(game) == "h8 i9 g7 j10" and game.winner == 0


@pytest.mark.parametrize(
    ("text", "moves", "opening"),
    [
        ("(;SZ[15];B[hh];W[];B[ii])", "h8 pass i9", 0),
        ("(;SZ[15];B[hh];W[ii];B[ ])", "h8 i9 pass", 0),
        ("(;SZ[19];B[hh];W[tt])", "h8 pass", 0),
        ("(;SZ[20];B[hh];W[tt])", "h8 t20", 0),
        ("(;SZ[15]PL[W];W[hh];B[ii])", "pass h8 i9", 1),
        ("(;SZ[15];W[hh];B[ii])", "pass h8 i9", 1),
        ("(;SZ[15];B[hh];B[ii];W[jj])", "h8 pass i9 j10", 0),
        ("(;SZ[15]AB[hh][ii]AW[gg];B[jj])", "h8 g7 i9 pass j10", 4),
        ("(;SZ[15]AB[hh][ii]AW[gg][jj];B[aa])", "h8 g7 i9 j10 a1", 4),
        ("(;SZ[15]AB[hh:jh]PL[B];B[aa])", "h8 pass i8 pass j8 pass a1", 6),
        ("(;SZ[15]AB[hh][ii]AE[ii]AW[gg];B[jj])", "h8 g7 j10", 2),
        ("(;SZ[15]AB[]AW[];B[ii])", "i9", 0),
        ("(;SZ[15]AW[hh];B[ii])", "pass h8 i9", 2),
        ("(;SZ[15];B[hh];AW[ii];B[jj])", "h8 i9 j10", 0),
        ("(;SZ[15];AB[hh];AW[ii];AB[jj])", "h8 i9 j10", 3),
        ("(;SZ[15];B[HH];W[Ii])", "h8 i9", 0),
        ("(;SZ[15:15];B[h8];W[i9])", "h8 i9", 0),
        ("hello\n> (;SZ[15];B[hh])\n-- \nme", "h8", 0),
        ("(\nTE[2018]\nGM[4]SZ[15]\n;B[hh];W[ii])", "h8 i9", 0),
        ("(;SZ[15](B[hh];W[ii])(;B[jj]))", "h8 i9", 0),
        ("(;SZ[15];B[hh]W[ii])", "h8 i9", 0),
        ("(;SZ[20x20];Black[hh];White[ii])", "h8 i9", 0),
    ],
)
def test_passes_positions_and_loose_forms(text, moves, opening):
    game = read_game(text)
    assert moves_of(game) == moves and game.opening_stones == opening
    assert read_game(to_sgf(game)).points == game.points
    assert game.board().to_move == len(game.points) % 2


def test_a_position_keeps_its_colours_and_whose_turn_it_is():
    game = read_game("(;SZ[15]AB[hh][ii][ba]AW[gg]PL[W]C[white to move])")
    board = game.board()
    colours = {(x, y): board.cell(y * 15 + x) for x, y in ((7, 7), (8, 8), (1, 0), (6, 6))}
    assert colours == {(7, 7): 0, (8, 8): 0, (1, 0): 0, (6, 6): 1} and board.to_move == 1


def test_set_up_stones_go_down_in_an_order_that_the_rule_allows():
    cross = "AB[gh][hh][hg][hi]AW[aa][ac][ae][ag]"  # a double three unless its corner comes early
    game = read_game(f"(;SZ[15]RU[renju]{cross};B[oo])")
    assert len(game.stones) == 9 and game.rule == Rule.RENJU
    row = "AB[aa][ba][ca][da][ea]AW[oo]"  # a five comes last
    assert read_game(f"(;SZ[15]{row})").reason == "five"
    with pytest.raises(PositionError, match="forbidden"):
        read_game("(;SZ[15]RU[4]AB[aa][ba][ca][da][ea][fa])")
    with pytest.raises(PositionError, match="set up beyond a row that has won"):
        read_game("(;SZ[15]AB[aa][ba][ca][da][ea]AW[ac][bc][cc][dc][ec])")


@pytest.mark.parametrize(
    ("named", "rule", "noted"),
    [
        ("0", 0, False), ("5", 4, False), ("9", 9, False), ("99", 8, True), ("freestyle gomoku", 0, False),
        ("Free-Style", 0, False), ("Standard", 1, False), ("standard_caro", 9, False), ("Caro", 8, False),
        ("RIF", 4, False), ("Soosorv-8", 4, False), ("renju", 4, False), ("Gomoku", 8, True),
        ("Swap2", 8, True),
        ("koSIMPLEscoreAREA", 8, True), ("", 8, False),
    ],
)  # fmt: skip
def test_of_a_rule_is_read_what_is_known(named, rule, noted):
    game = read_game(f"(;RU[{named}]{FOUR}", Rule.CARO)
    assert game.rule == rule and moves_of(game) == "h8 i9 g7 j10"
    assert any("(RU) is unknown; caro is taken" in note for note in game.notes) == noted


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("(;GM[1];B[hh])", r"no size \(SZ\); 15x15"),
        ("(;GM[1];B[ss])", r"no size \(SZ\); 19x19"),
        ("mail\n(;SZ[15];B[hh])", "text before the game is left out: 'mail'"),
        ("(;SZ[15];B[hh](;W[hi])(;W[resign]))", "white resigns in a variation"),
        ("(;SZ[15];B[hh])</pre>", "text behind the game is left out: '</pre>'"),
        ("(;SZ[15];B[hh])(;SZ[15];B[ii])", "more games; the first is read"),
        ("(;SZ[15];B[hh]LB[ii:A]TR[gg])", r"marks on the board are left out \(LB, TR\)"),
        ("(;SZ[15];B[h8])", "row 1 at the top"),
        ("8,8,0\n9,9,10\n", "no size; 15x15 is taken"),
        ("18,8,0\n9,9,10\n", "no size; 19x19 is taken"),
    ],
)
def test_what_is_guessed_or_left_out_is_said(text, note):
    import re

    notes = read_game(text).notes
    assert len(notes) == 1 and re.search(note, notes[0])


def test_what_is_plain_is_not_remarked_on():
    assert read_game(f"(;FF[4]GM[4]CA[UTF-8]AP[x]RU[0]{FOUR}").notes == []


@pytest.mark.parametrize(
    "text",
    [
        "piskvorky 15x15, 0:0, 0\n8,8,0\n9,9,12\n", "\n\n Piskvorky 15x15, 11:11, 0\n8,8,0\n9,9,12\n",
        "PISKVORKY 15X15\n8,8\n9,9\n", "8,8,0\n9,9,12\n", "\ufeff\r\nPiskvorky 15x15\r\n8,8,0\r\n9,9,12\r\n",
        "Piskvorky 15x15, 11:11, 0\r8,8,0\r9,9,12\r",
    ],
)  # fmt: skip
def test_loose_forms_of_psq(text):
    assert moves_of(read_game(text)) == "h8 i9"


def test_variations_hold_passes_and_comments():
    game = read_tree("(;SZ[15]C[root](;W[hh]C[a];B[ii](;W[];B[jj])(;W[kk]))(;W[aa]N[name];W[bb]))", 0)
    again = read_tree(tree_to_sgf(game), 0)
    assert [(n.parent, n.point, n.comment) for n in again.nodes] == [
        (n.parent, n.point, n.comment) for n in game.nodes
    ]
    assert game.nodes[1].point == PASS and game.children()[1] == [2, 7]
    assert game.nodes[7].comment == "name" and game.nodes[0].comment == "root"


def test_psq_cannot_hold_passes(tmp_path):
    game = read_game("(;SZ[15];W[hh])")
    with pytest.raises(PositionError, match=r"save as \.sgf"):
        to_psq(game)
    with pytest.raises(PositionError, match=r"save as \.sgf"):
        save_game(tmp_path / "game.psq", game)
    assert list(tmp_path.iterdir()) == []


def test_saved_sgf_says_its_encoding(tmp_path):
    game = read_game(f"(;PB[許功蓋]PW[Иванов]{FOUR}")
    save_game(tmp_path / "game.sgf", game)
    data = (tmp_path / "game.sgf").read_bytes()
    assert b"CA[UTF-8]" in data and "許功蓋".encode() in data
    assert load_game(tmp_path / "game.sgf").names == ("許功蓋", "Иванов")


def test_what_a_terminal_would_obey_is_taken_out():
    escape = "\x1b[2J\x9b31m\x07\x1b(0"
    game = read_tree(f"(;SZ[15]PB[a{escape}]PW[\x1b]GC[{escape}];B[hh]C[b{escape}\n\tc])", 0)
    said = [*game.record.names, game.record.text, game.nodes[1].comment]
    assert not any((ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 for text in said for c in text)
    assert game.record.names[1] == "white" and game.nodes[1].comment.endswith("\n\tc")
    psq = read_game("Piskvorky 15x15\n8,8,0\n\x1b[2Jx\ny\n0\n")
    assert psq.names == ("[2Jx", "y")


def test_values_are_unescaped_as_sgf_says():
    game = read_tree("(;SZ[15]PB[a\\]b]GC[wrapped \\\nhere]C[x\\:y];B[hh]C[12ms\nGood\\\\])", 0)
    assert game.record.names[0] == "a]b" and game.record.text == "wrapped here"
    assert game.nodes[0].comment == "x:y" and game.nodes[1].comment == "Good\\" and game.nodes[1].ms == 12


@pytest.mark.parametrize(
    "text",
    [
        "(" * 200_000, "(;" * 100_000 + ")" * 90_000, "(;SZ[22]" + ";B[]" * 4000 + ")",
        "(;SZ[22]" + "AB[aa:vv]AW[aa:vv]" * 20_000 + ")", "(;SZ[22]" + "(;AB[aa:vv])" * 20_000 + ")",
        "8,8,0\n" * 100_000, "h8 " * 200_000,
        "(;C[" + "\\]" * 400_000,
        "(;" + "A" * 900_000 + "x", "1" * 900_000, "(;SZ[99999]AB[aa:zz])",
    ],
    ids=range(11),
)  # fmt: skip
def test_endless_files_are_refused_soon(text):
    with pytest.raises(PositionError) as refused:
        read_tree(text[: 1 << 20], 0)
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 400


def test_bounds_are_named(monkeypatch):
    monkeypatch.setattr(tree, "MAX_NODES", 100)
    with pytest.raises(PositionError, match="more than 100 moves"):
        read_tree("(;SZ[22]" + "(;B[aa];W[bb])" * 51 + ")", 0)
    with pytest.raises(PositionError, match=f"more than {MAX_SET_UP} stones"):
        read_tree("(;SZ[22]" + "(;AE[aa:vv])" * 20 + ")", 0)
    with pytest.raises(PositionError, match="more passes than a game can have"):
        read_tree("(;SZ[5]" + ";B[];W[]" * 26 + ")", 0)


@pytest.mark.parametrize(
    ("text", "winner", "reason"),
    [
        ("(;GM[4]SZ[15];B[hh];W[resign])", 0, "resigned"),
        ("(;GM[4]SZ[15];B[hh](;W[hi];B[resign])(;W[ii]))", 1, "resigned"),
        ("(;GM[4]SZ[15];B[hh](;W[hi])(;W[resign]))", 2, "unfinished"),
        ("(;GM[4]SZ[15]RE[b + Time];B[hh])", 0, "time"),
        ("(;GM[4]SZ[15]RE[W+Resign];B[hh])", 1, "resigned"),
        ("(;GM[4]SZ[15]RE[Draw];B[hh])", 2, "draw"),
        ("(;GM[4]SZ[15]RE[Void];B[hh])", 2, "unfinished"),
    ],
)
def test_ends_off_the_board(text, winner, reason):
    game = read_game(text)
    assert (game.winner, game.reason) == (winner, reason)
