"""Facts about positions, and games as files."""

from __future__ import annotations

import pytest

from board import files
from board.messages import Moves, Open, Save
from board.position import facts
from engine.errors import PositionError
from engine.games.files import read_tree
from engine.games.sgf import tree_to_sgf
from engine.games.tree import MAX_NODES, Node, tree_of
from engine.rules.geometry import parse_moves


def moves(text: str, rule: int = 0, width: int = 15, height: int = 15) -> Moves:
    return Moves(width, height, rule, tuple(parse_moves(text, width, height)))


def test_facts_of_a_won_game() -> None:
    found = facts(moves("h8 a1 i8 b1 j8 c1 k8 d1 l8"), swap2=False)
    assert found["over"] and found["winner"] == 0
    assert found["five"] == parse_moves("h8 i8 j8 k8 l8", 15, 15)


@pytest.mark.parametrize(("rule", "long"), [(0, True), (1, False)])
def test_the_row_that_won_is_the_one_that_the_rule_counts(rule: int, long: bool) -> None:
    """A stone that makes a row of six and, crossing it, a five."""
    text = "a3 o1 b3 o3 c3 o5 e3 o7 f3 o9 d4 o11 d5 o13 d6 o15 d7 m15 d3"
    row = set(parse_moves("a3 b3 c3 d3 e3 f3", 15, 15))
    found = facts(moves(text, rule), swap2=False)
    assert found["winner"] == 0
    assert (row <= set(found["five"])) is long  # type: ignore[call-overload]


def test_forbidden_points_with_their_reasons_only_for_black_to_move() -> None:
    text = "h8 a1 j8 a2 i7 c1 i9 c2"
    assert facts(moves(text, 4), swap2=False)["forbidden"] == {7 * 15 + 8: "double three"}
    assert facts(moves(text + " o15", 4), swap2=False)["forbidden"] == {}


def test_an_impossible_move_is_refused_with_its_reason() -> None:
    with pytest.raises(PositionError, match="i8 is forbidden to black: double three"):
        facts(moves("h8 a1 j8 a2 i7 c1 i9 c2 i8", 4), swap2=False)
    with pytest.raises(PositionError, match="over"):
        facts(moves("h8 a1 i8 b1 j8 c1 k8 d1 l8 o15"), swap2=False)


@pytest.mark.parametrize(
    ("stones", "chooser", "choice"), [(0, 0, False), (2, 0, False), (3, 1, True), (4, 1, False), (5, 0, True)]
)
def test_who_is_asked_in_swap2(stones: int, chooser: int, choice: bool) -> None:
    opening = facts(Moves(15, 15, 0, tuple(range(0, 3 * stones, 3))), swap2=True)["opening"]
    assert isinstance(opening, dict)
    assert (opening["chooser"], opening["may_choose"]) == (chooser, choice)
    assert stones != 4 or opening["question"] == "put one more stone (black)"


def test_what_is_saved_can_be_opened_again() -> None:
    nodes = (
        Node(-1, -1, "begin"),
        Node(0, 112, "a ] \\ b\nc", 12.0),
        Node(1, 128),
        Node(2, 144),
        Node(1, 98, "or"),
    )
    for kind in ("sgf", "psq"):
        text = files.saved(Save(1, kind, Moves(15, 15, 4, ()), ("me", "Tengen"), 0, nodes))
        found = files.opened(Open(2, text, 4, 15, 15))
        assert found["names"] == ["me", "Tengen"] and found["rule"] == 4
        back = [Node(n["parent"], n["point"], n["comment"], float(n["ms"])) for n in found["nodes"]]  # type: ignore[attr-defined]
        assert back == (
            list(nodes)
            if kind == "sgf"
            else [Node(-1, -1), Node(0, 112, "", 12.0), Node(1, 128), Node(2, 144)]
        )


@pytest.mark.parametrize("kind", ["sgf", "psq"])
@pytest.mark.parametrize(
    ("ended", "why"),
    [((0, "resigned"), "resign"), ((1, "resigned"), "resign"), ((1, "time"), "time"), ((2, "draw"), "draw")],
)
def test_the_end_off_the_board_survives_a_file(kind: str, ended: tuple[int, str], why: str) -> None:
    nodes = (Node(-1, -1), Node(0, 112), Node(1, 128))
    text = files.saved(Save(1, kind, Moves(15, 15, 0, ()), ("", ""), 0, nodes, ended))
    assert files.opened(Open(2, text, 0, 15, 15))["ended"] == {"winner": ended[0], "why": why}


