"""Libraries of RenLib, written here byte by byte."""

import pytest

from engine.commands.charset import detect
from engine.errors import PositionError
from engine.games import tree as tree_module
from engine.games.files import load_game, load_tree, read_tree
from engine.games.record import PASS, move_name
from engine.rules.rule import Rule
from tests.helpers.renlib import HEADER, LABEL, LAST, LIBRARY, MORE, OLD, ROOT, node


def moves(tree):
    """Return the lines of a tree from the root to each end."""
    children = tree.children()
    lines, todo = [], [(0, [])]
    while todo:
        number, line = todo.pop()
        line = line + ([move_name(tree.nodes[number].point, 15)] if number else [])
        todo += [(child, line) for child in reversed(children[number])]
        if not children[number]:
            lines.append(" ".join(line))
    return lines


def test_a_library_becomes_a_tree(tmp_path):
    path = tmp_path / "openings.lib"
    path.write_bytes(LIBRARY[: -len(node("i8", LAST | LABEL, label=b"A"))] + node("i8", LAST))
    tree = load_tree(path, Rule.RENJU)
    assert moves(tree) == ["h8 i9 g7", "h8 i9 j10", "h8 h9 pass i8"]
    assert [n.comment for n in tree.nodes] == [
        "Openings",
        "centre\nmore on\nthe centre",
        "",
        "good",
        "",
        "",
        "",
        "",
    ]
    assert tree.record.rule == Rule.RENJU and tree.record.width == 15 and tree.nodes[6].point == PASS
    assert tree.record.notes == [
        "a library does not say its rule; renju is taken",
        "1 marks of moves are left out",
    ]
    assert load_game(path).points == [n.point for n in tree.nodes[1:4]]


def test_labels_are_words_at_the_move_before():
    tree = read_tree(LIBRARY)
    assert moves(tree)[2] == "h8 h9 pass" and tree.nodes[6].comment == "i8: A"
    moved = read_tree(HEADER + ROOT + node("h8") + node("i9", LAST, b"words", b"B"))
    assert [n.comment for n in moved.nodes] == ["", "i9: B", "words"]


def test_old_files_have_no_header_and_end_comments_by_a_bit():
    tree = read_tree(node("h8") + node("h9", LAST | OLD, b"f|r " + bytes([ord("1") | 0x80])))
    assert moves(tree) == ["h8 h9"] and tree.nodes[2].comment == "för 1"


@pytest.mark.parametrize(
    ("codec", "comment"),
    [("gbk", "黑棋这步不好,应该先冲四"), ("euc_jp", "この手は悪手です"), ("utf-8", "ход чёрных")],
)
def test_comments_are_decoded_together(codec, comment):
    data = HEADER + ROOT + node("h8", comment=comment.encode(codec)) + node("h9", LAST, comment.encode(codec))
    tree = read_tree(data, detect=detect)
    assert [n.comment for n in tree.nodes[1:]] == [comment, comment]
    assert any("a guess" in note for note in tree.record.notes) == (codec != "utf-8")


def test_comments_of_authors_of_two_countries_are_read():
    texts = ["恒星开局,黑棋大优", "黑棋必胜图87", "ö Ö"]
    written = [texts[0].encode("gbk"), texts[1].encode("gbk"), texts[2].encode("cp1252")]
    pairs = zip(("h8", "h9", "i9"), written, strict=True)
    tree = read_tree(HEADER + ROOT + b"".join(node(m, comment=c) for m, c in pairs), detect=detect)
    assert [n.comment for n in tree.nodes[1:3]] == texts[:2] and tree.nodes[3].comment
    with pytest.raises(PositionError, match="pip install charset-normalizer"):
        read_tree(HEADER + ROOT + node("h8", comment=written[0]))


def test_moves_that_the_rule_forbids_are_left_out_and_said():
    line = ["g8", "a1", "h8", "a3", "i7", "a5", "i6", "a7", "i8"]
    data = HEADER + ROOT + b"".join(node(move) for move in line) + node("o15", LAST)
    assert moves(read_tree(data)) == ["g8 a1 h8 a3 i7 a5 i6 a7 i8 o15"]
    tree = read_tree(data, Rule.RENJU)
    assert moves(tree) == ["g8 a1 h8 a3 i7 a5 i6 a7"]
    why = "2 moves that the rule does not allow are left out (move 9: i8 is forbidden to black under renju)"
    assert why in tree.record.notes


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (HEADER[:12], "breaks off in its header"),
        (b"\xffRenLib\xff\x03\x05" + HEADER[10:], "version 3.5 of RenLib is not known"),
        (HEADER + ROOT + node("h8", MORE | LAST), "moves are missing"),
        (HEADER + ROOT + b"\x78", "byte 22: the library breaks off"),
        (HEADER + ROOT + node("h8") + node("h8", LAST), "byte 24: move 2: h8 is taken"),
        (HEADER + ROOT + b"\x70\x40", "byte 22: 112 is no point"),
        (HEADER + ROOT + b"\xf8\x40", "byte 22: 248 is no point"),
        (HEADER + ROOT + node("h8", LAST) + node("h9", LAST), "byte 24: the library goes on after its end"),
        (HEADER + ROOT + node("h8", comment=b"x" * 90)[:-2], "byte 24: a comment never ends"),
        (HEADER + ROOT + bytes([0x78, OLD]) + b"abc", "byte 24: a comment never ends"),
        (HEADER + ROOT + node("h8", LABEL, label=b"A"), "byte 22: moves come after a label"),
    ],
)
def test_damaged_libraries_are_refused_with_the_place(tmp_path, data, why):
    path = tmp_path / "bad.lib"
    path.write_bytes(data)
    with pytest.raises(PositionError, match=why) as refused:
        load_tree(path)
    assert "bad.lib" in str(refused.value) and "\n" not in str(refused.value)


def test_larger_libraries_than_a_tree_are_refused(monkeypatch):
    monkeypatch.setattr(tree_module, "MAX_NODES", 50)
    points = [f"{chr(97 + i % 15)}{i // 15 + 1}" for i in range(0, 225, 2)]
    data = HEADER + ROOT + b"".join(node(p, MORE | LAST) for p in points) + node("b1", LAST)
    with pytest.raises(PositionError, match="more than 50 moves"):
        read_tree(data)
    with pytest.raises(PositionError, match="more passes than a game can have"):
        monkeypatch.setattr(tree_module, "MAX_NODES", 5000)
        read_tree(HEADER + ROOT + node("pass") * 3000 + node("h8", LAST))