def test_an_end_on_the_board_is_no_other() -> None:
    line = [112, 0, 113, 1, 114, 2, 115, 3, 116]
    nodes = (Node(-1, -1), *(Node(i, point) for i, point in enumerate(line)))
    text = files.saved(Save(1, "sgf", Moves(15, 15, 0, ()), ("", ""), 0, nodes, (1, "resigned")))
    assert "RE[B+1]" in text and files.opened(Open(2, text, 0, 15, 15))["ended"] is None
    unfinished = files.opened(Open(2, "(;GM[4]RE[?];B[hh])", 0, 15, 15))
    assert unfinished["ended"] is None
    lost = files.opened(Open(2, "(;GM[4]RE[W+F];B[hh])", 0, 15, 15))
    assert lost["ended"] == {"winner": 1, "why": "other"}


def test_moves_as_text_are_opened() -> None:
    assert len(files.opened(Open(1, "h8 i9\nj10", 0, 15, 15))["nodes"]) == 4  # type: ignore[arg-type]
    for text in ("", "hello", "h8 h8", "z99"):
        with pytest.raises(PositionError):
            files.opened(Open(1, text, 0, 15, 15))


def test_the_content_of_a_file_is_opened_in_its_encoding() -> None:
    text = "(;GM[11]PB[黑方棋手]PW[白方棋手]RU[Swap2];W[hh]C[这步棋不好];B[ii])"
    found = files.opened(Open(1, "", 4, 15, 15, data=text.encode("gbk")))
    assert found["names"] == ["黑方棋手", "白方棋手"] and found["rule"] == 4
    assert [n["point"] for n in found["nodes"]] == [-1, -1, 112, 128]  # type: ignore[attr-defined]
    notes = found["notes"]
    assert len(notes) == 3 and notes[0]["values"] == {"encoding": "GBK"}  # type: ignore[arg-type, index]
    pasted = files.opened(Open(1, "1. h1 2. a15", 0, 15, 15, from_bottom=True))
    assert [n["point"] for n in pasted["nodes"]] == [-1, 217, 0]  # type: ignore[attr-defined]


def test_facts_after_a_pass() -> None:
    found = facts(Moves(15, 15, 4, (112, -1, 113)), swap2=False)
    assert found["to_move"] == 1 and not found["over"]
    with pytest.raises(PositionError, match="passes or stones set up"):
        nodes = (Node(-1, -1), Node(0, -1), Node(1, 112))
        files.saved(Save(1, "psq", Moves(15, 15, 0, ()), ("", ""), 0, nodes))
    text = files.saved(Save(1, "sgf", Moves(15, 15, 0, ()), ("", ""), 0, nodes))
    assert ";B[]" in text and "CA[UTF-8]" in text


@pytest.mark.parametrize(
    "nodes",
    [
        [],
        [Node(0, 5)],
        [Node(-1, -1), Node(1, 5)],
        [Node(-1, -1), Node(0, 225)],
        [Node(-1, -1), Node(0, -2)],
        [Node(-1, -1), Node(0, 5), Node(1, 5)],
        [Node(-1, -1)] * (MAX_NODES + 1),
    ],
    ids=["none", "no root", "own parent", "off the board", "before the board", "taken", "too many"],
)
def test_what_is_no_tree_is_refused(nodes: list[Node]) -> None:
    record = read_tree("(;GM[4]SZ[15])", 0).record
    with pytest.raises(PositionError):
        tree_of(record, nodes)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("(;GM[4]SZ[15];B[hh](;W[ii])(;W[hh]))", "line 1: move 2: h8 is taken"),
        ("(;GM[4]SZ[15];B[hh](;W[ii])(;B[jj];W[hh]))", "move 4: h8 is taken"),
        ("(;GM[4]SZ[15];B[hh](;W[ii])(;W[zz]))", "off the"),
        ("(;GM[4]SZ[15];B[hh](;W[ii])(;W[j]))", "is no move"),
        ("(;GM[4]SZ[15];B[hh](;W[ii])(;AB[ii]AW[ii]))", "holds both colours"),
        ("(;GM[4]SZ[15];B[hh](;W[ii])(;W[jj])", "breaks off"),
    ],
)
def test_a_damaged_variation_is_refused_with_its_place(text: str, why: str) -> None:
    with pytest.raises(PositionError, match=why):
        read_tree(text, 0)


def test_a_tree_as_deep_and_as_wide_as_it_may_be() -> None:
    deep = [Node(-1, -1)] + [Node(i, p) for i, p in enumerate(list(range(0, 15, 2)) + list(range(15, 30, 2)))]
    wide = [Node(0, p) for p in range(40, 225)]
    tree = tree_of(read_tree("(;GM[4]SZ[15])", 0).record, deep + wide)
    again = read_tree(tree_to_sgf(tree), 0)
    assert sorted((n.parent, n.point) for n in again.nodes) == sorted((n.parent, n.point) for n in tree.nodes)
